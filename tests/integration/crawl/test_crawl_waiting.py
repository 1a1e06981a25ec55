"""Sites that only wait hold no place: those of a machine with one are crawled beside all that hang, fail or queue."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import pytest
from sqlalchemy import Engine, event

from scrawler.core.machine.machine import Machine
from scrawler.model.results import Result
from scrawler.model.seeds import EndReason, SeedState
from tests.integration.crawl.conftest import Crawl
from tests.integration.crawl.hostile import NOT_FOUND, by_path, page, run_whole
from tests.integration.crawl.rig import watch
from tests.integration.fetch.servers import RawServer, Script, Visit
from tests.limits import HANGS

Serve = Callable[..., RawServer]

ONE_PLACE = {"threads": 1, "seeds_per_thread": 1}
GOOD = 3


@pytest.fixture
def good(serve: Serve) -> list[str]:
    """The URLs of some sites that answer."""
    return [serve(by_path({"/": page(f"site {number}")})).url() for number in range(GOOD)]


def hangs(visit: Visit) -> None:
    """Take the request and say nothing."""
    visit.request()
    visit.hang()


@contextmanager
def refused() -> Iterator[str]:
    """Give the URL of a port at which nobody listens."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{bound.getsockname()[1]}/"


def until_others_are_done(crawl: Crawl, waiting: set[str], **changes: object) -> None:
    """Crawl until the pages of the good sites are there, and stop: the others must still be in work then."""
    stop = threading.Event()

    def look(machine: Machine) -> None:
        if machine.crew.totals().pages == GOOD:
            stop.set()

    watch(crawl.settings(**(ONE_PLACE | changes), stop_timeout=0), look, stop)
    assert waiting <= {seed.url for seed in crawl.seeds() if seed.state is not SeedState.DONE}


def test_a_host_that_never_answers_keeps_nobody_waiting(crawl: Crawl, serve: Serve, good: list[str]) -> None:
    silent = [serve(hangs).url() for _ in range(3)]
    crawl.add([*silent, *good])
    until_others_are_done(crawl, set(silent), timeout=3600)


def test_who_waits_for_the_next_try_keeps_nobody_waiting(crawl: Crawl, good: list[str]) -> None:
    with refused() as one, refused() as other:
        crawl.add([one, other, *good])
        until_others_are_done(crawl, {one, other}, retry_pause=3600)


def test_who_waits_for_the_next_try_of_a_page_keeps_nobody_waiting(crawl: Crawl, serve: Serve, good: list[str]) -> None:
    broken = serve(by_path({"/": page("no", status="500 Broken")})).url()
    crawl.add([broken, *good])
    until_others_are_done(crawl, {broken}, retry_pause=3600)


def test_of_hosts_that_refuse_nothing_is_written_before_their_end(crawl: Crawl) -> None:
    """Each seed is in one checkpoint, however often its host is tried, and many are in one together."""
    if not crawl.url.startswith("sqlite"):
        pytest.skip("what is written is counted by the statements of SQLite's driver")
    written: list[int] = []

    def note(_connection: object, _cursor: object, statement: str, rows: list[object], *_more: object) -> None:
        if statement.startswith("UPDATE seed SET requests"):
            written.append(len(rows))

    with ExitStack() as stack:
        crawl.add([stack.enter_context(refused()) for _ in range(60)])
        event.listen(Engine, "before_cursor_execute", note)
        stack.callback(event.remove, Engine, "before_cursor_execute", note)
        crawl.run(retries=2, retry_pause=0.3, checkpoint_interval=0.1)
    assert {(seed.state, seed.end_reason) for seed in crawl.seeds()} == {(SeedState.DONE, EndReason.DEAD)}
    assert sum(written) == 60
    assert len(written) < 30


def test_a_seed_ends_with_the_last_try_at_its_robots_txt(crawl: Crawl, serve: Serve) -> None:
    """The third failure in a row lets the host rest, which would be for an hour here: but nobody asks it again."""
    machines: list[Machine] = []

    def cut(visit: Visit) -> None:
        visit.request()
        if len(visit.heads) == 3:
            machines[0].rules.retry_pause_ms = 3_600_000
        visit.reset()

    server = serve(cut)
    crawl.add([server.url()])
    watch(crawl.settings(retries=2, retry_pause=0.1), machines.append)
    assert [(seed.state, seed.end_reason) for seed in crawl.seeds()] == [(SeedState.DONE, EndReason.DEAD)]
    assert len(server.heads) == 3


def slow_robots(seconds: float) -> Script:
    """A site whose robots.txt takes a while, and holds the one request that its address may have in flight."""

    def script(visit: Visit) -> None:
        while visit.request():
            visit.hang(seconds)
            visit.send(page("late"))

    return script


def test_who_waits_for_a_turn_at_an_address_keeps_nobody_waiting(crawl: Crawl, serve: Serve) -> None:
    shared = [serve(slow_robots(3600)).url() for _ in range(4)]
    elsewhere = [serve(by_path({"/": page(f"site {n}")}), host=f"127.0.0.{2 + n}").url() for n in range(GOOD)]
    crawl.add([*shared, *elsewhere])
    until_others_are_done(crawl, set(shared), timeout=7200, per_ip=1)


def test_tries_and_pauses_are_counted_on_while_a_site_has_no_place(crawl: Crawl, good: list[str]) -> None:
    with refused() as dead:
        crawl.add([dead, *good])
        run_whole(crawl, **ONE_PLACE, retries=1, retry_pause=5.5)
    [row] = [row for row in crawl.pages() if row.url == dead]
    assert row.result == Result.CONNECT_FAILED
    seed = crawl.seed(dead)
    assert seed.end_reason is EndReason.DEAD
    assert seed.elapsed_ms >= 5_500, "it was tried again after the pause"


PATHS = ["/", *(f"/{number}" for number in range(5))]


def answers_when(opened: threading.Event) -> Script:
    """A host that hangs until then, and has six pages."""
    answers = by_path({path: page(f"page {path}", links=PATHS[1:]) for path in PATHS})

    def script(visit: Visit) -> None:
        opened.wait(HANGS)
        answers(visit)

    return script


@pytest.mark.parametrize("per_ip", [100, 2], ids=["apart", "in line"])
def test_those_that_answer_after_all_go_on_as_there_are_places(crawl: Crawl, serve: Serve, per_ip: int) -> None:
    """All hosts hang until all sites wait without a place; then they answer together, to two seeds each."""
    opened = threading.Event()
    script = answers_when(opened)
    homes = [serve(script).url() for _ in range(6)]
    crawl.add([*homes, *(f"{home}0" for home in homes)])
    held, returning = [], []

    def look(machine: Machine) -> None:
        [collector] = machine.crew.collectors
        held.append(collector.held)
        returning.append(len(collector.places.back))
        assert not (collector.places.back and collector.room), "new seeds would come before those that have waited"
        if len(collector.places.aside) == len(homes):
            opened.set()

    settings = crawl.settings(threads=1, seeds_per_thread=3, per_ip=per_ip, delay=0.01, delay_factor=0)
    watched = watch(settings, look)
    assert watched.ended
    assert max(held) == 3
    assert max(returning) > 0
    assert crawl.fetched() == {f"{home[:-1]}{path}" for home in homes for path in PATHS}
    crawl.check()


def test_who_waits_for_a_place_is_let_go_of_at_a_stop(crawl: Crawl, serve: Serve) -> None:
    """Two hosts answer at last, while a third one has the only place and keeps it: its page takes for ever."""
    opened, both_asked = threading.Event(), threading.Barrier(3)
    is_first = True

    def late(visit: Visit) -> None:
        if is_first:
            both_asked.wait(HANGS)
            opened.wait(HANGS)
        by_path({"/": page("late")})(visit)

    def busy(visit: Visit) -> None:
        while b"/robots.txt" in visit.request():
            if is_first:
                both_asked.wait(HANGS)
            visit.send(NOT_FOUND)
        if is_first:
            opened.set()
            visit.hang()
        visit.send(page("busy"))

    urls = [serve(script).url() for script in (late, late, busy)]
    crawl.add(urls)
    stop, pages = threading.Event(), []

    def look(machine: Machine) -> None:
        pages.append(machine.crew.totals().pages)
        if len(machine.crew.collectors[0].places.back) == 2:
            stop.set()

    watch(crawl.settings(**ONE_PLACE, timeout=3600, stop_timeout=0), look, stop)
    assert set(pages) == {0}
    is_first = False
    run_whole(crawl, **ONE_PLACE)
    assert crawl.fetched() == set(urls)


def test_openings_that_come_to_need_more_places_than_there_are_wait_for_them(crawl: Crawl, serve: Serve) -> None:
    """All openings before came to nothing; of ten places for them none does."""
    opened = threading.Event()
    script = answers_when(opened)
    homes = [serve(script).url() for _ in range(12)]
    crawl.add(homes)
    openings, real = [], []

    def look(machine: Machine) -> None:
        [collector] = machine.crew.collectors
        openings.append(sum(site.is_opening for site in collector.sites.values()))
        real.append(len(collector.sites) - openings[-1])
        if openings[-1] == 10:
            opened.set()
        if not opened.is_set():
            collector.places.room.needed = 0.0
            machine.distribution.seeds_changed()

    settings = crawl.settings(threads=1, seeds_per_thread=2, per_ip=100, robots=False, delay=0.01, delay_factor=0)
    assert watch(settings, look).ended
    assert (max(openings), max(real)) == (10, 2)
    assert crawl.fetched() == {f"{home[:-1]}{path}" for home in homes for path in PATHS}
