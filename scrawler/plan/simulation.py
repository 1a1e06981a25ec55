"""Plays a crawl through on virtual time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from scrawler.plan.agenda import Agenda
from scrawler.plan.dealing import PlannedMachine, Pool
from scrawler.plan.progress import Bound, Point, Progress
from scrawler.plan.rules import PlannedSite, PlanRules
from scrawler.plan.site import SiteRun


@dataclass(frozen=True, slots=True)
class Run:
    """A crawl as it would go; times in seconds from its first request."""

    seconds: float
    sites: int
    requests: int  # all requests, those for robots.txt among them
    ends: Sequence[float]  # when each seed ends, in order
    points: Sequence[Point]
    bounds: dict[Bound, float]  # what bounds the machines, and for which share of their time
    tail_at: float  # from here on only politeness bounds it: no seed waits for anything else
    moves: int  # so many times a site went from one thread to another

    def at_share(self, share: float) -> float:
        """Return when such a share of all seeds is done."""
        return self.ends[ceil(share * len(self.ends)) - 1] if self.ends else 0.0

    def requests_by(self, seconds: float) -> float:
        """Return how many requests are done at a time."""
        before = Point(0.0, 0.0, 0, 0)
        for point in self.points:
            if point.at > seconds:
                part = (seconds - before.at) / (point.at - before.at)
                return before.requests + part * (point.requests - before.requests)
            before = point
        return before.requests

    def held_by(self, seconds: float) -> int:
        """Return how many seeds the threads hold at a time."""
        return next((point.held for point in reversed(self.points) if point.at <= seconds), 0)


def simulate(sites: Sequence[PlannedSite], rules: PlanRules) -> Run:
    """Crawl sites, claimed in their order, on virtual time; the same sites and rules give the same run."""
    agenda, progress = Agenda(), Progress()
    pool = Pool((SiteRun(number, site, rules, agenda) for number, site in enumerate(sites)), len(sites))
    machines = [PlannedMachine(rules, pool, agenda, progress) for _ in range(rules.machines)]
    pool.owned.update(dict.fromkeys(machines, 0))
    while sum(machine.begin() for machine in machines):  # machines claim in turn until none claims any more
        pass
    for machine in machines:
        machine.settle()
    while (due := agenda.take()) is not None:
        at, what = due
        progress.go_on(at)
        agenda.now = at
        what.look()
    for machine in machines:
        machine.end_bound()
    progress.end()
    bounds = sorted(progress.bounds.items(), key=lambda one: -one[1])
    spent = sum(progress.bounds.values())
    return Run(
        seconds=agenda.now,
        sites=len(sites),
        requests=sum(site.total + rules.robots for site in sites),
        ends=progress.ends,
        points=progress.points,
        bounds={bound: seconds / spent for bound, seconds in bounds if spent},
        tail_at=progress.tail_at,
        moves=sum(machine.dealer.moves for machine in machines),
    )
