"""Whether other threads have a turn while something in C is at work."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from math import inf
from threading import Event
from time import perf_counter

_TIMES = 50


def lets_others_run(work: Callable[[], object]) -> bool:
    """Tell whether another thread is kept out for less than half of a call's time.

    A thread that is kept out by the call itself is so for most of it, each time; on a busy machine others may keep it
    out as well, but not in each of many calls.
    """
    done = Event()
    gaps: list[float] = []

    def watch() -> None:
        last = perf_counter()
        while not done.is_set():
            now = perf_counter()
            gaps.append(now - last)
            last = now

    def share() -> float:
        """Call it; return the longest part of the time in which the other thread had no turn."""
        gaps.clear()
        begin = perf_counter()
        work()
        return max(gaps, default=inf) / (perf_counter() - begin)

    with ThreadPoolExecutor(1) as threads:
        watching = threads.submit(watch)
        try:
            return any(share() < 0.5 for _ in range(_TIMES))
        finally:
            done.set()
            watching.result()
