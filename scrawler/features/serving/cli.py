"""`scrawler serve-site`: what a site's owner publishes for crawlers, with lists of what has changed."""

from __future__ import annotations

import sys
import threading
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click

from scrawler.cli.options import FILLED, FileName, Number, Seconds, Whole
from scrawler.cli.streams import OutputError
from scrawler.errors import SettingsError

if TYPE_CHECKING:
    from scrawler.features.serving.rows import Rows
    from scrawler.features.serving.templates import Templates

_FOLDER = FileName(exists=True, file_okay=False, path_type=Path)
_FILE = FileName(exists=True, dir_okay=False, path_type=Path)
_YEAR = 366 * 86_400  # seconds


@click.command("serve-site")
@click.argument("folder", type=_FOLDER, required=False)
@click.option("--database", type=_FILE, help="TOML file that says which tables and columns are published as pages.")
@click.option("--templates", type=_FOLDER, help="Folder of the Jinja2 templates that it names.")
@click.option("--base-url", type=FILLED, help="URL at which crawlers reach the site. [default: http://HOST:PORT/]")
@click.option("--host", type=FILLED, default="127.0.0.1", show_default=True, help="Address to listen at.")
@click.option(
    "--port", type=click.IntRange(0, 65_535), default=8080, show_default=True, help="Port to listen at; 0: a free one."
)
@click.option(
    "--state",
    type=FileName(dir_okay=False, path_type=Path),
    default="serve-site.db",
    show_default=True,
    help="File that keeps what was published; not in the folder.",
)
@click.option(
    "--scan-every", type=Seconds(0.1, _YEAR), default=60.0, show_default=True, help="Time between scans: 90, 1.5s, 5m."
)
@click.option("--scan-only", is_flag=True, help="Scan once, and end.")
@click.option("--keep-changes", type=Whole(1), default=50_000, show_default=True, help="Changes to keep at least.")
@click.option("--tls-cert", type=_FILE, help="Certificate of the server, for https; with --tls-key.")
@click.option("--tls-key", type=_FILE, help="Its key.")
@click.option("--client-ca", type=_FILE, help="Let only clients in whose certificate this one vouches for (mTLS).")
@click.option("--keys", type=_FILE, help="Let only requests in that are signed with a key of this file (RFC 9421).")
@click.option("--rate", type=Number(0, 1_000_000), default=50.0, show_default=True, help="Requests/s a client; 0: any.")
@click.option("--connections", type=Whole(1), default=200, show_default=True, help="Most at once, of all clients.")
@click.option("--cache-mb", type=Number(0, 1_000_000), default=32.0, show_default=True, help="MiB for pages of rows.")
@click.option("--behind", type=FILLED, metavar="ADDRESS", help="A proxy whose X-Forwarded-For is believed.")
def serve_site(
    folder: Path | None,
    database: Path | None,
    templates: Path | None,
    base_url: str | None,
    host: str,
    port: int,
    state: Path,
    scan_every: float,
    scan_only: bool,
    keep_changes: int,
    tls_cert: Path | None,
    tls_key: Path | None,
    client_ca: Path | None,
    keys: Path | None,
    rate: float,
    connections: int,
    cache_mb: float,
    behind: str | None,
) -> None:
    """Publish FOLDER, and rows of a database, with lists of what has changed (ResourceSync), and a sitemap.

    For the owner of a site; needs `pip install 'seed-scrawler[serve]'`. Nothing is ever written to the folder or the
    database.
    """
    if folder is None and database is None:
        raise SettingsError("name a folder, or a database by --database, that is to be published")
    if (tls_cert is None) != (tls_key is None) or (client_ca is not None and tls_cert is None):
        raise SettingsError("--tls-cert and --tls-key go together, and --client-ca needs them")
    if folder is not None and folder.resolve() in state.resolve().parents:
        raise SettingsError(f"{state} lies in the folder that is published: name another place by --state")
    _need_parts()
    from scrawler.features.serving.catalogue import Catalogue
    from scrawler.features.serving.folder import Folder
    from scrawler.features.serving.scanner import Scanner

    with ExitStack() as closed:
        files = None if folder is None else closed.enter_context(closing(Folder(folder)))
        rows, made_by = _rows(database, templates)
        if rows is not None:
            closed.enter_context(closing(rows))
        catalogue = Catalogue(state)
        scanner = Scanner(catalogue, files, rows, keep=keep_changes)
        if scan_only:
            changed = scanner.scan(threading.Event())
            if problems := scanner.problems():
                click.echo(f"scrawler: warning: {problems}", err=True)
            click.echo(f"{changed or 0:,} new or changed")
            return
        from scrawler.features.inbound.rate import RateLimit
        from scrawler.features.inbound.sockets import serve
        from scrawler.features.serving.app import SiteApp
        from scrawler.features.serving.server import Limits, ScanThread, Tls, bound_at, make_server
        from scrawler.features.serving.signing import Verifier, read_keys
        from scrawler.features.serving.site import Site

        verifier = None if keys is None else Verifier(read_keys(keys))
        limits = Limits(connections=connections)
        sockets = bound_at(host, port, limits, behind or "")
        for one in sockets:
            closed.enter_context(closing(one))
        port = sockets[0].getsockname()[1]
        base = _base(base_url or f"{'https' if tls_cert else 'http'}://{_authority(host, port)}/")
        site = Site(base, catalogue, files, rows, made_by, int(cache_mb * (1 << 20)))
        limit = RateLimit(rate, max(10, int(rate * 2))) if rate else None
        tls = Tls(tls_cert, tls_key, client_ca) if tls_cert and tls_key else None
        server = make_server(
            SiteApp(site, verifier, limit).starlette(), tls=tls, limits=limits, behind=behind or "",
            ready=lambda at: _say(f"serving {base} at {_authority(host, at)}"),
        )  # fmt: skip
        scans = ScanThread(scanner, scan_every, _say)
        scans.start()
        try:
            serve(server, sockets)
        finally:
            scans.stop()


def _say(line: str) -> None:
    """Write a line; that nobody reads it keeps no site from being served."""
    with suppress(OutputError, OSError):
        click.echo(line)
        sys.stdout.flush()


def _rows(database: Path | None, folder: Path | None) -> tuple[Rows | None, Templates | None]:
    if database is None:
        return None, None
    from scrawler.features.serving.rows import Rows
    from scrawler.features.serving.tables import read_tables
    from scrawler.features.serving.templates import Templates

    published = read_tables(database)
    templates = Templates(folder)
    digests = templates.digests(one.template for one in published.tables)
    return Rows(published, digests), templates


def _need_parts() -> None:
    try:
        import http_message_signatures  # noqa: F401
        import jinja2  # noqa: F401
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise SettingsError(
            f"serve-site needs more packages ({error.name}): pip install 'seed-scrawler[serve]'"
        ) from error


def _base(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.query or parts.fragment:
        raise SettingsError(
            f"--base-url {url} is no URL of a site: write http:// or https://, a host, and a path if any"
        )
    return url if url.endswith("/") else f"{url}/"


def _authority(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
