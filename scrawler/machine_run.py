"""One run of one machine: it registers, crawls, looks after its files, and signs off."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from threading import Event
from typing import Any, NamedTuple

from scrawler.archive.archive import Archive, ClosedFile
from scrawler.assembly.archives import make_archive
from scrawler.assembly.building import built
from scrawler.assembly.copies import CrawlArchives
from scrawler.assembly.machine import build_machine
from scrawler.assembly.stores import Stores
from scrawler.core.blame.deaths import Deaths
from scrawler.core.blame.slots import Slots, reading_file
from scrawler.core.blame.watchdog import Watchdog
from scrawler.core.machine.heartbeat import Heartbeat, resident_bytes
from scrawler.core.machine.machine import Machine
from scrawler.core.progress import PageRate, Progress
from scrawler.core.records.indexer import Indexer
from scrawler.core.records.records import Mended, Records
from scrawler.errors import LeaseLostError, SettingsError, StoreBusyError, StoreError
from scrawler.feature import hooked
from scrawler.fetch.descriptors import file_limit, raise_file_limit
from scrawler.fetch.resolver import Resolver
from scrawler.model.claims import Resting, WorkLeft
from scrawler.model.machines import BEAT_EVERY, MachineState, Orders
from scrawler.model.terms import Millis
from scrawler.settings import Settings, public_values, with_live
from scrawler.store.claims.crawls import Crawl, Crawls
from scrawler.store.claims.machines import Identity, Machines, PlainIdentity
from scrawler.store.claims.overview import MachineView
from scrawler.store.claims.samples import MachineSample
from scrawler.store.engines.engine import Database
from scrawler.store.lists.orphans import Orphans
from scrawler.store.reading.pages import Pages
from scrawler.threads import no_room, start
from scrawler.units import counted
from scrawler.upkeep import Upkeep
from scrawler.urls.filters import UrlFilters

LEASE_LOST = "lease-lost"  # outcome of a machine that begins anew

_LOOK_EVERY = 0.5  # seconds between looks at the progress
_COUNT_EVERY, _COUNT_AT_LATEST = 2.0, 30.0  # seconds between two counts of the seeds
_FILES_OF_A_THREAD, _FILES_SHARED, _FILES_TO_SPARE = 8, 64, 192  # descriptors
MOST_WAITING = 20_000  # seeds of a machine that may wait for an answer without a place
_FEW_WAITING = 2_000  # so few are told
_SLOTS = 64  # threads may be added while the machine runs: there is room for so many at least
_INDEX_EVERY = 10.0  # seconds between looks for WARC files that are full and committed


class FilesTaken(NamedTuple):
    """The files that a feature takes of a process: what is offered as `files` returns them, of settings."""

    needed: int
    further: int  # at most


@dataclass(frozen=True, slots=True)
class Launch:
    """The command that starts a machine: when it began, by the database's clock, and how many machines it runs."""

    at: Millis
    machines: int
    prefix: str  # the names of all machines' WARC files begin with it


def _closed_by_day(archive: Archive) -> Sequence[ClosedFile]:
    """Return the files that are closed: of a crawl that goes on, those of earlier days are among them."""
    end_day: Callable[[], None] | None = getattr(archive, "end_day", None)  # those of other packages need not have it
    if end_day is not None:
        end_day()
    return archive.closed_files()


def _files_of(settings: Settings) -> int:
    """Return how many files and sockets a machine needs: of its threads, their seeds, its port, and a few for all.

    A thread has as many connections in use as its seeds may have, and keeps as many that are idle. What its seeds have
    that wait without a place, or are opened beyond the places, is not counted here: see `most_waiting`.
    """
    connections = 2 * settings.seeds_per_thread * settings.per_site
    of_threads = settings.threads * (connections + _FILES_OF_A_THREAD)
    return of_threads + _FILES_SHARED + sum(files.needed for files in _files_of_features(settings))


def _files_of_features(settings: Settings) -> list[FilesTaken]:
    return [files_of(settings) for files_of in hooked("files", settings)]


def have_files(settings: Settings, say: Callable[[str], None] = lambda line: None) -> None:
    """Raise the limit of open files as far as wanted. Raises SettingsError where hosts would seem dead for want of it.

    The limit is then too low for the connections of each seed. `say` is told where few can hang beside these.
    """
    needed = _files_of(settings)
    limit = raise_file_limit(needed + _FILES_TO_SPARE + MOST_WAITING)
    if limit < needed:
        seeds = counted(settings.seeds_per_thread, "seed")
        raise SettingsError(
            f"this process may have {limit:,} files and sockets open, and"
            f" {counted(settings.threads, f'thread of {seeds} needs', f'threads of {seeds} need')} {needed:,}:"
            f" raise the limit (ulimit -n {needed}), or lower --threads, --seeds-per-thread or --per-site"
        )
    if (waiting := most_waiting(settings)) < _FEW_WAITING:
        say(
            f"this process may have {limit:,} files and sockets open: only"
            f" {counted(waiting, 'seed')} can wait for hosts that do not answer while others are crawled; for more"
            f" raise the limit (ulimit -n {needed + _FILES_TO_SPARE + MOST_WAITING})"
        )


def most_waiting(settings: Settings) -> int:
    """Return how many seeds of a machine may be asked without a place, or be opened beyond the places.

    Each may have a connection that hangs.
    """
    limit = file_limit()
    if limit is None:
        return MOST_WAITING
    others = sum(files.further for files in _files_of_features(settings))
    return max(0, min(MOST_WAITING, limit - _files_of(settings) - others - _FILES_TO_SPARE))


@dataclass(frozen=True, slots=True)
class Ended:
    """One machine's part in a run."""

    outcome: str
    committed: MachineView
    requests: int
    lookups: int
    warc_files: tuple[str, ...]


def _identity(settings: Settings) -> Identity:
    for identity_of in hooked("identity", settings):
        named: Identity = identity_of(settings)
        return named
    return PlainIdentity()


class MachineRun:
    """One run of one machine, from its registration to its end."""

    def __init__(
        self,
        settings: Settings,
        database: Database,
        prompt: Database,
        crawl: Crawl,
        stop: Event,
        launch: Launch,
        filters: UrlFilters | None,
        deaths: Deaths,
        say: Callable[[str], None],
    ) -> None:
        """Use `database` before and after the crawl, and `prompt`, which soon gives up, while threads run."""
        self._given = settings
        self._database = database
        self._prompt = prompt
        self._crawl = crawl
        self._stop = stop
        self._launch = launch
        self._filters = filters
        self._deaths = deaths
        self._say = say
        self._machines = Machines(database)
        self._beats = Machines(prompt)
        host = socket.gethostname()
        self._identity = _identity(settings)
        self._machine_id = self._machines.register(host, os.getpid(), launch.at, self._identity).id
        with ExitStack() as failing, no_room():
            failing.callback(self._machines.stop, self._machine_id)
            self._building = built(settings, crawl, self._machine_id, prompt, say, stop)
            failing.pop_all()
        self._settings = settings = self._building.settings
        file = reading_file(settings.pages_dir, launch.prefix, self._machine_id)
        self._slots = Slots(file, max(_SLOTS, 2 * settings.threads), settings.max_url_length)
        self._records = Records(settings.pages_dir, Pages(database), Orphans(database))
        self._started = time.monotonic()
        self._rate = PageRate(self._started)
        self._count_at = 0.0
        self._waits: Mapping[str, int] = {}  # what the seeds that are held waited for, when they were last counted
        self._left = WorkLeft(0, 0, 0)  # as the seeds were last counted
        self._resting = Resting()  # as the sites were last counted ...
        self._rest_over = 0.0  # ... and when the first of them may be asked again, in monotonic seconds

    @contextmanager
    def watched(self, own_process: bool) -> Iterator[None]:
        """Keep the file that says what is being read, during the block; a process of our own ends for endless pages."""
        with closing(self._slots), ExitStack() as stack:
            if own_process:
                watchdog = Watchdog(self._slots, self._settings.page_time)
                start(watchdog)
                stack.callback(watchdog.close)
            yield

    def crawl(self, on_progress: Callable[[Progress], None]) -> Ended:
        """Finish others' files, crawl, finish the own; the machine's row and the run's row tell how it ended."""
        crawls = Crawls(self._database)
        noted = self._building.noted
        given = public_values(self._settings) | {"pages_dir": str(self._settings.pages_dir.absolute())} | noted
        run_id = crawls.begin_run(self._machine_id, given, noted)
        archive, stores, machine, resolver = self._build(run_id)
        try:
            heartbeat = self._heartbeat(machine, stores)
            look = partial(self._look, machine, stores, resolver, on_progress)
            with suppress(StoreBusyError):
                look()  # the supervisor has to know which machine it is before a page is read
            with self._indexing(archive, machine), self._building.work_beside(machine):
                machine.run(heartbeat, look, _LOOK_EVERY)
            with suppress(StoreBusyError):
                look()  # what is shown last is how it ended
            outcome = "ended" if machine.ending.ended else "stopped"
        except LeaseLostError as error:
            outcome = "stopped" if error.was_to_end else LEASE_LOST
        except BaseException:
            self._fail(run_id, machine.checkpointer.refused)
            raise
        finally:
            resolver.close()
            archive.close()
        files = archive.closed_files
        mine = self._sign_off(self._machines, crawls, run_id, outcome, machine.checkpointer.refused)
        done = self._records.finish_own(self._crawl.warc_prefix(self._machine_id), files())
        self._tell(done, self._database)
        self._machines.declare_gone()  # others may have died since the last heartbeat, and this one may be the last
        self._finish_gone(self._database, self._records)
        self._deaths.look()
        names = tuple(file.name for file in files())
        return Ended(outcome, mine, machine.crew.totals().requests, resolver.lookups, names)

    def _heartbeat(self, machine: Machine, stores: Stores) -> Heartbeat:
        beat, patience = partial(self._beat, machine), self._settings.database_patience
        return Heartbeat(beat, machine.permission.lease, stores.clock, BEAT_EVERY / 1000, patience)

    @contextmanager
    def _indexing(self, archive: Archive, machine: Machine) -> Iterator[None]:
        """Look after the WARC files in the block, with a thread of its own, which ends with the machine's."""
        records = Records(self._settings.pages_dir, Pages(self._prompt), Orphans(self._prompt))
        finish_gone = partial(self._finish_gone, self._prompt, records)
        closed = partial(_closed_by_day, archive) if self._building.goes_on else archive.closed_files
        indexer = Indexer(records, finish_gone, closed, machine.ending.stopping, machine.ending.failed, _INDEX_EVERY)
        start(indexer)
        try:
            yield
        finally:
            machine.ending.stopping.set()
            indexer.join()

    def _build(self, run_id: int) -> tuple[Archive, Stores, Machine, Resolver]:
        """Make the parts; when one of them cannot be made, sign off. Raises StartError where the system has no room."""
        building = self._building
        with ExitStack() as failing, no_room():
            failing.callback(self._fail, run_id)
            stores = Stores.of(building)
            archive = make_archive(self._settings, self._crawl.warc_prefix(self._machine_id))
            failing.callback(archive.close)
            building.machines = self._launch.machines
            building.most_waiting = most_waiting(self._settings)
            building.slots = self._slots
            building.filters = self._filters
            building.copies = CrawlArchives(building.archives, self._given, self._say)
            building.on_settings = self._follow
            building.look_at_deaths = self._deaths.look
            machine, resolver = build_machine(building, stores, archive, self._stop)
            failing.pop_all()
        return archive, stores, machine, resolver

    def _finish_gone(self, database: Database, records: Records) -> None:
        """Finish the files of machines that are gone, and note what of them was never committed."""
        machines = Machines(database)
        gone = {self._crawl.warc_prefix(number): number for number in machines.gone()}
        unfinished = records.unfinished(gone)
        in_order = {self._crawl.warc_prefix(number) for number in machines.ended_in_order()} if unfinished else set()
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
        """Sign off after an error; another one, of the database, is not raised, for the first one counts."""
        with suppress(StoreError):
            self._sign_off(self._beats, Crawls(self._prompt), run_id, "failed", refused)

    def _sign_off(self, machines: Machines, crawls: Crawls, run_id: int, outcome: str, refused: int) -> MachineView:
        mine = machines.stop(self._machine_id, refused=refused)
        crawls.end_run(run_id, outcome, pages=mine.pages, bytes_=mine.bytes, errors=mine.errors)
        return mine

    def _follow(self, machine: Machine, ordered: Mapping[str, Any]) -> None:
        """Follow what is set in the database, from now on."""
        changed = self._building.seen(with_live(self._given, ordered))
        raise_file_limit(_files_of(changed) + _FILES_TO_SPARE + MOST_WAITING)
        self._building.follow(changed)
        machine.follow(changed)
        machine.set_threads(changed.threads)

    def _beat(self, machine: Machine, state: MachineState, held: Sequence[int]) -> Orders:
        totals = machine.crew.totals()
        sample = MachineSample(totals.requests, totals.pages, totals.bytes, totals.errors, machine.crew.queue.seeds)
        capacity = machine.threads * self._settings.seeds_per_thread
        weight = self._identity.weight(totals.bytes)
        return self._beats.beat(
            self._machine_id, sample, held, state, resident_bytes(), capacity, machine.kept_open_by, weight
        )

    def _look(
        self, machine: Machine, stores: Stores, resolver: Resolver, on_progress: Callable[[Progress], None]
    ) -> None:
        for line in machine.withheld():
            self._say(f"warning: {line}")
        now, totals = time.monotonic(), machine.crew.totals()
        rate = self._rate.look(now, totals.pages)
        if now >= self._count_at:
            self._left = stores.claims.work_left()
            self._resting = stores.claims.resting()
            self._rest_over = time.monotonic() + self._resting.next_ms / 1000
            self._waits = machine.waits()
            took = time.monotonic() - now  # to count a million seeds takes a while
            every = _COUNT_EVERY * self._launch.machines  # one progress line is shown for all of them
            self._count_at = now + min(max(every, 50 * took), _COUNT_AT_LATEST)
        left = self._left
        on_progress(
            Progress(
                (self._machine_id,), now - self._started, totals.pages, rate, totals.requests, totals.bytes,
                totals.errors, resolver.lookups, left.done, left.active, left.ready + left.slow,
                machine.permission.paused, machine.standstill.resting,
                self._resting.sites, max(0.0, self._rest_over - now), *machine.lines(),
                {str(self._machine_id): self._waits}, {str(self._machine_id): machine.checkpointer.costs.values()},
            )
        )  # fmt: skip
