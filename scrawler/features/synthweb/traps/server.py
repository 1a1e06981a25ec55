"""Serves the trap web on loopback addresses, a site each from 127.30.0.1 on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from ipaddress import IPv4Address

from scrawler.features.synthweb.http import HttpRequest
from scrawler.features.synthweb.pages import Answer
from scrawler.features.synthweb.serving import EVERY_ADDRESS, listen, serve_pages
from scrawler.features.synthweb.traps.endless import ENDLESS_SITES
from scrawler.features.synthweb.traps.honest import HONEST_SITES, LARGE_SHOP
from scrawler.features.synthweb.traps.pages import TrapSite
from scrawler.features.synthweb.traps.sites import TRAP_SITES

_FIRST = IPv4Address("127.30.0.1")
_ALL = (*TRAP_SITES, *ENDLESS_SITES, *HONEST_SITES, LARGE_SHOP)
_ADDRESSES = {site.name: str(_FIRST + place) for place, site in enumerate(_ALL)}
_BY_ADDRESS = {_ADDRESSES[site.name]: site for site in _ALL}
_HTML = "text/html; charset=utf-8"
_NOT_FOUND = Answer(404, "text/plain", b"no such page\n")

BY_ADDRESS = tuple(site for site in _ALL if not site.names and site is not LARGE_SHOP)  # what anybody can crawl
EVERYTHING = _ALL


@dataclass(frozen=True, slots=True)
class TrapWeb:
    """Where things are in the trap web that is served at a port."""

    port: int

    def sites(self, among: Iterable[TrapSite] = TRAP_SITES) -> dict[str, TrapSite]:
        """Return the home page of a site -> what it is."""
        return {self._home(site): site for site in among}

    def home(self, name: str) -> str:
        """Return the home page of the site of this name."""
        return self._home(next(site for site in _ALL if site.name == name))

    def real(self, name: str) -> set[str]:
        """Return the URLs of the pages with content of their own."""
        home = self.home(name)
        site = next(site for site in _ALL if site.name == name)
        return {home[:-1] + path for path in site.real}

    def resolved(self, site: TrapSite) -> list[str]:
        """Return where the names of a site are, as the setting `resolve` has it."""
        return [f"{name}={_ADDRESSES[site.name]}" for name in site.names]

    def _home(self, site: TrapSite) -> str:
        host = site.names[0] if site.names else _ADDRESSES[site.name]
        return f"http://{host}:{self.port}/"


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
    if site is None:
        return _NOT_FOUND
    if request.path == "/robots.txt":
        return _robots(site, request.authority)
    if request.path.endswith(".xml"):
        return _sitemap(site, request.authority, request.path)
    page = site.answer(f"//{request.authority}{request.path}" if site.names else request.path)
    if page is None:
        return _NOT_FOUND
    if page.startswith("/"):
        return Answer(302, _HTML, b"", location=page)
    return Answer(200, _HTML, page.encode())


def _robots(site: TrapSite, authority: str) -> Answer:
    told = f"User-agent: *\nDisallow:\nSitemap: http://{authority}/sitemap.xml\n"
    return Answer(200, "text/plain", told.encode()) if site.sitemap else _NOT_FOUND


def _sitemap(site: TrapSite, authority: str, path: str) -> Answer:
    if not site.sitemap or path != "/sitemap.xml":
        return _NOT_FOUND
    listed = "".join(f"<url><loc>http://{authority}{one}</loc></url>" for one in site.sitemap)
    text = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{listed}</urlset>'
    return Answer(200, "application/xml", text.encode())
