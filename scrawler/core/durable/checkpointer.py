"""Checkpointer: makes the collectors' deltas durable, one transaction a batch, and reads chunks for them.

It is the machine's store thread: it works in the order in which it was asked, so that what a reader asks for after
a delta was submitted sees that delta. The WARC data that rows refer to is flushed first.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence
from math import inf
from typing import Protocol, TypeVar

from scrawler.backoff import Backoff
from scrawler.core.durable.costs import CheckpointCosts
from scrawler.core.durable.deltas import merged
from scrawler.errors import StoreBusyError
from scrawler.model.deltas import SiteDelta

T = TypeVar("T")

LINGER = 0.1  # seconds a batch waits for company, unless its deltas say that it may be longer
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 5.0  # bounds of the pauses between tries on a busy database, in seconds


class Checkpoints(Protocol):
    """The part of the store that commits deltas."""

    def commit(self, deltas: Sequence[SiteDelta]) -> Collection[int]:
        """Commit all in one transaction; return ids of sites that are no longer this machine's.

        After a StoreBusyError the same deltas are given again, and are not written twice.
        """


class Checkpointer(threading.Thread):
    """The one thread that writes for the collectors.

    `room` is the number of rows that may wait. `on_committed(lost site ids, was_full)` and `failed` are called
    without any lock, and so is `on_let_go` after the commit of a delta that lets go of something, and all of
    `on_durable` after each commit, with what sites have taken of the URLs that were brought to them. `give_up_after` is
    the time in seconds a busy database is tried again.
    """

    def __init__(
        self,
        checkpoints: Checkpoints,
        flush: Callable[[], None],
        on_committed: Callable[[Collection[int], bool], None],
        failed: Callable[[BaseException], None],
        room: int,
        give_up_after: float,
        on_let_go: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(name="checkpointer")
        self._checkpoints = checkpoints
        self._flush = flush
        self._on_committed = on_committed
        self._failed = failed
        self._give_up_after = give_up_after
        self._room = room
        self._on_let_go = on_let_go
        self.on_durable: list[Callable[[Sequence[int]], None]] = []
        self._changed = threading.Condition()
        self._deltas: list[SiteDelta] = []
        self._due_at = inf  # when the deltas have waited for company long enough
        self._reads: deque[Callable[[], None]] = deque()
        self._asides: deque[Callable[[], None]] = deque()
        self._rows = 0  # waiting or being written ...
        self._rows_waiting = 0  # ... and those of them that wait
        self._busy = False
        self._full = False
        self._alone = False  # no company is to be waited for
        self._closing = False
        self._broken = False
        self._give_up_at = inf
        self._hurry = threading.Event()  # cuts a pause short once; set when closing begins
        self.costs = CheckpointCosts()
        self.refused = 0  # page rows that were not written: others own the site by now, or the machine has failed

    def submit(self, delta: SiteDelta, wait: float = LINGER) -> None:
        """Take a delta, which may wait so many seconds for company.

        Never blocks: collectors ask `has_room` before they start requests.
        """
        due_at, rows = time.monotonic() + wait, _weight(delta)
        with self._changed:
            self._deltas.append(delta)
            self._rows += rows
            self._rows_waiting += rows
            # The thread finds all else when it wakes by itself: woken for each delta, it made half of all switches.
            if due_at < self._due_at or self._are_many:
                self._due_at = min(self._due_at, due_at)
                self._changed.notify()

    def linger_no_more(self) -> None:
        """Commit at once what was submitted: the machine holds nothing else that could come."""
        with self._changed:
            self._alone = True
            self._changed.notify()

    def read(self, job: Callable[[], None]) -> None:
        """Run a reading job after all that was submitted before."""
        with self._changed:
            self._reads.append(job)
            self._changed.notify()

    def aside(self, job: Callable[[], None]) -> None:
        """Run a job soon that has nothing to do with what was submitted, and need not wait until that is durable."""
        with self._changed:
            self._asides.append(job)
            self._changed.notify()

    def has_room(self) -> bool:
        """Whether collectors may go on to make rows; once it says no, `on_committed` tells that there was no room."""
        if self._rows < self._room and not self._full:  # as nearly always; asked before each request, without the lock
            return True
        with self._changed:
            self._full = self._full or self._rows >= self._room
            return not self._full

    @property
    def idle(self) -> bool:
        """Whether everything submitted is durable."""
        with self._changed:
            return not (self._deltas or self._reads or self._asides or self._busy)

    def close(self, patience: float) -> None:
        """Write what is there, then end; a busy database is tried again for so many seconds from now."""
        with self._changed:
            self._closing, self._give_up_at = True, time.monotonic() + patience
            self._changed.notify()
        self._hurry.set()

    def run(self) -> None:
        """Commit batches and answer reads until closed; an error ends the machine."""
        while True:
            with self._changed:
                while not self._waits_for_nothing():
                    self._changed.wait(None if self._due_at == inf else max(0.0, self._due_at - time.monotonic()))
                deltas, rows, reads = self._taken()
                if not deltas and not reads:
                    return
                self._busy = True
            try:
                self._work(deltas, rows, reads)
            except BaseException as error:
                self._broken = True
                self.refused += _pages(deltas)
                self._failed(error)
            with self._changed:
                self._busy = False

    def _waits_for_nothing(self) -> bool:
        return bool(self._reads or self._asides) or self._closing or self._is_due()

    def _is_due(self) -> bool:
        if not self._deltas:
            return False
        return self._alone or self._are_many or self._due_at <= time.monotonic()

    @property
    def _are_many(self) -> bool:
        """Whether so many rows wait that they need no company."""
        return self._rows >= self._room / 4

    def _taken(self) -> tuple[list[SiteDelta], int, deque[Callable[[], None]]]:
        """Return what is to be done now: deltas, how many rows they have, and jobs.

        What has nothing to do with deltas that wait lets them wait on.
        """
        jobs, self._asides = self._asides, deque()
        if jobs and not (self._reads or self._closing or self._is_due()):
            return [], 0, jobs
        deltas, self._deltas, self._due_at, self._alone = self._deltas, [], inf, False
        rows, self._rows_waiting = self._rows_waiting, 0
        jobs += self._reads
        self._reads = deque()
        return deltas, rows, jobs

    def _work(self, deltas: list[SiteDelta], rows: int, reads: deque[Callable[[], None]]) -> None:
        lost: Collection[int] = ()
        begun = time.monotonic()
        if deltas and not self._broken:
            self._flush()
            whole = merged(deltas)
            lost = self._patiently(lambda: self._commit(whole))
            self.refused += _pages(delta for delta in whole if delta.site_id in lost)
            self.costs.note(time.monotonic() - begun, rows)
            taken = [number for delta in whole if delta.site_id not in lost for number in delta.taken]
            for note in self.on_durable:
                note(taken)
        elif self._broken:
            self.refused += _pages(deltas)
        with self._changed:
            self._rows -= rows
            was_full, self._full = self._full, False
            self._busy = False  # before others are told: all of this is durable
        self._on_committed(lost, was_full)
        if any(delta.lets_go for delta in deltas):
            self._on_let_go()
        if not self._broken:
            for job in reads:
                self._patiently(job)

    def _patiently(self, work: Callable[[], T]) -> T:
        """Do `work` until the database is free to; once closing, not for much longer."""
        give_up_at, backoff = time.monotonic() + self._give_up_after, Backoff(_FIRST_PAUSE, _LONGEST_PAUSE)
        while True:
            try:
                return work()
            except StoreBusyError:
                left = min(give_up_at, self._give_up_at) - time.monotonic()
                if left <= 0:
                    raise
            self._hurry.wait(min(left, backoff.pause()))
            self._hurry.clear()

    def _commit(self, deltas: list[SiteDelta]) -> Collection[int]:
        return self._checkpoints.commit(deltas)


def _pages(deltas: Iterable[SiteDelta]) -> int:
    return sum(len(seed.pages) for delta in deltas for seed in delta.seeds)


def _weight(delta: SiteDelta) -> int:
    """Rows of a delta, about."""
    return (
        1
        + 8 * len(delta.robots)
        + sum(
            len(seed.pages)
            + len(seed.externals)
            + len(seed.relations)
            + len(seed.sitemap_urls)
            + sum(len(rows) for _, rows in seed.rows)
            + 8 * len(seed.chunks)
            for seed in delta.seeds
        )
    )
