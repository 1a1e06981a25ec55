"""Serves the trap web on loopback addresses, a site each from 127.30.0.1 on."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import IPv4Address

from scrawler.errors import SettingsError
from scrawler.synthweb.http import Connection, HttpRequest, Service
from scrawler.synthweb.pages import Answer
from scrawler.synthweb.traps.pages import TrapSite
from scrawler.synthweb.traps.sites import TRAP_SITES

_FIRST = int(IPv4Address("127.30.0.1"))
_BACKLOG = 512
_HTML = "text/html; charset=utf-8"
_NOT_FOUND = Answer(404, "text/plain", b"no such page\n")


@dataclass(frozen=True, slots=True)
class TrapWeb:
    """Where things are in the trap web that is served at a port."""

    port: int

    def sites(self) -> dict[str, TrapSite]:
        """Return the home page of a site -> what it is."""
        return {f"http://{IPv4Address(_FIRST + place)}:{self.port}/": site for place, site in enumerate(TRAP_SITES)}

    def home(self, name: str) -> str:
        """Return the home page of the site with a trap of this name."""
        return next(url for url, site in self.sites().items() if site.name == name)

    def real(self, name: str) -> set[str]:
        """Return the URLs of the pages beside a trap."""
        home = self.home(name)
        return {home[:-1] + path for path in self.sites()[home].real}


def serve_traps(
    port: int, *, stop_with_stdin: bool = False, ready: Callable[[TrapWeb], None] = lambda web: None
) -> None:
    """Serve until SIGINT or SIGTERM; `ready` is called as soon as the web can be asked.

    Raises:
        SettingsError: the port cannot be used.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind(("0.0.0.0", port))
        except OSError as error:
            raise SettingsError(f"trap web: cannot serve at port {port}: {error.strerror}") from error
        asyncio.run(_serve(listening, stop_with_stdin, ready))


async def _serve(listening: socket.socket, stop_with_stdin: bool, ready: Callable[[TrapWeb], None]) -> None:
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        with suppress(NotImplementedError):
            loop.add_signal_handler(number, stop.set)
    if stop_with_stdin:
        loop.add_reader(0, lambda: None if os.read(0, 4096) else stop.set())
    web = TrapWeb(listening.getsockname()[1])
    by_address = {str(IPv4Address(_FIRST + place)): site for place, site in enumerate(TRAP_SITES)}
    connections: set[Connection] = set()

    def answer(request: HttpRequest, address: str, came: float) -> Answer:
        site = by_address.get(address)
        page = site.answer(request.path) if site is not None and request.path != "/robots.txt" else None
        return _NOT_FOUND if page is None else Answer(200, _HTML, page.encode())

    service = Service(answer, lambda request, address: 0.0, connections.add, connections.discard)
    server = await loop.create_server(lambda: Connection(service), sock=listening, backlog=_BACKLOG)
    ready(web)
    await stop.wait()
    server.close()
    for connection in list(connections):
        connection.abort()
