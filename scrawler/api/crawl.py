"""One crawl: everything that the command line does with it, for Python."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Collection, Generator, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import timedelta
from pathlib import Path
from typing import Any

from scrawler.api.log import also_logged
from scrawler.api.observing import BeginEachPage, EachPage, observed
from scrawler.api.opened import Results
from scrawler.api.page import Page
from scrawler.api.rows import results_of
from scrawler.api.running import Before, MachinesAtWork, at_work, before, cautions, private_advice
from scrawler.api.steering import SteeredCrawl
from scrawler.app import away_told
from scrawler.core.progress import Progress, RunSummary
from scrawler.errors import ScrawlerError
from scrawler.feature import hooked, hooked_for
from scrawler.model.events import Event
from scrawler.model.results import Result
from scrawler.model.seeds import EndReason
from scrawler.settings import Settings, make_settings


class Crawl(SteeredCrawl):
    """A crawl: its database, and the files of its pages.

    `db` is the path of an SQLite file, or the URL of a database, as `--db` takes it. What is not there is made, unless
    `create` is False. All settings of the command line are keywords, with the same names, and values as there
    (`delay="2s"`, `max_body="8MiB"`) or as Python has them: numbers in seconds and bytes, a timedelta, True, a list.
    Neither scrawler.toml nor a variable SCRAWLER_* is read: `Crawl(settings=scrawler.load_settings({}))` does that.
    Relative paths are those of the folder that is the current one now, as for the command line: an archive is in
    `pages/`, unless `pages_dir` says otherwise.

    It is a context manager, which closes the database; without `with`, call `close`. Any thread may use it. `say` is
    told, in a line each, what a user should know, such as that the database is waited for; by default these are
    warnings of the logger `scrawler`. `config` names a file of settings over which nothing is to be written; `keeps` is
    held for as long as any page is, as a temporary folder.

    Raises:
        SettingsError: a setting is unknown, or its value is none that it can have.
        StoreError (from each method): the database cannot be opened, or refuses.
    """

    def __init__(
        self,
        db: str | os.PathLike[str] | None = None,
        *,
        settings: Settings | None = None,
        create: bool = True,
        config: Path | None = None,
        say: Callable[[str], None] | None = None,
        keeps: object = None,
        **changes: Any,
    ) -> None:
        super().__init__(db, settings=settings, create=create, config=config, say=say, keeps=keeps, **changes)
        self._stop = threading.Event()  # set as well when machines have come to their end
        self._enough = threading.Event()  # that what comes after them is to end as well: copies
        self._runs = False
        self._machines: MachinesAtWork | None = None  # those of the run, if there is one

    # -- crawling ------------------------------------------------------------------------------------------

    def run(
        self,
        machines: int | None = None,
        *,
        on_page: Callable[[Page], object] | None = None,
        on_event: Callable[[Event], object] | None = None,
        on_progress: Callable[[Progress], None] = lambda progress: None,
        processors: Iterable[Callable[[Page], Any]] = (),
        items: str | os.PathLike[str] | None = None,
        anew: bool = False,
        result: Results = Result.FETCHED,
        retry: str | Iterable[str] = (),
        accept_losses: bool = False,
        again: bool | str | Iterable[str] = False,
        older_than: str | float | timedelta = 0.0,
        retry_result: str | Iterable[str] = (),
    ) -> RunSummary:
        """Crawl until no seed is left, or until it is stopped; return what was done and committed.

        So many `machines` work, each a process of its own (default: the setting). `on_page` is called here, in the
        caller's thread, for each page that is committed meanwhile and has the `result` (one or several; None: any),
        soon after its commit, mostly within half a second; how long it takes holds up nobody else, and before `run`
        returns it was called for all of them. `on_event` is told in the same way what else happens, on any machine: see
        `scrawler.events`; `print` shows it. So is the logger `scrawler`, where its level is INFO or below. What they
        raise ends the crawl cleanly, and is raised here. `on_progress` is shown how it goes, twice a second, in another
        thread.

        `processors`, and those that the settings name, are called for each page that they have not had yet, those of
        earlier runs among them; the items that they return are appended to the file `items` (.jsonl, .csv,
        .parquet), or to a table of the database (`table:NAME`, which is `items_NAME` there). How far
        they have come is in the database, by their names. They go on with the file that they had;
        with `anew` they begin at the first page again, with an empty file.

        `stop` ends it cleanly from any thread. So does a Ctrl-C in this one: what is in hand is finished and saved, and
        then KeyboardInterrupt is raised; a second one ends the machines at once, which loses what was not committed.
        `retry` has an end reason or several, or `lost`, as `scrawler run --retry` does, and so has `accept_losses`.
        With `retry="urls"` the URLs whose last result is `retry_result`, one or several, are asked for again.

        With `again`, seeds that have ended are visited again first: all of them, or those of a URL, a file, or several;
        what was visited less than `older_than` ago (seconds, a timedelta, or a text such as "7d") is left out.

        Raises:
            StoreError, ArchiveError: the database or the archive refused; all that was checkpointed is kept.
            SettingsError: a setting, or a part of another package, cannot be used.
            ScrawlerError: a machine died again and again, or this crawl or these processors are at work already.
        """
        wanted = results_of(result)
        first = before(retry, accept_losses, again=again, older_than=older_than, results=retry_result)
        settings = self._for_run(machines)
        with self._alone(), self._each_page(processors, items, wanted, anew) as processing:
            return self._observe(settings, first, wanted, on_page, on_event, on_progress, processing)

    def _observe(
        self,
        settings: Settings,
        first: Before,
        wanted: Collection[Result],
        on_page: Callable[[Page], object] | None,
        on_event: Callable[[Event], object] | None,
        on_progress: Callable[[Progress], None],
        processing: EachPage | None,
    ) -> RunSummary:
        """Let machines work, and tell of it what is to be told, until they are over."""
        pages = wanted if on_page else None
        asked = self._asked.is_set
        tell = also_logged(on_event)
        with self._at_work(settings, first, on_progress) as at_work:
            for page in observed(self.database, self.answers, at_work.over, pages, tell, processing, asked):
                if on_page is not None:
                    on_page(page)
            if processing is not None and not asked():
                processing.tell_if_nothing_was_new()
            summary = at_work.summary()
        self._advise(summary)
        return summary

    def _advise(self, summary: RunSummary) -> None:
        """Say what a program can do where all seeds are at private addresses."""
        if private := private_advice(summary):
            self._say(f'{private}: Crawl(allow_private=True), and run(retry="{EndReason.PRIVATE_ADDRESS.value}")')

    def _each_page(
        self,
        processors: Iterable[Callable[[Page], Any]],
        items: str | os.PathLike[str] | None,
        wanted: Collection[Result],
        anew: bool,
    ) -> AbstractContextManager[EachPage | None]:
        """Return what is to be done with each page, by a feature; nothing where none has anything to do with it."""
        asked = anew or items is not None or processors != ()
        offered = hooked("each_page", self.settings)
        begin: BeginEachPage | None = hooked_for("each_page", "to process pages") if asked else next(offered, None)
        return nullcontext() if begin is None else begin(self, processors, items, wanted, anew)

    def stream(
        self,
        machines: int | None = None,
        *,
        on_event: Callable[[Event], object] | None = None,
        result: Results = Result.FETCHED,
    ) -> Generator[Page, None, None]:
        """Crawl as `run` does, and yield the pages that are committed meanwhile; it ends when no seed is left.

        Machines begin to work with the first `next`. Who leaves the loop, by `break`, by an exception, or by `close` of
        the iterator, stops the crawl cleanly. A slow reader holds up nobody: pages wait in the database.
        `on_event` is that of `run`; page processors are not called. Raises as `run` does.
        """
        wanted = results_of(result)
        return self._stream(machines, wanted, on_event)

    def _stream(
        self, machines: int | None, wanted: Collection[Result], on_event: Callable[[Event], object] | None
    ) -> Generator[Page, None, None]:
        with self._alone(), self._at_work(self._for_run(machines), Before()) as at_work:
            yield from observed(self.database, self.answers, at_work.over, wanted, also_logged(on_event))
            at_work.summary()

    def stop(self) -> None:
        """Let a run end cleanly, from any thread; returns at once.

        So does `process`. Where none runs, the next one ends at its beginning: a stop that comes a moment too early is
        not lost. Runs of other processes and hosts are ended by `stop_machines`.
        """
        self._asked.set()
        self._stop.set()
        self._enough.set()

    def kill(self) -> None:
        """End a run at once, which loses what its machines have not committed; from any thread or handler."""
        machines = self._machines
        if machines is not None:
            self.stop()  # else they would be started again
            machines.kill()

    def _for_run(self, machines: int | None) -> Settings:
        return self.settings if machines is None else make_settings({"machines": machines}, self.settings)

    @contextmanager
    def _at_work(
        self, settings: Settings, first: Before, on_progress: Callable[[Progress], None] = lambda progress: None
    ) -> Iterator[MachinesAtWork]:
        for caution in cautions(settings):
            self._say(caution)
        with (
            away_told(settings, self._asked),
            at_work(settings, self._stop, first, self._say, on_progress, self._enough) as running,
        ):
            self._machines = running
            yield running

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Run this crawl during the block, alone in this object. Raises ScrawlerError."""
        _ = self.database  # with `create` it is there now, else this tells that it is not
        with self._turn:
            if self._runs:
                raise ScrawlerError("this crawl is being run already, by another thread or an iterator that is open")
            self._runs = True
        try:
            yield
        finally:
            with self._turn:
                self._runs = False
                self._machines = None
            self._forget_stop()

    @contextmanager
    def stoppable(self) -> Iterator[threading.Event]:
        """Give what `stop` sets, for work that is no run; after the block the stop is forgotten."""
        try:
            yield self._asked
        finally:
            self._forget_stop()

    def _forget_stop(self) -> None:
        """Let the next run begin, unless one goes on, which is to end as well."""
        with self._turn:
            if not self._runs:
                self._stop.clear()
                self._enough.clear()
                self._asked.clear()


class UnadvisedCrawl(Crawl):
    """A crawl of a command, which says in its own words what can be done about private addresses."""

    def _advise(self, summary: RunSummary) -> None:
        """Say nothing."""
