"""Heartbeats: tell the database every few seconds that the machine lives, and bring back what it is to do."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from scrawler.clocks import boot_clock
from scrawler.core.clock import DatabaseClock
from scrawler.core.machine.lease import Lease
from scrawler.errors import LeaseLostError, StoreBusyError
from scrawler.model.machines import ENDING, Command, MachineState, Orders

Beat = Callable[[MachineState, Sequence[int]], Orders]  # (state, seeds that each thread holds)


def resident_bytes() -> int:
    """Return the memory that this process holds; 0 where the system does not tell."""
    try:
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


class Heartbeat:
    """The heartbeats of one machine; times in seconds.

    `give_up_after` is the time without a good heartbeat, because the database is locked or away, after which the
    machine fails.
    """

    def __init__(self, beat: Beat, lease: Lease, clock: DatabaseClock, every: float, give_up_after: float) -> None:
        self._beat = beat
        self._lease = lease
        self._clock = clock
        self._every = every
        self._give_up_after = give_up_after
        self._good_at = time.monotonic()
        self._next = self._good_at

    def due_in(self) -> float:
        """Return the time until the next heartbeat."""
        return max(0.0, self._next - time.monotonic())

    def beat(self, state: MachineState, held_by_thread: Sequence[int]) -> Orders | None:
        """Write a heartbeat and return the orders; None when the database is busy or away.

        Raises:
            LeaseLostError: other machines have declared this one dead.
            StoreBusyError: the database has been away for too long.
        """
        asked_at, asked_wall = boot_clock(), time.time()
        try:
            orders = self._beat(state, held_by_thread)
        except StoreBusyError:
            if time.monotonic() - self._good_at >= self._give_up_after:
                raise
            return None
        finally:
            self._next = time.monotonic() + self._every
        self._good_at = time.monotonic()
        if not orders.alive:
            raise LeaseLostError("other machines took this one for dead", was_to_end=orders.command in ENDING)
        if orders.command is not Command.REMOVE:  # a removed machine is not prolonged in the database either
            self._lease.renewed(asked_at)
        self._clock.compare(asked_wall, orders.now)
        return orders
