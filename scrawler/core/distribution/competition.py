"""Free competition for the seeds of the Seed ID Queue (paper 004, section 3.3, Figure 6).

The paper says that each URL Collector gets seeds from the queue in free competition, and not how many at a time, or
when it looks. Here it fills all its room at each look; two other readings are in experiments/arms. All are called under
the machine's turn, and know neither threads nor clocks: a planned crawl uses the same classes on virtual time.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Generic, TypeVar

from scrawler.core.distribution.distributor import Collecting, DealtSite, SeedIdQueue

S = TypeVar("S", bound=DealtSite)


class FreeCompetition(Generic[S]):
    """Each collector takes from the queue whatever it has room for, each time it looks."""

    moves = 0

    def __init__(
        self,
        queue: SeedIdQueue[S],
        collectors: Sequence[Collecting[S]],
        turn: threading.RLock,
        stop: threading.Event,
    ) -> None:
        self._queue = queue
        self._collectors = collectors

    def start(self) -> None:
        """Nothing to start: there is no distributor."""

    def join(self) -> None:
        """Nothing to wait for."""

    def seeds_changed(self) -> None:
        """Wake the collectors that would take a seed."""
        if len(self._queue):
            for collector in self._collectors:
                if self._takes(collector):
                    collector.wake()

    def site_inactive(self, collector: Collecting[S]) -> None:
        """Nothing: nobody balances."""

    def wants_site(self, collector: Collecting[S]) -> bool:
        """Never: nobody balances."""
        return False

    def help_yourself(self, collector: Collecting[S]) -> None:
        """Take seeds from the queue as long as there is room."""
        if self._takes(collector):
            while len(self._queue) and collector.room > 0:
                collector.take_in(self._queue.take())

    def _takes(self, collector: Collecting[S]) -> bool:
        """Whether a collector that looks takes a seed, if there is one."""
        return collector.room > 0
