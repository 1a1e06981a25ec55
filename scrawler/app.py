"""Runs a crawl with one machine, and carries out the orders that come before it."""

from __future__ import annotations

import gc
import os
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from functools import partial
from itertools import chain

from scrawler.assembly.parts import check_hosts, check_parts, fault_file, make_filters, with_authorities
from scrawler.assembly.proxies import check_proxies
from scrawler.core.blame.deaths import Deaths
from scrawler.core.fault_log import FaultLog
from scrawler.core.progress import Progress, RunSummary
from scrawler.errors import SettingsError, StoreAwayError, StoreBusyError, StoreError
from scrawler.feature import features_on, hooked
from scrawler.machine_run import LEASE_LOST, Ended, Launch, MachineRun, have_files
from scrawler.model.records import LossState
from scrawler.model.results import Result
from scrawler.model.rows import PageRow
from scrawler.model.seeds import EndReason, SeedState
from scrawler.settings import Settings, live_text
from scrawler.store.claims.control import Control, CrawlOrders
from scrawler.store.claims.crawls import Crawl, Crawls
from scrawler.store.claims.seeds import Seeds
from scrawler.store.claims.starts import Starts
from scrawler.store.claims.suspects import Suspects
from scrawler.store.engines.engine import SMALL_CACHE, Database, Waiting, open_database
from scrawler.store.lists.losses import Losses
from scrawler.store.lists.retries import Retries
from scrawler.store.lists.url_retries import UrlRetries
from scrawler.store.lists.vain import let_be
from scrawler.store.reading.left_out import left_out
from scrawler.store.upkeep.features import ready_features
from scrawler.store.upkeep.statistics import tell_statistics_again
from scrawler.units import counted, format_seconds
from scrawler.upkeep import Upkeep, lost_payloads, packed
from scrawler.urls.scope import is_reachable, site_key

# Seconds in which the database must answer a machine's threads; others can own its sites 15 s after its last heartbeat.
_ANSWER = 20.0
_PROMPT = 10.0  # seconds after which a thread's transaction fails, and the thread tries again by itself


def prepare_crawl(settings: Settings, stop: threading.Event, say: Callable[[str], None] = lambda line: None) -> Launch:
    """Make database and crawl ready, before any machine starts; `say` as in `run_crawl`. Raises as that does."""
    check_proxies(settings, os.environ, stop, say)
    _validate(settings)
    with patiently_opened(settings, stop, say) as database:
        crawl, settings = open_crawl(database, settings)
        _prepare(settings, database)
        return _launched(settings, database, crawl, stop, say)


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
        SettingsError: a part of another package cannot be used, or a proxy's name is not known (before anything is
            begun), or a part fails; the same.
    """
    check_parts(settings)
    settings = with_authorities(settings)
    check_hosts(settings)
    filters = make_filters(settings)
    _validate(settings)
    if launch is None:
        check_proxies(settings, os.environ, stop, say)
    with ExitStack() as stack:
        database = stack.enter_context(patiently_opened(settings, stop, say))
        crawl, settings = open_crawl(database, settings)
        ready_features(database, features_on(settings))
        if own_process:
            gc.freeze()  # what was loaded so far stays; pages and links are freed without the collector's help
            gc.set_threshold(20_000, 20, 50)
        have_files(settings, say)
        alone = launch is None
        if launch is None:
            _prepare(settings, database)
            launch = _launched(settings, database, crawl, stop, say)
        patience = settings.database_patience
        prompt_waiting = Waiting(give_up_after=min(_PROMPT, patience), answer=_ANSWER, to_open=patience, say=say)
        ended: list[Ended] = []
        started = time.monotonic()
        while not ended or (ended[-1].outcome == LEASE_LOST and not stop.is_set()):
            opened = open_database(settings.db, stop=stop, waiting=prompt_waiting, cache=SMALL_CACHE)
            with closing(opened) as prompt:
                tell = FaultLog(fault_file(settings.output_dir, crawl.name)).tell
                deaths = Deaths(settings.pages_dir, launch.prefix, Suspects(prompt), say, tell)
                deaths.look()  # first: once other machines know which ones are gone, they have their sites
                run = MachineRun(settings, database, prompt, crawl, stop, launch, filters, deaths, say)
                with run.watched(own_process):
                    ended.append(run.crawl(on_progress))
        summary = _summary(crawl.name, ended, time.monotonic() - started, database, settings)
        if not alone:
            return summary
        found = Upkeep(settings, database, crawl, say).untold(stop.is_set)
        return replace(summary, lost=found.sum, lost_records=found.files)


def mark_losses_told(settings: Settings, summary: RunSummary) -> None:
    """Note that the losses in a summary were shown, so that no other run tells of them. Raises StoreError."""
    waiting = Waiting(give_up_after=settings.database_patience)
    with closing(open_database(settings.db, create=False, waiting=waiting)) as database:
        Losses(database).mark_told(summary.lost_records)


def accept_losses(settings: Settings, stop: threading.Event, say: Callable[[str], None] = lambda line: None) -> None:
    """Accept what is gone of the archive, and of those of earlier crawls, before any machine starts.

    `say` is told how much that is.

    Raises StoreError, ArchiveError.
    """
    with patiently_opened(settings, stop, say) as database:
        lost = Upkeep(settings, database, open_crawl(database, settings)[0], say).accept()
        vain = let_be(database, _vain(settings, database, say))
    say(f"{LossState.ACCEPTED}: {counted(lost.records, 'record')} of {counted(lost.files, 'WARC file')}")
    if vain:
        say(f"{LossState.ACCEPTED}: {counted(vain, 'page')} whose payload is gone from the archives of earlier crawls")


def retry_lost(settings: Settings, stop: threading.Event, say: Callable[[str], None] = lambda line: None) -> None:
    """Let URLs be fetched again whose records are gone, before any machine starts; `say` is told how many these are.

    Raises StoreError, ArchiveError; done again, it goes on from where it was.
    """
    with patiently_opened(settings, stop, say) as database:
        upkeep = Upkeep(settings, database, open_crawl(database, settings)[0], say)
        taken = upkeep.list_lost_again(_vain(settings, database, say), stop.is_set)
    say(f"URLs to be fetched again because their records are gone: {taken.rows + taken.in_vain:,}")
    if taken.in_work:
        say(f"{counted(taken.in_work, 'more is', 'more are')} of sites that a machine has in work")
    if taken.unreachable:
        say(f"{taken.unreachable:,} more cannot be: their seeds are at other sites by now")
    if taken.robots:
        what = "robots.txt files, or what pages in a browser asked for"
        say(f"{counted(taken.robots, 'more is', 'more are')} of {what}: asked for again when it is needed")


def _vain(settings: Settings, database: Database, say: Callable[[str], None]) -> list[PageRow]:
    """Return the pages whose payloads are gone from the archives of earlier crawls, as far as these can be read."""
    try:
        return list(lost_payloads(settings, database))
    except (StoreError, SettingsError) as error:
        say(f"it is not known whether what earlier crawls have archived is there: {error}")
        return []


def retry_seeds(
    settings: Settings,
    reasons: Collection[EndReason],
    stop: threading.Event,
    say: Callable[[str], None] = lambda line: None,
) -> None:
    """Let seeds that ended for one of `reasons` go on, before any machine starts; `say` is told how many these are.

    Raises StoreError, ArchiveError; done again, it goes on from where it was.
    """
    with patiently_opened(settings, stop, say) as database:
        open_crawl(database, settings)
        taken = Retries(database, packed, stop.is_set).take_up(reasons)
    more = counted(taken.in_work, "more is", "more are")
    left = f"; {more} of sites that a machine has in work" if taken.in_work else ""
    say(f"seeds taken up again: {taken.seeds:,}{left}")


def retry_urls(
    settings: Settings,
    results: Collection[Result],
    stop: threading.Event,
    say: Callable[[str], None] = lambda line: None,
) -> None:
    """Let URLs be asked for again by their last result, before any machine starts; `say` is told how many these are.

    Raises StoreError, ArchiveError; done again, it goes on from where it was.
    """
    with patiently_opened(settings, stop, say) as database:
        scope = open_crawl(database, settings)[0].scope
        taken = UrlRetries(database, packed, partial(is_reachable, scope=scope), stop.is_set).take_up(results)
    say(f"URLs to be asked for again ({', '.join(sorted(results))}): {taken.urls:,}")
    if taken.in_work:
        say(f"{counted(taken.in_work, 'more is', 'more are')} of sites that a machine has in work")
    if taken.unreachable:
        say(f"{taken.unreachable:,} more cannot be: their seeds are at other sites by now")


@contextmanager
def patiently_opened(
    settings: Settings, stop: threading.Event, say: Callable[[str], None] = lambda line: None
) -> Iterator[Database]:
    """Open the database for work that must get done, which waits for as long as the settings allow."""
    patience = settings.database_patience
    waiting = Waiting(give_up_after=patience, once_stopped=settings.stop_timeout, to_open=patience, say=say)
    with away_told(settings, stop), closing(open_database(settings.db, stop=stop, waiting=waiting)) as database:
        yield database


@contextmanager
def away_told(settings: Settings, stop: threading.Event) -> Iterator[None]:
    """Raise StoreAwayError where the database was locked or away in the block for as long as anybody waits for it."""
    try:
        yield
    except StoreBusyError as error:
        patience = format_seconds(settings.database_patience)
        waited = "stopped without it" if stop.is_set() else f"given up after {patience}"
        raise StoreAwayError(f"{error}; {waited}: all checkpoints are kept, the next run goes on from there") from error


def open_crawl(database: Database, settings: Settings) -> tuple[Crawl, Settings]:
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


def _validate(settings: Settings) -> None:
    """Let features look at the settings. Raises SettingsError."""
    for validate in hooked("validate", settings):
        validate(settings)


def _prepare(settings: Settings, database: Database) -> None:
    """Let features look at the settings and the crawl that was opened. Raises SettingsError."""
    for prepare in hooked("prepare", settings):
        prepare(settings, database)


def _launched(
    settings: Settings, database: Database, crawl: Crawl, stop: threading.Event, say: Callable[[str], None]
) -> Launch:
    """Note that machines are being started; say what the user should know before they do anything."""
    tell_statistics_again(database)
    launch = Launch(Starts(database).begin(settings.machines), settings.machines, crawl.files_prefix)
    _tell_orders(Control(database).orders(), say)
    Upkeep(settings, database, crawl, say).look(stop.is_set)
    return launch


def _tell_orders(orders: CrawlOrders, say: Callable[[str], None]) -> None:
    """Say what was ordered some time ago, and would surprise the user now."""
    if orders.paused:
        say("the crawl is paused; `scrawler resume` lets it go on")
    if orders.settings:
        values = ", ".join(f"{key}={text}" for key, text in live_text(orders.settings).items())
        say(f"set for all machines, over files, variables and flags: {values}; `scrawler set KEY=` takes it back")


def seed_counts(seeds: Mapping[SeedState, Mapping[EndReason | None, int]]) -> dict[str, int]:
    """Name the numbers of seeds by their state or, when done, by their end reason."""
    return {(reason or state).value: number for state, reasons in seeds.items() for reason, number in reasons.items()}


def faults_told(settings: Settings, crawl: str, seeds: Seeds) -> tuple[int, str]:
    """Return how many answers of the crawl met a fault of this program, and the file of the tracebacks, if it is here.

    That count, unlike those of machines, outlives a kill, and begins anew for seeds that are taken up again.
    """
    number, file = seeds.internal_errors(), fault_file(settings.output_dir, crawl)
    return number, str(file) if number and os.path.exists(file) else ""


def _summary(crawl: str, ended: Sequence[Ended], elapsed: float, database: Database, settings: Settings) -> RunSummary:
    seeds = Seeds(database)
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
        deaths=seeds.deaths(),
        dead_at_proxies=seeds.dead_at_proxies(),
        pushed_back=seeds.pushed_back(),
        left_out=left_out(database),
        saved=seeds.saved(),
    )
