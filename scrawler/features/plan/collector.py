"""A planned URL Collector: holds sites as a real one does, and knows at what rate they go on."""

from __future__ import annotations

from typing import Protocol

from scrawler.features.plan.agenda import Agenda
from scrawler.features.plan.contention import thread_wait
from scrawler.features.plan.rules import PlanRules
from scrawler.features.plan.site import SiteRun


class Machine(Protocol):
    """What a collector tells its machine."""

    def joined(self, collector: PlannedCollector, site: SiteRun) -> None:
        """A site was taken in."""

    def left(self, collector: PlannedCollector, site: SiteRun) -> None:
        """A site is let go of."""

    def woken(self, collector: PlannedCollector) -> None:
        """The collector is to look for seeds."""

    def site_due(self, collector: PlannedCollector, site: SiteRun) -> None:
        """A site is due."""

    def collector_due(self, collector: PlannedCollector) -> None:
        """The collector itself is due."""


class PlannedCollector:
    """One crawling thread of a planned machine."""

    def __init__(self, machine: Machine, rules: PlanRules, agenda: Agenda) -> None:
        self._machine = machine
        self._blocking = rules.blocking
        self._agenda = agenda
        self.sites: dict[int, SiteRun] = {}
        self.waiting: SiteRun | None = None  # a plan knows no sites that wait without a place
        self.lets_in = False
        self.held = 0
        self.room = rules.seeds_per_thread
        self.wait = 0.0  # seconds that its sites wait for the thread, if it serves one at a time
        self.woken = False
        self.looks_again = False  # it has woken itself, and looks for seeds once more before its thread downloads
        self.event_at = -1.0  # when its next answer comes; negative while none is awaited
        self._short: dict[int, SiteRun] = {}  # sites that have seeds set aside

    # -- called by the distribution ------------------------------------------------------------------------

    def take_in(self, site: SiteRun) -> None:
        """Receive a site."""
        self.sites[site.id] = site
        site.collector = self
        self._hold(site.count)
        self._fill(site)
        self._machine.joined(self, site)

    def give_away(self, site: SiteRun) -> None:
        """Let go of a site."""
        self._machine.left(self, site)
        del self.sites[site.id]
        self._short.pop(site.id, None)
        self._hold(-site.count)
        site.collector = None

    def wake(self) -> None:
        """Look for seeds: at once, or when the download in hand is over."""
        self.woken = True
        self._machine.woken(self)

    # -- called when it is time ----------------------------------------------------------------------------

    def look(self) -> None:
        """Let the machine go on with this collector."""
        self._machine.collector_due(self)

    def site_due(self, site: SiteRun) -> None:
        """Let the machine go on with a site."""
        self._machine.site_due(self, site)

    # -- called by the machine -----------------------------------------------------------------------------

    def seed_ended(self, site: SiteRun) -> None:
        """Free the place of a seed that has ended, for others that wait here; let go of a site that is over."""
        site.ended += 1
        site.count -= 1
        self._hold(-1)
        if site.over:
            self.give_away(site)
        elif site.waiting:
            self._fill(site)
        for other in list(self._short.values()):
            self._fill(other)

    def saturate(self, more: float) -> None:
        """Find how long sites wait for this thread if each request takes `more` seconds at the processor."""
        sites = self.sites.values()
        self.wait = thread_wait([(site.busy + site.cost + more, site.pause) for site in sites])

    def used(self, more: float) -> float:
        """Return the share of the processor's time that its sites use if each request waits `more` seconds for it."""
        if not self._blocking:
            return sum(site.cost / (site.cycle + more) for site in self.sites.values())
        self.saturate(more)
        return sum(site.cost * self.rate(site, more) for site in self.sites.values())

    def rate(self, site: SiteRun, more: float) -> float:
        """Return how many cycles a second a site makes here."""
        if not self._blocking:
            return 1.0 / (site.cycle + more)
        return 1.0 / (max(self.wait, site.busy + site.cost + more) + site.pause)

    def answer_in(self) -> float:
        """Return the seconds until the next answer comes here; an idle collector has nothing to wait for."""
        for site in self.sites.values():
            site.go_on(self._agenda.now)
        return min((site.answer_in() for site in self.sites.values()), default=0.0)

    def _hold(self, seeds: int) -> None:
        self.held += seeds
        self.room -= seeds

    def _fill(self, site: SiteRun) -> None:
        seeds = min(site.waiting, max(0, self.room))
        site.waiting -= seeds
        site.count += seeds
        self._hold(seeds)
        if site.waiting:
            self._short[site.id] = site
        else:
            self._short.pop(site.id, None)
