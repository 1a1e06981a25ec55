"""`scrawler listen`: take in what servers and owners of sites send."""

from __future__ import annotations

import os
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scrawler.api.bare import BareCrawl
from scrawler.assembly.parts import product_token
from scrawler.cli.database import opened
from scrawler.cli.options import FILLED, FileName, Whole, with_settings
from scrawler.cli.tables import format_options, print_rows
from scrawler.dates import iso_date
from scrawler.errors import ScrawlerError, SettingsError
from scrawler.features.push.store.pushes import Pushes
from scrawler.features.push.store.subscriptions import Subscriptions
from scrawler.fetch.proxies import EnvironmentProxies
from scrawler.settings import Settings
from scrawler.supervisor.signals import heeds_hangups
from scrawler.units import counted
from scrawler.urls.normalise import normalise
from scrawler.urls.scope import site_key

if TYPE_CHECKING:
    from scrawler.features.push.asker import Asker
    from scrawler.features.push.intake import Intake

_ASKING = (
    *("user_agent", "product_token", "robots", "delay", "connect_timeout", "allow_private", "allow_addresses"),
    *("resolve", "insecure", "ca_file", "proxy", "boundary", "max_url_length"),
)
_KEY_COLUMNS = ("key", "host", "created", "used")
_SUBSCRIPTION_COLUMNS = ("topic", "hub", "state", "lease_until", "deliveries", "forged", "detail")


@click.group(invoke_without_command=True)
@click.option("--port", type=click.IntRange(1, 65_535), help="Listen at this port; it must be given.")
@click.option("--host", type=FILLED, default="127.0.0.1", show_default=True, help="Listen at this address.")
@click.option("--per-day", type=Whole(1), default=10_000, show_default=True, help="URLs that each site may send a day.")
@click.option(
    "--waiting", type=Whole(1), default=50_000, show_default=True,
    help="URLs of each site that may wait until machines take them.",
)  # fmt: skip
@click.option(
    "--largest", type=click.IntRange(1_000, 100_000_000), default=4_000_000, show_default=True,
    help="Bytes that a message may have.",
)  # fmt: skip
@click.option(
    "--trusted-proxy", "trusted", multiple=True, type=FILLED, metavar="ADDRESS",
    help="Believe the X-Forwarded-For of a proxy at this address. [may be repeated]",
)  # fmt: skip
@click.option("--tls-certificate", type=FileName(exists=True, dir_okay=False, path_type=Path), help="Speak TLS.")
@click.option("--tls-key", type=FileName(exists=True, dir_okay=False, path_type=Path), help="The certificate's key.")
@with_settings(*_ASKING)
@click.pass_context
def listen(
    context: click.Context,
    settings: Settings,
    port: int | None,
    host: str,
    per_day: int,
    waiting: int,
    largest: int,
    trusted: tuple[str, ...],
    tls_certificate: Path | None,
    tls_key: Path | None,
) -> None:
    """Take in what servers and owners of sites send: IndexNow, WebSub, pings, and URLs of owners.

    What comes is kept in the database of the crawl; `scrawler run --keep` asks for it at once, on this host or
    another. Ctrl-C (or SIGTERM) ends it in order.
    """
    if context.invoked_subcommand is not None:
        return
    if port is None:
        raise SettingsError("at which port? Say --port 8080")
    if (tls_certificate is None) is not (tls_key is None):
        raise SettingsError("TLS wants both --tls-certificate and --tls-key")
    _have_extra()
    from scrawler.features.push.server import Listener, Listening  # an extra

    listening = Listening(
        host=host,
        port=port,
        per_day=per_day,
        waiting=waiting,
        largest=largest,
        trusted=trusted,
        certificate=str(tls_certificate or ""),
        certificate_key=str(tls_key or ""),
    )
    with opened(settings, BareCrawl) as crawl:
        say, proxies = _say, EnvironmentProxies.of(os.environ)
        scope, token = crawl.stored.scope, product_token(settings)
        Listener(settings, crawl.database, scope, token, listening, say, heeds_hangups(), proxies).run()
    click.echo("ended", err=True)


def _say(line: str) -> None:
    click.echo(line, err=True)


def _have_extra() -> None:
    """Raise SettingsError where the packages of the extra are not installed."""
    try:
        import dns.resolver
        import starlette.applications
        import uvicorn
    except ImportError as error:
        raise SettingsError("listen needs an extra: pip install 'seed-scrawler[listen]'") from error
    del dns, starlette, uvicorn


@listen.group()
def keys() -> None:
    """Keys with which sites may ping."""


@keys.command("add")
@click.argument("host", type=FILLED)
@with_settings()
def add_key(settings: Settings, host: str) -> None:
    """Make a key for a site, and show it: it is kept as a hash alone, and cannot be shown again."""
    from scrawler.features.push.intake import digest_of, new_key  # light, but for the extra's packages

    with opened(settings, BareCrawl) as crawl:
        pushes = Pushes(crawl.database, 1, 1)
        url = normalise(host if "://" in host else f"https://{host}/").url
        site = pushes.site(site_key(url, crawl.stored.scope)) if url else None
        if site is None:
            raise ScrawlerError(f"{host}: this crawl has no seeds there; import one first")
        key = new_key()
        pushes.add_key(site, site.key, digest_of(key))
        try:
            click.echo(key)
            sys.stdout.flush()
        except (ScrawlerError, OSError):  # nobody has seen it, nor ever will
            pushes.remove_keys(digest_of(key).hex())
            raise


@keys.command("list")
@format_options
@with_settings()
def list_keys(settings: Settings, written: str | None) -> None:
    """List the keys, by the first digits of their hashes."""
    with opened(settings, BareCrawl) as crawl:
        found = Pushes(crawl.database, 1, 1).all_keys()
    rows = [
        {
            "key": one.name,
            "host": one.host,
            "created": iso_date(one.created_at),
            "used": iso_date(one.used_at) if one.used_at else "",
        }
        for one in found
    ]
    print_rows(rows, _KEY_COLUMNS, written)


@keys.command("remove")
@click.argument("name", metavar="HOST|KEY", type=FILLED)
@with_settings()
def remove_key(settings: Settings, name: str) -> None:
    """Remove all keys of a host, or one by the digits that `keys list` shows."""
    with opened(settings, BareCrawl) as crawl:
        number = Pushes(crawl.database, 1, 1).remove_keys(name)
    if not number:
        raise ScrawlerError(f"{name}: there is no such key; see `scrawler listen keys list`")
    click.echo(f"removed: {counted(number, 'key')}")


@listen.command("subscribe")
@click.argument("url", type=FILLED)
@click.option(
    "--public", type=FILLED, required=True, metavar="URL",
    help="Where hubs reach the listener, as https://crawler.example.org",
)  # fmt: skip
@with_settings(*_ASKING)
def subscribe_command(settings: Settings, url: str, public: str) -> None:
    """Find the WebSub hub of a feed or page, and subscribe: the listener asks the hub, and renews the lease."""
    _have_extra()
    from scrawler.features.push.asker import Asker  # an extra
    from scrawler.features.push.websub import DiscoveryError, is_public_url, subscribe

    if not is_public_url(public):
        raise SettingsError(f"--public {public}: say where hubs reach the listener, as https://crawler.example.org")
    with opened(settings, BareCrawl) as crawl:
        clock = Pushes(crawl.database, 1, 1)
        asker = Asker(
            settings, product_token(settings), crawl.stored.scope, clock, _never, EnvironmentProxies.of(os.environ)
        )
        with closing(asker):
            intake = _intake(settings, crawl, asker)
            try:
                topic, hub = subscribe(url, public, asker, intake, Subscriptions(crawl.database))
            except DiscoveryError as error:
                raise ScrawlerError(str(error)) from error
    click.echo(f"wanted: {topic} of {hub}; the listener asks for it")


def _never(seconds: float) -> bool:
    import time

    time.sleep(seconds)
    return False


def _intake(settings: Settings, crawl: BareCrawl, asker: Asker) -> Intake:
    import threading

    from scrawler.features.push.intake import Intake
    from scrawler.features.push.proofs import KeyFiles
    from scrawler.store.claims.boundary import CrawlBoundary

    boundary = CrawlBoundary(crawl.database, settings.boundary, crawl.stored.scope)
    key_files = KeyFiles(asker, threading.Event())
    return Intake(Pushes(crawl.database, 1, 1), boundary, crawl.stored.scope, settings.max_url_length, key_files)


@listen.command("unsubscribe")
@click.argument("topic", type=FILLED)
@with_settings()
def unsubscribe(settings: Settings, topic: str) -> None:
    """Give a subscription up: the listener tells the hub."""
    with opened(settings, BareCrawl) as crawl:
        if not Subscriptions(crawl.database).leave(normalise(topic).url or topic):
            raise ScrawlerError(f"{topic}: there is no such subscription; see `scrawler listen subscriptions`")
    click.echo(f"no longer wanted: {topic}")


@listen.command("subscriptions")
@format_options
@with_settings()
def list_subscriptions(settings: Settings, written: str | None) -> None:
    """List the subscriptions, and what came of them."""
    with opened(settings, BareCrawl) as crawl:
        found = Subscriptions(crawl.database).all()
    rows: list[dict[str, Any]] = []
    for one in found:
        values = {name: getattr(one, name) for name in _SUBSCRIPTION_COLUMNS}
        rows.append(values | {"lease_until": iso_date(one.lease_until) if one.lease_until else ""})
    print_rows(rows, _SUBSCRIPTION_COLUMNS, written)
