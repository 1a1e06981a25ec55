"""Virtual time: what is due when."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from itertools import count
from typing import Protocol

_STALE = 4  # the heap is cleared of old entries once it has so many for each site and collector in work


class Due(Protocol):
    """What can be due: a site in work, or a collector that waits for an answer."""

    @property
    def event_at(self) -> float:
        """When it is looked at next; negative: it is not."""

    def look(self) -> None:
        """Look at it: it is due now."""


class Agenda:
    """What is due when; of several times of a site or collector the one that it notes itself counts."""

    def __init__(self) -> None:
        self.now = 0.0  # seconds since the crawl began
        self._heap: list[tuple[float, int, Due]] = []
        self._ticket = count()
        self._most = 1_000

    def put(self, at: float, what: Due) -> None:
        """Look at something at a time."""
        heappush(self._heap, (at, next(self._ticket), what))
        if len(self._heap) > self._most:
            self._heap = [entry for entry in self._heap if entry[0] == entry[2].event_at]
            heapify(self._heap)
            self._most = max(1_000, _STALE * len(self._heap))

    def take(self) -> tuple[float, Due] | None:
        """Return what is due next, and when; None: nothing is."""
        while self._heap:
            at, _, what = heappop(self._heap)
            if at == what.event_at:
                return at, what
        return None
