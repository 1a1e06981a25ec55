"""A planned machine: the crawl's own queue and distribution, over planned collectors, with one processor for all."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from threading import Event, RLock

from scrawler.core.distribution.competition import FreeCompetition
from scrawler.core.distribution.distributor import SeedDealer, SeedIdQueue, queue_capacity
from scrawler.features.plan.agenda import Agenda
from scrawler.features.plan.collector import PlannedCollector
from scrawler.features.plan.contention import processor_wait
from scrawler.features.plan.progress import Bound, Progress
from scrawler.features.plan.rules import COMPETITIONS, PlanRules
from scrawler.features.plan.site import SiteRun
from scrawler.model.claims import enough_for_all

_TOLERANCE = 0.02  # the processor's use may be off by this share before waits are computed anew


@dataclass(slots=True)
class Pool:
    """The sites that no machine has claimed, `unknown` of which cannot be yet, and how many each machine owns."""

    sites: Iterator[SiteRun]
    left: int
    unknown: int = 0
    owned: dict[PlannedMachine, int] = field(default_factory=dict)

    def share(self, machine: PlannedMachine, wanted: int, seats: int) -> int:
        """Return how many sites a machine may claim of those wanted, as by the store's fair shares.

        Each machine can hold `seats` seeds.
        """
        machines = len(self.owned)
        if machines > 1 and self.left <= enough_for_all(wanted, machines, (machines - 1) * seats):
            fair = -(-(self.left + sum(self.owned.values())) // machines)
            wanted = min(wanted, fair - self.owned[machine])
        return max(0, min(wanted, self.left - self.unknown))

    def take(self, machine: PlannedMachine) -> SiteRun:
        """Give the next site to a machine."""
        self.left -= 1
        self.owned[machine] += 1
        return next(self.sites)


class PlannedMachine:
    """Deals out sites as a real machine does, and finds how fast they go on."""

    def __init__(self, rules: PlanRules, pool: Pool, agenda: Agenda, progress: Progress) -> None:
        self._rules = rules
        self._woken: deque[PlannedCollector] = deque()
        self._pool = pool
        self._agenda = agenda
        self._progress = progress
        self.queue = SeedIdQueue[SiteRun](queue_capacity(rules.threads), self._on_taken)
        self.collectors = [PlannedCollector(self, rules, agenda) for _ in range(rules.threads)]
        self.dealer = SeedDealer(self.queue, self.collectors)
        self.free: FreeCompetition[SiteRun] | None = None
        if rules.distribution in COMPETITIONS:
            self.free = COMPETITIONS[rules.distribution](self.queue, self.collectors, RLock(), Event())
        self._claiming = False
        self._changed: dict[PlannedCollector, None] = {}  # threads whose sites wait for each other
        self._wait = 0.0  # seconds that each request waits for the processor
        self._used = 0.0  # share of the processor's time that is used
        self._held = 0  # seeds that were held when the rates were last settled
        self._bound: Bound | None = None
        self._bound_since = 0.0

    # -- what is due ---------------------------------------------------------------------------------------

    def site_due(self, collector: PlannedCollector, site: SiteRun) -> None:
        """End the seeds of a site that are at their end."""
        site.event_at = -1.0
        site.go_on(self._agenda.now)
        held = site.count
        while not site.over and site.at_end:
            collector.seed_ended(site)
            self._progress.ends.append(self._agenda.now)
        if site.over:
            if site.answers:
                self._progress.requests += site.left_out
            self._pool.owned[self] -= 1
        else:
            self._put(site)
        if site.count != held:
            self.settle()

    def collector_due(self, collector: PlannedCollector) -> None:
        """Let a collector whose download is over help itself, or give away the site."""
        collector.event_at = -1.0
        if self.free is not None:
            self._help(collector)
        else:
            self.dealer.site_inactive(collector)
        self.settle()

    def begin(self) -> bool:
        """Claim once, as machines that begin at the same time do in turn; returns whether there was room."""
        if not self._claim():
            return False
        self._claiming = True
        while self.free is None and self.dealer.step():
            pass
        self._claiming = False
        return True

    def settle(self) -> None:
        """Let the distribution do all that it would do now, and find how fast the sites go on then."""
        self._claim()
        if self.free is None:
            while self.dealer.step():
                pass
        else:
            self._tell_free(self.free)
        self._find_rates()
        if self.free is None and not len(self.queue):
            for collector in self.collectors:
                if collector.event_at < 0 and self.dealer.wants_site(collector):
                    self._look_at_answer(collector)
        held = sum(collector.held for collector in self.collectors)
        self._progress.held += held - self._held
        self._held = held
        if (bound := self._bounding()) != self._bound:
            self.end_bound()
            self._bound = bound

    # -- claims, and free competition ----------------------------------------------------------------------

    def _claim(self) -> bool:
        """Fill the queue from the pool if it is time to; threads that compete are told of each site, or of all.

        Returns whether any site came.
        """
        if self._claiming or not self._pool.left:
            return False
        room = self.queue.room_with(sum(max(0, collector.room) for collector in self.collectors))
        if not room:
            return False
        self._claiming = True
        claimed = self._pool.share(self, room, self._rules.threads * self._rules.seeds_per_thread)
        for _ in range(claimed):
            self.queue.reserved += 1
            self.queue.put(self._pool.take(self))
            if self.free is not None and not self._rules.together:
                self._tell_free(self.free)
        if self.free is not None and self._rules.together:
            self._tell_free(self.free)
        self._claiming = False
        return claimed > 0

    def _on_taken(self) -> None:
        self._claim()
        if not self._pool.left and not len(self.queue):
            self._progress.drained_at = self._agenda.now

    def woken(self, collector: PlannedCollector) -> None:
        """Note that a collector is to look for seeds."""
        self._woken.append(collector)

    def _tell_free(self, free: FreeCompetition[SiteRun]) -> None:
        free.seeds_changed()
        while self._woken:  # who wakes itself for another seed comes after those who wait for their first
            collector = self._woken.popleft()
            if collector.looks_again or not (self._rules.blocking and collector.sites):
                self._help(collector)
            elif collector.event_at < 0:
                self._look_at_answer(collector)

    def _help(self, collector: PlannedCollector) -> None:
        if collector.woken and self.free is not None:
            collector.woken = False
            self.free.help_yourself(collector)
            collector.looks_again = collector.woken

    def _look_at_answer(self, collector: PlannedCollector) -> None:
        self._find_rates()
        collector.event_at = self._agenda.now + collector.answer_in()
        self._agenda.put(collector.event_at, collector)

    # -- rates ---------------------------------------------------------------------------------------------

    def joined(self, collector: PlannedCollector, site: SiteRun) -> None:
        """Note that a collector has taken a site in."""
        site.go_on(self._agenda.now)
        if self._rules.blocking:
            self._changed[collector] = None
        else:
            self._set_rate(site, collector.rate(site, self._wait))

    def left(self, collector: PlannedCollector, site: SiteRun) -> None:
        """Note that a collector lets go of a site."""
        self._set_rate(site, 0.0)
        if self._rules.blocking:
            self._changed[collector] = None

    def _find_rates(self) -> None:
        """Find the rates of sites whose thread has others now, and of all if the processor's use is another one."""
        changed, self._changed = self._changed, {}
        for collector in changed:
            self._rate_anew(collector)
        if self._used > 1 + _TOLERANCE or (self._wait and self._used < 1 - _TOLERANCE):
            sites = [site for collector in self.collectors for site in collector.sites.values()]
            self._wait = processor_wait(self._use, (site.cost for site in sites))
            for collector in self.collectors:
                self._rate_anew(collector)
            self._used = sum(site.cost * site.rate for site in sites)

    def _use(self, wait: float) -> float:
        return sum(collector.used(wait) for collector in self.collectors)

    def _rate_anew(self, collector: PlannedCollector) -> None:
        if self._rules.blocking:
            collector.saturate(self._wait)
        for site in collector.sites.values():
            self._set_rate(site, collector.rate(site, self._wait))

    def _set_rate(self, site: SiteRun, rate: float) -> None:
        if rate == site.rate:
            return
        site.go_on(self._agenda.now)
        if site.answers:
            self._progress.rate += rate - site.rate
        self._used += site.cost * (rate - site.rate)
        site.rate = rate
        if rate:
            self._put(site)
        else:
            site.event_at = -1.0

    def _put(self, site: SiteRun) -> None:
        """Look at a site when its next seed ends, or earlier if that is planned already."""
        at = self._agenda.now + site.ends_in()
        if site.event_at < 0 or at < site.event_at:
            site.event_at = at
            self._agenda.put(at, site)

    # -- what bounds it ------------------------------------------------------------------------------------

    def end_bound(self) -> None:
        """Add up for how long what bounds the machine now has done so."""
        if self._bound is not None:
            self._progress.bounds[self._bound] += self._agenda.now - self._bound_since
            if self._bound is not Bound.POLITENESS:
                self._progress.tail_at = self._agenda.now
        self._bound_since = self._agenda.now

    def _bounding(self) -> Bound | None:
        """Return what keeps the machine from going faster; None: it has nothing to do."""
        if not self._held:
            return None
        if self._wait:
            return Bound.DATABASE if self._rules.database_bound else Bound.PROCESSOR
        if self._rules.blocking and 2 * sum(collector.wait > 0 for collector in self.collectors) >= sum(
            collector.held > 0 for collector in self.collectors
        ):
            return Bound.THREADS
        return Bound.PLACES if len(self.queue) else Bound.POLITENESS
