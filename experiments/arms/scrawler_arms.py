"""Two more readings of free competition (paper 004, section 3.3, Figure 6), which only comparisons need.

A collector takes one seed at each look; or it takes a hand, as many seeds as it holds at most, and the next hand only
when none is left: with that, places stay empty although seeds wait. The folder beside this file declares both as parts
of a package: a crawl takes them with `--distribution hands` where this folder is on PYTHONPATH.
"""

from __future__ import annotations

from typing import TypeVar

from scrawler.core.distribution.competition import FreeCompetition
from scrawler.core.distribution.distributor import Collecting, DealtSite

S = TypeVar("S", bound=DealtSite)


class HandCompetition(FreeCompetition[S]):
    """A collector takes a hand of seeds, as many as it has room for, and looks again when none of them is left.

    If fewer seeds are in the queue then, its hand is as small as that. Places that stay empty count when sites are
    claimed, so that the queue may hold as many sites more.
    """

    def _takes(self, collector: Collecting[S]) -> bool:
        return collector.held == 0 and collector.room > 0


class SingleCompetition(FreeCompetition[S]):
    """A collector that has room takes one seed at each look, so that those which look meanwhile have theirs."""

    def help_yourself(self, collector: Collecting[S]) -> None:
        """Take one seed; look again if there are others, and room for them."""
        if not (len(self._queue) and self._takes(collector)):
            return
        collector.take_in(self._queue.take())
        if len(self._queue) and self._takes(collector):
            collector.wake()
