"""What a simulated crawl did over time, in bounded memory."""

from __future__ import annotations

from array import array
from collections import defaultdict
from enum import StrEnum
from typing import NamedTuple

_POINTS = 2_000  # so many points are kept at most


class Bound(StrEnum):
    """What keeps a machine from going faster."""

    PROCESSOR = "processor"
    DATABASE = "database"
    THREADS = "threads"  # the threads download one page at a time, and all are busy
    PLACES = "places"  # threads hold as many seeds as they may, and others wait
    POLITENESS = "politeness"  # no seed waits for anything else


class Point(NamedTuple):
    """How a crawl stands at a time (seconds)."""

    at: float
    requests: float  # requests that are done
    seeds: int  # seeds that are done
    held: int  # seeds that the threads hold


class Progress:
    """Adds up what goes on at a rate, and notes how the crawl stands from time to time."""

    def __init__(self) -> None:
        self.points: list[Point] = []
        self.ends = array("d")  # seconds at which seeds have ended, in order
        self.requests = 0.0
        self.rate = 0.0  # requests a second, of all sites now
        self.held = 0
        self.bounds: defaultdict[Bound, float] = defaultdict(float)  # seconds of machines, by what bounds them
        self.tail_at = 0.0  # second from which on politeness was all that was left
        self.drained_at = 0.0  # second at which the last seed left a queue
        self._since = 0.0
        self._step = 0.0  # two points are so many seconds apart at least

    def go_on(self, now: float) -> None:
        """Let virtual time go by; what comes after is at `now`."""
        if now > self._since:
            if not self.points or self._since - self.points[-1].at >= self._step:
                self._note()
            self.requests += (now - self._since) * self.rate
            self._since = now

    def end(self) -> None:
        """Note the last point."""
        self._note()

    def _note(self) -> None:
        self.points.append(Point(self._since, self.requests, len(self.ends), self.held))
        if len(self.points) > _POINTS:
            self._step = 4 * self._since / _POINTS
            kept = self.points[:1]
            for point in self.points:
                if point.at - kept[-1].at >= self._step:
                    kept.append(point)
            self.points = kept
