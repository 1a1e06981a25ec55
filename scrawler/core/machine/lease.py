"""The machine's lease as the machine itself knows it: once it may have run out, no request is started.

Others may take its sites over when its heartbeat, by the database's clock, is older than the lease. The machine counts
from the moment before it asked for the heartbeat, which is earlier, and stops a margin before the end.
"""

from __future__ import annotations

from math import inf

from scrawler.clocks import boot_clock


class Lease:
    """Times in seconds of `boot_clock`."""

    def __init__(self, length: float, margin: float) -> None:
        self._keeps = length - margin
        self._until = -inf

    def renewed(self, asked_at: float) -> None:
        """Note that a heartbeat was written which was asked for at this time."""
        self._until = max(self._until, asked_at + self._keeps)

    @property
    def good(self) -> bool:
        """Whether no other machine can hold this one's sites yet."""
        return boot_clock() < self._until
