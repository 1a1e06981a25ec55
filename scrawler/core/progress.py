"""What a crawl tells while it runs and when it is over."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from scrawler.fetch.downloader import Response
from scrawler.model.copies import Copies
from scrawler.model.left_out import LeftOut
from scrawler.model.results import NO_ERROR, Result
from scrawler.units import counted, human_seconds

_MANY, _LONG = 20, 10.0  # sites in lines, or seconds, that are worth telling
_RATED: Final = 5.0  # seconds over which a rate is taken, or since the start


@dataclass(slots=True)
class Totals:
    """Counts of a machine, or of one of its threads, since it started."""

    requests: int = 0
    pages: int = 0
    bytes: int = 0
    errors: int = 0  # answers other than a page or a redirect, and missing ones

    def count(self, response: Response, well: bool) -> None:
        """Count the answer of a page, with those to what it asked for meanwhile.

        Unless `well`, it met a fault of this program.
        """
        self.requests += 1
        if response.recalled is None:
            self.bytes += len(response.body)
        if response.further:
            self.requests += len(response.further)
            self.bytes += sum([len(answer.body) for answer in response.further])
        self.pages += well and response.result is Result.FETCHED
        self.errors += not well or response.result not in NO_ERROR


class PageRate:
    """Pages a second over the last seconds: where sites all rest for one second, pages come in bursts between looks."""

    __slots__ = ("_looks",)

    def __init__(self, began: float) -> None:
        """Begin at a time in seconds, with no page."""
        self._looks = deque([(began, 0)])

    def look(self, now: float, pages: int) -> float:
        """Return the rate, of all pages so far at a time."""
        self._looks.append((now, pages))
        while len(self._looks) > 2 and self._looks[1][0] <= now - _RATED:
            self._looks.popleft()
        at, before = self._looks[0]
        return (pages - before) / max(now - at, 0.001)


class Lines(NamedTuple):
    """Sites that wait for their turn at IP addresses."""

    sites: int = 0
    addresses: int = 0
    seconds: float = 0.0  # that the longest line takes; 0: nobody can tell


def lines_text(lines: Lines) -> str:
    """Say how many sites wait for their turn at IP addresses, and how long; empty where few do, and not for long."""
    if lines.sites < _MANY and lines.seconds < _LONG:
        return ""
    there = counted(lines.sites, "site waits", "sites wait")
    at = counted(lines.addresses, "IP address", "IP addresses")
    time = f", about {human_seconds(lines.seconds)}" if lines.seconds >= 1 else ""
    return f"{there} in line at {at}{time}"  # of 64 characters at most: it goes to the database


@dataclass(frozen=True, slots=True)
class Progress:
    """One look at running machines; counts since they started, seeds as the database and a machine know them."""

    machines: tuple[int, ...]  # ids of those that run
    elapsed_s: float
    pages: int
    pages_per_second: float  # over the last seconds
    requests: int
    bytes: int
    errors: int
    lookups: int
    done: int
    active: int
    waiting: int
    paused: bool = False  # until `scrawler resume`
    outage: bool = False  # no host answers: a machine rests
    resting: int = 0  # sites of the crawl that are left alone for a while
    rest_s: float = 0.0  # seconds until the first of them may be asked again
    in_line: int = 0  # sites that wait for their turn at IP addresses which others share ...
    line_addresses: int = 0  # ... at so many of these
    line_s: float = 0.0  # seconds that the longest line takes yet, about; 0: nobody can tell
    waits: Mapping[str, Mapping[str, int]] = field(default_factory=dict)  # machine id -> what for -> seeds that wait
    costs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # machine id -> what checkpoints have cost
    copied: int = 0  # WARC files that this run has copied elsewhere (`archive_to`)
    uncopied: int = 0  # WARC files of this host that are finished, and not copied yet
    copies: Copies | None = None  # all of that; None: nothing is to be copied
    told: str = ""  # what features that work beside the machines say, for people


@dataclass(frozen=True, slots=True)
class RunSummary:
    """What one `run` did and committed; `seeds` counts the whole crawl by state or, when done, by end reason."""

    machines: tuple[int, ...]  # ids of those that this run started
    crawl: str
    outcome: str  # "ended": no seed is left; "stopped": asked to; "failed": a machine was given up
    elapsed_s: float
    pages: int
    requests: int
    bytes: int
    errors: int  # URLs with a final result other than a page, a redirect, an unwanted type or a trap
    pages_per_second: float
    lookups: int
    seeds: Mapping[str, int]
    warc_files: tuple[str, ...]
    internal_errors: int = 0  # answers that met a fault of this program, of the whole crawl
    fault_file: str = ""  # where their tracebacks are; empty: nowhere here
    restarts: int = 0  # of machines that died
    lost: tuple[int, int, int] = (0, 0, 0)  # not told of before: files, their records, and records that refer to these
    lost_records: Mapping[str, int] = field(default_factory=dict)  # lost records by file, to be marked as told
    copied: int = 0  # WARC files that this run has copied elsewhere (`archive_to`)
    uncopied: int = 0  # WARC files of this host that are finished, and not copied yet
    uncopied_why: str = ""  # why these are not, where the run has ended
    told: Mapping[str, str] = field(default_factory=dict)  # what features that worked beside it say, by what it is of
    warnings: tuple[str, ...] = ()  # what they say last
    undone: str = ""  # what they were to do and have not done, where the crawl has ended; empty: nothing
    saved: int = (
        0  # bytes of bodies that were not archived again, of the whole crawl: 304, or an earlier crawl has them
    )
    left_out: LeftOut = field(default_factory=LeftOut)  # as traps, of the whole crawl
    deaths: Mapping[str, int] = field(default_factory=dict)  # seeds of the whole crawl by what they have died of
    dead_at_proxies: tuple[int, str] = (0, "")  # seeds, of the whole crawl, and what most of them met
    # Seeds of the whole crawl that ended because their sites refused, by kind.
    pushed_back: Mapping[str, int] = field(default_factory=dict)
    given_up: tuple[str, ...] = ()  # what is to be said of machines that died again and again
