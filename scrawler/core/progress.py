"""What a crawl tells while it runs and when it is over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from scrawler.fetch.downloader import Response
from scrawler.model.results import NO_ERROR, Result


@dataclass(slots=True)
class Totals:
    """Counts of a machine, or of one of its threads, since it started."""

    requests: int = 0
    pages: int = 0
    bytes: int = 0
    errors: int = 0  # answers other than a page or a redirect, and missing ones

    def count(self, response: Response, well: bool) -> None:
        """Count the answer of a page; unless `well`, it met a fault of this program."""
        self.requests += 1
        self.bytes += len(response.body)
        self.pages += well and response.result is Result.FETCHED
        self.errors += not well or response.result not in NO_ERROR


@dataclass(frozen=True, slots=True)
class Progress:
    """One look at running machines; counts since they started, seeds as the database and a machine know them."""

    machines: tuple[int, ...]  # ids of those that run
    elapsed_s: float
    pages: int
    pages_per_second: float  # since the last look
    requests: int
    bytes: int
    errors: int
    lookups: int
    done: int
    active: int
    waiting: int
    paused: bool = False  # until `scrawler resume`
    outage: bool = False  # no host answers: a machine rests


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
    given_up: tuple[str, ...] = ()  # what is to be said of machines that died again and again
