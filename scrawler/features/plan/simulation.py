"""Plays a crawl through on virtual time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import NamedTuple

from scrawler.features.plan.agenda import Agenda
from scrawler.features.plan.dealing import PlannedMachine, Pool
from scrawler.features.plan.progress import Bound, Point, Progress
from scrawler.features.plan.rules import PlannedSite, PlanRules
from scrawler.features.plan.site import SiteRun


class Look(NamedTuple):
    """What the threads hold at a time (seconds), in their order, machine by machine."""

    at: float
    held: tuple[int, ...]


class _Supply:
    """Makes further sites known from time to time."""

    def __init__(self, pool: Pool, machines: Sequence[PlannedMachine], rate: float, agenda: Agenda) -> None:
        self._pool = pool
        self._machines = machines
        self._between = 1.0 / rate
        self._agenda = agenda
        self.event_at = agenda.now
        agenda.put(self.event_at, self)

    def look(self) -> None:
        """Make one site known."""
        self._pool.unknown -= 1
        self.event_at = self._agenda.now + self._between if self._pool.unknown else -1.0
        for machine in self._machines:
            machine.settle()
        if self._pool.unknown:
            self._agenda.put(self.event_at, self)


@dataclass(frozen=True, slots=True)
class Run:
    """A crawl as it would go; times in seconds from its first request."""

    seconds: float
    sites: int
    requests: int  # all requests that are answered, those for robots.txt among them
    ends: Sequence[float]  # when each seed ends, in order
    points: Sequence[Point]
    bounds: dict[Bound, float]  # what bounds the machines, and for which share of their time
    tail_at: float  # from here on only politeness bounds it: no seed waits for anything else
    moves: int  # so many times a site went from one thread to another
    drained_at: float  # when the last seed left a queue for a thread
    looks: Sequence[Look]  # how the threads stood at the times that were asked for

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

    def at_requests(self, share: float) -> float:
        """Return when such a share of all requests is done, in seconds."""
        wanted = share * self.requests
        before = Point(0.0, 0.0, 0, 0)
        for point in self.points:
            if point.requests >= wanted > before.requests:
                part = (wanted - before.requests) / (point.requests - before.requests)
                return before.at + part * (point.at - before.at)
            before = point
        return self.seconds

    def held_by(self, seconds: float) -> int:
        """Return how many seeds the threads hold at a time."""
        return next((point.held for point in reversed(self.points) if point.at <= seconds), 0)


def simulate(sites: Sequence[PlannedSite], rules: PlanRules, looks: Sequence[float] = ()) -> Run:
    """Crawl sites, claimed in their order, on virtual time; the same sites and rules give the same run.

    `looks` are times (seconds, in order) at which it is noted what each thread holds.
    """
    agenda, progress = Agenda(), Progress()
    pool = Pool((SiteRun(number, site, rules, agenda) for number, site in enumerate(sites)), len(sites))
    machines = [PlannedMachine(rules, pool, agenda, progress) for _ in range(rules.machines)]
    pool.owned.update(dict.fromkeys(machines, 0))
    if rules.supply and sites:
        pool.unknown = len(sites)
        _Supply(pool, machines, rules.supply, agenda)
    while sum(machine.begin() for machine in machines):  # machines claim in turn until none claims any more
        pass
    for machine in machines:
        machine.settle()
    noted: list[Look] = []
    while (due := agenda.take()) is not None:
        at, what = due
        while len(noted) < len(looks) and looks[len(noted)] < at:
            noted.append(_look(looks[len(noted)], machines))
        progress.go_on(at)
        agenda.now = at
        what.look()
    noted += [_look(at, machines) for at in looks[len(noted) :]]
    for machine in machines:
        machine.end_bound()
    progress.end()
    bounds = sorted(progress.bounds.items(), key=lambda one: -one[1])
    spent = sum(progress.bounds.values())
    return Run(
        seconds=agenda.now,
        sites=len(sites),
        requests=sum(rules.requests(site) for site in sites if site.answers),
        ends=progress.ends,
        points=progress.points,
        bounds={bound: seconds / spent for bound, seconds in bounds if spent},
        tail_at=progress.tail_at,
        moves=sum(machine.dealer.moves for machine in machines),
        drained_at=progress.drained_at,
        looks=noted,
    )


def _look(at: float, machines: Sequence[PlannedMachine]) -> Look:
    return Look(at, tuple(collector.held for machine in machines for collector in machine.collectors))
