"""What checkpoints cost: how long each took, and how many rows it wrote, as two histograms."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from typing import Any

SECONDS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)  # upper bounds of the times that are counted together
ROWS = (10.0, 100.0, 1_000.0, 10_000.0, 100_000.0)


class Histogram:
    """How often a value was at most each of some bounds; written by one thread, read by any."""

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.counts = [0] * (len(bounds) + 1)  # how often it was at most a bound and above that before; last: above all
        self.sum = 0.0
        self._bounds = bounds

    def note(self, value: float) -> None:
        """Count a value."""
        self.counts[bisect_left(self._bounds, value)] += 1
        self.sum += value


class CheckpointCosts:
    """What the checkpoints of one machine have cost since it began; a commit that was tried again counts as a whole."""

    def __init__(self) -> None:
        self.seconds = Histogram(SECONDS)
        self.rows = Histogram(ROWS)

    def note(self, seconds: float, rows: int) -> None:
        """Count a checkpoint, from the flush of the archive until it was durable."""
        self.seconds.note(seconds)
        self.rows.note(rows)

    def values(self) -> Mapping[str, Any]:
        """Return the counts and the sum of each histogram, by name, in the order of its bounds."""
        return {
            name: {"counts": list(histogram.counts), "sum": histogram.sum}
            for name, histogram in (("seconds", self.seconds), ("rows", self.rows))
        }
