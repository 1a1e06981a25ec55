"""nginx's log of the broad web: which sites are in work at a time, and the pages asked for between two times.

A site is held from the first request to it, which is for robots.txt, until each of its pages was asked for.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

_ROBOTS = "/robots.txt"


class Request(NamedTuple):
    """One answered request; `at` in seconds since 1970."""

    at: float
    host: str
    path: str
    status: int

    @property
    def is_page(self) -> bool:
        """Whether a page was delivered."""
        return self.status == 200 and self.path != _ROBOTS


class LogFile:
    """The log, read piece by piece while it grows."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._place = 0
        self._rest = b""

    def new(self) -> list[Request]:
        """Return what was logged since the last call; a line that is not whole waits for the next one."""
        if not self._path.exists():
            return []
        with self._path.open("rb") as file:
            file.seek(self._place)
            data = file.read()
        self._place += len(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [_parsed(line) for line in lines]


def _parsed(line: bytes) -> Request:
    at, status, host, path = line.decode("latin-1").split("\t", 3)
    return Request(float(at), host, path, int(status))


class Occupancy:
    """How many sites are held, from requests in the order of time; `pages` are those of one site."""

    def __init__(self, pages: int) -> None:
        self._pages = pages
        self._begun: set[str] = set()
        self._asked: Counter[str] = Counter()
        self.changes: list[tuple[float, int]] = []  # a time, and the sites that are held from then on
        self.begins: list[float] = []  # when a site was first asked
        self.answered: list[float] = []  # when pages were answered
        self.held = 0

    def add(self, requests: Iterable[Request]) -> None:
        """Take in further requests."""
        for request in requests:
            if request.host not in self._begun:
                self._begun.add(request.host)
                self.begins.append(request.at)
                self._change(request.at, 1)
            if request.is_page:
                self.answered.append(request.at)
                self._asked[request.host] += 1
                if self._asked[request.host] == self._pages:
                    self._change(request.at, -1)

    def _change(self, at: float, by: int) -> None:
        self.held += by
        self.changes.append((at, self.held))

    @property
    def began(self) -> float:
        """When the first request was answered; there must be one."""
        return self.begins[0]

    def reached(self, sites: float) -> float | None:
        """Return when so many sites were held for the first time; None: never."""
        return next((at for at, held in self.changes if held >= sites), None)

    def answered_by(self, pages: int) -> float | None:
        """Return when so many pages were answered, one at least; None: never."""
        return self.answered[pages - 1] if len(self.answered) >= pages else None

    def held_at(self, at: float) -> int:
        """Return how many sites were held at a time."""
        place = bisect_left(self.changes, at, key=lambda change: change[0])
        return self.changes[place - 1][1] if place else 0

    def mean_held(self, since: float, until: float) -> float:
        """Return how many sites were held on the average between two times."""
        within = [(at, held) for at, held in self.changes if since < at < until]
        steps = [(since, self.held_at(since)), *within, (until, 0)]
        total = sum(held * (end - begin) for (begin, held), (end, _) in pairwise(steps))
        return total / (until - since)

    def taken_up(self, since: float, until: float) -> int:
        """Return how many sites were asked for the first time between two times."""
        return bisect_left(self.begins, until) - bisect_left(self.begins, since)

    def pages(self, since: float, until: float) -> int:
        """Return how many pages were answered between two times."""
        return bisect_left(self.answered, until) - bisect_left(self.answered, since)
