"""A web on loopback whose sites answer with the cases of one random seed, and what it was asked for."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import cycle
from random import Random
from typing import cast

from tests.fuzz.answers import After, Reply, Role, reply

_SIZES = {Role.PAGE: 22, Role.SITEMAP: 20, Role.SEED: 1, Role.ROBOTS: 1}  # cases of one site
_ROTA = (Role.PAGE, Role.PAGE, Role.SEED, Role.PAGE, Role.ROBOTS, Role.PAGE, Role.SITEMAP, Role.PAGE, Role.SEED)
_GOOD_PAGES = 3
_IDLE = 0.1  # seconds after which a kept connection is closed: a client that waits for the rest of an answer learns so


@dataclass(frozen=True)
class Site:
    """A site of the web: all its cases have one role, and what is no case is in order."""

    number: int
    role: Role
    cases: range

    @property
    def host(self) -> str:
        """Its name, which `--resolve` gives its address."""
        return f"s{self.number}.fuzz.test"

    @property
    def address(self) -> str:
        """A loopback address of its own."""
        return f"127.9.{self.number // 200}.{self.number % 200 + 1}"


@dataclass
class FuzzWeb:
    """The cases `first` .. `first + count - 1` of a random seed, by site; `asked` are those that went out."""

    seed: int
    sites: list[Site]
    asked: set[int] = field(default_factory=set)
    port: int = 0

    @classmethod
    def of(cls, seed: int, count: int) -> FuzzWeb:
        """Lay out so many cases."""
        sites: list[Site] = []
        first = 0
        for role in cycle(_ROTA):
            if first >= count:
                return cls(seed, sites)
            cases = range(first, min(count, first + _SIZES[role]))
            sites.append(Site(len(sites), role, cases))
            first = cases.stop
        raise AssertionError("a cycle has no end")

    @property
    def cases(self) -> int:
        """How many cases there are."""
        return sum(len(site.cases) for site in self.sites)

    def only(self, case: int) -> FuzzWeb:
        """Return the web with the site of one case alone, which has that case alone."""
        site = next(site for site in self.sites if case in site.cases)
        return FuzzWeb(self.seed, [Site(site.number, site.role, range(case, case + 1))])

    def seed_urls(self) -> list[str]:
        """Return the home pages of all sites."""
        return [f"http://{site.host}:{self.port}/" for site in self.sites]

    def resolve(self) -> list[str]:
        """Return the addresses of all sites, as the setting `resolve` wants them."""
        return [f"{site.host}={site.address}" for site in self.sites]

    def case_reply(self, role: Role, case: int) -> Reply:
        """Return the answer of a case: always the same."""
        return reply(role, Random(f"{self.seed}/{case}"))

    def answer(self, site: Site, path: str) -> Reply:
        """Answer a request."""
        case = self._case_at(site, path)
        if case is not None:
            self.asked.add(case)
            return self.case_reply(site.role, case)
        if path == "/robots.txt" and site.role is Role.SITEMAP:
            home = f"http://{site.host}:{self.port}"
            return _good("text/plain", "".join(f"Sitemap: {home}/map/{case}.xml\n" for case in site.cases))
        if path == "/":
            links = [*(f"/case/{case}" for case in site.cases if site.role is Role.PAGE), "/good/1"]
            return _good("text/html", "".join(f'<a href="{link}">.</a>' for link in links))
        if path.startswith("/good/"):
            number = int(path[6:]) if path[6:].isdecimal() else _GOOD_PAGES
            more = f'<a href="/good/{number + 1}">.</a>' if number < _GOOD_PAGES else ""
            return _good("text/html", f"<p>good page {number} of {site.host}{more}")
        return _good("text/plain", "not here", "404 Not Found")

    @staticmethod
    def _case_at(site: Site, path: str) -> int | None:
        """Return the case that a path of a site is, if it is one."""
        if site.role is Role.SEED:
            return site.cases[0] if path == "/" else None
        if site.role is Role.ROBOTS:
            return site.cases[0] if path == "/robots.txt" else None
        start, end = ("/case/", "") if site.role is Role.PAGE else ("/map/", ".xml")
        number = path.removeprefix(start).removesuffix(end)
        there = path == f"{start}{number}{end}" and number.isdecimal() and len(number) < 9
        return int(number) if there and int(number) in site.cases else None


def _good(media_type: str, text: str, status: str = "200 OK") -> Reply:
    head = f"HTTP/1.1 {status}\r\nContent-Type: {media_type}\r\nContent-Length: {len(text)}\r\n\r\n"
    return Reply(((head + text).encode(),), After.KEEP)


class _Connection(asyncio.Protocol):
    """Answers one request after the other, and does then what its answer says."""

    def __init__(self, web: FuzzWeb, by_address: dict[str, Site]) -> None:
        self._web, self._by_address = web, by_address
        self._buffer = b""
        self._idle: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the connection, if it is for a site of the web."""
        self._transport = cast(asyncio.Transport, transport)
        site = self._by_address.get(transport.get_extra_info("sockname")[0])
        if site is None:
            self._transport.abort()
        else:
            self._site = site

    def data_received(self, data: bytes) -> None:
        """Answer what is whole."""
        self._buffer += data
        if self._idle is not None:
            self._idle.cancel()
        while b"\r\n\r\n" in self._buffer and not self._transport.is_closing():
            head, _, self._buffer = self._buffer.partition(b"\r\n\r\n")
            words = head.split(b" ", 2)
            path = words[1].decode("latin-1") if len(words) > 2 else "/"
            said = self._web.answer(self._site, path)
            self._say(list(said.pieces), said.after)

    def _say(self, pieces: list[bytes], after: After) -> None:
        """Send one piece, and the next when the client may have read it."""
        if self._transport.is_closing():
            return
        if pieces:
            self._transport.write(pieces.pop(0))
            if pieces:
                asyncio.get_running_loop().call_later(0.001, self._say, pieces, after)
                return
        if after is After.RESET:
            self._transport.abort()
        elif after is After.CLOSE:
            self._transport.close()
        else:
            self._idle = asyncio.get_running_loop().call_later(_IDLE, self._transport.close)


@contextmanager
def served(web: FuzzWeb) -> Iterator[None]:
    """Serve a web from a thread of its own; its port is set then."""
    loop = asyncio.new_event_loop()
    by_address = {site.address: site for site in web.sites}

    async def listen() -> asyncio.Server:
        # At every address: a site has one of its own in 127.0.0.0/8, and no other one is answered.
        return await loop.create_server(lambda: _Connection(web, by_address), "0.0.0.0", 0, backlog=1024)

    server = loop.run_until_complete(listen())
    web.port = server.sockets[0].getsockname()[1]
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        server.close()
        loop.close()
