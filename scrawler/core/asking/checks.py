"""Whether the next URL of a site may be asked for now: a chain of checks, of which each one decides one thing.

A check says go (None), wait until a time, ask for something else before, refuse the URL, or let its party leave. What
one says ends the chain; a URL that all let go is asked for. A new rule, as one for certain hosts, is one more check.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import inf
from typing import NamedTuple

from scrawler.core.asking.budget import AddressBudget
from scrawler.core.asking.origins import Origins
from scrawler.core.outage.standstill import Standstill
from scrawler.core.party.entries import EntryRole
from scrawler.core.party.parties import Choice
from scrawler.core.party.site import Origin, SiteContext
from scrawler.core.rules import CrawlRules
from scrawler.faults import Fault, fault_of
from scrawler.fetch.downloader import Request
from scrawler.model.results import Result
from scrawler.model.seeds import EndReason
from scrawler.model.windows import until_open
from scrawler.units import counted

_ASK_AGAIN = 0.05  # seconds, when the resolver's queue is full


class First(NamedTuple):
    """Something else has to be asked for before."""

    request: Request


class Refuse(NamedTuple):
    """The URL is not asked for; that is its final result."""

    result: Result
    detail: str


class Leave(NamedTuple):
    """The URL stays listed, but its party ends."""

    reason: EndReason
    detail: str


Answer = float | First | Refuse | Leave | None  # a time is the machine's, inf where somebody will call; None: go on
Check = Callable[[SiteContext, Choice, Origin, float], Answer]


class Checks:
    """The checks, in the order in which they are made: those that cost nothing, and send nothing, come first."""

    def __init__(
        self,
        origins: Origins,
        budget: AddressBudget,
        standstill: Standstill,
        rules: CrawlRules,
        tell: Callable[[str, Fault], None],
        of_steps: Sequence[Check] = (),
    ) -> None:
        """Make the chain, with checks of features; `tell(url, fault)` is called for each fault that a URL meets."""
        self._origins = origins
        self._budget = budget
        self._standstill = standstill
        self._rules = rules
        self._tell = tell
        first: tuple[Check, ...] = (self.past, *(partial(self._of_step, check) for check in of_steps))
        usual = self.address, self.health, self.politeness, self.robots
        self.chain: tuple[Check, ...] = (*first, *usual)
        # That of the few sites whose owners say when they may be asked.
        self.chain_of_few: tuple[Check, ...] = (*first, self.window, *usual)

    def ask(self, site: SiteContext, choice: Choice, origin: Origin, now: float) -> Answer:
        """Return what the first check says that has something to say, None if all let the URL go."""
        for check in self.chain if site.window is None else self.chain_of_few:
            answer = check(site, choice, origin, now)
            if answer is not None:
                return answer
        return None

    @staticmethod
    def tries_patterns(choice: Choice, origin: Origin) -> bool:
        """Whether patterns are tried on the URL, of traps or of robots.txt: that is where one may take for ever."""
        traps, robots = choice.party.traps, origin.robots
        return (traps is not None and traps.capping) or (robots is not None and robots.has_rules)

    def past(self, site: SiteContext, choice: Choice, origin: Origin, now: float) -> Answer:
        """Refuse what has killed a process, and what a trap holds.

        A seed's own URL, and where its redirects lead, is in no trap, nor is what was fetched before, or what a user
        has ordered.
        """
        url, traps = choice.entry.url, choice.party.traps
        if site.condemned and url in site.condemned:
            return Refuse(Result.INTERNAL_ERROR, site.condemned[url])
        if traps is None or not traps.capping or not _may_be_trapped(choice):
            return None
        try:
            trap = traps.refusal(url, choice.entry.referrer)
        except BaseException as error:
            return self.met(url, error)
        return Refuse(Result.TRAP, trap) if trap else None

    def _of_step(self, check: Check, site: SiteContext, choice: Choice, origin: Origin, now: float) -> Answer:
        """Return what the check of a feature says; what it raises is a fault, which ends its URL alone."""
        try:
            return check(site, choice, origin, now)
        except BaseException as error:
            return self.met(choice.entry.url, error)

    def window(self, site: SiteContext, choice: Choice, origin: Origin, now: float) -> Answer:
        """Wait for the time of the day in which the site's owner wants it to be asked."""
        if site.window is None:
            return None
        left = until_open(site.window, site.clock.now())
        if not left:
            return None
        site.held_since = site.held_since or now
        return now + left / 1000

    def address(self, site: SiteContext, choice: Choice, origin: Origin, now: float) -> Answer:
        """Wait until it is known where the origin is; refuse what is nowhere, or must not be asked."""
        if now >= origin.expires_at and not self._origins.ensure_address(site, origin, now):
            return inf if origin.pending else now + _ASK_AGAIN
        if origin.failure is None:
            return None
        if origin.failure is Result.NO_ADDRESS:
            if self._standstill.holds_name(site, origin, now):
                return inf
            if choice.entry.depth != 0 and _is_home(choice, origin):
                return Leave(EndReason.NO_ADDRESS, origin.detail)  # its list is kept: the name may be found again
        return Refuse(origin.failure, origin.detail)

    def health(self, site: SiteContext, choice: Choice, origin: Origin, now: float) -> Answer:
        """Refuse what is at a host that has not answered for long; the party's own host would have ended that."""
        if site.health.failures and site.health.is_dead(origin.host, rules := site.own_rules or self._rules):
            times = counted(rules.max_failures, "time")
            return Refuse(Result.CONNECT_FAILED, f"{origin.host} has not answered {times} in a row")
        return None

    def politeness(self, site: SiteContext, choice: Choice, origin: Origin, now: float) -> Answer:
        """Wait for the pause of the host, and until its address may be asked; what robots.txt refuses is not asked."""
        if origin.robots_detail and self._origins.refuses_all(origin, now):
            return None
        return self.wait_for(site, origin.host, origin.address, now) or None

    def wait_for(self, site: SiteContext, host: str, address: str, now: float) -> float:
        """Return when to try again (inf: the site will be told) if politeness forbids to ask now, else 0."""
        at = site.due_at(host)
        if at <= now:
            at = self._budget.queue_up(site, address, now)
            if not at:
                return 0.0
        if not site.held_since:
            site.held_since = now
        return at

    def robots(self, site: SiteContext, choice: Choice, origin: Origin, now: float) -> Answer:
        """Ask for the origin's robots.txt first; refuse what that forbids, or let the party end by it."""
        if not self._origins.obeys(origin):
            return None
        if origin.robots is None or now >= origin.robots_until:
            request = self._origins.robots_request(site, origin)
            if request is not None:
                return First(request)
            if origin.pending:
                return inf
        robots, url = origin.robots, choice.entry.url
        if robots is None:
            return None
        try:
            if robots.crawl_delay is not None and (too_slow := self._origins.asks_too_much(origin)):
                if choice.entry.depth == 0 or _is_home(choice, origin):
                    return Leave(EndReason.CRAWL_DELAY, too_slow)
                return Refuse(Result.ROBOTS_DENIED, too_slow)  # one of many hosts of a domain
            if robots.allows(url):
                return None
            if robots.unavailable:
                return Refuse(origin.robots_failure, origin.robots_detail)
            return Refuse(Result.ROBOTS_DENIED, robots.rule(url))
        except BaseException as error:
            return self.met(url, error)

    def met(self, url: str, error: BaseException) -> Refuse:
        """Refuse a URL for a fault of this program that it has met, and tell of that."""
        fault = fault_of(error)
        self._tell(url, fault)
        return Refuse(Result.INTERNAL_ERROR, fault.text)


def _may_be_trapped(choice: Choice) -> bool:
    entry, party = choice.entry, choice.party
    if party.states and party.is_of_step(entry.url):
        return False
    return entry.depth > 0 and entry.role is not EntryRole.ASSET and not (choice.lane.ordered or choice.lane.revisits)


def _is_home(choice: Choice, origin: Origin) -> bool:
    """Whether an origin is of the host at which the entry's party is at home."""
    return origin.host == choice.party.home_host
