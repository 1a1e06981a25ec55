"""What a seen filter costs and what it loses, in a process of its own, as the memory is that of the process.

python -m experiments.lab.seen_cost FILTER RATE URLS SITE prints the cost as JSON.
"""

from __future__ import annotations

import gc
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from pybloom_live import BloomFilter
from rbloom import Bloom

from experiments.lab.process import memory
from scrawler.core.seen import FIRST_LAYER, GROWTH, ExactSeen, LayeredSeen, MemoryBudget, SeenFilter, compact_seen

FILTERS: dict[str, Callable[[MemoryBudget, float], SeenFilter]] = {
    "compact": lambda budget, rate: compact_seen(budget),
    "rbloom": lambda budget, rate: LayeredSeen(budget, Bloom, rate),
    "pybloom": lambda budget, rate: LayeredSeen(budget, BloomFilter, rate),
    "exact": lambda budget, rate: ExactSeen(budget),
}
_ROOT = Path(__file__).parents[2]
_BATCH = 1_000  # URLs that are given to a filter at once
_ASKED = 100_000  # at most so many known and so many new URLs are looked up
_STEPS = 64  # per layer, in which the expected loss is summed


class Cost(NamedTuple):
    """Bytes, nanoseconds of CPU a URL, and URLs."""

    resident: int  # growth of the process
    reserved: int  # taken from the machine's budget
    add: float
    known: float  # adding a URL that was added before
    look_up: float  # asking for a URL that was not
    lost: int  # URLs taken for seen when they were added for the first time
    false_positives: float  # share of the new URLs that were asked for in the end


class _Budget(MemoryBudget):
    """Counts what is taken, and has no ceiling."""

    def __init__(self) -> None:
        super().__init__(0)
        self.taken = 0

    def take(self, size: int) -> None:
        self.taken += size


class _Clock:
    """CPU time of the blocks that it is entered for."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __enter__(self) -> None:
        self._began = time.thread_time()

    def __exit__(self, *_: object) -> None:
        self.seconds += time.thread_time() - self._began

    def ns(self, urls: int) -> float:
        return self.seconds / max(urls, 1) * 1e9


def measured(name: str, rate: float, urls: int, site: str = "www.large.example") -> Cost:
    """Measure a filter in a fresh process; `site` makes the URLs different ones."""
    command = [sys.executable, "-m", "experiments.lab.seen_cost", name, str(rate), str(urls), site]
    done = subprocess.run(command, cwd=_ROOT, stdout=subprocess.PIPE, check=True, text=True)
    return Cost(**json.loads(done.stdout))


def measure(name: str, rate: float, urls: int, site: str) -> Cost:
    """Fill a filter with so many different URLs in this process, and ask it."""
    budget, adding, known, asking = _Budget(), _Clock(), _Clock(), _Clock()
    gc.collect()
    before = _resident()
    seen = FILTERS[name](budget, rate)
    lost = 0
    for batch in _batches(site, 0, urls):
        with adding:
            new = seen.unseen(batch)
            seen.add(new)
        lost += len(batch) - len(new)
    del batch, new
    resident = _resident() - before
    stride = max(urls // _ASKED, 1)
    again = 0
    for number, batch in enumerate(_batches(site, 0, urls)):
        if number % stride == 0:
            again += len(batch)
            with known:
                seen.unseen(batch)
    wrong = 0
    asked = min(urls, _ASKED)
    for batch in _batches(site, urls, urls + asked):
        with asking:
            wrong += sum(url in seen for url in batch)
    return Cost(resident, budget.taken, adding.ns(urls), known.ns(again), asking.ns(asked), lost, wrong / max(asked, 1))


def expected_lost(urls: int, rate: float) -> float:
    """Return how many of so many different URLs layered filters lose, by the formula for Bloom filters.

    A layer of m bits with h hashes that holds k URLs takes a new one for seen with probability (1 - e^(-hk/m))^h.
    """
    if not rate:
        return 0.0
    lost, begun, capacity, layer_rate, full = 0.0, 0, FIRST_LAYER, rate / 2, 0.0
    while begun < urls:
        held = min(capacity, urls - begun)
        hashes = round(math.log2(1 / layer_rate))
        bits = capacity * math.log(1 / layer_rate) / math.log(2) ** 2
        for step in range(_STEPS):
            filled = held * (step + 0.5) / _STEPS
            here = (1 - math.exp(-hashes * filled / bits)) ** hashes
            lost += (full + (1 - full) * here) * held / _STEPS
        full += (1 - full) * (1 - math.exp(-hashes * capacity / bits)) ** hashes
        begun += capacity
        capacity, layer_rate = capacity * GROWTH, layer_rate / 2
    return lost


def _batches(site: str, first: int, end: int) -> Iterator[list[str]]:
    for begin in range(first, end, _BATCH):
        numbers = range(begin, min(begin + _BATCH, end))
        yield [f"http://{site}/a/section-{number % 977}/page-{number}.html" for number in numbers]


def _resident() -> int:
    now = memory(os.getpid())
    assert now
    return now[0]


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], float(sys.argv[2]), int(sys.argv[3]), sys.argv[4])._asdict()))
