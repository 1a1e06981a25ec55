"""What a site is asked for next: robots.txt, an address, a page, or nothing before a certain time."""

from __future__ import annotations

import time
from math import inf

from scrawler.crawl.aliases import AliasFlight
from scrawler.crawl.answers import AnswerHandler, PageFlight, refused_row
from scrawler.crawl.origins import Origins, RobotsFlight
from scrawler.crawl.parties import Choice, Parties
from scrawler.crawl.rules import CrawlRules
from scrawler.crawl.site import Origin, SiteContext
from scrawler.fetch.downloader import Downloader, Request
from scrawler.fetch.robots import RobotsRules
from scrawler.model import EndReason, Result
from scrawler.urls.scope import host_port

_REFUSALS_AT_ONCE = 200  # URLs refused without a request before others have their turn
_REFUSING = 0.05  # seconds after which that is enough, too: some have thousands of rules with stars
_SITEMAP_TYPES = ("application/xml", "text/xml", "text/plain", "application/gzip", "application/x-gzip")
_ASK_AGAIN = 0.05  # seconds, when the resolver's queue is full


class Visits:
    """Starts requests for the sites of one collector."""

    def __init__(
        self, downloader: Downloader, origins: Origins, parties: Parties, answers: AnswerHandler, rules: CrawlRules
    ) -> None:
        self._downloader, self._origins, self._parties, self._answers = downloader, origins, parties, answers
        self._rules = rules

    def start_requests(self, site: SiteContext, now: float) -> float:
        """Start requests while the site may have more in flight; returns when to come back."""
        if site.queued and site.in_flight < self._rules.per_site:
            flight = site.queued[0].tag
            assert isinstance(flight, RobotsFlight | AliasFlight)
            asked = flight.asked if isinstance(flight, RobotsFlight) else flight.origin
            if (due := site.due_at(asked.host)) > now:
                return due
            self._start(site, site.queued.pop(0))
        refused = 0
        while site.in_flight < self._rules.most_in_flight and not (site.lost or site.going):
            wall = int(time.time() * 1000)
            choice = self._parties.choose(site, now, wall)
            if not isinstance(choice, Choice):
                return choice
            if site.in_flight >= (self._rules.slow_per_site if choice.lane.slow else self._rules.per_site):
                return inf
            origin = self._origins.of(site, choice.entry.url)
            if not self._origins.addressed(site, origin, now):
                return inf if origin.pending else now + _ASK_AGAIN
            if origin.failure is Result.NO_ADDRESS and self._has_lost_its_name(choice, origin):
                choice.party.leaving, choice.party.end_detail = EndReason.NO_ADDRESS, origin.detail
            elif origin.failure is not None:
                self._refuse(site, choice, origin, origin.failure, origin.detail, wall)
            elif (due := site.due_at(origin.host)) > now:
                return due
            elif self._origins.awaits_robots(origin, now):
                request = self._origins.robots_request(site, origin)
                if request is None:
                    return inf
                self._start(site, request)
            elif too_slow := self._origins.asks_too_much(origin):
                choice.party.leaving, choice.party.end_detail = EndReason.CRAWL_DELAY, too_slow
            elif origin.robots is not None and not origin.robots.allows(choice.entry.url):
                self._deny(site, choice, origin, origin.robots, wall)
            else:
                self._start_page(site, choice, origin)
                continue
            refused += 1
            if refused >= _REFUSALS_AT_ONCE or time.monotonic() > now + _REFUSING:
                return now
        return inf

    @staticmethod
    def _has_lost_its_name(choice: Choice, origin: Origin) -> bool:
        """Whether the seed's name does not resolve any more: its list is kept, for it may do so again."""
        return choice.entry.depth != 0 and origin.host == host_port(choice.party.seed.home_url)[0]

    def _deny(self, site: SiteContext, choice: Choice, origin: Origin, robots: RobotsRules, wall: int) -> None:
        if robots.unavailable:
            self._refuse(site, choice, origin, origin.robots_failure, origin.robots_detail, wall)
        else:
            self._refuse(site, choice, origin, Result.ROBOTS_DENIED, robots.rule(choice.entry.url), wall)

    def _refuse(
        self, site: SiteContext, choice: Choice, origin: Origin, result: Result, detail: str, wall: int
    ) -> None:
        index = choice.lane.take()
        flight = PageFlight(site, choice.party, choice.lane, index, choice.entry, origin)
        self._answers.finish(flight, refused_row(flight, result, detail, wall))

    def _start_page(self, site: SiteContext, choice: Choice, origin: Origin) -> None:
        flight = PageFlight(site, choice.party, choice.lane, choice.lane.take(), choice.entry, origin)
        choice.party.in_flight += 1
        site.fetching.add(choice.entry.url)
        self._start(site, self._page_request(choice, flight))

    def _page_request(self, choice: Choice, flight: PageFlight) -> Request:
        url, cookies, accept = choice.entry.url, choice.party.cookies, self._rules.accept
        if accept and choice.entry.depth == 0 and self._rules.sitemaps != "off":
            accept += _SITEMAP_TYPES  # a seed may be one
        cookie = cookies.header(url) if cookies else ""
        timeout = self._rules.timeout_of(choice.lane.slow)
        return Request(url, flight.origin.address, flight, timeout=timeout, cookie=cookie, accept=accept)

    def _start(self, site: SiteContext, request: Request) -> None:
        site.in_flight += 1
        self._downloader.start(request)
