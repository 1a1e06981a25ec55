"""What a site is asked for next: robots.txt, an address, a page, or nothing before a certain time.

All requests begin and end here, so it is here that politeness holds: by host (pauses, in the site's `due`), by site
(requests in flight) and by address (see budget.py).
"""

from __future__ import annotations

import time
from math import inf
from typing import Final

from scrawler.core.answers.answers import AnswerHandler
from scrawler.core.answers.page_rows import refused_row
from scrawler.core.answers.steps import ConditionsOfSteps
from scrawler.core.asking.budget import AddressBudget
from scrawler.core.asking.checks import Answer, Checks, First, Leave, Refuse
from scrawler.core.asking.governor import Governor
from scrawler.core.asking.origins import Origins
from scrawler.core.asking.patience import Patience
from scrawler.core.blame.slots import Slot
from scrawler.core.durable.reads import StoreReads
from scrawler.core.outage.standstill import Standstill
from scrawler.core.party.context import SeedContext
from scrawler.core.party.decisions import shuts_door
from scrawler.core.party.entries import EntryRole
from scrawler.core.party.flights import AliasFlight, Flight, PageFlight, ProbeFlight, RobotsFlight, flight_of
from scrawler.core.party.parties import Choice, Parties
from scrawler.core.party.site import Origin, SiteContext
from scrawler.core.rules import CrawlRules
from scrawler.extract.sitemaps import MAX_BYTES as MAX_SITEMAP_BYTES
from scrawler.fetch.downloader import Downloader, Request, Response
from scrawler.fetch.politeness import pause, slow_pause
from scrawler.model.lanes import PUSHED
from scrawler.model.scope import Scope
from scrawler.model.visits import conditions

_ELSEWHERE: Final = (RobotsFlight, AliasFlight)  # what may be asked of a host that is another site's
_KEEPS_PLACE: Final = 1.5  # seconds that a site may wait for other machines in its place at an address
_REFUSALS_AT_ONCE: Final = 200  # URLs refused without a request before others have their turn
_APPLICATIONS = ("xml", "rss+xml", "atom+xml", "rdf+xml", "gzip", "x-gzip")
_SITEMAP_ENDS: Final = (".xml", ".xml.gz", ".txt", ".txt.gz")
_SITEMAP_TYPES: Final = ("text/xml", "text/plain", *(f"application/{name}" for name in _APPLICATIONS))
_REFUSING: Final = 0.05  # seconds of that after which others have their turn: some sites have thousands of rules


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
        checks: Checks,
        reads: StoreReads,
        rules: CrawlRules,
        slot: Slot,
        conditions_of_steps: ConditionsOfSteps = (),
    ) -> None:
        self._downloader = downloader
        self._origins = origins
        self._parties = parties
        self._answers = answers
        self._budget = budget
        self._patience = patience
        self._standstill = standstill
        self._checks = checks
        self._rules = rules
        self._slot = slot
        self._conditions_of_steps = conditions_of_steps
        self._governor = Governor(answers, standstill, reads, rules)

    def start_requests(self, site: SiteContext, now: float) -> float:
        """Start requests while the site may have more in flight; returns when to come back.

        What is aside, and has answered, begins nothing new before it has a place: `comes_back` says that it needs one.
        """
        site.still_queues = False
        site.comes_back = False
        if site.going and site.held:
            self._governor.nothing_left(site)
        at = self._start_requests(site, now)
        if site.queues_at is not None and not site.still_queues:
            self._budget.leave(site)
        return at

    def let_rest(self, site: SiteContext, origin: Origin, now: float) -> float:
        """Let a site that has nothing else to do wait for the pause of a host.

        Returns until when, 0 if it is to be visited before.

        A visit meanwhile would choose the next entry, and find that it may not be asked for yet; but in a domain that
        may be one at another host. There is nothing to wait for where robots.txt could not be had: all is refused.
        """
        if self._rules.scope is Scope.DOMAIN or self._origins.refuses_all(origin, now):
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
        _note_time(site, response)
        page = flight if isinstance(flight, PageFlight) else None
        if page is not None and not page.lane.slow:
            self._patience.note(response, site.own_rules)
        held, standstill = False, self._standstill
        if standstill.suspected or not response.status:
            held = standstill.holds(response, site, flight.asked, now)
            if held and standstill.resting:
                return False
        rules = site.own_rules or self._rules
        pushed_back = site.health.note(response, flight.asked.host, page.lane.key if page else None, now, rules)
        if pushed_back:
            site.count_push_back(page.party if page else None)
            self._governor.pushed_back(site)
        elif page is not None and not held and (response.status or shuts_door(response)):
            return self._governor.lets_pass(page, response)
        if isinstance(flight, ProbeFlight) and not held:
            self._governor.probed(flight, response, now, pushed_back)
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
        site, asked = flight.site, flight.asked
        rules = asked.own_rules or self._rules
        site.in_flight -= 1
        self._budget.over(request.address, now)
        delay = self._delay(flight, rules)
        if delay > 0:
            delay = max(delay, slow_pause(elapsed, rules.delay, rules.delay_factor, rules.delay_cap))
        due = self._pause(site, asked, delay, now)
        if isinstance(flight, _ELSEWHERE):
            self._origins.errands.over(site, request.url, due, now)
        return due

    @staticmethod
    def _delay(flight: Flight, rules: CrawlRules) -> float:
        slow = isinstance(flight, PageFlight) and flight.lane.slow
        return max(rules.delay, rules.slow_delay) if slow else rules.delay

    def _pause(self, site: SiteContext, origin: Origin, delay: float, now: float) -> float:
        """Let a pause of a host begin now; what it has been told before still counts."""
        if site.health.paces:
            delay = max(delay, site.health.pause(origin.host))
        site.pause = pause(delay, self._origins.crawl_delay(origin))
        # Not rounded: where there is no pause, the next request goes out before the page is read.
        due = site.due[origin.host] = max(now + site.pause, site.due_at(origin.host))
        return due

    def _start_requests(self, site: SiteContext, now: float) -> float:
        if site.queued and site.in_flight < self._most_in_flight(site, slow=False):
            at = self._start_queued(site, now)
            if at:
                return at
        refused = 0
        most = (site.own_rules or self._rules).most_in_flight if self._downloader.at_once else 1
        while site.in_flight < most and not (site.lost or site.going):
            wall = int(time.time() * 1000)
            choice = self._parties.choose(site, now, wall)
            if not isinstance(choice, Choice):
                site.held_since = 0.0
                if site.held:
                    self._governor.nothing_left(site)
                return choice
            if site.probing or site.refusing is not None:
                return self._governor.holds_up(site, choice.party, now)
            if site.is_aside and _needs_place(site, choice):
                return _come_back(site)
            if most > 1 and site.in_flight >= self._most_in_flight(site, choice.lane.slow):
                return inf
            answer = self._begin(site, choice, now)
            if answer is None or isinstance(answer, First):
                continue  # something was started
            if isinstance(answer, float):
                return answer
            refused += 1
            if refused >= _REFUSALS_AT_ONCE or time.monotonic() > now + _REFUSING:
                return now
        return inf

    def _begin(self, site: SiteContext, choice: Choice, now: float) -> Answer:
        """Ask for an entry, or for what it needs before, or refuse it, as the checks say; return what they said."""
        url = choice.entry.url
        try:
            origin = self._origins.of(site, url)
        except BaseException as error:
            return self._refuse(site, choice, Origin(url, ""), self._checks.met(url, error))
        answer = self._ask_checks(site, choice, origin, now)
        if answer is None:
            return self._start_page(site, choice, origin, now)
        if isinstance(answer, First):
            self._start(site, answer.request, now, choice.party)
        elif isinstance(answer, Refuse):
            self._refuse(site, choice, origin, answer)
        elif isinstance(answer, Leave):
            choice.party.leave(answer.reason, answer.detail)
        return answer

    def _ask_checks(self, site: SiteContext, choice: Choice, origin: Origin, now: float) -> Answer:
        """Return what the checks say of an entry, which stands in the slot while patterns are tried on it."""
        if not self._checks.tries_patterns(choice, origin):
            return self._checks.ask(site, choice, origin, now)
        self._slot.enter(site.id, choice.entry.url)
        try:
            return self._checks.ask(site, choice, origin, now)
        finally:
            self._slot.leave()

    def _start_page(self, site: SiteContext, choice: Choice, origin: Origin, now: float) -> Answer:
        """Start the request for a page; refuse it where its cookies meet a fault."""
        party, url, cookie = choice.party, choice.entry.url, ""
        if party.cookies:
            try:
                cookie = party.cookies.header(url)
            except BaseException as error:
                return self._refuse(site, choice, origin, self._checks.met(url, error))
        flight = _flight(site, choice, origin)
        party.in_flight += 1
        site.asked_slowly = choice.lane.slow
        site.begin_fetching(url)
        self._start(site, self._page_request(choice, flight, cookie), now, party)
        return None

    def _most_in_flight(self, site: SiteContext, slow: bool) -> int:
        """Return how many requests a site may have in flight.

        It is one where the downloader queues them: two that waited there would go out without a pause between them.
        """
        if not self._downloader.at_once:
            return 1
        rules = site.own_rules or self._rules
        return rules.slow_per_site if slow else rules.per_site

    def _start_queued(self, site: SiteContext, now: float) -> float:
        """Start what comes before all pages; returns when to try again if politeness forbids it, else 0."""
        request = site.queued[0]
        flight = request.tag
        if isinstance(flight, RobotsFlight):
            copy = self._origins.copy_of(request, now)
            if copy is not None:
                site.queued.pop(0)
                self._origins.errands.leave(site, request.url)
                self._origins.robots_answer(flight, copy, is_copy=True)
                return now
        if isinstance(flight, _ELSEWHERE):
            at = self._origins.errands.wait_for(site, request.url, now)
            if at:
                site.held_since = site.held_since or now
                return at
        at = self._checks.wait_for(site, flight_of(request).asked.host, request.address, now)
        if not at and isinstance(flight, _ELSEWHERE):
            at = self._origins.errands.wait_for_others(site, request.url, now)
            site.still_queues = now < at <= now + _KEEPS_PLACE
        if not at:
            request = site.queued.pop(0)
            if request.limits is None:
                request = request._replace(limits=self._origins.fetch_at(request.url, request.address))
            self._start(site, request, now)
        return at

    def _refuse(self, site: SiteContext, choice: Choice, origin: Origin, refusal: Refuse) -> Refuse:
        """Finish an entry that is not asked for."""
        flight = _flight(site, choice, origin)
        self._answers.look_for_sitemaps(flight, refusal.result)
        self._answers.finish(flight, refused_row(flight, refusal.result, refusal.detail, int(time.time() * 1000)))
        return refusal

    def _page_request(self, choice: Choice, flight: PageFlight, cookie: str) -> Request:
        own = flight.site.own_rules
        rules = own or self._rules
        url, accept = choice.entry.url, rules.accept
        may_be_sitemap = choice.entry.depth == 0 or choice.entry.role is EntryRole.SITEMAP
        if accept and may_be_sitemap and self._reads_lists(flight.site, rules):
            accept += _SITEMAP_TYPES  # a seed may be one as well
        patient = choice.lane.slow or choice.lane.ordered  # it may be a slow page
        timeout = rules.slow_timeout if patient else self._patience.timeout(own)
        origin = flight.origin
        request = Request(
            url, origin.address, flight, timeout=timeout, cookie=cookie, accept=accept, limits=origin.fetch
        )
        if may_be_sitemap and (choice.entry.role is EntryRole.SITEMAP or _is_named_as_one(url, rules)):
            request = request._replace(max_body=MAX_SITEMAP_BYTES)
        if flight.known is not None or self._conditions_of_steps:
            request = request._replace(headers=self._conditions(flight))
        if choice.party.lengthless and url in choice.party.lengthless:
            choice.party.lengthless -= {url}
            return request._replace(ignore_length=True)
        return request

    def _reads_lists(self, site: SiteContext, rules: CrawlRules) -> bool:
        """Tell whether sitemaps of a site are read, or other lists."""
        return rules.sitemaps != "off" or self._answers.lists.are_read(site)

    def _conditions(self, flight: PageFlight) -> tuple[tuple[str, str], ...]:
        """Return the headers by which a page is asked for only if it has changed; none if it is wanted as a whole.

        What is tried again, or was pushed back, may be that because of the condition, or because what was archived of
        the page could not be had.
        """
        site, lane = flight.site, flight.lane
        if lane.key.retries or lane.key.pushbacks or lane.ordered:
            return ()
        if site.conditions is not None and not site.conditions.are_sent:
            return ()
        if flight.known is not None:
            return conditions(flight.known)
        return next(filter(None, [found(flight) for found in self._conditions_of_steps]), ())

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
        site.asked_at = now
        site.connected = True
        self._budget.began(site, request.address)
        if isinstance(request.tag, _ELSEWHERE):
            self._origins.errands.began(site, request.url, now)
        rules = site.own_rules or self._rules
        if rules.most_in_flight > 1:  # the next one may start before this one is over, not before the pause is
            flight = flight_of(request)
            asked = flight.asked
            self._pause(site, asked, self._delay(flight, asked.own_rules or self._rules), now)
        self._downloader.start(request)


def _note_time(site: SiteContext, response: Response) -> None:
    """Note how long a site has taken for an answer, or for one that was given up."""
    if response.elapsed_ms < site.slowest_ms:
        return
    if response.status:
        site.slowest_ms = max(1, response.elapsed_ms)  # 0 says that it has never answered
    elif site.slowest_ms and response.request_head:  # given up: the server may have been at work on it as long
        site.slowest_ms = response.elapsed_ms


def _come_back(site: SiteContext) -> float:
    """Let a site wait for a place."""
    site.comes_back = True
    site.held_since = 0.0  # by something else than politeness from now on
    return inf


def _needs_place(site: SiteContext, choice: Choice) -> bool:
    """Whether a site that answers asks for an entry in a place alone: but for slow pages, and its turn in a line."""
    if not site.slowest_ms or choice.lane.slow or site.queues_at is not None:
        return False
    return choice.party.home_host not in site.health.failures


def _is_named_as_one(url: str, rules: CrawlRules) -> bool:
    """Tell by the name of a seed's own URL whether it may be a sitemap, which may be larger than pages."""
    return rules.sitemaps != "off" and url.endswith(_SITEMAP_ENDS)


def _flight(site: SiteContext, choice: Choice, origin: Origin) -> PageFlight:
    """Take the entry of a lane that was chosen."""
    entry = choice.entry
    known = site.visited.get(entry.url) if site.visited else None
    if choice.lane.key is PUSHED:
        site.follow((entry.url,))
    if site.latest:
        known = site.last_visit(entry.url, known)
    if known is not None and choice.lane.refetches:  # all of it is to be archived again
        known = known._replace(digest=b"")
    return PageFlight(site, choice.party, choice.lane, choice.lane.take(), entry, origin, known)
