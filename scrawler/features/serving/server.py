"""Runs the site: a thread that scans again and again, and uvicorn until it is told to stop."""

from __future__ import annotations

import logging
import ssl
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, cast

import uvicorn
from starlette.types import ASGIApp

from scrawler.errors import ScrawlerError
from scrawler.features.inbound.connections import HEAD_BYTES, HEAD_S, WRITE_S, OpenConnections, limited_protocol
from scrawler.features.inbound.orderly import OrderlyServer
from scrawler.features.inbound.sockets import CountedSocket, bound
from scrawler.features.serving.scanner import Scanner

log = logging.getLogger(__name__)


class ServingError(ScrawlerError):
    """The site cannot be served as it was asked for."""


class Tls(NamedTuple):
    """Files for TLS: certificate and key of the server, and, if clients need one as well, who vouches for theirs."""

    certificate: Path
    key: Path
    client_ca: Path | None


class Limits(NamedTuple):
    """What connections may take."""

    connections: int = 200
    each: int = 16
    head_s: float = HEAD_S
    write_s: float = WRITE_S


class ScanThread:
    """Scans at once, and then each `every_s` seconds, until it is stopped."""

    def __init__(self, scanner: Scanner, every_s: float, told: Callable[[str], None]) -> None:
        self._scanner = scanner
        self._every_s = every_s
        self._told = told
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="scan")

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End: what was scanned is kept."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        problems = ""  # that were told last
        while not self._stop.is_set():
            try:
                changed = self._scanner.scan(self._stop)
            except ScrawlerError as error:
                self._told(f"cannot scan, will try again: {error}")
            except Exception as error:  # the thread must go on: the site would be frozen without a word
                self._told(f"cannot scan, will try again: {type(error).__name__}: {error}")
            else:
                if changed:
                    self._told(f"{changed:,} new or changed")
                if changed is not None and self._scanner.problems() != problems:
                    problems = self._scanner.problems()
                    self._told(f"warning: {problems}" if problems else "all rows are as they should be again")
            self._stop.wait(self._every_s)


def bound_at(host: str, port: int, limits: Limits, behind: str = "") -> list[CountedSocket]:
    """Return sockets that are bound; a proxy may have all connections, for its clients. Raises SettingsError."""
    return bound(host, port, OpenConnections(limits.each, 2 * limits.connections, (behind,)))


def make_server(
    app: ASGIApp,
    *,
    tls: Tls | None,
    limits: Limits,
    behind: str = "",
    ready: Callable[[int], None] | None = None,
) -> uvicorn.Server:
    """Make the server. `behind` is the address of a proxy whose word of the client is taken. Raises ServingError."""
    protocol = limited_protocol(limits.head_s, limits.write_s)
    config = uvicorn.Config(
        app,
        http=cast(Any, protocol),  # it is called as a class is
        ws="none",
        lifespan="off",
        limit_concurrency=limits.connections,
        h11_max_incomplete_event_size=HEAD_BYTES,
        proxy_headers=bool(behind),
        forwarded_allow_ips=behind or None,
        timeout_graceful_shutdown=5,
        log_config=None,
        access_log=False,
        server_header=False,
        **_tls_options(tls),
    )
    try:
        config.load()
    except (OSError, ssl.SSLError, ValueError) as error:
        raise ServingError(f"cannot use the files for TLS: {error}") from error
    return _Server(config, ready)


def _tls_options(tls: Tls | None) -> dict[str, Any]:
    if tls is None:
        return {}
    options: dict[str, Any] = {"ssl_certfile": str(tls.certificate), "ssl_keyfile": str(tls.key)}
    if tls.client_ca is not None:
        options |= {"ssl_ca_certs": str(tls.client_ca), "ssl_cert_reqs": ssl.CERT_REQUIRED}
    return options


class _Server(OrderlyServer):
    """Tells on which port it listens."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[int], None] | None) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: object = None) -> None:
        await super().startup(sockets)  # type: ignore[arg-type]
        if self._ready is not None and self.started:
            self._ready(self.servers[0].sockets[0].getsockname()[1])
