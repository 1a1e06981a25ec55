"""What a site is asked for next: robots.txt, an address, a page, or nothing before a certain time.

All requests begin and end here, so it is here that politeness holds: by host (pauses, in the site's `due`), by site
(requests in flight) and by address (see budget.py).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from math import inf

from scrawler.core.answers.answers import AnswerHandler
from scrawler.core.answers.page_rows import refused_row
from scrawler.core.asking.budget import AddressBudget
from scrawler.core.asking.origins import Origins
from scrawler.core.asking.patience import Patience
from scrawler.core.blame.slots import Slot
from scrawler.core.outage.standstill import Standstill
from scrawler.core.party.context import SeedContext
from scrawler.core.party.depth import Entry, EntryRole
from scrawler.core.party.flights import Flight, PageFlight, flight_of
from scrawler.core.party.parties import Choice, Parties
from scrawler.core.party.site import Origin, SiteContext
from scrawler.core.rules import CrawlRules
from scrawler.faults import Fault, fault_of
from scrawler.fetch.downloader import Downloader, Request, Response
from scrawler.fetch.politeness import pause, slow_pause
from scrawler.model.results import Result
from scrawler.model.scope import Scope
from scrawler.model.seeds import EndReason
from scrawler.units import counted

_REFUSALS_AT_ONCE = 200  # URLs refused without a request before others have their turn
_APPLICATIONS = ("xml", "rss+xml", "atom+xml", "rdf+xml", "gzip", "x-gzip")
_SITEMAP_TYPES = ("text/xml", "text/plain", *(f"application/{name}" for name in _APPLICATIONS))
_REFUSING = 0.05  # seconds after which that is enough, too: some have thousands of rules with stars
_ASK_AGAIN = 0.05  # seconds, when the resolver's queue is full

_Refusal = tuple[Result, str]  # what a URL gets that is not asked for, and why


class Visits:
    """Starts requests for the sites of one collector."""

    def __init__(
        self,
        downloader: Downloader,
        origins: Origins,
        parties: Parties,
        answers: AnswerHandler,
        budget: AddressBudget,
        patience: Patience,
        standstill: Standstill,
        rules: CrawlRules,
        slot: Slot,
        tell: Callable[[str, Fault], None],
    ) -> None:
        """Make the part; `tell(url, fault)` is called for each fault that a URL has met before it was asked for."""
        self._downloader = downloader
        self._origins = origins
        self._parties = parties
        self._answers = answers
        self._budget = budget
        self._patience = patience
        self._standstill = standstill
        self._rules = rules
        self._slot = slot
        self._tell = tell

    def start_requests(self, site: SiteContext, now: float) -> float:
        """Start requests while the site may have more in flight; returns when to come back."""
        site.still_queues = False
        at = self._start_requests(site, now)
        if site.queues_at is not None and not site.still_queues:
            self._budget.leave(site)
        return at

    def let_rest(self, site: SiteContext, origin: Origin, now: float) -> float:
        """Let a site that has nothing else to do wait for the pause of a host.

        Returns until when, 0 if it is to be visited before.

        A visit meanwhile would choose the next entry, and find that it may not be asked for yet; but in a domain that
        may be one at another host.
        """
        if self._rules.scope is Scope.DOMAIN:
            return 0.0
        at = site.due_at(origin.host)
        if at <= now or site.rests_long(at, now) or len(site.due) != 1 or len(site.parties) != 1:
            return 0.0
        if site.queues_at is not None or site.queued or site.set_aside or site.going or not site.inactive:
            return 0.0
        if not self._parties.goes_on(site, site.parties[0], now):
            return 0.0
        site.held_since = site.held_since or now
        return at

    def leave(self, site: SiteContext) -> None:
        """Note that a site is visited no more here: it would keep others at its address waiting."""
        self._budget.leave(site)

    def landed(self, flight: Flight, response: Response, now: float) -> float:
        """Note that an answer is there; return when its site may be asked again."""
        return self._over(flight, response.request, now, response.elapsed_ms / 1000)

    def note(self, flight: Flight, response: Response, now: float) -> bool:
        """Note how the site of an answer bears up.

        Return whether the answer is to be applied: not while it may be that this machine's network is down.
        """
        site = flight.site
        if response.status:
            self._standstill.witnesses.answered(response.request.address, site)
            if response.elapsed_ms >= site.slowest_ms:
                site.slowest_ms = max(1, response.elapsed_ms)  # 0 says that it has never answered
        page = flight if isinstance(flight, PageFlight) else None
        if page is not None and not page.lane.slow:
            self._patience.note(response)
        held, standstill = False, self._standstill
        if standstill.suspected or not response.status:
            held = standstill.holds(response, site, flight.asked, now)
            if held and standstill.resting:
                return False
        if site.health.note(response, flight.asked.host, page.lane.key if page else None, now, self._rules):
            site.count_push_back(page.party if page else None)
        return not held

    def probe(self, site: SiteContext, now: float) -> float:
        """Start one request of those that failed while the network was down; returns when to come back."""
        at = self._start_queued(site, now) if site.queued else 0.0
        if at:
            return at
        self._standstill.probes.discard(site)
        return inf

    def given_up(self, request: Request, now: float) -> None:
        """Note that a request was given up."""
        self._over(flight_of(request), request, now, 0.0)

    def _over(self, flight: Flight, request: Request, now: float, elapsed: float) -> float:
        rules, site = self._rules, flight.site
        site.in_flight -= 1
        self._budget.over(request.address, now)
        delay = self._delay(flight)
        if delay > 0:
            delay = max(delay, slow_pause(elapsed, rules.delay, rules.delay_factor, rules.delay_cap))
        return self._pause(site, flight.asked, delay, now)

    def _delay(self, flight: Flight) -> float:
        delay = self._rules.delay
        slow = isinstance(flight, PageFlight) and flight.lane.slow
        return max(delay, self._rules.slow_delay) if slow else delay

    def _pause(self, site: SiteContext, origin: Origin, delay: float, now: float) -> float:
        """Let a pause of a host begin now; what it has been told before still counts."""
        site.pause = pause(delay, self._origins.crawl_delay(origin))
        # Not rounded: where there is no pause, the next request goes out before the page is read.
        due = site.due[origin.host] = max(now + site.pause, site.due_at(origin.host))
        return due

    def _start_requests(self, site: SiteContext, now: float) -> float:
        if site.queued and site.in_flight < self._places(slow=False) and (at := self._start_queued(site, now)):
            return at
        refused = 0
        most = self._rules.most_in_flight if self._downloader.at_once else 1
        while site.in_flight < most and not (site.lost or site.going):
            wall = int(time.time() * 1000)
            choice = self._parties.choose(site, now, wall)
            if not isinstance(choice, Choice):
                site.held_since = 0.0
                return choice
            if most > 1 and site.in_flight >= self._places(choice.lane.slow):
                return inf
            asked = site.in_flight
            self._slot.enter(site.id, choice.entry.url)  # patterns of traps and of robots.txt are tried on it
            try:
                at = self._begin(site, choice, now, wall)
            finally:
                self._slot.leave()
            if at:
                return at
            if site.in_flight > asked:
                continue
            refused += 1
            if refused >= _REFUSALS_AT_ONCE or time.monotonic() > now + _REFUSING:
                return now
        return inf

    def _begin(self, site: SiteContext, choice: Choice, now: float, wall: int) -> float:
        """Ask for an entry, or for what it needs before, or refuse it; returns when to come back if not now, else 0."""
        origin, trap = self._looked_up(site, choice)
        if trap:
            self._refuse(site, choice, origin, *trap, wall)
        elif not self._origins.ensure_address(site, origin, now):
            return inf if origin.pending else now + _ASK_AGAIN
        elif origin.failure is not None:
            return self._begin_in_vain(site, choice, origin, origin.failure, now, wall)
        elif site.health.failures and site.health.is_dead(origin.host, self._rules):
            # Not its party's own, or that would have ended.
            gone = f"{origin.host} has not answered {counted(self._rules.max_failures, 'time')} in a row"
            self._refuse(site, choice, origin, Result.CONNECT_FAILED, gone, wall)
        elif at := self._held(site, origin.host, origin.address, now):
            return at
        elif self._origins.awaits_robots(origin, now):
            request = self._origins.robots_request(site, origin)
            if request is not None:
                self._start(site, request, now, choice.party)
            elif origin.pending:
                return inf
        else:
            self._ask(site, choice, origin, now, wall)
        return 0.0

    def _begin_in_vain(
        self, site: SiteContext, choice: Choice, origin: Origin, failure: Result, now: float, wall: int
    ) -> float:
        """Do what is to be done with an entry whose origin cannot be asked; returns as `_begin`."""
        if failure is Result.NO_ADDRESS:
            if self._standstill.holds_name(site, origin, now):
                return inf
            if self._has_lost_its_name(choice, origin):
                choice.party.leave(EndReason.NO_ADDRESS, origin.detail)
                return 0.0
        self._refuse(site, choice, origin, failure, origin.detail, wall)
        return 0.0

    def _places(self, slow: bool) -> int:
        """Return how many requests a site may have in flight.

        It is one where the downloader queues them: two that waited there would go out without a pause between them.
        """
        if not self._downloader.at_once:
            return 1
        return self._rules.slow_per_site if slow else self._rules.per_site

    def _start_queued(self, site: SiteContext, now: float) -> float:
        """Start what comes before all pages; returns when to try again if politeness forbids it, else 0."""
        request = site.queued[0]
        at = self._held(site, flight_of(request).asked.host, request.address, now)
        if not at:
            self._start(site, site.queued.pop(0), now)
        return at

    @staticmethod
    def _has_lost_its_name(choice: Choice, origin: Origin) -> bool:
        """Whether the seed's name does not resolve any more: its list is kept, for it may do so again."""
        return choice.entry.depth != 0 and _is_home(choice, origin)

    def _looked_up(self, site: SiteContext, choice: Choice) -> tuple[Origin, _Refusal | None]:
        """Return the origin of an entry, and why it is not asked for whatever that is; None: it may be.

        A seed's own URL, and where its redirects lead, is in no trap, nor is what was fetched before.
        """
        url, traps = choice.entry.url, None if choice.lane.refetches else choice.party.traps
        try:
            origin = self._origins.of(site, url)
            if site.condemned and url in site.condemned:
                return origin, (Result.INTERNAL_ERROR, site.condemned[url])
            if traps is not None and traps.capping and _may_be_trapped(choice.entry) and (trap := traps.refusal(url)):
                return origin, (Result.TRAP, trap)
            return origin, None
        except BaseException as error:
            return Origin(url, ""), self._met(url, error)

    def _ask(self, site: SiteContext, choice: Choice, origin: Origin, now: float, wall: int) -> None:
        """Start the request for a page, if its origin's robots.txt allows it."""
        url, cookies = choice.entry.url, choice.party.cookies
        try:
            refusal = self._refusal(choice, origin)
            cookie = cookies.header(url) if cookies and refusal is None else ""
        except BaseException as error:
            refusal = self._met(url, error)
        if refusal is None:
            self._start_page(site, choice, origin, cookie, now)
        elif isinstance(refusal[0], EndReason):
            choice.party.leave(*refusal)
        else:
            self._refuse(site, choice, origin, *refusal, wall)

    def _refusal(self, choice: Choice, origin: Origin) -> _Refusal | tuple[EndReason, str] | None:
        """Return why an entry is not asked for, or its party ends, by its origin's robots.txt; None: it is allowed."""
        robots, url = origin.robots, choice.entry.url
        if robots is None:
            return None
        if robots.crawl_delay is not None and (too_slow := self._origins.asks_too_much(origin)):
            if choice.entry.depth == 0 or _is_home(choice, origin):
                return EndReason.CRAWL_DELAY, too_slow
            return Result.ROBOTS_DENIED, too_slow  # one of many hosts of a domain
        if robots.allows(url):
            return None
        if robots.unavailable:
            return origin.robots_failure, origin.robots_detail
        return Result.ROBOTS_DENIED, robots.rule(url)

    def _met(self, url: str, error: BaseException) -> _Refusal:
        """Note a fault that what earlier answers said has met; returns the refusal of the URL for which it was read."""
        fault = fault_of(error)
        self._tell(url, fault)
        return Result.INTERNAL_ERROR, fault.text

    def _refuse(
        self, site: SiteContext, choice: Choice, origin: Origin, result: Result, detail: str, wall: int
    ) -> None:
        index = choice.lane.take()
        flight = PageFlight(site, choice.party, choice.lane, index, choice.entry, origin)
        self._answers.finish(flight, refused_row(flight, result, detail, wall))

    def _start_page(self, site: SiteContext, choice: Choice, origin: Origin, cookie: str, now: float) -> None:
        flight = PageFlight(site, choice.party, choice.lane, choice.lane.take(), choice.entry, origin)
        choice.party.in_flight += 1
        site.fetching.add(choice.entry.url)
        self._start(site, self._page_request(choice, flight, cookie), now, choice.party)

    def _page_request(self, choice: Choice, flight: PageFlight, cookie: str) -> Request:
        url, accept = choice.entry.url, self._rules.accept
        may_be_sitemap = choice.entry.depth == 0 or choice.entry.role is EntryRole.SITEMAP
        if accept and may_be_sitemap and self._rules.sitemaps != "off":
            accept += _SITEMAP_TYPES  # a seed may be one as well
        patient = choice.lane.slow or choice.lane.refetches  # it may have come in the slow lane
        timeout = self._rules.slow_timeout if patient else self._patience.timeout()
        request = Request(url, flight.origin.address, flight, timeout=timeout, cookie=cookie, accept=accept)
        if choice.party.lengthless and url in choice.party.lengthless:
            choice.party.lengthless.remove(url)
            return request._replace(ignore_length=True)
        return request

    def _held(self, site: SiteContext, host: str, address: str, now: float) -> float:
        """Return when to try again (inf: the site will be told) if politeness forbids to ask now, else 0."""
        at = site.due_at(host)
        if at <= now:
            at = self._budget.queue_up(site, address, now)
            if not at:
                return 0.0
        if not site.held_since:
            site.held_since = now
        return at

    def _start(self, site: SiteContext, request: Request, now: float, party: SeedContext | None = None) -> None:
        """Start a request.

        The time for which only politeness held the site up counts for the party whose request goes first after it:
        with several parties at a site, that is the time of the site, divided among them.
        """
        if site.held_since:
            if party is not None:
                party.counts.wait_ms += max(0, int((now - site.held_since) * 1000))
            site.held_since = 0.0
        site.in_flight += 1
        self._budget.began(site, request.address)
        if self._rules.most_in_flight > 1:  # the next one may start before this one is over, not before the pause is
            flight = flight_of(request)
            self._pause(site, flight.asked, self._delay(flight), now)
        self._downloader.start(request)


def _may_be_trapped(entry: Entry) -> bool:
    return entry.depth > 0 and entry.role is not EntryRole.ASSET


def _is_home(choice: Choice, origin: Origin) -> bool:
    """Whether an origin is of the host at which the entry's party is at home."""
    return origin.host == choice.party.home_host
