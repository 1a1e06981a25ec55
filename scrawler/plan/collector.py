"""A planned URL Collector: holds sites as a real one does, and knows at what rate they go on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrawler.plan.contention import thread_wait
from scrawler.plan.site import SiteRun

if TYPE_CHECKING:
    from scrawler.plan.machine import PlannedMachine


class PlannedCollector:
    """One crawling thread of a planned machine."""

    def __init__(self, machine: PlannedMachine, capacity: int) -> None:
        self.machine = machine
        self.sites: dict[int, SiteRun] = {}
        self.held = 0
        self.room = capacity
        self.wait = 0.0  # of its sites for the thread, if it serves one at a time
        self.woken = False
        self.look_at = -1.0  # when it is looked at for an answer; negative: it is not
        self._short: dict[int, SiteRun] = {}  # sites that have seeds set aside

    # -- called by the distribution ------------------------------------------------------------------------

    def take_in(self, site: SiteRun) -> None:
        """Receive a site."""
        self.sites[site.id] = site
        site.collector = self
        self._hold(site.count)
        self._fill(site)
        self.machine.joined(site)

    def give_away(self, site: SiteRun) -> None:
        """Let go of a site."""
        self.machine.left(site)
        del self.sites[site.id]
        self._short.pop(site.id, None)
        self._hold(-site.count)
        site.collector = None

    def wake(self) -> None:
        """Look for seeds: at once, or when the download in hand is over."""
        self.woken = True
        self.machine.woken.append(self)

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
        if not self.machine.rules.blocking:
            return sum(site.cost / (site.cycle + more) for site in self.sites.values())
        self.saturate(more)
        return sum(site.cost * self.rate(site, more) for site in self.sites.values())

    def rate(self, site: SiteRun, more: float) -> float:
        """Return how many cycles a second a site makes here."""
        if not self.machine.rules.blocking:
            return 1.0 / (site.cycle + more)
        return 1.0 / (max(self.wait, site.busy + site.cost + more) + site.pause)

    def answer_in(self) -> float:
        """Return the seconds until the next answer comes here; an idle collector has nothing to wait for."""
        now = self.machine.now
        for site in self.sites.values():
            site.go_on(now)
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
