"""What pages in the browser ask for: whether, when and how their servers are asked for it.

Each such request goes the way of all others of this crawler: its address passes the guard, the robots.txt of its host
is obeyed, and it goes out by a downloader with the settings of its host. Other than for pages:

- A server, by its address, is asked one thing at a time, with a short pause (`browser_delay`, or `delay_per_ip` where
  that is longer): pages come with the pauses of their site, and what they need follows in a row, in the place that the
  page has at its address meanwhile. Where a host answers 429 or 503, nothing of it is asked for until it has rested.
- Hosts beside the site are asked as well: scripts often stand there. Their robots.txt is asked for when there is need.
- Only the page's own origin is asked with what the user gave for it: a page could pass on what it reads elsewhere.
- Scripts and styles are kept for a while, for the pages of one origin: most of its pages want the same ones.

Used in the browser's event loop alone, but for what belongs to the site, which is looked at with the machine's turn.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, OrderedDict
from contextlib import suppress
from dataclasses import dataclass, field, replace
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from scrawler.core.asking.origins import ROBOTS_FRESH, ROBOTS_REDIRECTS, Origins
from scrawler.core.asking.robots_body import ROBOTS_BYTES, robots_body
from scrawler.core.party.decisions import PUSH_BACK, location_of
from scrawler.core.party.flights import flight_of
from scrawler.errors import ScrawlerError
from scrawler.extract.decode import decode_body
from scrawler.features.browser.limits import BrowserLimits
from scrawler.features.browser.parts import Given, Parts, Wanted, given
from scrawler.fetch.downloader import FetchLimits, Request, Response
from scrawler.fetch.resolver import Resolution, Resolver
from scrawler.fetch.retry_after import retry_after
from scrawler.fetch.robots import RobotsRules, robots_url
from scrawler.model.results import Result
from scrawler.units import counted
from scrawler.urls.normalise import normalise
from scrawler.urls.scope import host_port
from scrawler.urls.scope import origin as origin_of

if TYPE_CHECKING:
    from threading import RLock

    from scrawler.core.rules import CrawlRules
    from scrawler.features.browser.fetcher import Fetcher

_REDIRECTS = 10
_ASK_AGAIN = 0.05  # seconds, when the resolver's queue is full
_LONGEST_URL = 8_000  # characters; some pages put all that they know into one
_REST = 60.0  # seconds for which a host is left alone that answers 429 or 503, and does not say for how long
_UNAVAILABLE = 3600.0  # seconds after which a robots.txt that could not be had is asked for again
_ON_AND_ON = 50  # requests beyond those that are allowed after which a page is stopped
_HOSTS, _ROBOTS = 5_000, 2_000  # of which something is remembered
_ROBOTS_TEXT = 16 << 20  # bytes of all robots.txt that are remembered
_AT_ONCE = 4  # requests of a page, each of which may bring as much as is left of its max_body
_REFUSALS = 20  # of a page that are told apart
_WAYS = 1_000  # ways of asking a host without what the user gave for it that are kept
_TO_FINISH = 2.0  # seconds beyond its time for what a page has asked for to come
_NO_TIME = 0.1  # seconds of a page's time that are as good as none
_KEPT_TYPES = frozenset({"script", "stylesheet"})
_KEPT_BYTES = 32 << 20
_KEPT_BESIDE = 1_000  # bytes, roughly, that Python takes for one, besides what it holds
_KEPT_FOR, _LONGEST_KEPT = 300.0, 3600.0  # seconds: where the server says nothing, and at most
_SENT = frozenset({"origin", "referer", "x-requested-with", "content-language", "authorization"})
_SENT_BEGIN = "x-"
_MOST_SENT = 4_000  # characters of the headers that a script has set
_READ_TYPES = frozenset({"xhr", "fetch"})  # of which scripts see the body


class _Refused(Exception):
    """Something is not asked for, or did not come; the text says why."""


@dataclass(slots=True)
class _Host:
    """When a host, by name or address, may be asked, in seconds of the loop's clock.

    What holds for a server is kept by its address: the lock, and the pause. All else is kept by name.
    """

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    robots_lock: asyncio.Lock = field(default_factory=asyncio.Lock)  # of who asks for its robots.txt
    due: float = 0.0
    rests_until: float = 0.0


class _Kept(NamedTuple):
    given: Given
    until: float
    weight: int  # bytes


class _Robots(NamedTuple):
    rules: RobotsRules
    until: float
    weight: int  # bytes of its text


class PageParts:
    """The `Answerer` of a machine's browser."""

    def __init__(
        self,
        fetcher: Fetcher,
        resolver: Resolver,
        origins: Origins,
        turn: RLock,
        rules: CrawlRules,
        product_token: str,
        decoded_limits: tuple[int, int],
    ) -> None:
        """Ask by `fetcher`; `decoded_limits` are the bytes that a body may decode to, and the ratio."""
        self._fetcher = fetcher
        self._resolver = resolver
        self._origins = origins
        self._turn = turn
        self.rules = rules
        self._token = product_token
        self._decoded_limits = decoded_limits
        self._hosts: OrderedDict[str, _Host] = OrderedDict()
        self._robots: OrderedDict[str, _Robots] = OrderedDict()
        self._robots_text = 0
        self._kept: OrderedDict[tuple[str, str], _Kept] = OrderedDict()
        self._kept_bytes = 0
        self._ways: dict[FetchLimits, FetchLimits] = {}

    def parts(self, response: Response) -> Parts:
        """Return what answers the requests of a page. Raises ScrawlerError where nothing can be asked for any more."""
        self._fetcher.check()
        return PartsOfPage(self, response)

    def decoded(self, response: Response) -> bytes:
        """Return a body without its content coding."""
        coding = response.headers.get("content-encoding", "")
        return decode_body(response.body, coding, *self._decoded_limits).body

    def close(self) -> None:
        """End the thread that asks."""
        self._fetcher.close()

    # -- what is shared by all pages ---------------------------------------------------------------------------

    def host(self, name: str) -> _Host:
        """Return what is known of a host."""
        known = self._hosts.get(name)
        if known is None:
            known = self._hosts[name] = _Host()
            if len(self._hosts) > _HOSTS:
                self._forget_host()
        self._hosts.move_to_end(name)
        return known

    def _forget_host(self) -> None:
        name, oldest = next(iter(self._hosts.items()))
        if not (oldest.lock.locked() or oldest.robots_lock.locked()):
            del self._hosts[name]

    def known_robots(self, page: Request, origin: str) -> RobotsRules | None:
        """Return what is known of a robots.txt: to the site, or from an earlier page."""
        with self._turn:
            own = flight_of(page).site.origins.get(origin)
            if own is None and (owner := self._origins.errands.owner(origin + "/")) is not None:
                own = owner.origins.get(origin)  # one copy serves all
            if own is not None and own.robots is not None and time.monotonic() < own.robots_until:
                return own.robots
        known = self._robots.get(origin)
        if known is None:
            return None
        self._robots.move_to_end(origin)
        return known.rules if known.until > time.monotonic() else None

    def learn_robots(self, origin: str, response: Response | None) -> RobotsRules:
        """Take the last answer to the request for a robots.txt; what cannot be had (None) forbids all."""
        text: bytes | None = None
        if response is not None and response.status < 500 and response.status not in PUSH_BACK:
            text = robots_body(response) if response.status < 300 else b""
        if response is None or text is None:
            rules, fresh = RobotsRules.parse(0, b"", self._token), _UNAVAILABLE
        else:
            rules, fresh = RobotsRules.parse(response.status, text, self._token), ROBOTS_FRESH / 1000
        self._forget_robots(self._robots.pop(origin, None))
        self._robots[origin] = _Robots(rules, time.monotonic() + fresh, len(text or b""))
        self._robots_text += len(text or b"")
        while len(self._robots) > _ROBOTS or self._robots_text > _ROBOTS_TEXT:
            self._forget_robots(self._robots.popitem(last=False)[1])
        return rules

    def _forget_robots(self, gone: _Robots | None) -> None:
        if gone is not None:
            self._robots_text -= gone.weight

    def obeys_robots(self, url: str) -> bool:
        """Whether the robots.txt that holds for a URL is obeyed."""
        return self._origins.obeys_at(url)

    async def place_of(self, url: str) -> tuple[str, FetchLimits | None]:
        """Return the address of a URL's host, and how it is asked. Raises _Refused."""
        host = host_port(url)[0]
        found = self._resolver.lookup(host) or await self._resolved(host)
        limits = self._origins.fetch_at(url, found.address or "")
        address = found.address or self._origins.place_of_nameless(host, found, limits)
        if not address:
            raise _Refused(found.detail)
        return address, limits

    def pause(self, limits: BrowserLimits) -> float:
        """Return the seconds between two requests to a server: who wants a pause for each address has it here too."""
        return max(limits.delay, self.rules.delay_per_ip)

    def without_secrets(self, limits: FetchLimits | None) -> FetchLimits | None:
        """Return how a host is asked without what the user gave for it; the same object for the same limits.

        Downloaders keep handles by the identity of limits.
        """
        if limits is None or not (limits.headers or limits.cookies or limits.certificate):
            return limits
        bare = replace(limits, headers=(), cookies=None, certificate=None)
        if len(self._ways) >= _WAYS:
            self._ways.clear()
        return self._ways.setdefault(bare, bare)

    async def _resolved(self, host: str) -> Resolution:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Resolution] = loop.create_future()

        def done(_host: str, resolution: Resolution) -> None:
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(lambda: None if answer.done() else answer.set_result(resolution))

        while not self._resolver.resolve(host, done):
            await asyncio.sleep(_ASK_AGAIN)
        return await answer

    async def ask(self, request: Request, page: PartsOfPage) -> Response:
        """Ask a server, which nobody else does meanwhile, once its pause is over. Raises _Refused."""
        server = self.host(request.address)
        while True:
            async with page.at_once:
                pass  # whoever waits here keeps no other page from the server
            async with server.lock:
                if not page.at_once.locked():
                    async with page.at_once:
                        return await self._ask(request, server, page)

    async def _ask(self, request: Request, server: _Host, page: PartsOfPage) -> Response:
        loop, host = asyncio.get_running_loop(), self.host(host_port(request.url)[0])
        await asyncio.sleep(min(max(0.0, server.due - loop.time()), page.left))
        if page.left <= 0:
            raise _Refused(f"{request.url}: the time of the page is over")
        if host.rests_until > loop.time():
            raise _Refused(f"{host_port(request.url)[0]} wants to be left alone")
        most = page.most(request)
        await self._wait_for_owner(request, page)
        try:
            response = await self._fetcher.fetch(request._replace(timeout=page.left, max_body=most))
        finally:
            server.due = loop.time() + self.pause(page.limits)
            with self._turn:
                self._origins.errands.over_beside(page.site, request.url, host_port(request.url)[0], time.monotonic())
        page.note(response)
        if response.status in PUSH_BACK:
            asked = retry_after(response.headers.get("retry-after", ""), int(time.time() * 1000)) or _REST
            host.rests_until = loop.time() + min(asked, self.rules.max_retry_after)
        return response

    async def _wait_for_owner(self, request: Request, page: PartsOfPage) -> None:
        """Wait for the clock of the site that is asked, where that is another one of the crawl. Raises _Refused."""
        host = host_port(request.url)[0]
        while True:
            now = time.monotonic()
            with self._turn:
                at = self._origins.errands.turn_beside(page.site, request.url, host, now)
            if not at:
                return
            if now + page.left <= at:
                raise _Refused(f"{request.url}: the time of the page is over before the pause of its host")
            await asyncio.sleep(at - now)

    def kept(self, origin: str, url: str) -> Given | None:
        """Return a script or style that another page of the origin has had."""
        found = self._kept.get((origin, url))
        if found is None:
            return None
        self._kept.move_to_end((origin, url))
        return found.given if found.until > time.monotonic() else None

    def keep(self, origin: str, url: str, what: Given) -> None:
        """Keep a script or style, unless its server does not want that."""
        seconds = _kept_for(what.headers.get("cache-control", ""))
        if what.status != 200 or not seconds or "set-cookie" in what.headers:
            return
        old = self._kept.pop((origin, url), None)
        heads = sum(len(name) + len(value) for name, value in what.headers.items())
        weight = len(what.body) + len(url) + heads + _KEPT_BESIDE
        self._kept[origin, url] = _Kept(what, time.monotonic() + seconds, weight)
        self._kept_bytes += weight - (old.weight if old is not None else 0)
        while self._kept_bytes > _KEPT_BYTES:
            _, gone = self._kept.popitem(last=False)
            self._kept_bytes -= gone.weight


class PartsOfPage:
    """Answers what one page asks for."""

    def __init__(self, machine: PageParts, response: Response) -> None:
        self.answers: list[Response] = []
        self.exhausted = asyncio.Event()
        self._machine = machine
        self._page = response.request
        flight = flight_of(self._page)
        self.site = flight.site
        asked = self._page.limits or machine.rules.fetch
        self.user_agent = asked.user_agent
        self._origin = origin_of(self._page.url)
        self.limits = BrowserLimits.of((flight.asked.own_rules or machine.rules).settings)
        self.at_once = asyncio.Semaphore(_AT_ONCE)
        self._bytes_left = asked.max_body
        self._asked = 0
        self._refused: Counter[str] = Counter()
        loop = asyncio.get_running_loop()
        self._ends_at = inf
        self._in_flight = 0
        self._idle = asyncio.Event()
        own = machine.host(self._page.address)
        own.due = max(own.due, loop.time() + machine.pause(self.limits))

    async def ask(self, wanted: Wanted) -> Given | None:
        """Return what a page is given; None: nothing, as it was refused or did not come."""
        try:
            return await self._given(wanted)
        except (_Refused, ScrawlerError) as refused:
            why = str(refused)
            self._refused[why if why in self._refused or len(self._refused) < _REFUSALS else ""] += 1
            if self._refused.total() > self.limits.requests + _ON_AND_ON:
                self.exhausted.set()
            return None

    @property
    def left(self) -> float:
        """Seconds of the page that are left."""
        return min(self.limits.time, self._ends_at - asyncio.get_running_loop().time())

    def most(self, request: Request) -> int:
        """Return the bytes that an answer may bring. Raises _Refused where there are none."""
        if self._bytes_left <= 0:
            raise _Refused("all that it asked for is larger than max_body")
        return request.max_body or self._bytes_left

    def note(self, response: Response) -> None:
        """Take an answer."""
        self._bytes_left -= len(response.body)
        if response.head:
            self.answers.append(response)

    def begin(self) -> None:
        """Let the time of the page begin."""
        self._ends_at = asyncio.get_running_loop().time() + self.limits.time

    async def finish(self) -> None:
        """Ask for nothing more, and return once all that was asked for is there, or its time is over."""
        longest = max(0.0, self.left) + _TO_FINISH
        self._ends_at = 0.0
        with suppress(TimeoutError):  # some downloaders cannot be stopped while an answer comes in slowly
            async with asyncio.timeout(longest):
                while self._in_flight:
                    self._idle.clear()
                    await self._idle.wait()

    def notes(self) -> list[str]:
        """Say what was refused, or did not come."""
        if not self._refused:
            return []
        first, most = next(iter(self._refused)), sum(self._refused.values())
        return [f"{counted(most, 'request')} of it came to nothing, the first for: {first}"]

    async def _given(self, wanted: Wanted) -> Given:
        url = _normalised(wanted.url)
        for _ in range(_REDIRECTS + 1):
            keeps = wanted.kind in _KEPT_TYPES
            if keeps and (known := self._machine.kept(self._origin, url)) is not None:
                return known
            response = await self._answer(url, wanted)
            if response.result is Result.REDIRECT:
                url = _normalised(location_of(response), url)
                continue
            if not response.result.answered:
                raise _Refused(f"{url}: {response.result.value}: {response.detail}")
            self._check_readable(wanted, url, response)
            made = given(response, self._machine.decoded(response))
            if keeps:
                self._machine.keep(self._origin, url, made)
            return made
        raise _Refused(f"{url}: more than {_REDIRECTS} redirects")

    def _check_readable(self, wanted: Wanted, url: str, response: Response) -> None:
        """Raise _Refused for what a script must not read; the browser, which sees no redirects, cannot tell all of it.

        What else there is to check, as credentials, the browser does itself (Fetch standard, "CORS check").
        """
        if wanted.kind not in _READ_TYPES or origin_of(url) == self._origin:
            return
        if response.headers.get("access-control-allow-origin", "") not in ("*", self._origin):
            raise _Refused(f"{url}: pages of other origins may not read it")

    async def _answer(self, url: str, wanted: Wanted) -> Response:
        """Ask for a URL, if its robots.txt allows that. Raises _Refused."""
        if self._machine.obeys_robots(url):
            rules = self._machine.known_robots(self._page, origin_of(url)) or await self._ask_robots(url)
            if not rules.allows(url):
                raise _Refused(f"{url}: robots.txt forbids it")
        headers = _sent(wanted)
        return await self._fetch(Request(url, "", headers=headers, cookie=await wanted.cookies(url)))

    async def _ask_robots(self, url: str) -> RobotsRules:
        """Ask for the robots.txt of a host beside the site. Raises _Refused where this page may ask no more."""
        async with self._machine.host(host_port(url)[0]).robots_lock:
            return self._machine.known_robots(self._page, origin_of(url)) or await self._robots_from_host(url)

    async def _robots_from_host(self, url: str) -> RobotsRules:
        at, last = robots_url(url), None
        for _ in range(ROBOTS_REDIRECTS + 1):
            response = await self._fetch(Request(at, "", max_body=ROBOTS_BYTES))
            last = response if response.result.answered or response.result is Result.TOO_LARGE else None
            if response.result is not Result.REDIRECT:
                break
            at = _normalised(location_of(response), at)
        if last is None and self.left < _NO_TIME:  # that says nothing of the host
            raise _Refused(f"{robots_url(url)}: the time of the page is over")
        return self._machine.learn_robots(origin_of(url), last)

    async def _fetch(self, request: Request) -> Response:
        """Ask, as far as the guard and the limits of the page allow. Raises _Refused."""
        url = request.url
        if self._asked >= self.limits.requests:
            raise _Refused(f"more than {counted(self.limits.requests, 'request')} (browser_requests)")
        self._asked += 1
        address, limits = await self._machine.place_of(url)
        if origin_of(url) != self._origin:
            limits = self._machine.without_secrets(limits)
        self._in_flight += 1
        try:
            return await self._machine.ask(request._replace(address=address, limits=limits), self)
        finally:
            self._in_flight -= 1
            if not self._in_flight:
                self._idle.set()


def _normalised(url: str, base: str = "") -> str:
    """Return a URL as this crawler writes it. Raises _Refused for what is none that it asks for."""
    found = normalise(url, base or None, _LONGEST_URL).url
    if not found:
        raise _Refused(f"{url[:100]}: no URL that can be asked for")
    return found


def _sent(wanted: Wanted) -> tuple[tuple[str, str], ...]:
    """Return the headers of a page's request that go along: those that its script has set, and whose page it is."""
    chosen = [(name, value) for name, value in wanted.headers.items() if name in _SENT or name.startswith(_SENT_BEGIN)]
    if sum(len(name) + len(value) for name, value in chosen) > _MOST_SENT:
        return ()
    return tuple((name.title(), value) for name, value in chosen if value.isprintable() and value.isascii())


def _kept_for(cache_control: str) -> float:
    """Return for how many seconds an answer is kept (RFC 9111, 5.2.2)."""
    said = dict(one.strip().lower().partition("=")[::2] for one in cache_control.split(","))
    if said.keys() & {"no-store", "no-cache", "private"}:
        return 0.0
    age = said.get("max-age", "").strip('"')
    return min(float(age), _LONGEST_KEPT) if age.isdigit() else _KEPT_FOR
