"""A machine built as the program builds it, run under a test's eyes."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from scrawler.archive.warc import WarcWriter
from scrawler.assembly.building import built
from scrawler.assembly.machine import build_machine
from scrawler.assembly.stores import Stores
from scrawler.core.distribution.distributor import UrlDistributor
from scrawler.core.machine.heartbeat import Heartbeat
from scrawler.core.machine.lease import Lease
from scrawler.core.machine.machine import Machine
from scrawler.features.synthweb.process import SynthServer
from scrawler.features.synthweb.truth import party
from scrawler.model.lanes import ChunkRow, LaneState
from scrawler.model.machines import MachineState, Orders
from scrawler.settings import Settings
from scrawler.store.claims.crawls import Crawls
from scrawler.store.claims.machines import Machines
from scrawler.store.commit.externals import AsCandidates, Externals
from scrawler.store.engines.engine import Database, open_database
from scrawler.store.lists.frontier import Frontier
from tests.forks import SCRAWLER, Fork, forks, plain_environment

if TYPE_CHECKING:
    from tests.integration.crawl.conftest import Crawl

BEAT_EVERY, LOOK_EVERY = 0.5, 0.005  # seconds


class CountingFrontier(Frontier):
    """A frontier that knows how many chunks were read."""

    chunks_read = 0
    on_take_up: Callable[[], None]

    def lanes(self, site_id: int) -> list[LaneState]:
        """Tell, and read."""
        self.on_take_up()
        return super().lanes(site_id)

    def chunks(self, seed_id: int, kind: int, position: int, entries: int) -> list[ChunkRow]:
        """Count, and read."""
        found = super().chunks(seed_id, kind, position, entries)
        self.chunks_read += len(found)
        return found


def truth(server: SynthServer) -> set[str]:
    """Return all HTML pages that the seeds of a synthetic web lead to."""
    return set().union(*(party(server.web, seed).pages for seed in server.web.seeds()))


@dataclass
class Watched:
    """What was seen of a run: seeds held by each collector, at every look and with the queue empty."""

    held: list[list[int]] = field(default_factory=list)
    settled: list[list[int]] = field(default_factory=list)
    moves: int = 0
    chunks_read: int = 0
    ended: bool = False
    seconds: float = 0.0


def watch(
    settings: Settings,
    on_look: Callable[[Machine], None] = lambda machine: None,
    stop: threading.Event | None = None,
    before_beat: Callable[[], None] = lambda: None,
    lease: Lease | None = None,
    make_externals: Callable[[Database], Externals] = AsCandidates,
    on_take_up: Callable[[], None] = lambda: None,
) -> Watched:
    """Run one machine to its end and look at it every few milliseconds, under its turn.

    `before_beat` may refuse a heartbeat; `lease` takes the place of the machine's own; `on_take_up` is called when a
    party that was begun is taken up; what `make_externals` makes takes the external URLs.
    """
    stop = stop or threading.Event()
    database = open_database(settings.db, stop=stop)
    crawl, machines = Crawls(database).open(settings.name, settings.scope), Machines(database)
    number = machines.register("watched", os.getpid(), database.now()).id
    archive = WarcWriter(settings.pages_dir, crawl.warc_prefix(number), info={})
    frontier = CountingFrontier(database)
    frontier.on_take_up = on_take_up
    building = built(settings, crawl, number, database, print, stop)
    building.externals = make_externals(database)
    stores = replace(Stores.of(building), frontier=frontier)
    machine, resolver = build_machine(building, stores, archive, stop)
    machine.permission.lease = lease or machine.permission.lease
    watched = Watched()

    def look() -> None:
        with machine.turn:
            counts = [collector.held for collector in machine.crew.collectors]
            watched.held.append(counts)
            if not len(machine.crew.queue):
                watched.settled.append(counts)
            on_look(machine)

    def beat(state: MachineState, held_by_thread: Sequence[int]) -> Orders:
        before_beat()
        return machines.beat(number, state=state)

    started = time.monotonic()
    try:
        with building.work_beside(machine):
            machine.run(Heartbeat(beat, machine.permission.lease, stores.clock, BEAT_EVERY, 60), look, LOOK_EVERY)
    finally:
        watched.seconds = time.monotonic() - started
        resolver.close()
        archive.close()
        machines.stop(number)
        database.close()
    watched.ended = machine.ending.ended
    if isinstance(machine.distribution, UrlDistributor):
        watched.moves = machine.distribution.moves
    watched.chunks_read = frontier.chunks_read
    return watched


def run_command(crawl: Crawl, *flags: str, limit: int | None = None) -> Fork:
    """Start `scrawler run` on a crawl, with files limited to `limit` bytes."""
    command = [SCRAWLER, "run", "--db", crawl.url, "--allow-private", "--delay", "0", "--threads", "2"]
    command += ["--patience", "0", *flags]  # a busy machine may answer late: no page is put off for that
    command += ["--pages-dir", str(crawl.folder / "pages"), "--output-dir", str(crawl.folder / "output_urls")]
    limits = {"RLIMIT_FSIZE": limit} if limit else {}
    pipe = subprocess.PIPE
    return forks().start(command, crawl.folder, plain_environment(), stdout=pipe, stderr=pipe, limits=limits)


@contextmanager
def running(crawl: Crawl, *flags: str) -> Iterator[Fork]:
    """Give a `scrawler run` that is gone at the end, frozen or not."""
    process = run_command(crawl, *flags)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@contextmanager
def kept(crawl: Crawl, **settings: Any) -> Iterator[None]:
    """Keep a crawl in the block, in a thread of its own; it is stopped then."""
    stop = threading.Event()
    runs = threading.Thread(target=lambda: crawl.run(stop=stop, keep=True, **settings))
    runs.start()
    try:
        yield
    finally:
        stop.set()
        runs.join()
