"""Makes an origin ready to be asked: its address from the resolver, its robots.txt from the server."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scrawler.crawl.decisions import PUSH_BACK, location_of, retry_pause_ms, wants_retry
from scrawler.crawl.rules import CrawlRules
from scrawler.crawl.site import Origin, SiteContext
from scrawler.extract.decode import decode_body
from scrawler.fetch.downloader import Request, Response
from scrawler.fetch.resolver import Resolution, Resolver
from scrawler.fetch.robots import RobotsRules, robots_url
from scrawler.model import Result
from scrawler.urls.normalise import normalise
from scrawler.urls.scope import host_port
from scrawler.urls.scope import origin as origin_of

if TYPE_CHECKING:
    from threading import RLock

ROBOTS_BYTES = 500 * 1024  # RFC 9309, 2.5
ROBOTS_REDIRECTS = 5  # RFC 9309, 2.3.1.2


@dataclass(frozen=True, slots=True, eq=False)
class RobotsFlight:
    """A robots.txt in flight."""

    site: SiteContext
    origin: Origin
    url: str
    hop: int = 0


class Origins:
    """Looks after the origins of sites; everything happens under the machine's turn.

    `look_again(site)` is called when an answer has come that the site waited for.
    """

    def __init__(
        self,
        turn: RLock,
        resolver: Resolver,
        product_token: str,
        obey_robots: bool,
        rules: CrawlRules,
        look_again: Callable[[SiteContext], None],
    ) -> None:
        self._turn, self._resolver, self._token = turn, resolver, product_token
        self._obey_robots, self._look_again = obey_robots, look_again
        self._rules = rules

    def of(self, site: SiteContext, url: str) -> Origin:
        """Return the origin of a URL, made on first use."""
        name = origin_of(url)
        known = site.origins.get(name)
        if known is None:
            known = site.origins[name] = Origin(name, host_port(url)[0])
        return known

    def addressed(self, site: SiteContext, origin: Origin, now: float) -> bool:
        """Tell whether it is known where the origin is (or that it is nowhere); else ask for it."""
        if (origin.address or origin.failure) and now < origin.expires_at:
            return True
        if not origin.pending:
            self._resolve(site, origin)
        return bool((origin.address or origin.failure) and not origin.pending)

    def _resolve(self, site: SiteContext, origin: Origin) -> None:
        def done(_host: str, resolution: Resolution) -> None:
            with self._turn:
                origin.pending = False
                site.waiting -= 1
                self.learn(origin, resolution)
                self._look_again(site)

        known = self._resolver.lookup(origin.host)
        if known is not None:
            self.learn(origin, known)
            return
        origin.pending = True
        site.waiting += 1
        if not self._resolver.resolve(origin.host, done):  # its queue is full: the collector asks again
            origin.pending = False
            site.waiting -= 1

    @staticmethod
    def learn(origin: Origin, resolution: Resolution) -> None:
        """Take over what the resolver said."""
        origin.address = resolution.address or ""
        origin.failure = None if resolution.address else (resolution.result or Result.NO_ADDRESS)
        origin.detail, origin.expires_at = resolution.detail, resolution.expires_at

    def robots_request(self, site: SiteContext, origin: Origin) -> Request | None:
        """Return the request for the origin's robots.txt if it is needed now; it is then awaited."""
        if origin.robots is not None or not self._obey_robots or origin.pending:
            return None
        origin.pending = True
        url = robots_url(origin.origin + "/")
        return Request(url, origin.address, RobotsFlight(site, origin, url), ROBOTS_BYTES)

    def awaits_robots(self, origin: Origin) -> bool:
        """Tell whether pages of the origin have to wait for its robots.txt."""
        return self._obey_robots and origin.robots is None

    def robots_answer(self, flight: RobotsFlight, response: Response) -> Request | None:
        """Take the answer; returns the next request of a redirect inside the host, else None."""
        origin = flight.origin
        if response.result is Result.REDIRECT and flight.hop < ROBOTS_REDIRECTS:
            target = normalise(location_of(response), flight.url).url
            if target and host_port(target)[0] == origin.host:
                follow = RobotsFlight(flight.site, origin, target, flight.hop + 1)
                return Request(target, origin.address, follow, ROBOTS_BYTES)
            if target:
                self._robots_elsewhere(flight, target)
                return None
        if response.status in PUSH_BACK:
            origin.pending = False  # asked again after the rest that the server wants
        elif wants_retry(response.result, response.status, origin.robots_tries + 1, self._rules.retries):
            self._ask_later(flight)
        else:
            self._take_rules(origin, response)
        return None

    def _ask_later(self, flight: RobotsFlight) -> None:
        """Let the host rest before its robots.txt is asked for again."""
        site, origin = flight.site, flight.origin
        origin.pending = False
        origin.robots_tries += 1
        pause = retry_pause_ms(origin.robots_tries, self._rules.retry_pause_ms) / 1000
        site.due[origin.host] = max(site.due.get(origin.host, 0.0), time.monotonic() + pause)

    def _take_rules(self, origin: Origin, response: Response) -> None:
        whole = response.result.answered or response.result is Result.TOO_LARGE
        status = response.status if whole else 0
        if response.result is Result.REDIRECT:
            status = 404  # too many redirects, or to no URL: as unavailable (RFC 9309, 2.3.1.2)
        if not whole:
            origin.robots_failure = response.result  # no server: that is more telling than what it could not say
        text = decode_body(response.body, response.headers.get("content-encoding", ""), ROBOTS_BYTES).body
        self._learn_robots(origin, status, text, response.detail)

    def _learn_robots(self, origin: Origin, status: int, text: bytes, problem: str) -> None:
        origin.pending = False
        origin.robots = RobotsRules.parse(status, text, self._token)
        if origin.robots.unavailable:
            origin.robots_detail = f"robots.txt: {problem or f'HTTP status {status}'}"

    def _robots_elsewhere(self, flight: RobotsFlight, target: str) -> None:
        """Follow a redirect of robots.txt to another host, once that one's address is known."""
        origin, site = flight.origin, flight.site

        def done(_host: str, resolution: Resolution) -> None:
            with self._turn:
                site.waiting -= 1
                if resolution.address:
                    follow = RobotsFlight(site, origin, target, flight.hop + 1)
                    site.queued.append(Request(target, resolution.address, follow, ROBOTS_BYTES))
                else:
                    self._learn_robots(origin, 0, b"", resolution.detail)
                self._look_again(site)

        site.waiting += 1
        if not self._resolver.resolve(host_port(target)[0], done):
            site.waiting -= 1
            origin.pending = False  # asked again from the start
