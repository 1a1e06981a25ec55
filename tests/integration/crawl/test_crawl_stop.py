"""A stop is prompt whatever the hosts do, leaves no thread and no file open, and loses no seed."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import select
from sqlalchemy.sql.functions import count

from scrawler.app import run_crawl
from scrawler.core.machine.machine import Machine
from scrawler.core.party.takeup import SiteTaker
from scrawler.core.progress import Progress
from scrawler.features.synthweb.process import SynthServer
from scrawler.features.synthweb.spec import WebSpec
from scrawler.fetch.resolver import Resolver
from scrawler.model.claims import ClaimedSite
from scrawler.model.seeds import SeedState
from scrawler.store.engines.engine import open_database
from scrawler.store.schema.tables import site, thread_statistics
from tests.integration.crawl.rig import watch
from tests.limits import EARLY, FAR, HANGS

if TYPE_CHECKING:
    from pathlib import Path

    from scrawler.core.party.site import SiteContext
    from tests.integration.crawl.conftest import Crawl

GRACE = 2.0  # seconds for requests in flight
SAMPLED_EVERY = 2.0  # seconds at first
SPEC = WebSpec(seed=7, sites=12, mean_pages=30, page_bytes=500)


@pytest.fixture
def silent() -> Iterator[str]:
    """The URL of a host that takes connections and never says anything."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listening:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/"


def stop_when(seen: Callable[[Progress], bool], crawl: Crawl, **changes: object) -> float:
    """Run, ask for a stop as soon as so much is seen, and return the seconds from there to the end of the run."""
    stop = threading.Event()
    asked_at: list[float] = []

    def look(progress: Progress) -> None:
        if seen(progress) and not stop.is_set():
            asked_at.append(time.monotonic())
            stop.set()

    crawl.run(look, stop, **changes)
    return time.monotonic() - asked_at[0]


def begun(progress: Progress) -> bool:
    """Seeds are in work: their first requests are on their way, or soon will be."""
    return progress.active > 0


def test_hosts_that_hang_hold_a_stop_up_no_longer_than_the_grace(
    crawl: Crawl, silent: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("classic")
    classic = type(crawl)(folder, f"sqlite:///{folder / 'crawl.db'}")
    for one in (crawl, classic):
        one.add([silent])
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(stop_when, begun, crawl, threads=2, timeout=FAR, stop_timeout=GRACE)
        # A blocking download cannot be given up; it is bounded by its own time.
        second = pool.submit(stop_when, begun, classic, threads=2, profile="classic", timeout=3)
        assert GRACE - 1 < first.result() < EARLY
        assert second.result() < EARLY
    for one in (crawl, classic):
        assert one.seed(silent).state is SeedState.ACTIVE
        one.check()


def test_waiting_for_politeness_does_not_hold_a_stop_up(crawl: Crawl) -> None:
    with SynthServer(SPEC) as server:
        crawl.add(server.web.seeds())
        assert stop_when(begun, crawl, delay=FAR) < EARLY
    assert {seed.state for seed in crawl.seeds()} == {SeedState.ACTIVE}


def test_a_stop_before_the_start_ends_at_once(crawl: Crawl) -> None:
    stop = threading.Event()
    stop.set()
    crawl.add(["http://127.0.0.1:2/"])
    assert crawl.run(stop=stop).outcome == "stopped"
    assert sum(seed.counts.requests for seed in crawl.seeds()) == 0


@pytest.mark.parametrize("distribution", ["distributor", "free"])
def test_no_thread_and_no_file_is_left(crawl: Crawl, distribution: str) -> None:
    with SynthServer(SPEC) as server:
        crawl.add(server.web.seeds())
        crawl.seeds()  # what is opened once for good is open now
        threads, files = set(threading.enumerate()), open_files()
        stop = threading.Event()

        def look(progress: Progress) -> None:
            if progress.pages:
                stop.set()

        crawl.run(look, stop, delay=0.02, distribution=distribution)
        assert set(threading.enumerate()) == threads
        assert open_files() == files
    crawl.check()


def open_files() -> list[str]:
    """What this process has open, sockets and pipes among it."""
    folder = "/proc/self/fd"
    if not os.path.isdir(folder):
        pytest.skip("/proc is not mounted")
    found = []
    for name in os.listdir(folder):
        try:
            found.append(os.readlink(f"{folder}/{name}"))
        except OSError:
            continue  # the descriptor by which the folder was read
    return sorted(found)


def test_an_error_in_the_archive_stops_all_threads(crawl: Crawl, tmp_path: Path) -> None:
    threads = set(threading.enumerate())
    blocked = tmp_path / "a-file"
    blocked.write_text("not a folder")
    with SynthServer(SPEC) as server:
        crawl.add(server.web.seeds())
        with pytest.raises(Exception, match="cannot write"):
            run_crawl(crawl.settings(pages_dir=blocked / "pages"), lambda progress: None, threading.Event())
    assert set(threading.enumerate()) == threads
    assert crawl.pages() == []
    assert sum(seed.counts.requests for seed in crawl.seeds()) == 0


def test_the_seeds_that_each_thread_holds_are_recorded_over_time(crawl: Crawl) -> None:
    with SynthServer(SPEC) as server:
        seeds = server.web.seeds()
        crawl.add(seeds)
        held: list[float] = []  # when all seeds were first seen in work

        def sampled(progress: Progress) -> bool:
            if progress.active == len(seeds):
                held.append(progress.elapsed_s)
            return bool(held) and progress.elapsed_s > held[0] + SAMPLED_EVERY

        assert stop_when(sampled, crawl, threads=3, delay=FAR) < EARLY
    database = open_database(crawl.url)
    with database.read() as connection:
        rows = connection.execute(select(thread_statistics)).all()
    database.close()
    last = {row.thread: row.seeds_held for row in sorted(rows, key=lambda row: row.at)}
    assert set(last) == {0, 1, 2}, "what has not changed since is not written again"
    assert sum(last.values()) == len(seeds)
    assert max(last.values()) - min(last.values()) <= 1


def test_a_stop_does_not_wait_until_all_that_was_claimed_is_taken_up(crawl: Crawl) -> None:
    """Lists of parties with very many URLs take seconds each to read."""
    taken: list[bool] = []
    stop = threading.Event()

    def take_up() -> None:
        taken.append(True)
        stop.set()

    with SynthServer(SPEC) as server:
        crawl.add(server.web.seeds())
        stop_when(lambda progress: progress.pages > SPEC.sites, crawl, delay=0.2)
        assert not watch(crawl.settings(delay=0.2), stop=stop, on_take_up=take_up).ended
        assert len(taken) < 5, "all sites were taken up after the stop"
        assert crawl.run().outcome == "ended"
    assert {seed.state for seed in crawl.seeds()} == {SeedState.DONE}
    crawl.check()


def owned(crawl: Crawl) -> int:
    """How many sites have an owner."""
    database = open_database(crawl.url)
    with database.read() as connection:
        number = connection.scalar(select(count()).where(site.c.owner.is_not(None)))
    database.close()
    return number or 0


def test_what_was_claimed_only_goes_back_with_a_stop(crawl_on_both: Crawl, monkeypatch: pytest.MonkeyPatch) -> None:
    """Left with its machine, a site would rest as one that a dead machine may have asked."""
    crawl_on_both.add(f"http://127.9.0.{number}:9/" for number in range(1, 30))
    stop, machines, met, take_up = threading.Event(), list[Machine](), threading.Event(), SiteTaker.take_up

    def look(machine: Machine) -> None:
        machines.append(machine)
        met.set()

    def take_up_after_the_stop(self: SiteTaker, claimed: ClaimedSite, asked_for: int) -> SiteContext:
        assert met.wait(HANGS)
        stop.set()
        assert machines[0].ending.stopping.wait(HANGS)
        return take_up(self, claimed, asked_for)

    monkeypatch.setattr(SiteTaker, "take_up", take_up_after_the_stop)
    watch(crawl_on_both.settings(), look, stop)
    assert owned(crawl_on_both) == 0
    assert {seed.state for seed in crawl_on_both.seeds()} <= {SeedState.READY, SeedState.ACTIVE}


def test_what_waits_for_its_address_goes_back_with_a_stop(crawl: Crawl, monkeypatch: pytest.MonkeyPatch) -> None:
    crawl.add(f"http://www{number}.example/" for number in range(30))
    stop = threading.Event()

    def look(machine: Machine) -> None:
        if machine.crew.queue.reserved >= 30:
            stop.set()

    monkeypatch.setattr(Resolver, "resolve", lambda self, host, on_done: True)  # it takes long
    watch(crawl.settings(), look, stop)
    assert owned(crawl) == 0
    assert {seed.state for seed in crawl.seeds()} <= {SeedState.READY, SeedState.ACTIVE}


def test_threads_see_that_the_user_wants_the_end_although_the_main_one_is_held_up(crawl: Crawl) -> None:
    stop = threading.Event()
    machines: list[Machine] = []
    left: list[str] = []

    def look(machine: Machine) -> None:
        machines[:] = [machine]

    def before_beat() -> None:
        if stop.is_set() or not machines or not machines[0].crew.totals().pages:
            return
        stop.set()  # and the main thread goes on waiting, as it does for a database that is at a long commit
        for collector in machines[0].crew.collectors:
            collector.thread.join(HANGS)
            left.extend([collector.thread.name] * collector.thread.is_alive())

    with SynthServer(WebSpec(seed=7, sites=4, equal=True, mean_pages=30_000, page_bytes=500)) as server:
        crawl.add(server.web.seeds())
        watched = watch(crawl.settings(threads=2, delay=0), look, stop, before_beat)
    assert stop.is_set()
    assert not watched.ended
    assert left == []
    crawl.check()
