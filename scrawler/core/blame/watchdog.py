"""Ends the process when a page is read without an end; the next process will know which page it was.

A thread cannot be ended, and while a page is applied nobody else has the turn. What counts is CPU time, that of the
thread which reads: a process that is stopped, swapped out, or on a busy machine blames nobody. A part in C that keeps
the interpreter lock keeps this thread from looking as well; so it winds up a timer of the kernel at each look, which
runs by the CPU time of the process, and whose signal needs no interpreter. A page that waits without CPU time, as for a
lock, is not noticed.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from scrawler.core.blame.slots import Slot, Slots
from scrawler.errors import EndlessPageError
from scrawler.units import format_seconds

_STANDARD_ERROR = 2  # its descriptor: no buffer that would be lost
_LOOK_EVERY = 1.0  # seconds


class Watchdog(threading.Thread):
    """Watches the slots of a process that may be ended for a page which takes more than `limit` seconds of CPU time.

    While it lives, faulthandler tells of faults in the file of the slots.
    """

    def __init__(self, slots: Slots, limit: float) -> None:
        super().__init__(name="watchdog")
        self._slots = slots
        self._limit = limit
        self._over = threading.Event()
        # Between two looks the threads, outside the interpreter lock, may use all processors.
        self._timer = limit + 2 * _LOOK_EVERY * (os.cpu_count() or 1)

    def close(self) -> None:
        """End, and leave faults to whoever was told of them before."""
        self._over.set()
        self.join()

    def run(self) -> None:
        """Look every second."""
        began: dict[Slot, tuple[int, float]] = {}  # count of the reading, CPU time of the thread when it was first seen
        with self._faults_told():
            self._wind()
            while not self._over.wait(_LOOK_EVERY):
                self._wind()
                for slot in self._slots.taken():
                    self._look(slot, began)

    def _wind(self) -> None:
        """Let the timer begin anew; without a file, its signal would be of no use to anybody."""
        if self._slots.file >= 0:
            signal.setitimer(signal.ITIMER_PROF, self._timer)

    @contextmanager
    def _faults_told(self) -> Iterator[None]:
        """Have faults, and the end of the timer, told in the file in the block."""
        file = self._slots.file
        if file < 0:  # nobody would read it
            yield
            return
        before = faulthandler.is_enabled()
        faulthandler.enable(file, all_threads=True)
        faulthandler.register(signal.SIGPROF, file, all_threads=True, chain=True)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            faulthandler.unregister(signal.SIGPROF)
            faulthandler.disable()
            if before:
                faulthandler.enable()

    def _look(self, slot: Slot, began: dict[Slot, tuple[int, float]]) -> None:
        count, cpu = slot.count, slot.cpu_seconds()
        if not count % 2 or cpu is None:
            return
        first = began.get(slot)
        if first is None or first[0] != count:
            began[slot] = count, cpu
        elif cpu - first[1] >= self._limit:
            self._end(slot, count)

    def _end(self, slot: Slot, count: int) -> None:
        url = slot.mark_too_long(count)
        if url is None:  # the page has come to its end meanwhile
            return
        if self._slots.file >= 0:
            faulthandler.dump_traceback(self._slots.file, all_threads=True)
        took = f"took more than {format_seconds(self._limit)} of CPU time"
        error = EndlessPageError(f"reading {url} {took}; it is ended when the crawl goes on")
        os.write(_STANDARD_ERROR, f"scrawler: error: {error}\n".encode("utf-8", "replace"))
        os._exit(error.exit_code)
