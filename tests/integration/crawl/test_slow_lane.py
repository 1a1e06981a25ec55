"""Pages that take long are put off, and fetched when nothing else is left, whatever comes between."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest
from sqlalchemy import select

from scrawler.core.durable import handover
from scrawler.core.machine.machine import Machine
from scrawler.features.synthweb.process import SynthServer
from scrawler.features.synthweb.spec import WebSpec
from scrawler.model.results import PageFlag, Result
from scrawler.model.seeds import EndReason, SeedState
from scrawler.store.engines.engine import open_database
from scrawler.store.schema.tables import site
from tests.integration.crawl.conftest import Crawl
from tests.integration.crawl.hostile import LONGEST_RUN, NOT_FOUND, check_whole, page, run_whole
from tests.integration.crawl.rig import running, watch
from tests.integration.fetch.servers import RawServer, Script, Visit, path_of
from tests.limits import HANGS

Serve = Callable[..., RawServer]

PATIENCE, TAKES = 0.4, 0.7  # seconds
LINKS = {
    "/": ("/slow-1", "/1", "/slow-2", "/2"),
    "/slow-1": ("/behind",),
    "/behind": ("/slow-3",),
    "/2": ("/3",),
    **dict.fromkeys(("/1", "/3", "/slow-2", "/slow-3"), ()),
}
SLOW = {path for path in LINKS if "slow" in path}


class Log:
    """What all servers of a test were asked for, in order, and when."""

    def __init__(self) -> None:
        self.paths: list[str] = []
        self.times: list[tuple[float, float]] = []  # arrival, and when its answer begins
        self._asked = threading.Condition()

    def site(self, name: str, slow: set[str] = SLOW, takes: float = TAKES) -> Script:
        def script(visit: Visit) -> None:
            while head := visit.request():
                path = path_of(head)
                arrived = time.monotonic()
                with self._asked:
                    self.paths.append(name + path)
                    self._asked.notify_all()
                if path in slow:
                    visit.hang(takes)
                    self.times.append((arrived, time.monotonic()))
                visit.send(page(f"{name} {path}", links=LINKS[path]) if path in LINKS else NOT_FOUND)

        return script

    def wait_for_another(self, path: str, already: int) -> None:
        """Wait until a path was asked for more often than `already`."""
        with self._asked:
            assert self._asked.wait_for(lambda: self.paths.count(path) > already, LONGEST_RUN)

    def last(self, path: str) -> int:
        """Where the last request for a path stands."""
        return len(self.paths) - 1 - self.paths[::-1].index(path)


@pytest.fixture
def log() -> Log:
    return Log()


def rows(crawl: Crawl, server: RawServer) -> dict[str, tuple[str, bool]]:
    """Path -> result, and whether it was fetched in the slow lane."""
    start = len(server.url()) - 1
    mine = (row for row in crawl.pages() if row.url.startswith(server.url()))
    return {row.url[start:]: (row.result, bool(row.flags & PageFlag.SLOW)) for row in mine}


ALL = {path: (Result.FETCHED, path in SLOW) for path in LINKS}


@pytest.mark.parametrize("slow_pass", ["party", "crawl"])
def test_slow_pages_come_last(crawl: Crawl, serve: Serve, log: Log, slow_pass: str) -> None:
    here, there = serve(log.site("here")), serve(log.site("there", slow=set()))
    first = serve(log.site("first", slow={"/", "/2"}))
    crawl.add([here.url(), there.url(), first.url()])
    run_whole(
        crawl, patience=PATIENCE, slow_timeout=10, slow_delay=0.1, slow_pass=slow_pass, threads=2, seeds_per_thread=1
    )
    assert rows(crawl, here) == ALL
    assert rows(crawl, there) == dict.fromkeys(LINKS, (Result.FETCHED, False))
    assert rows(crawl, first) == {path: (Result.FETCHED, path in ("/", "/2")) for path in LINKS}
    counts = crawl.seed(here.url()).counts
    assert (counts.slowed, counts.slow_pages, counts.retries, counts.requests) == (3, 3, 0, 11)
    assert {seed.end_reason for seed in crawl.seeds()} == {EndReason.COMPLETED}
    mine = [path.removeprefix("here") for path in log.paths if path.startswith("here")]
    assert mine.count("/slow-1") == mine.count("/slow-2") == mine.count("/slow-3") == 2
    again = [mine.index(path, mine.index(path) + 1) for path in ("/slow-1", "/slow-2")]
    assert min(again) > max(mine.index("/1"), mine.index("/3")), "put off until the rest is there"
    assert again[0] < mine.index("/behind") < again[1], "what a slow page leads to is not slow for that"
    if slow_pass == "crawl":
        assert min(log.last("here/slow-1"), log.last("first/")) > log.last("there/behind"), "after all other pages"


def test_slow_requests_keep_their_own_pace(crawl: Crawl, serve: Serve, log: Log) -> None:
    server = serve(log.site("here", slow={"/1", "/2"}))
    crawl.add([server.url()])
    run_whole(crawl, patience=PATIENCE, slow_timeout=10, slow_delay=0.5, per_site=4)
    assert sum(slow for _, slow in rows(crawl, server).values()) == 2
    second = sorted(log.times)[-2:]
    gaps = [later - ended for (_, ended), (later, _) in pairwise(second)]
    assert all(gap >= 0.5 for gap in gaps), gaps


@pytest.mark.parametrize("profile", ["default", "classic"])
def test_what_is_too_slow_even_there_fails(crawl: Crawl, serve: Serve, log: Log, profile: str) -> None:
    server = serve(log.site("here", slow={"/1"}, takes=30.0))
    crawl.add([server.url()])
    run_whole(crawl, profile=profile, patience=PATIENCE, slow_timeout=0.6, slow_delay=0, retries=1)
    assert rows(crawl, server)["/1"] == (Result.TIMEOUT, True)
    assert log.paths.count("here/1") == 3, "once in the first pass, twice in the slow lane"
    seed = crawl.seed(server.url())
    assert (seed.end_reason, seed.counts.slowed, seed.counts.retries) == (EndReason.COMPLETED, 1, 1)


def test_without_patience_there_is_no_slow_lane(crawl: Crawl, serve: Serve, log: Log) -> None:
    server = serve(log.site("here", slow={"/1"}))
    crawl.add([server.url()])
    run_whole(crawl, patience=0)
    assert rows(crawl, server)["/1"] == (Result.FETCHED, False)
    assert log.paths.count("here/1") == 1


def test_behind_a_narrow_line_patience_grows(crawl: Crawl) -> None:
    """All answers together take half a second, twice of what is waited for one: not the pages are slow."""
    spec = WebSpec(sites=40, mean_pages=8, equal=True, page_bytes=4_000, links=3, hidden=0.0, bandwidth=300_000)
    with SynthServer(spec) as server:
        crawl.add(server.web.seeds())
        run_whole(crawl, patience=0.25, slow_delay=0, threads=4, robots=False)
    counts = [seed.counts for seed in crawl.seeds()]
    pages, slowed = sum(count.pages for count in counts), sum(count.slowed for count in counts)
    assert pages == spec.sites * spec.mean_pages
    assert 0 < slowed < pages / 2


@pytest.mark.heavy
def test_killed_at_any_point_the_slow_lane_is_still_there(crawl: Crawl, serve: Serve, log: Log) -> None:
    """One process after the other is killed; then two machines finish it."""
    servers = [serve(log.site(f"{n}")) for n in range(2)]
    crawl.add(server.url() for server in servers)
    flags = ("--patience=0.4", "--slow-timeout=3", "--slow-delay=0.1", "--slow-pass=crawl", "--checkpoint-interval=0.1")
    for marker in ("0/1", "1/behind"):
        already = log.paths.count(marker)
        with running(crawl, *flags, "--no-export") as process:
            log.wait_for_another(marker, already)
            process.send_signal(signal.SIGKILL)
            process.wait()
    settings = {"patience": PATIENCE, "slow_timeout": 3, "slow_delay": 0.1, "slow_pass": "crawl"}
    with ThreadPoolExecutor(2) as pool:
        ran = [pool.submit(crawl.run, lambda progress: None, threading.Event(), **settings) for _ in range(2)]
        assert [one.result(HANGS).outcome for one in ran] == ["ended", "ended"]
    check_whole(crawl)
    for server in servers:
        assert rows(crawl, server) == ALL


def test_what_is_put_off_is_committed_at_once_with_the_time_that_it_took(
    crawl: Crawl, serve: Serve, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who takes the site over after a kill does not ask for the page again beside the server's work on it."""
    monkeypatch.setattr(handover, "_SOON", 500)
    server = serve(log.site("here", slow={"/1", "/slow-1", "/slow-2", "/2"}, takes=LONGEST_RUN))
    crawl.add([server.url()])
    stop, until = threading.Event(), time.monotonic() + LONGEST_RUN

    def look(_: Machine) -> None:
        if crawl.seed(server.url()).counts.slowed or time.monotonic() > until:
            stop.set()

    watch(crawl.settings(checkpoint_interval=600, patience=PATIENCE, stop_timeout=0), look, stop)
    assert crawl.seed(server.url()).counts.slowed
    database = open_database(crawl.url)
    with database.read() as connection:
        assert connection.execute(select(site.c.slowest_ms)).scalar_one() >= 1000 * PATIENCE
    database.close()


def test_a_party_that_waits_keeps_its_list(crawl: Crawl, serve: Serve, log: Log) -> None:
    """A crawl stopped while a seed waits; then other seeds of the site come, and take nothing of its list."""
    stop = threading.Event()

    def held_up(visit: Visit) -> None:
        while visit.request():
            if visit.number == 1:
                visit.hang(LONGEST_RUN)
            visit.send(NOT_FOUND)

    server, other = serve(log.site("here")), serve(held_up)
    crawl.add([server.url(), other.url()])

    def until_it_waits(_: object) -> None:
        if crawl.seed(server.url()).state is SeedState.SLOW:
            stop.set()

    summary = crawl.run(until_it_waits, stop, patience=PATIENCE, slow_pass="crawl", stop_timeout=0.1)
    assert summary.outcome == "stopped"
    waiting = crawl.seed(server.url())
    assert (waiting.state, waiting.counts.slowed, waiting.end_reason) == (SeedState.SLOW, 2, None)
    crawl.add([server.url("/slow-1"), server.url("/behind")])
    run_whole(crawl, patience=PATIENCE, slow_pass="crawl", slow_delay=0)
    assert rows(crawl, server) == ALL
    assert {row.seed_id for row in crawl.pages() if row.url == server.url("/slow-2")} == {waiting.id}
    assert crawl.seed(server.url()).end_reason is EndReason.COMPLETED
