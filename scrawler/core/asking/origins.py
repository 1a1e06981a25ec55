"""Makes an origin ready to be asked: its address from the resolver, its robots.txt from the server.

An answer to the request for robots.txt that says something holds for 24 hours, also across restarts: it goes to the
database with the next checkpoint. One that cannot be had forbids all, unless an answer of the last 30 days is there.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterable
from itertools import chain
from math import inf
from typing import TYPE_CHECKING

from scrawler.core.asking.errands import Errands
from scrawler.core.asking.robots_body import ROBOTS_BYTES, robots_body
from scrawler.core.party.decisions import PUSH_BACK, has_invalid_length, location_of, wants_retry
from scrawler.core.party.flights import RobotsFlight
from scrawler.core.party.site import Origin, SiteContext
from scrawler.core.rules import CrawlRules, HostRules, retry_pause_ms
from scrawler.faults import Fault, fault_of
from scrawler.fetch.downloader import FetchLimits, Request, Response
from scrawler.fetch.proxies import is_loopback
from scrawler.fetch.resolver import Resolution, Resolver
from scrawler.fetch.robots import RobotsRules, robots_url
from scrawler.fetch.robots_text import MAX_ROBOTS
from scrawler.model.results import Result
from scrawler.model.robots import RobotsRow
from scrawler.model.terms import Millis, url_hash
from scrawler.units import format_seconds
from scrawler.urls.normalise import normalise
from scrawler.urls.ports import is_refused_port
from scrawler.urls.scope import authority, host_port
from scrawler.urls.scope import origin as origin_of

if TYPE_CHECKING:
    from threading import RLock

ROBOTS_REDIRECTS = 5  # RFC 9309, 2.3.1.2
ROBOTS_FRESH: Millis = 24 * 3600 * 1000  # RFC 9309, 2.4
ROBOTS_KEPT: Millis = 30 * ROBOTS_FRESH  # RFC 9309, 2.3.1.4
_ASTRAY: Millis = 60_000  # what clocks of machines may differ by
_AGAIN = 3600.0  # seconds after which a robots.txt that could not be had is asked for again
_LONGEST_ADDRESS = 64  # characters of what stands for an address in the database
_EMPTY = zlib.compress(b"")  # many sites have none: to compress that takes 7 us each time
_UNREADABLE = "its content encoding cannot be undone"
_REFUSED_PORT = "a port of another service than HTTP, which is never asked"


class Origins:
    """Looks after the origins of sites; everything happens under the machine's turn.

    `look_again(site)` is called when an answer has come that the site waited for, `name_found` when the resolver has
    found a name.
    """

    def __init__(
        self,
        turn: RLock,
        resolver: Resolver,
        product_token: str,
        obey_robots: bool,
        rules: CrawlRules,
        look_again: Callable[[SiteContext], None],
        name_found: Callable[[], None] = lambda: None,
        hosts: HostRules | None = None,
    ) -> None:
        self._turn = turn
        self._resolver = resolver
        self._token = product_token
        self.obey_robots = obey_robots
        self._look_again = look_again
        self._rules = rules
        self._name_found = name_found
        self._hosts = hosts
        self.errands = Errands(look_again)

    def of(self, site: SiteContext, url: str) -> Origin:
        """Return the origin of a URL, made on first use."""
        name = origin_of(url)
        known = site.origins.get(name)
        if known is None:
            if len(site.origins) >= site.most_origins:
                site.forget_origins(time.monotonic())
            known = site.origins[name] = Origin(name, site.shared(host_port(url)[0]))
            self.errands.meet(site, name + "/", known.host)
            self._follow_host(known)
            if site.robots_kept and (row := site.robots_kept.pop(name, None)) is not None:
                self._restore(site, known, row)
        return known

    def follow_rules(self, site: SiteContext) -> None:
        """Let a site follow the rules of its host as they are now: hosts may have come to have some of their own."""
        hosts = self._hosts
        if hosts is None or not (hosts.any or site.own_rules is not None):
            return
        site.own_rules = hosts.of_site(site.key)
        for party in chain(site.parties, site.set_aside):
            if party.traps is not None:
                party.traps.rules = site.own_rules or self._rules
        for origin in site.origins.values():
            self._follow_host(origin)

    def _follow_host(self, origin: Origin) -> None:
        origin.own_rules = None if self._hosts is None else self._hosts.of_origin(origin.origin)
        self._choose_way(origin)

    def _choose_way(self, origin: Origin) -> None:
        """Find how an origin is asked, as far as it is known where it is."""
        if self._hosts is not None:
            address = "" if origin.address == origin.host[:_LONGEST_ADDRESS] else origin.address
            origin.fetch = self._hosts.fetch_at(origin.origin, origin.own_rules, address)

    def _rules_of(self, origin: Origin) -> CrawlRules:
        return origin.own_rules or self._rules

    def fetch_at(self, url: str, address: str) -> FetchLimits | None:
        """Return how a URL is asked for, where that is not as all others are: by the rules of its own host."""
        if self._hosts is None:
            return None
        origin = origin_of(url)
        return self._hosts.fetch_at(origin, self._hosts.of_origin(origin), address)

    def obeys(self, origin: Origin) -> bool:
        """Whether the robots.txt of an origin is obeyed."""
        return self.obey_robots if origin.own_rules is None else origin.own_rules.robots

    def refuses_all(self, origin: Origin, now: float) -> bool:
        """Whether nothing is asked of an origin until a time to come, because its robots.txt could not be had."""
        robots = origin.robots
        return robots is not None and robots.unavailable and now < origin.robots_until and self.obeys(origin)

    def obeys_at(self, url: str) -> bool:
        """Whether the robots.txt that holds for a URL of any host is obeyed."""
        own = None if self._hosts is None else self._hosts.of_origin(origin_of(url))
        return self.obey_robots if own is None else own.robots

    def ensure_address(self, site: SiteContext, origin: Origin, now: float) -> bool:
        """Look the origin up unless that is known; return whether it is known where it is (or that it is nowhere)."""
        if (origin.address or origin.failure) and now < origin.expires_at:
            return True
        if not origin.pending:
            self._resolve(site, origin)
        return bool((origin.address or origin.failure) and not origin.pending)

    def _resolve(self, site: SiteContext, origin: Origin) -> None:
        def done(_host: str, resolution: Resolution) -> None:
            with self._turn:
                origin.pending = False
                site.answer_came()
                self.hear(origin, resolution)
                self._look_again(site)

        known = self._resolver.lookup(origin.host)
        if known is not None:
            self.learn(origin, known)
            return
        origin.pending = True
        site.await_answer()
        if not self._resolver.resolve(origin.host, done):  # its queue is full: the collector asks again
            origin.pending = False
            site.answer_came()

    def hear(self, origin: Origin, resolution: Resolution) -> None:
        """Take over what the resolver said when it was asked: an address shows that it can be reached."""
        self.learn(origin, resolution)
        if resolution.address and resolution.expires_at != inf:
            self._name_found()

    def learn(self, origin: Origin, resolution: Resolution) -> None:
        """Take over what is known of a name.

        Behind a proxy it may be that no name is known here, but by the proxy. Then nothing can be said of its address,
        and its requests are counted by its name.
        """
        origin.sure = origin.sure and not resolution.address
        origin.address = resolution.address or ""
        origin.failure = None if resolution.address else (resolution.result or Result.NO_ADDRESS)
        origin.detail, origin.expires_at = resolution.detail, resolution.expires_at
        self._choose_way(origin)
        if place := self.place_of_nameless(origin.host, resolution, origin.fetch):
            origin.address, origin.failure = place, None
        if is_refused_port(authority(origin.origin + "/")):  # no link leads to one, but older databases hold some
            origin.failure, origin.detail = Result.CONNECT_FAILED, _REFUSED_PORT

    @staticmethod
    def place_of_nameless(host: str, resolution: Resolution, limits: FetchLimits | None) -> str:
        """Return what stands for the address of a host whose name a proxy may know; empty where there is none.

        Every computer knows the names of loopback (RFC 6761, 6.3): a proxy would take itself for such a host.
        """
        proxied = limits is not None and limits.proxy is not None
        if not proxied or resolution.result is not Result.NO_ADDRESS or is_loopback(host, ""):
            return ""
        return host[:_LONGEST_ADDRESS]

    def recall(self, site: SiteContext, rows: Iterable[RobotsRow]) -> None:
        """Take what the database has of the site's robots.txt files; needs no turn while nobody else has the site."""
        kept = {row.origin: row for row in rows}
        site.robots_kept = (site.robots_kept or {}) | kept or None

    def _restore(self, site: SiteContext, origin: Origin, row: RobotsRow) -> None:
        origin.robots, origin.robots_row = RobotsRules.parse(row.status, _text_of(row), self._token), row
        age = site.clock.now() - row.fetched_at
        # Of one that is from the future nobody knows the age: the clock was set back. It is asked for anew.
        left = min(ROBOTS_FRESH - age, ROBOTS_FRESH) if age > -_ASTRAY else 0
        origin.robots_until = time.monotonic() + left / 1000

    def robots_request(self, site: SiteContext, origin: Origin) -> Request | None:
        """Return the request for the origin's robots.txt, which is then awaited; None while it is on its way.

        One that has killed a process is not asked for: then it is not awaited either, and nothing is allowed.
        """
        if origin.pending:
            return None
        flight = RobotsFlight(site, origin, robots_url(origin.origin + "/"))
        if flight.url in site.condemned:
            self._unavailable(flight, site.condemned[flight.url], Result.ROBOTS_UNAVAILABLE)
            return None
        now = time.monotonic()
        answer = self.errands.answer(flight.url, now)
        if answer is not None and _is_telling(answer) and answer.result is not Result.REDIRECT:
            self.robots_answer(flight, answer)
            return None
        origin.pending = True
        request = Request(flight.url, origin.address, flight, ROBOTS_BYTES, limits=origin.fetch)
        if self.errands.waits(site, flight.url, now):
            site.queued.append(request)
            return None
        return request

    def copy_of(self, request: Request, now: float) -> Response | None:
        """Return the answer to a request for a robots.txt, where another site has had it, or has it by its own."""
        flight = request.tag
        since = flight.origin.robots_tried_at if isinstance(flight, RobotsFlight) else -inf
        found = self.errands.answer(request.url, now, since) or self._of_owner(request, now)
        return None if found is None else found._replace(request=request)

    def _of_owner(self, request: Request, now: float) -> Response | None:
        """Return what the site says whose robots.txt it is, if that is here and knows it."""
        owner = self.errands.owner(request.url)
        name = origin_of(request.url)
        known = None if owner is None else owner.origins.get(name)
        if known is None or known.robots_row is None or known.pending or now >= known.robots_until:
            return None
        if request.url != robots_url(name + "/") or known.robots is None or known.robots.unavailable:
            return None
        return answer_of(known.robots_row, request.url)

    def crawl_delay(self, origin: Origin) -> float | None:
        """Return the pause in seconds that robots.txt asks for, as far as it is kept."""
        asked = origin.robots.crawl_delay if origin.robots and self.obeys(origin) else None
        return None if asked is None else min(asked, self._rules_of(origin).max_crawl_delay)

    def asks_too_much(self, origin: Origin) -> str:
        """Say, in words, that robots.txt asks for a longer pause than is kept; empty if it does not."""
        asked = origin.robots.crawl_delay if origin.robots else None
        longest = self._rules_of(origin).max_crawl_delay
        if asked is None or asked <= longest:
            return ""
        kept = format_seconds(longest)
        return f"{origin.origin}/robots.txt asks for a Crawl-delay of {asked:g} s; max_crawl_delay is {kept}"

    def robots_answer(self, flight: RobotsFlight, response: Response, is_copy: bool = False) -> Fault | None:
        """Take the answer, or a copy of one that others had; what follows, as a redirect's request, is queued.

        Returns the fault that it met, if any: then nothing is known of what the site wants, and so nothing is allowed.
        """
        fault = response.fault
        if fault is None:
            try:
                if not is_copy:
                    self._share(flight, response)
                follow = self._robots_answer(flight, response)
                if follow is not None:
                    flight.site.queued.append(follow)
                return None
            except BaseException as error:
                fault = fault_of(error)
        self._unavailable(flight, fault.text, Result.ROBOTS_UNAVAILABLE)
        for party in flight.site.parties[:1]:
            party.note_fault(f"{flight.url}: {fault.text}")
        return fault

    def _share(self, flight: RobotsFlight, response: Response) -> None:
        """Let others have an answer, too; where its server wants to rest, each asks by itself after that."""
        is_shared = flight.hop > 0 or self.errands.is_wanted(flight.url)
        if not is_shared or has_invalid_length(response):
            return
        if response.status in PUSH_BACK:
            self.errands.rests(flight.url, flight.site.due_at(flight.asked.host))
        else:
            self.errands.answered(flight.url, response, _is_telling(response), time.monotonic())
            if host_port(flight.url)[0] != flight.origin.host:
                self.errands.others.answered(flight.url, response)

    def _robots_answer(self, flight: RobotsFlight, response: Response) -> Request | None:
        """Take the answer; returns the next request, of a redirect inside the host or without regard to its length."""
        origin = flight.origin
        if has_invalid_length(response):
            return response.request._replace(ignore_length=True)
        if response.result is Result.REDIRECT and flight.hop < ROBOTS_REDIRECTS:
            target = normalise(location_of(response), flight.url).url
            if target and host_port(target)[0] == origin.host:
                follow = RobotsFlight(flight.site, origin, target, flight.hop + 1)
                return response.request.redirected(
                    target, origin.address, follow, self.fetch_at(target, origin.address)
                )
            if target:
                self._robots_elsewhere(flight, response.request, target)
                return None
        if response.status in PUSH_BACK and not self._has_copy(flight):
            origin.pending = False  # asked again after the rest that the server wants
        elif response.status in PUSH_BACK:
            self._unavailable(flight, f"HTTP status {response.status}", Result.ROBOTS_UNAVAILABLE)
        elif wants_retry(response.result, response.status, origin.robots_tries + 1, self._rules_of(origin).retries):
            self._ask_later(flight)
        else:
            self._take_answer(flight, response)
        return None

    def _ask_later(self, flight: RobotsFlight) -> None:
        """Let the host rest before its robots.txt is asked for again."""
        site, origin = flight.site, flight.origin
        origin.pending = False
        origin.robots_tries += 1
        origin.robots_tried_at = time.monotonic()
        pause = retry_pause_ms(origin.robots_tries, self._rules_of(origin).retry_pause_ms) / 1000
        site.due[origin.host] = max(site.due.get(origin.host, 0.0), time.monotonic() + pause)

    def _take_answer(self, flight: RobotsFlight, response: Response) -> None:
        whole = response.result.answered or response.result is Result.TOO_LARGE
        if not whole:  # no server: that is more telling than what it could not say
            self._unavailable(flight, response.detail, response.result)
        elif response.status >= 500:
            self._unavailable(flight, f"HTTP status {response.status}", Result.ROBOTS_UNAVAILABLE)
        else:
            detail = f"redirects end at {flight.url}" if response.result is Result.REDIRECT else response.detail
            text = robots_body(response) if response.status < 300 else b""
            if text is None:
                self._unavailable(flight, _UNREADABLE, Result.ROBOTS_UNAVAILABLE)
                return
            self._take_rules(flight.site, flight.origin, response.status, text, detail)

    def _take_rules(self, site: SiteContext, origin: Origin, status: int, text: bytes, detail: str) -> None:
        """Follow from now on what the site says, and keep it."""
        now = time.monotonic()
        rules = RobotsRules.parse(status, text, self._token)
        row = RobotsRow(
            origin_hash=url_hash(origin.origin),
            origin=origin.origin,
            site_id=site.guest_at or site.id,
            fetched_at=site.clock.now(),
            status=status,
            detail=detail,
            body=zlib.compress(text) if text else _EMPTY,
        )
        origin.pending, origin.robots_tries = False, 0
        origin.robots, origin.robots_row = rules, row
        origin.robots_until = now + ROBOTS_FRESH / 1000
        site.robots_news += (row,)
        pause = self.crawl_delay(origin)
        if pause is not None and not self.asks_too_much(origin):
            site.due[origin.host] = max(site.due_at(origin.host), now + pause)
            site.pause = max(site.pause, pause)
            site.told = True

    def _unavailable(self, flight: RobotsFlight, problem: str, failure: Result) -> None:
        """Let what the site said in the last 30 days go on to hold, else allow nothing; it is asked again later."""
        site, origin = flight.site, flight.origin
        origin.pending, origin.robots_tries = False, 0
        origin.robots_until = time.monotonic() + _AGAIN
        row = origin.robots_row
        if row is not None and self._has_copy(flight):
            site.robots_news += (row._replace(detail=f"an older copy holds, for it cannot be had: {problem}"),)
            return
        origin.robots = RobotsRules.parse(0, b"", self._token)
        origin.robots_failure, origin.robots_detail = failure, f"robots.txt: {problem}"

    @staticmethod
    def _has_copy(flight: RobotsFlight) -> bool:
        """Whether there is something that the site said in the last 30 days."""
        row = flight.origin.robots_row
        return row is not None and row.fetched_at + ROBOTS_KEPT > flight.site.clock.now()

    def _robots_elsewhere(self, flight: RobotsFlight, request: Request, target: str) -> None:
        """Follow a redirect of robots.txt to another host, once that one's address is known."""
        origin, site = flight.origin, flight.site

        def done(_host: str, resolution: Resolution) -> None:
            with self._turn:
                site.answer_came()
                limits = self.fetch_at(target, resolution.address or "")
                address = resolution.address or self.place_of_nameless(host, resolution, limits)
                if address:
                    follow = RobotsFlight(site, origin, target, flight.hop + 1)
                    site.queued.append(request.redirected(target, address, follow, limits))
                else:
                    self._unavailable(flight, resolution.detail, Result.ROBOTS_UNAVAILABLE)
                self._look_again(site)

        host = host_port(target)[0]
        site.await_answer()
        if not self._resolver.resolve(host, done):
            site.answer_came()
            origin.pending = False  # asked again from the start


def answer_of(row: RobotsRow, url: str) -> Response:
    """Return what a URL has answered, of a copy in the database."""
    result = Result.FETCHED if row.status < 300 else Result.HTTP_ERROR
    return Response(Request(url, ""), result, status=row.status, body=_text_of(row), detail=row.detail)


def copy_of(response: Response, name: str, now: Millis) -> RobotsRow | None:
    """Return a copy, of no site as yet, of an answer that says what a robots.txt is; None of one that does not."""
    if not _is_telling(response) or response.result is Result.REDIRECT:
        return None
    text = robots_body(response) if response.status < 300 else b""
    if text is None:
        return None
    body = zlib.compress(text) if text else _EMPTY
    return RobotsRow(url_hash(name), name, 0, now, response.status, response.detail, body)


def _is_telling(response: Response) -> bool:
    """Tell whether an answer to the request for a robots.txt says something, of whatever kind."""
    whole = response.result.answered or response.result in (Result.TOO_LARGE, Result.REDIRECT)
    return whole and response.status < 500 and response.status not in PUSH_BACK


def _text_of(row: RobotsRow) -> bytes:
    return zlib.decompressobj().decompress(row.body, MAX_ROBOTS) if row.body else b""
