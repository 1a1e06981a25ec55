"""A planned site in work: what the distributor deals out and moves, on virtual time."""

from __future__ import annotations

from collections.abc import Sized
from math import floor, inf
from typing import Protocol

from scrawler.features.plan.agenda import Agenda
from scrawler.features.plan.rules import PlannedSite, PlanRules

_NOTHING = 1e-6  # a smaller part of a cycle is nothing


class Holder(Protocol):
    """The collector that holds a site."""

    def site_due(self, site: SiteRun) -> None:
        """Go on with a site that is due."""


class SiteRun:
    """How far a site has come, in cycles of a request and its pause; times in seconds of virtual time.

    Its seeds take turns, so that the smallest ends first.
    """

    __slots__ = (
        "_agenda", "_ends", "_since", "answers", "blocking", "busy", "collector", "cost", "count", "cycle", "cycles",
        "ended", "event_at", "id", "pause", "rate", "waiting",
    )  # fmt: skip

    def __init__(self, number: int, site: PlannedSite, rules: PlanRules, agenda: Agenda) -> None:
        self.id = number
        self._agenda = agenda
        self.answers = site.answers
        pace = rules.pace(site)
        self.busy = pace.busy
        self.cycle = pace.cycle
        self.pause = pace.cycle - pace.busy
        self.blocking = rules.blocking
        self.cost = max(rules.cost(site) / rules.processor, rules.database_share)
        self._ends = _ends(site.requests, rules.of(site).robots - self.left_out)
        self.waiting = len(site.requests)  # seeds for which there was no room yet
        self.count = 0  # seeds that its collector holds
        self.ended = 0  # seeds that have ended
        self.cycles = 0.0  # cycles of requests that are done
        self.rate = 0.0  # cycles a second since `_since`
        self._since = 0.0
        self.event_at = -1.0  # second at which it is looked at next; negative: it is not
        self.collector: Holder | None = None

    @property
    def set_aside(self) -> Sized:
        """Seeds for which there was no room yet."""
        return range(self.waiting)

    @property
    def inactive(self) -> bool:
        """Whether it has no request under way; at the moment of an answer it has none."""
        self.go_on(self._agenda.now)
        part = self.cycles - floor(self.cycles + _NOTHING)
        return part < _NOTHING or part >= self._share() - _NOTHING

    @property
    def connected(self) -> bool:
        """Whether it was asked."""
        return self.cycles > 0

    def look(self) -> None:
        """Let its collector go on with it."""
        assert self.collector is not None
        self.collector.site_due(self)

    def answer_in(self) -> float:
        """Return the seconds until the next answer, as of the last `go_on`."""
        part = max(0.0, self.cycles - floor(self.cycles + _NOTHING))
        left = self._share() - part
        if not self.rate:
            return inf
        return (left if left > _NOTHING else left + 1.0) / self.rate

    def go_on(self, now: float) -> None:
        """Note how far it has come."""
        self.cycles += (now - self._since) * self.rate
        self._since = now

    def ends_in(self) -> float:
        """Return the seconds until its next seed ends at this rate, as of the last `go_on`."""
        left = self._ends[self.ended] - self.cycles
        return max(0.0, left / self.rate) if self.rate else inf

    @property
    def at_end(self) -> bool:
        """Whether its next seed is at its end."""
        return self.cycles >= self._ends[self.ended] - _NOTHING

    @property
    def over(self) -> bool:
        """Whether all of its seeds have ended."""
        return self.ended == len(self._ends)

    @property
    def left_out(self) -> float:
        """Cycles that it will not have made when its last request is answered: the last one has no pause."""
        return (self.cycle - self.busy) / self.cycle

    def _share(self) -> float:
        """Return the share of a cycle in which a request is under way, queued at its thread or in flight."""
        return min(1.0, 1.0 - self.pause * self.rate if self.blocking else self.busy * self.rate)


def _ends(requests: tuple[int, ...], more: float) -> list[float]:
    """Return after how many cycles each seed ends if they take turns, the smallest first; `more` come before."""
    if len(requests) == 1:
        return [requests[0] + more]
    ends, done = [], 0
    for number, size in enumerate(sorted(requests), 1):
        ends.append(done + (len(requests) - number + 1) * size + more)
        done += size
    return ends
