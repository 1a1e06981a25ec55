"""Builds everything and wires it: the one place where parts, store, archive and threads meet."""

from __future__ import annotations

import gc
import os
import platform
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from scrawler import __version__
from scrawler.archive.warc import WarcWriter
from scrawler.crawl.answers import AnswerHandler, AnswerRules
from scrawler.crawl.checkpointer import Checkpointer
from scrawler.crawl.collector import CollectorPorts, CollectorRules, UrlCollector
from scrawler.crawl.decisions import SeedLimits
from scrawler.crawl.distributor import Distribution, FreeCompetition, SeedIdQueue, UrlDistributor
from scrawler.crawl.indexer import Indexer
from scrawler.crawl.machine import Machine
from scrawler.crawl.origins import Origins
from scrawler.crawl.parties import Parties
from scrawler.crawl.pipeline import PagePipeline
from scrawler.crawl.progress import Progress, RunSummary
from scrawler.crawl.records import Records
from scrawler.crawl.seen import MemoryBudget, SeenFilter
from scrawler.crawl.selector import UrlSelector
from scrawler.crawl.takeup import SiteTaker
from scrawler.extract.links import LinkExtractor
from scrawler.fetch.descriptors import raise_file_limit
from scrawler.fetch.downloader import Downloader, FetchLimits
from scrawler.fetch.resolver import Resolver
from scrawler.plugins import load_part
from scrawler.seeds.promoter import promote
from scrawler.settings import Settings
from scrawler.store.candidates import Candidates
from scrawler.store.checkpoints import Checkpoints
from scrawler.store.claims import Claims
from scrawler.store.crawls import Crawl, Crawls
from scrawler.store.engine import Database, open_database
from scrawler.store.frontier import Frontier
from scrawler.store.machines import Machines, MachineSample, MachineView
from scrawler.store.orphans import Orphans
from scrawler.store.pages import Pages
from scrawler.store.seeds import Seeds
from scrawler.urls.analyzer import UrlAnalyzer
from scrawler.urls.scope import ScopeRule, site_key

# The parts to choose among, imported by name when they are chosen.
DOWNLOADERS = {
    "curl": "scrawler.fetch.curl:CurlDownloader",
    "requests": "scrawler.fetch.requests:RequestsDownloader",
}
EXTRACTORS = {
    "lexbor": "scrawler.extract.lexbor:LexborExtractor",
    "html5lib": "scrawler.extract.html5lib:Html5libExtractor",
}
SEEN_FILTERS = {
    "rbloom": "scrawler.crawl.seen:rbloom_seen",
    "pybloom": "scrawler.crawl.seen:pybloom_seen",
    "exact": "scrawler.crawl.seen:ExactSeen",
}

_BEAT_EVERY = 2.0  # seconds between heartbeats
_LOOK_EVERY = 0.5  # seconds between looks at the progress
_INDEX_EVERY = 10.0  # seconds between looks for WARC files that are full and committed
_STOP_GRACE = 5.0  # seconds for requests in flight when asked to stop
_GIVE_UP_AFTER = 600.0  # seconds a busy database is tried again
_ROWS_WAITING = 20_000  # rows that may wait for the checkpointer before collectors pause


def _resolve_table(entries: tuple[str, ...]) -> dict[str, str]:
    return {host: address for host, _, address in (entry.partition("=") for entry in entries)}


@dataclass(frozen=True, slots=True)
class Stores:
    """The parts of the store that a machine uses."""

    claims: Claims
    checkpoints: Checkpoints
    frontier: Frontier


def build_machine(
    settings: Settings, stores: Stores, archive: WarcWriter, stop: threading.Event, promote: Callable[[], int]
) -> tuple[Machine, Resolver]:
    """Build a machine of `settings.threads` collectors with its selector, distribution and checkpointer."""
    queue = SeedIdQueue(max(settings.threads * 2, 40))
    machine = Machine(queue, stop, _GIVE_UP_AFTER)
    resolver = Resolver(
        threads=settings.dns_threads,
        static=_resolve_table(settings.resolve),
        allow_private=settings.allow_private,
    )
    token = settings.user_agent.partition("/")[0]
    retry_pause_ms = int(settings.retry_pause * 1000)
    origins = Origins(
        machine.turn, resolver, token, settings.robots, settings.retries, retry_pause_ms, machine.look_again
    )
    limits = _seed_limits(settings)
    parties = Parties(
        limits, partial(machine.load_chunk, stores.frontier), partial(machine.check_fetched, stores.frontier),
        machine.look_again,
    )  # fmt: skip
    make_extractor: Callable[[], LinkExtractor] = load_part(EXTRACTORS[settings.extractor])
    pipeline = PagePipeline(archive, make_extractor(), settings.max_decoded)
    rules = AnswerRules(limits, settings.scope, settings.retries, retry_pause_ms)
    answers = AnswerHandler(pipeline, rules)
    machine.checkpointer = Checkpointer(
        stores.checkpoints, archive.flush, machine.committed, machine.failed, _ROWS_WAITING, _GIVE_UP_AFTER
    )
    ports = CollectorPorts(
        submit=machine.checkpointer.submit,
        has_room=machine.checkpointer.has_room,
        help_yourself=lambda collector: machine.distribution.help_yourself(collector),
        seeds_changed=lambda: machine.distribution.seeds_changed(),
        site_inactive=lambda collector: machine.distribution.site_inactive(collector),
        wants_site=lambda collector: machine.distribution.wants_site(collector),
        more_seeds=lambda site: machine.selector.ask_more(site),
        failed=machine.failed,
    )
    collector_rules = CollectorRules(
        capacity=settings.seeds_per_thread,
        per_site=settings.per_site,
        delay=settings.delay,
        checkpoint_interval=settings.checkpoint_interval,
        checkpoint_rows=settings.checkpoint_pages,
        stop_grace=_STOP_GRACE,
    )
    make_downloader: Callable[[FetchLimits], Downloader] = load_part(DOWNLOADERS[settings.downloader])
    fetch_limits = _fetch_limits(settings)
    machine.collectors = [
        UrlCollector(
            number, machine.turn, stop, make_downloader(fetch_limits), origins, parties, answers, collector_rules, ports
        )
        for number in range(settings.threads)
    ]
    machine.distribution = _make_distribution(settings, machine)
    budget = MemoryBudget(settings.seen_memory)
    make_seen: Callable[[MemoryBudget], SeenFilter] = load_part(SEEN_FILTERS[settings.seen])
    taker = SiteTaker(
        stores.frontier, settings.scope, lambda: make_seen(budget), partial(_make_analyzer, settings.max_url_length)
    )
    machine.selector = UrlSelector(
        stores.claims, taker, queue, resolver, origins, machine.turn, stop, settings.seeds_per_thread,
        holding=machine.holding, promote=promote, queued=machine.seeds_queued,
        ended=machine.crawl_ended, failed=machine.failed,
    )  # fmt: skip
    return machine, resolver


def _seed_limits(settings: Settings) -> SeedLimits:
    max_time = None if settings.max_time is None else int(settings.max_time * 1000)
    return SeedLimits(settings.max_depth, settings.max_pages, settings.max_bytes, max_time)


def _fetch_limits(settings: Settings) -> FetchLimits:
    return FetchLimits(
        settings.user_agent,
        settings.connect_timeout,
        settings.timeout,
        settings.max_body,
        connections=settings.seeds_per_thread + 2,
        tls_verify=settings.tls_verify,
    )


def _make_analyzer(max_length: int, scope: ScopeRule, aliases: Mapping[str, str]) -> UrlAnalyzer:
    return UrlAnalyzer(scope, max_length=max_length, aliases=aliases)


def _make_distribution(settings: Settings, machine: Machine) -> Distribution:
    if settings.distribution == "free":
        return FreeCompetition(machine.queue, machine.collectors)
    return UrlDistributor(machine.queue, machine.collectors, machine.turn, machine.stopping)


def run_crawl(settings: Settings, on_progress: Callable[[Progress], None], stop: threading.Event) -> RunSummary:
    """Crawl with one machine until no seed is left or `stop` is set.

    Raises:
        StoreError, ArchiveError: the database or the archive refused; all that was checkpointed is kept.
    """
    database = open_database(settings.db, stop=stop)
    try:
        crawl, settings = _open_crawl(database, settings)
        gc.freeze()  # what was loaded so far stays; pages and links are freed without the collector's help
        gc.set_threshold(20_000, 20, 50)
        raise_file_limit(settings.threads * (settings.seeds_per_thread + 8) + 256)
        machines = Machines(database)
        host = socket.gethostname()
        machine_id = machines.register(f"{host}-{os.getpid()}", host, os.getpid())
        run = _Run(settings, database, crawl.name, machines, machine_id, stop)
        return run.crawl(on_progress)
    finally:
        database.close()


def _open_crawl(database: Database, settings: Settings) -> tuple[Crawl, Settings]:
    """Open the crawl; return it with the settings, whose scope is then the crawl's own.

    A scope that the user gives is made the crawl's while nothing of it was begun, and refused after that.
    """
    crawls = Crawls(database)
    crawl = crawls.open(settings.name, settings.scope)
    if crawl.scope is settings.scope:
        return crawl, settings
    if "scope" not in settings.model_fields_set:
        return crawl, settings.model_copy(update={"scope": crawl.scope})
    crawls.rekey(settings.scope, lambda url: site_key(url, settings.scope))
    return replace(crawl, scope=settings.scope), settings


class _Run:
    """One run of one machine, from its registration to its summary."""

    def __init__(
        self,
        settings: Settings,
        database: Database,
        crawl: str,
        machines: Machines,
        machine_id: int,
        stop: threading.Event,
    ) -> None:
        self._settings, self._database, self._crawl = settings, database, crawl
        self._machines, self._machine_id, self._stop = machines, machine_id, stop
        self._seeds = Seeds(database)
        self._records = Records(settings.pages_dir, Pages(database), Orphans(database))
        self._archive = _make_archive(settings, self._prefix(machine_id))
        self._started = time.monotonic()
        self._looked_at, self._looked_pages = self._started, 0
        self._count_at = 0.0

    def _prefix(self, machine_id: int) -> str:
        return f"{self._crawl}-m{machine_id}"

    def crawl(self, on_progress: Callable[[Progress], None]) -> RunSummary:
        """Finish others' files, crawl, finish the own; the machine's row and the run's row tell how it ended."""
        settings = self._settings
        self._records.finish_gone(map(self._prefix, self._machines.gone()))
        crawls = Crawls(self._database)
        run_id = crawls.begin_run(self._machine_id, settings.model_dump(mode="json", exclude={"db"}))
        stores = Stores(
            Claims(self._database, self._machine_id),
            Checkpoints(self._database, self._machine_id),
            Frontier(self._database),
        )
        machine, resolver = build_machine(settings, stores, self._archive, self._stop, self._promote)
        self._work = stores.claims
        indexer = Indexer(self._records, self._archive.closed_files, self._stop, machine.failed, _INDEX_EVERY)
        outcome = "failed"
        try:
            indexer.start()
            look = partial(self._look, machine, on_progress)
            machine.run(partial(self._beat, machine), look, _BEAT_EVERY, _LOOK_EVERY)
            outcome = "ended" if machine.ended else "stopped"
        finally:
            resolver.close()
            self._stop.set()
            indexer.join()
            self._archive.close()
            mine = self._machines.stop(self._machine_id)
            crawls.end_run(run_id, outcome, pages=mine.pages, bytes_=mine.bytes, errors=mine.errors)
        self._records.finish_own(self._prefix(self._machine_id), self._archive.closed_files())
        return self._summary(outcome, mine, machine.totals().requests, resolver.lookups)

    def _promote(self) -> int:
        """Turn candidates near enough to the user's seeds into seeds; returns how many."""
        hops = self._settings.hops
        if not hops:
            return 0
        return promote(Candidates(self._database), self._seeds, self._settings.scope, max_hops=hops)

    def _beat(self, machine: Machine, held: Sequence[int]) -> None:
        totals = machine.totals()
        sample = MachineSample(totals.requests, totals.pages, totals.bytes, totals.errors, machine.queue.seeds)
        self._machines.beat(self._machine_id, sample, held)

    def _look(self, machine: Machine, on_progress: Callable[[Progress], None]) -> None:
        now, totals = time.monotonic(), machine.totals()
        rate = (totals.pages - self._looked_pages) / max(now - self._looked_at, 0.001)
        self._looked_at, self._looked_pages = now, totals.pages
        if now >= self._count_at:
            self._left = self._work.work_left()
            self._count_at = now + max(2.0, 50 * (time.monotonic() - now))  # counting a million seeds takes a while
        left = self._left
        on_progress(
            Progress(
                now - self._started, totals.pages, rate, totals.bytes, totals.errors, left.done, left.active, left.ready
            )
        )

    def _summary(self, outcome: str, mine: MachineView, requests: int, lookups: int) -> RunSummary:
        elapsed = time.monotonic() - self._started
        seeds = {
            (reason or state).value: number
            for state, reasons in self._seeds.counts().items()
            for reason, number in reasons.items()
        }
        return RunSummary(
            self._crawl, outcome, elapsed, mine.pages, requests, mine.bytes, mine.errors,
            mine.pages / elapsed, lookups, seeds, tuple(file.name for file in self._archive.closed_files()),
        )  # fmt: skip


def _make_archive(settings: Settings, prefix: str) -> WarcWriter:
    info = {
        "software": f"SCrawler/{__version__} (Python {platform.python_version()})",
        "robots": "obey" if settings.robots else "ignore",
        "operator": settings.user_agent,
    }
    return WarcWriter(settings.pages_dir, prefix, info=info, max_file_bytes=settings.warc_size, fsync=settings.fsync)
