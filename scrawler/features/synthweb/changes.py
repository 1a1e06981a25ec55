"""When pages of the synthetic web change, come and go: known at any time, past or future, and kept nowhere.

Time is virtual: seconds from 0 on, negative ones before. A page changes by one of three processes, all of which have
the same mean rate: a Poisson process, a fixed period, or bursts. Each is computed from (seed number, site, page) for
the cell of time that is asked for, so that a page's last change is as cheap after a year as after a day.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from enum import IntEnum
from functools import lru_cache
from pathlib import Path
from statistics import NormalDist
from typing import NamedTuple

from scrawler.errors import ScrawlerError
from scrawler.features.synthweb.site import mix
from scrawler.features.synthweb.spec import WebSpec

DAY_S = 86_400.0
IN_CELL = 4.0  # changes, or bursts, that a cell of time has in the mean
BURST = 8  # changes of a burst
_BURST_SPAN = 0.5  # of the mean time between two changes: so long takes a burst
_ROUNDED = 1e-6  # of a cell: so far off is no quotient that says in which cell a time is
_LONGEST_LIFE_S = 60 * DAY_S
_NORMAL = NormalDist()
_DRAWS = 1 << 53
_LATEST_S = 1e11  # virtual time is within three thousand years
_LAST_DATE = 253_402_300_799  # the last second of the year 9999


class Process(IntEnum):
    """How a page changes."""

    STILL = 0  # never
    POISSON = 1
    PERIODIC = 2
    BURSTY = 3


class Life(NamedTuple):
    """From when until when a page is there."""

    born: float = -math.inf
    gone: float = math.inf


class PageChanges:
    """The changes of one page."""

    __slots__ = ("_key", "_offset", "_width", "life", "process", "rate")

    def __init__(self, key: int, process: Process, rate: float, life: Life) -> None:
        """Take 64 bits that are the page's own, and its mean rate in changes a second."""
        self.process = process
        self.rate = rate if process is not Process.STILL else 0.0
        self.life = life
        self._key = key
        each = BURST if process is Process.BURSTY else 1
        self._width = each * IN_CELL / rate if self.rate else math.inf
        self._offset = _share(mix(key, 1)) * self._width if self.rate else 0.0

    def between(self, after: float, until: float) -> list[float]:
        """Return the times of changes, later than one time and not later than another, in order."""
        return sorted(one for cell in self._cells(after, until) for one in self._within(cell) if after < one <= until)

    def last(self, at: float) -> float:
        """Return the time of the last change, not later than `at`; of a page that never changes, minus infinity."""
        if self.process is Process.STILL:
            return -math.inf
        span = self._width / 4
        while not (found := self.between(at - span, at)):
            span *= 4
        return found[-1]

    def next(self, after: float) -> float:
        """Return the time of the next change, later than `after`; of a page that never changes, infinity."""
        if self.process is Process.STILL:
            return math.inf
        span = self._width / 4
        while not (found := self.between(after, after + span)):
            span *= 4
        return found[0]

    def _cells(self, after: float, until: float) -> range:
        """Return the cells of time that can hold changes of a time: a burst goes on into the next one at most."""
        if self.process is Process.STILL or until <= after:
            return range(0)
        first = math.floor((after - self._offset) / self._width - _ROUNDED)
        last = math.floor((until - self._offset) / self._width + _ROUNDED)
        return range(first - (self.process is Process.BURSTY), last + 1)

    def _within(self, cell: int) -> Iterator[float]:
        """Yield the changes that begin in a cell of time, in any order."""
        start, width, key = self._offset + cell * self._width, self._width, mix(self._key, cell, 2)
        if self.process is Process.PERIODIC:
            yield from (start + one * width / IN_CELL for one in range(int(IN_CELL)))
            return
        starts = [start + _share(mix(key, one)) * width for one in range(_poisson(_share(key)))]
        if self.process is Process.POISSON:
            yield from starts
            return
        span = _BURST_SPAN / self.rate
        for number, begin in enumerate(starts):
            yield from (begin + _share(mix(key, number, one, 3)) * span for one in range(BURST))


class Changes:
    """The changes of all pages of a web: its truth over time."""

    def __init__(self, spec: WebSpec) -> None:
        """Take the numbers of a web."""
        self._spec = spec
        self.of = lru_cache(maxsize=16_384)(self._of)

    def _of(self, site: int, page: int, is_leaf: bool = False) -> PageChanges:
        """Return the changes of a page; only one that leads to no others can come and go."""
        spec, key = self._spec, mix(self._spec.seed, site, page, 10)
        return PageChanges(key, self._process(mix(key, 4)), self._rate(mix(key, 5)), self._life(key, is_leaf, spec))

    def _process(self, draw: int) -> Process:
        spec, share = self._spec, _share(draw)
        if spec.changes == 0 or share < spec.still:
            return Process.STILL
        share = (share - spec.still) / (1 - spec.still)
        if share < spec.periodic:
            return Process.PERIODIC
        return Process.BURSTY if share < spec.periodic + spec.bursty else Process.POISSON

    def _rate(self, draw: int) -> float:
        """Draw a rate a second: lognormal, the mean of those that change is the spec's."""
        spread = self._spec.change_spread
        normal = _NORMAL.inv_cdf(min(max(_share(draw), 1e-9), 1 - 1e-9))
        return self._spec.changes / DAY_S * math.exp(spread * normal - spread**2 / 2)

    @staticmethod
    def _life(key: int, is_leaf: bool, spec: WebSpec) -> Life:
        """Draw a life of 15 to 60 days that begins within 60 days before the beginning or 60 days after it."""
        if not is_leaf or _share(mix(key, 6)) >= spec.coming:
            return Life()
        born = (2 * _share(mix(key, 7)) - 1) * _LONGEST_LIFE_S
        return Life(born, born + _LONGEST_LIFE_S * (0.25 + 0.75 * _share(mix(key, 8))))


class Clock:
    """The virtual time of a web: that of the machine since an epoch, so many times as fast; or what stands in a file.

    A file is read each time, so that whoever writes it decides what time it is; until it is there, it is 0. While it is
    half written, time stands still.
    """

    def __init__(self, epoch: float, scale: float, file: Path | None = None) -> None:
        """Take seconds since 1970 at which virtual time begins, and virtual seconds a second."""
        self._epoch = epoch
        self._scale = scale
        self._file = file
        self._read: float | None = None

    def now(self) -> float:
        """Return the virtual time, in seconds.

        Raises:
            ScrawlerError: the file has no number, and had none before.
        """
        if self._file is None:
            return (time.time() - self._epoch) * self._scale
        try:
            found = float(self._file.read_text(encoding="ascii"))
        except FileNotFoundError:
            found = 0.0
        except (OSError, ValueError):
            found = math.nan
        if abs(found) <= _LATEST_S:
            self._read = found
        if self._read is None:
            raise ScrawlerError(f"synthetic web: no number of seconds can be read from {self._file}")
        return self._read

    def date(self, at: float) -> datetime:
        """Return the date that a client, whose clock is not virtual, would see at a virtual time, in whole seconds."""
        seconds = math.floor(self._epoch + at / self._scale)
        return datetime.fromtimestamp(min(max(seconds, 0), _LAST_DATE), UTC)


def _poisson(share: float, mean: float = IN_CELL) -> int:
    """Turn a number from 0 to 1 into one of a Poisson distribution."""
    count, chance = 0, math.exp(-mean)
    while share >= chance and count < 40:
        share -= chance
        count += 1
        chance *= mean / count
    return count


def _share(draw: int) -> float:
    """Turn 64 drawn bits into a number from 0 to below 1."""
    return (draw >> 11) / _DRAWS
