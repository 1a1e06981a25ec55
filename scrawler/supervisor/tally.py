"""Adds up what the machine processes of one supervisor did."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from scrawler.app import faults_told, seed_counts
from scrawler.core.progress import Progress, RunSummary
from scrawler.settings import Settings
from scrawler.store.claims.crawls import Crawl, Crawls
from scrawler.store.claims.machines import Machines
from scrawler.store.claims.seeds import Seeds
from scrawler.store.engines.engine import open_database
from scrawler.store.reading.left_out import left_out
from scrawler.supervisor.process import MachineProcess
from scrawler.upkeep import Upkeep


class Tally:
    """What came of the processes so far, those that died and were started again among them.

    While they run, their own counts are added up: pages that a killed one had not made durable, one checkpoint's at
    most, count until the end although they are fetched again. In the end the database says what each committed, so
    nothing counts twice; only requests and look-ups, which did happen, are as last reported.
    """

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._machines: list[int] = []  # ids of machines that are gone, whose counts these are
        self._pages = 0
        self._requests = 0
        self._bytes = 0
        self._errors = 0
        self._lookups = 0
        self._newest: Progress | None = None

    def gone(self, process: MachineProcess) -> None:
        """Keep the last word of a process."""
        last = process.last if isinstance(process.last, RunSummary) else process.progress
        self._machines += process.machines
        if last is not None:
            self._pages += last.pages
            self._requests += last.requests
            self._bytes += last.bytes
            self._errors += last.errors
            self._lookups += last.lookups

    def progress(self, running: Sequence[MachineProcess]) -> Progress | None:
        """Add up all machines; seeds are as one of them last counted them. None: nothing is known yet."""
        living = [process.progress for process in running if process.progress is not None]
        self._newest = max((*living, *filter(None, [self._newest])), key=lambda one: one.done, default=None)
        if self._newest is None:
            return None
        return Progress(
            machines=tuple(number for one in living for number in one.machines),
            elapsed_s=time.monotonic() - self._started,
            pages=self._pages + sum(one.pages for one in living),
            pages_per_second=sum(one.rate for one in running),
            paused=bool(living) and all(one.paused for one in living),
            outage=any(one.outage for one in living),
            requests=self._requests + sum(one.requests for one in living),
            bytes=self._bytes + sum(one.bytes for one in living),
            errors=self._errors + sum(one.errors for one in living),
            lookups=self._lookups + sum(one.lookups for one in living),
            done=self._newest.done,
            active=self._newest.active,
            waiting=self._newest.waiting,
            resting=max((one.resting for one in living), default=0),
            in_line=sum(one.in_line for one in living),
            line_addresses=max((one.line_addresses for one in living), default=0),
            line_s=max((one.line_s for one in living), default=0.0),
            rest_s=min((one.rest_s for one in living if one.resting), default=0.0),
            waits={machine: waits for one in living for machine, waits in one.waits.items()},
            costs={machine: costs for one in living for machine, costs in one.costs.items()},
        )

    def summary(
        self,
        settings: Settings,
        outcome: str,
        restarts: int,
        given_up: Sequence[str],
        say: Callable[[str], None],
    ) -> RunSummary:
        """Say what all of them did and committed, once they are gone; `say` as that of `Upkeep`."""
        elapsed = time.monotonic() - self._started
        database = open_database(settings.db, create=False)
        try:
            crawl = Crawls(database).open(settings.name, settings.scope)
            whole = Machines(database).summary()
            faults = faults_told(settings, crawl.name, Seeds(database))
            deaths = Seeds(database).deaths()
            dead_at_proxies = Seeds(database).dead_at_proxies()
            pushed_back = Seeds(database).pushed_back()
            saved = Seeds(database).saved()
            traps = left_out(database)
            lost = Upkeep(settings, database, crawl, say).untold(lambda: outcome == "stopped")
        finally:
            database.close()
        mine = [one for one in whole.machines if one.id in self._machines]
        pages = sum(one.pages for one in mine)
        return RunSummary(
            machines=tuple(self._machines),
            crawl=crawl.name,
            outcome=outcome,
            elapsed_s=elapsed,
            pages=pages,
            requests=self._requests,
            bytes=sum(one.bytes for one in mine),
            errors=sum(one.errors for one in mine),
            pages_per_second=pages / elapsed,
            lookups=self._lookups,
            seeds=seed_counts(whole.seeds),
            warc_files=tuple(self._warc_files(settings.pages_dir, crawl)),
            internal_errors=faults[0],
            fault_file=faults[1],
            restarts=restarts,
            lost=lost.sum,
            lost_records=lost.files,
            deaths=deaths,
            dead_at_proxies=dead_at_proxies,
            pushed_back=pushed_back,
            left_out=traps,
            saved=saved,
            given_up=tuple(given_up),
        )

    def _warc_files(self, folder: Path, crawl: Crawl) -> Iterator[str]:
        for machine_id in self._machines:  # a machine that was killed could not say which files it had written
            pattern = f"{crawl.warc_prefix(machine_id)}-*.warc.gz"
            yield from sorted(path.name for path in folder.glob(pattern))
