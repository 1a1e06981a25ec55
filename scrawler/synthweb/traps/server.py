"""Serves the trap web on loopback addresses, a site each from 127.30.0.1 on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from ipaddress import IPv4Address

from scrawler.synthweb.http import HttpRequest
from scrawler.synthweb.pages import Answer
from scrawler.synthweb.serving import EVERY_ADDRESS, listen, serve_pages
from scrawler.synthweb.traps.pages import TrapSite
from scrawler.synthweb.traps.sites import TRAP_SITES
from scrawler.tuples.classes import dataclass

_FIRST = IPv4Address("127.30.0.1")
_BY_ADDRESS = {str(_FIRST + place): site for place, site in enumerate(TRAP_SITES)}
_HTML = "text/html; charset=utf-8"
_NOT_FOUND = Answer(404, "text/plain", b"no such page\n")


@dataclass(frozen=True, slots=True)
class TrapWeb:
    """Where things are in the trap web that is served at a port."""

    port: int

    def sites(self) -> dict[str, TrapSite]:
        """Return the home page of a site -> what it is."""
        return {f"http://{address}:{self.port}/": site for address, site in _BY_ADDRESS.items()}

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
    (listening,) = listen([(EVERY_ADDRESS, port)], "trap web")
    with listening:
        web = TrapWeb(listening.getsockname()[1])
        asyncio.run(
            serve_pages([listening], _answer, lambda request, address: 0.0, stop_with_stdin, partial(ready, web))
        )


def _answer(request: HttpRequest, address: str, came: float) -> Answer:
    site = _BY_ADDRESS.get(address)
    page = site.answer(request.path) if site is not None and request.path != "/robots.txt" else None
    return _NOT_FOUND if page is None else Answer(200, _HTML, page.encode())
