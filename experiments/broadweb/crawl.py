"""A crawl of the broad web, watched from outside: nginx's log, and what /proc says of the processes."""

from __future__ import annotations

import os
import signal
import sqlite3
import time
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import click

from experiments.broadweb.log import Occupancy
from experiments.broadweb.server import LOG_DELAY, BroadServer, address_of, host_of
from experiments.lab.meter import all_cpu
from experiments.lab.process import OUTPUT, Figures, Sampler, cpu_seconds, fresh_folder, memory, run_measured
from experiments.lab.scrawler_command import DATABASE, import_command, run_command
from experiments.lab.trees import Tree

FILLED = 0.98  # share of the places that counts as all of them
WARM = 15  # pages of each site that were asked for before it is measured: what is costly may begin with the tenth
_LOOK_EVERY = 0.25  # seconds
_SLOW_START = 120.0  # seconds until the first request, and after the stop: longer than that only what hangs takes
_WHOLE = 1_800.0  # seconds for a crawl that ends by itself
_IMPORT_SECONDS = 600.0
_STOPPED = (0, 130)  # exit codes of a crawl that was told to stop
_TOLD = 1_500  # characters of its output


class Moment(NamedTuple):
    """CPU seconds used so far, and the crawler's resident bytes, at a time."""

    at: float
    crawler: float
    server: float
    everybody: float
    resident: int


@dataclass(frozen=True, slots=True)
class Times:
    """So long may it take until all places are full and their sites well begun, in seconds; so long is measured."""

    fill: float
    window: float

    @property
    def longest(self) -> float:
        """Seconds from the first request to the end of the measurement, at most."""
        return self.fill + self.window

    def measured_from(self, began: float, filled: float | None, warmed: float | None) -> float:
        """Return when the measurement begins: once the places are full and warm, or when they may take no longer."""
        latest = began + self.fill
        if filled is None or warmed is None:
            return latest
        return min(max(filled, warmed), latest)


@dataclass(frozen=True, slots=True)
class Kept:
    """What the crawl's database says at the end: pages that it has, and URLs that it gave up."""

    pages: int
    given_up: int


@dataclass(frozen=True, slots=True)
class Observed:
    """A crawl that was watched; `since` and `until` are those of the measurement; times are in seconds since 1970."""

    started: float  # when the process was
    moments: Sequence[Moment]
    occupancy: Occupancy
    filled: float | None  # when the places were full
    since: float
    until: float
    stop_seconds: float  # from SIGINT to the end of the process
    kept: Kept

    def between(self) -> tuple[Moment, Moment]:
        """Return the first and the last moment of the measurement. Raises ClickException: there are not two."""
        within = [moment for moment in self.moments if self.since <= moment.at <= self.until]
        if len(within) < 2:
            raise click.ClickException("the machine is so busy that the crawl could not be watched")
        return within[0], within[-1]

    def before(self) -> Moment:
        """Return the last moment before the first request was answered, or the first one that there is."""
        earlier = [moment for moment in self.moments if moment.at < self.occupancy.began]
        return earlier[-1] if earlier else self.moments[0]


@dataclass
class Watch:
    """Looks at a crawl now and then, and stops it when enough was seen."""

    server: BroadServer
    places: int
    times: Times
    moments: list[Moment] = field(default_factory=list)
    failure: Exception | None = None
    stopped_at: float | None = None

    def __post_init__(self) -> None:
        self._log = self.server.log()
        self._server_pids = self.server.pids()
        self.occupancy = Occupancy(self.server.pages.count)

    def look(self, pid: int) -> None:
        """Take a sample; a failure here ends the crawl."""
        try:
            self.server.check()
            with suppress(FileNotFoundError, ProcessLookupError):  # the crawl has just ended
                self._look(pid)
        except Exception as error:
            self.failure = self.failure or error
            self._stop(pid)

    def _look(self, pid: int) -> None:
        now = time.time()
        found = memory(pid)
        if found is None:
            return
        self.moments.append(Moment(now, cpu_seconds([pid]), cpu_seconds(self._server_pids), all_cpu(), found[0]))
        self.read_log()
        if self.occupancy.begins and now > self.until() + 2 * LOG_DELAY:
            self._stop(pid)

    def read_log(self) -> None:
        """Take in what was logged since."""
        self.occupancy.add(self._log.new())

    def filled(self) -> float | None:
        """Return when the places were full, as far as it is known now."""
        return self.occupancy.reached(FILLED * self.places)

    def since(self) -> float:
        """Return when the measurement begins, as far as it is known now."""
        warmed = self.occupancy.answered_by(self.places * min(WARM, self.server.pages.count))
        return self.times.measured_from(self.occupancy.began, self.filled(), warmed)

    def until(self) -> float:
        """Return when the measurement ends, as far as it is known now."""
        return self.since() + self.times.window

    def _stop(self, pid: int) -> None:
        if self.stopped_at is None:
            self.stopped_at = time.monotonic()
            os.kill(pid, signal.SIGINT)


def watched(
    tree: Tree, server: BroadServer, sites: int, places: int, settings: Mapping[str, object], times: Times
) -> Observed:
    """Crawl so many sites until all places were full for a while, and stop that.

    Raises:
        ClickException: the crawl failed, ended too early or hung; its folder is kept.
    """
    with fresh_folder("broad") as folder:
        watch = Watch(server, places, times)
        command = _prepared(tree, server, sites, settings, folder)
        longest = times.longest + 2 * _SLOW_START
        started = time.time()
        figures = run_measured(command, folder, longest, sampler=Sampler(watch.look, _LOOK_EVERY))
        ended = time.monotonic()
        watch.read_log()
        if watch.failure:
            raise click.ClickException(f"the crawl could not be watched: {watch.failure}") from watch.failure
        _succeed(figures, folder, _STOPPED)
        if watch.stopped_at is None:
            raise click.ClickException(f"the crawl ended by itself before it was measured{_tail(folder)}")
        kept = _kept(folder)
    stop_seconds = ended - watch.stopped_at
    return Observed(
        started=started,
        moments=watch.moments,
        occupancy=watch.occupancy,
        filled=watch.filled(),
        since=watch.since(),
        until=watch.until(),
        stop_seconds=stop_seconds,
        kept=kept,
    )


def crawl_all(tree: Tree, server: BroadServer, sites: int, settings: Mapping[str, object]) -> tuple[Figures, int]:
    """Crawl so many sites to their end; return what it cost, and the pages.

    Raises:
        ClickException: the crawl failed or hung; its folder is kept.
    """
    with fresh_folder("broad") as folder:
        figures = run_measured(_prepared(tree, server, sites, settings, folder), folder, _WHOLE)
        _succeed(figures, folder, (0,))
        return figures, _kept(folder).pages


def _prepared(tree: Tree, server: BroadServer, sites: int, settings: Mapping[str, object], folder: Path) -> list[str]:
    """Import the seeds, write down where their hosts are, and return the command that crawls them."""
    resolved = ", ".join(f'"{host_of(site)}={address_of(site)}"' for site in range(sites))
    (folder / "scrawler.toml").write_text(f"resolve = [{resolved}]\n")
    seeds = folder / "seeds.txt"
    seeds.write_text("".join(f"{server.seed(site)}\n" for site in range(sites)))
    _succeed(run_measured(tree.command(import_command(seeds)), folder, _IMPORT_SECONDS), folder, (0,))
    return tree.command(run_command(**settings))


def _succeed(figures: Figures, folder: Path, codes: Sequence[int]) -> None:
    if figures.timed_out:
        raise click.ClickException(f"scrawler was killed after {figures.wall:.0f} s{_tail(folder)}")
    if figures.exit_code not in codes:
        raise click.ClickException(f"scrawler ended with {figures.exit_code}{_tail(folder)}")


def _tail(folder: Path) -> str:
    file = folder / OUTPUT
    return f", see {file}:\n{file.read_text(errors='replace')[-_TOLD:].strip()}"


def _kept(folder: Path) -> Kept:
    with closing(sqlite3.connect(f"file:{folder / DATABASE}?mode=ro", uri=True)) as connection:
        row = connection.execute("SELECT SUM(pages), SUM(trapped + failures + http_errors) FROM seed").fetchone()
    return Kept(*(int(value or 0) for value in row))
