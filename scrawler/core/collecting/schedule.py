"""When the sites of a collector are to be visited: a heap of machine times. Guarded by the machine's turn."""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import count
from math import inf

from scrawler.core.party.site import Holder, SiteContext


class Schedule:
    """Sites by the time of their next visit; of several times of a site the newest one counts."""

    def __init__(self, holder: Holder) -> None:
        self._holder = holder
        self._heap: list[tuple[float, int, SiteContext]] = []
        self._ticket = count()

    @property
    def next_at(self) -> float:
        """The machine time at which a visit may be due, inf if there is nothing to visit."""
        return self._heap[0][0] if self._heap else inf

    def put(self, site: SiteContext, at: float) -> None:
        """Visit a site at `at`, and not when it was to be visited before; inf: not before it is put here again."""
        if at == site.wake_at:
            return
        site.wake_at = at
        if at != inf:
            heappush(self._heap, (at, next(self._ticket), site))

    def take_due(self, now: float) -> SiteContext | None:
        """Return a site that is to be visited now, None if there is none; those that have moved on are forgotten."""
        heap = self._heap
        while heap and heap[0][0] <= now:
            at, _, site = heappop(heap)
            if site.wake_at == at and site.collector is self._holder:
                site.wake_at = -1.0
                return site
        return None
