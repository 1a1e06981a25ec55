"""Runs a crawl with one machine: opens the database, registers, crawls, and says how it ended."""

from __future__ import annotations

import gc
import os
import socket
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any

from scrawler.archive.archive import Archive
from scrawler.assembly import Stores, build_machine, check_parts, crawl_rules, fault_file, make_archive, make_filters
from scrawler.crawl.deaths import Deaths
from scrawler.crawl.fault_log import FaultLog
from scrawler.crawl.heartbeat import Heartbeat, resident_bytes
from scrawler.crawl.indexer import Indexer
from scrawler.crawl.machine import Machine
from scrawler.crawl.progress import Progress, RunSummary
from scrawler.crawl.records import Mended, Records
from scrawler.crawl.slots import Slots, reading_file
from scrawler.crawl.watchdog import Watchdog
from scrawler.errors import LeaseLostError, SettingsError, StoreAwayError, StoreBusyError, StoreError
from scrawler.fetch.descriptors import raise_file_limit
from scrawler.fetch.resolver import Resolver
from scrawler.model import BEAT_EVERY, EndReason, LossState, MachineState, Millis, Orders, SeedState
from scrawler.seeds.promoter import promote
from scrawler.settings import Settings, setting_text
from scrawler.store.candidates import Candidates
from scrawler.store.control import Control, CrawlOrders
from scrawler.store.crawls import Crawl, Crawls
from scrawler.store.engine import Database, Waiting, open_database
from scrawler.store.losses import Losses
from scrawler.store.machine_views import MachineView
from scrawler.store.machines import Machines, MachineSample
from scrawler.store.orphans import Orphans
from scrawler.store.pages import Pages
from scrawler.store.retries import Retries
from scrawler.store.seeds import Seeds
from scrawler.store.slow import SlowSeeds
from scrawler.store.starts import Starts
from scrawler.store.suspects import Suspects
from scrawler.threads import no_room, start
from scrawler.units import counted, format_seconds
from scrawler.upkeep import Upkeep, machines_prefix, packed, warc_prefix
from scrawler.urls.filters import UrlFilters
from scrawler.urls.scope import site_key

_LOOK_EVERY = 0.5  # seconds between looks at the progress
_COUNT_EVERY, _COUNT_AT_LATEST = 2.0, 30.0  # seconds between two counts of the seeds
# Seconds in which the database must answer a machine's threads; others can own its sites 15 s after its last heartbeat.
_ANSWER = 20.0
_PROMPT = 10.0  # seconds after which a transaction of theirs is left to their own patience
_LEASE_LOST = "lease-lost"  # outcome of a machine that begins anew
_FILES_OF_A_THREAD, _FILES_SHARED, _FILES_TO_SPARE = 8, 64, 192  # descriptors
_SLOTS = 64  # for threads that read pages, at least: their number can be changed while they run
_INDEX_EVERY = 10.0  # seconds between looks for WARC files that are full and committed


@dataclass(frozen=True, slots=True)
class Launch:
    """The command that starts a machine: when it began, by the database's clock, and how many machines it runs."""

    at: Millis
    machines: int
    prefix: str  # with which the names of the files of all machines of the crawl begin


def prepare_crawl(settings: Settings, stop: threading.Event, say: Callable[[str], None] = lambda line: None) -> Launch:
    """Make database and crawl ready, before any machine starts; `say` as in `run_crawl`. Raises StoreError."""
    with _opened(settings, stop, say) as database:
        crawl, _ = _open_crawl(database, settings)
        launch = Launch(Starts(database).begin(settings.machines), settings.machines, machines_prefix(crawl))
        Upkeep(settings, database, crawl, say).look(stop.is_set, say)
        _tell_orders(Control(database).orders(), say)
        return launch


def run_crawl(
    settings: Settings,
    on_progress: Callable[[Progress], None],
    stop: threading.Event,
    launch: Launch | None = None,
    say: Callable[[str], None] = lambda line: None,
    own_process: bool = False,
) -> RunSummary:
    """Crawl with one machine until no seed is left or `stop` is set.

    A machine whose lease ran out, because it was frozen or cut off from the database, begins anew as another one.
    `say` is told, in a line each, that the database is waited for, and (without `launch`) what was ordered before,
    and what WARC files held that nobody can account for.
    In `own_process`, which has nothing else to do, faults are told in a file of the crawl's, and a page that is read
    for longer than `page_time` ends the process, with exit code 8; the next one knows which page it was.

    Raises:
        StoreAwayError: the database was locked or away for too long; all that was checkpointed is kept.
        StoreError, ArchiveError: the database or the archive refused; all that was checkpointed is kept.
        SettingsError: a part of another package cannot be used (before anything is begun), or fails; the same.
    """
    check_parts(settings)
    filters = make_filters(settings)
    with _opened(settings, stop, say) as database:
        crawl, settings = _open_crawl(database, settings)
        gc.freeze()  # what was loaded so far stays; pages and links are freed without the collector's help
        gc.set_threshold(20_000, 20, 50)
        _have_files(settings)
        alone = launch is None
        if launch is None:
            launch = Launch(Starts(database).begin(1), 1, machines_prefix(crawl))
            _tell_orders(Control(database).orders(), say)
            Upkeep(settings, database, crawl, say).look(stop.is_set, say)
        patience = settings.database_patience
        prompt_waiting = Waiting(give_up_after=min(_PROMPT, patience), answer=_ANSWER, to_open=patience, say=say)
        ended: list[_Ended] = []
        started = time.monotonic()
        while not ended or (ended[-1].outcome == _LEASE_LOST and not stop.is_set()):
            with closing(open_database(settings.db, stop=stop, waiting=prompt_waiting)) as prompt:
                tell = FaultLog(fault_file(settings.output_dir, crawl.name)).tell
                deaths = Deaths(settings.pages_dir, launch.prefix, Suspects(prompt), say, tell)
                deaths.look()  # before it is known which machines are gone: nobody else has their sites yet
                run = _Run(settings, database, prompt, crawl, stop, launch, filters, deaths, say)
                with run.watched(own_process):
                    ended.append(run.crawl(on_progress))
        summary = _summary(crawl.name, ended, time.monotonic() - started, Seeds(database), settings)
        if not alone:
            return summary
        found = Upkeep(settings, database, crawl, say).untold(stop.is_set)
        return replace(summary, lost=found.sum, lost_records=found.files)


def mark_losses_told(settings: Settings, summary: RunSummary) -> None:
    """Let no other run tell of the losses in a summary, once that is shown. Raises StoreError."""
    waiting = Waiting(give_up_after=settings.database_patience)
    with closing(open_database(settings.db, create=False, waiting=waiting)) as database:
        Losses(database).mark_told(summary.lost_records)


def accept_losses(settings: Settings, stop: threading.Event, say: Callable[[str], None] = lambda line: None) -> None:
    """Let what is gone of the archive be, before any machine starts; `say` is told how much that is.

    Raises StoreError, ArchiveError.
    """
    with _opened(settings, stop, say) as database:
        lost = Upkeep(settings, database, _open_crawl(database, settings)[0], say).accept(say)
    say(f"{LossState.ACCEPTED}: {counted(lost.records, 'record')} of {counted(lost.files, 'WARC file')}")


def retry_lost(settings: Settings, stop: threading.Event, say: Callable[[str], None] = lambda line: None) -> None:
    """Let URLs be fetched again whose records are gone, before any machine starts; `say` is told how many these are.

    Raises StoreError, ArchiveError; done again, it goes on from where it was.
    """
    with _opened(settings, stop, say) as database:
        taken = Upkeep(settings, database, _open_crawl(database, settings)[0], say).list_lost_again(say)
    say(f"URLs to be fetched again because their records are gone: {taken.rows + taken.in_vain:,}")
    if taken.in_work:
        say(f"{counted(taken.in_work, 'more is', 'more are')} of sites that a machine has in work")
    if taken.unreachable:
        say(f"{taken.unreachable:,} more cannot be: their seeds are at other sites by now")
    if taken.robots:
        more = counted(taken.robots, "more is of a robots.txt file", "more are of robots.txt files")
        say(f"{more}, to be asked for again when it is needed")


def retry_seeds(
    settings: Settings,
    reasons: Collection[EndReason],
    stop: threading.Event,
    say: Callable[[str], None] = lambda line: None,
) -> None:
    """Let seeds that ended for one of `reasons` go on, before any machine starts; `say` is told how many these are.

    Raises StoreError, ArchiveError; done again, it goes on from where it was.
    """
    with _opened(settings, stop, say) as database:
        _open_crawl(database, settings)
        taken = Retries(database, packed).take_up(reasons)
        orphans = Orphans(database)
        Records(settings.pages_dir, Pages(database), orphans).index_again(orphans.files())
    more = counted(taken.in_work, "more is", "more are")
    left = f"; {more} of sites that a machine has in work" if taken.in_work else ""
    say(f"seeds taken up again: {taken.seeds:,}{left}")


def _files_of(settings: Settings) -> int:
    """Return how many files and sockets a machine needs: of its threads, one a seed, and a few that all share."""
    return settings.threads * (settings.seeds_per_thread + _FILES_OF_A_THREAD) + _FILES_SHARED


def _have_files(settings: Settings) -> None:
    """Raise the limit of open files as far as wanted. Raises SettingsError where hosts would seem dead for want of it.

    The limit is then too low for a connection a seed.
    """
    needed = _files_of(settings)
    limit = raise_file_limit(needed + _FILES_TO_SPARE)
    if limit < needed:
        seeds = counted(settings.seeds_per_thread, "seed")
        raise SettingsError(
            f"this process may have {limit:,} files and sockets open, and"
            f" {counted(settings.threads, f'thread of {seeds} needs', f'threads of {seeds} need')} {needed:,}:"
            f" raise the limit (ulimit -n {needed}), or lower --threads or --seeds-per-thread"
        )


@contextmanager
def _opened(settings: Settings, stop: threading.Event, say: Callable[[str], None]) -> Iterator[Database]:
    """Open the database for what must get through; the threads of a machine wait by themselves, each in its way."""
    patience = settings.database_patience
    waiting = Waiting(give_up_after=patience, once_stopped=settings.stop_timeout, to_open=patience, say=say)
    try:
        with closing(open_database(settings.db, stop=stop, waiting=waiting)) as database:
            yield database
    except StoreBusyError as error:
        waited = "stopped without it" if stop.is_set() else f"given up after {format_seconds(patience)}"
        raise StoreAwayError(f"{error}; {waited}: all checkpoints are kept, the next run goes on from there") from error


def _open_crawl(database: Database, settings: Settings) -> tuple[Crawl, Settings]:
    """Open the crawl; return it with the settings, whose name and scope are then the crawl's own.

    A name and a scope that the user gives are made the crawl's while nothing of it was begun, and refused after that.
    """
    crawls = Crawls(database)
    crawl = crawls.open(settings.name, settings.scope)
    if "name" in settings.model_fields_set and crawl.name != settings.name:
        crawls.rename(settings.name)
        crawl = replace(crawl, name=settings.name)
    if crawl.scope is not settings.scope and "scope" in settings.model_fields_set:
        crawls.rekey(settings.scope, lambda url: site_key(url, settings.scope))
        crawl = replace(crawl, scope=settings.scope)
    return crawl, settings.model_copy(update={"name": crawl.name, "scope": crawl.scope})


def _tell_orders(orders: CrawlOrders, say: Callable[[str], None]) -> None:
    """Say what was ordered some time ago, and would surprise the user now."""
    if orders.paused:
        say("the crawl is paused; `scrawler resume` lets it go on")
    if orders.settings:
        values = ", ".join(f"{key}={setting_text(key, value)}" for key, value in orders.settings.items())
        say(f"set for all machines, over files, variables and flags: {values}; `scrawler set KEY=` takes it back")


@dataclass(frozen=True, slots=True)
class _Ended:
    """One machine's part in a run."""

    outcome: str
    committed: MachineView
    requests: int
    lookups: int
    warc_files: tuple[str, ...]


class _Run:
    """One run of one machine, from its registration to its end."""

    def __init__(
        self,
        settings: Settings,
        database: Database,
        prompt: Database,
        crawl: Crawl,
        stop: threading.Event,
        launch: Launch,
        filters: UrlFilters | None,
        deaths: Deaths,
        say: Callable[[str], None],
    ) -> None:
        """Use `database` before and after the crawl, and `prompt`, which soon gives up, while threads run."""
        self._settings, self._database, self._prompt, self._crawl = settings, database, prompt, crawl
        self._stop, self._launch, self._filters, self._deaths = stop, launch, filters, deaths
        self._say = say
        self._machines = Machines(database)
        self._beats = Machines(prompt)
        host = socket.gethostname()
        self._machine_id = self._machines.register(host, os.getpid(), launch.at).id
        file = reading_file(settings.pages_dir, launch.prefix, self._machine_id)
        self._slots = Slots(file, max(_SLOTS, 2 * settings.threads), settings.max_url_length)
        self._records = Records(settings.pages_dir, Pages(database), Orphans(database))
        self._started = time.monotonic()
        self._looked_at, self._looked_pages = self._started, 0
        self._count_at = 0.0
        self._hops = settings.hops

    @contextmanager
    def watched(self, own_process: bool) -> Iterator[None]:
        """Keep the file of what is read in the block; watch for pages without an end where that may end the process."""
        with closing(self._slots), ExitStack() as stack:
            if own_process:
                watchdog = Watchdog(self._slots, self._settings.page_time)
                start(watchdog)
                stack.callback(watchdog.close)
            yield

    def crawl(self, on_progress: Callable[[Progress], None]) -> _Ended:
        """Finish others' files, crawl, finish the own; the machine's row and the run's row tell how it ended."""
        crawls = Crawls(self._database)
        folder = {"pages_dir": str(self._settings.pages_dir.absolute())}
        given = self._settings.model_dump(mode="json", exclude={"db"}) | folder
        run_id = crawls.begin_run(self._machine_id, given)
        archive, machine, resolver = self._build(run_id)
        try:
            heartbeat = self._heartbeat(machine)
            look = partial(self._look, machine, resolver, on_progress)
            with suppress(StoreBusyError):
                look()  # before a page is read, the supervisor shall know which machine it is
            with self._indexing(archive, machine):
                machine.run(heartbeat, look, _LOOK_EVERY)
            outcome = "ended" if machine.ended else "stopped"
        except LeaseLostError as error:
            outcome = "stopped" if error.was_to_end else _LEASE_LOST
        except BaseException:
            self._fail(run_id, machine.checkpointer.refused)
            raise
        finally:
            resolver.close()
            archive.close()
        files = archive.closed_files
        mine = self._sign_off(self._machines, crawls, run_id, outcome, machine.checkpointer.refused)
        done = self._records.finish_own(warc_prefix(self._crawl, self._machine_id), files())
        self._tell(done, self._database)
        self._finish_gone(self._database, self._records)  # some may have died meanwhile
        self._deaths.look()
        names = tuple(file.name for file in files())
        return _Ended(outcome, mine, machine.totals().requests, resolver.lookups, names)

    def _heartbeat(self, machine: Machine) -> Heartbeat:
        beat, patience = partial(self._beat, machine), self._settings.database_patience
        return Heartbeat(beat, machine.lease, self._stores.clock, BEAT_EVERY / 1000, patience)

    @contextmanager
    def _indexing(self, archive: Archive, machine: Machine) -> Iterator[None]:
        """Look after the WARC files in the block, with a thread of its own, which ends with the machine's."""
        records = Records(self._settings.pages_dir, Pages(self._prompt), Orphans(self._prompt))
        finish_gone = partial(self._finish_gone, self._prompt, records)
        indexer = Indexer(records, finish_gone, archive.closed_files, machine.stopping, machine.failed, _INDEX_EVERY)
        start(indexer)
        try:
            yield
        finally:
            machine.stopping.set()
            indexer.join()

    def _build(self, run_id: int) -> tuple[Archive, Machine, Resolver]:
        """Make the parts; when one of them cannot be made, sign off. Raises StartError where the system has no room."""
        with ExitStack() as failing, no_room():
            failing.callback(self._fail, run_id)
            self._stores = Stores.of(self._prompt, self._machine_id)
            archive = make_archive(self._settings, warc_prefix(self._crawl, self._machine_id))
            failing.callback(archive.close)
            machine, resolver = build_machine(
                self._settings, self._stores, archive, self._stop, self._promote, self._launch.machines, self._filters,
                self._slots, self._deaths.look,
            )  # fmt: skip
            failing.pop_all()
        machine.on_settings = partial(self._change_settings, machine)
        return archive, machine, resolver

    def _finish_gone(self, database: Database, records: Records) -> None:
        """Finish the files of machines that are gone, and note what of them was never committed."""
        machines = Machines(database)
        gone = {warc_prefix(self._crawl, number): number for number in machines.gone()}
        unfinished = records.unfinished(gone)
        in_order = {warc_prefix(self._crawl, number) for number in machines.ended_in_order()} if unfinished else set()
        for prefix in unfinished:
            done = records.finish_gone([prefix], in_order)
            if done.cut or done.orphans:
                machines.note_uncommitted(gone[prefix], done.cut + done.orphans)
            self._tell(done, database)

    def _tell(self, done: Mended, database: Database) -> None:
        """Tell what was kept of files, and note what is damaged in them: it is told as any other loss."""
        for line in done.told():
            self._say(line)
        if done.damaged:
            upkeep = Upkeep(self._settings, database, self._crawl)
            upkeep.note_damage(damage.file for damage in done.damaged)

    def _fail(self, run_id: int, refused: int = 0) -> None:
        """Sign off after an error; if the database has one as well, it is not told: the first one is."""
        with suppress(StoreError):
            self._sign_off(self._beats, Crawls(self._prompt), run_id, "failed", refused)

    def _sign_off(self, machines: Machines, crawls: Crawls, run_id: int, outcome: str, refused: int) -> MachineView:
        mine = machines.stop(self._machine_id, refused=refused)
        crawls.end_run(run_id, outcome, pages=mine.pages, bytes_=mine.bytes, errors=mine.errors)
        return mine

    def _change_settings(self, machine: Machine, values: Mapping[str, Any]) -> None:
        """Follow what is set in the database, from now on."""
        changed = self._settings.model_copy(update=dict(values))
        raise_file_limit(_files_of(changed) + _FILES_TO_SPARE)
        self._hops = changed.hops
        with machine.turn:
            machine.rules.change_to(crawl_rules(changed))
        machine.set_threads(changed.threads)

    def _promote(self) -> int:
        """Turn candidates near enough to the user's seeds into seeds, else let slow lanes go on; return how many."""
        candidates, seeds, hops = Candidates(self._prompt), Seeds(self._prompt), self._hops
        new = promote(candidates, seeds, self._settings.scope, max_hops=hops) if hops else 0
        return new or SlowSeeds(self._prompt).promote()

    def _beat(self, machine: Machine, state: MachineState, held: Sequence[int]) -> Orders:
        totals = machine.totals()
        sample = MachineSample(totals.requests, totals.pages, totals.bytes, totals.errors, machine.queue.seeds)
        return self._beats.beat(self._machine_id, sample, held, state, resident_bytes())

    def _look(self, machine: Machine, resolver: Resolver, on_progress: Callable[[Progress], None]) -> None:
        now, totals = time.monotonic(), machine.totals()
        rate = (totals.pages - self._looked_pages) / max(now - self._looked_at, 0.001)
        self._looked_at, self._looked_pages = now, totals.pages
        if now >= self._count_at:
            self._left = self._stores.claims.work_left()
            took = time.monotonic() - now  # a million seeds take a while; a database that was away says nothing of it
            self._count_at = now + min(max(_COUNT_EVERY, 50 * took), _COUNT_AT_LATEST)
        left = self._left
        on_progress(
            Progress(
                (self._machine_id,), now - self._started, totals.pages, rate, totals.requests, totals.bytes,
                totals.errors, resolver.lookups, left.done, left.active, left.ready + left.slow, machine.paused,
                machine.standstill.resting,
            )
        )  # fmt: skip


def seed_counts(seeds: Mapping[SeedState, Mapping[EndReason | None, int]]) -> dict[str, int]:
    """Name the numbers of seeds by their state or, when done, by their end reason."""
    return {(reason or state).value: number for state, reasons in seeds.items() for reason, number in reasons.items()}


def faults_told(settings: Settings, crawl: str, seeds: Seeds) -> tuple[int, str]:
    """Return how many answers of the crawl met a fault of this program, and the file of the tracebacks, if it is here.

    That count, unlike those of machines, outlives a kill, and begins anew for seeds that are taken up again.
    """
    number, file = seeds.internal_errors(), fault_file(settings.output_dir, crawl)
    return number, str(file) if number and os.path.exists(file) else ""


def _summary(crawl: str, ended: Sequence[_Ended], elapsed: float, seeds: Seeds, settings: Settings) -> RunSummary:
    committed = [one.committed for one in ended]
    pages = sum(one.pages for one in committed)
    return RunSummary(
        tuple(one.id for one in committed),
        crawl,
        "ended" if ended[-1].outcome == "ended" else "stopped",
        elapsed,
        pages,
        sum(one.requests for one in ended),
        sum(one.bytes for one in committed),
        sum(one.errors for one in committed),
        pages / elapsed,
        sum(one.lookups for one in ended),
        seed_counts(seeds.counts()),
        tuple(chain.from_iterable(one.warc_files for one in ended)),
        *faults_told(settings, crawl, seeds),
    )
