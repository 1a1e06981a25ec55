"""A running machine obeys what the database says: pause, stop, changed settings, seeds that are added."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from scrawler.core.machine.machine import Machine
from scrawler.core.machine.permission import Permission
from scrawler.core.progress import Progress, RunSummary
from scrawler.features.synthweb.process import SynthServer
from scrawler.features.synthweb.spec import WebSpec
from scrawler.features.synthweb.truth import party
from scrawler.model.machines import MachineState
from scrawler.model.seeds import EndReason, SeedState
from scrawler.store.claims.control import Control
from scrawler.store.claims.machines import Machines
from scrawler.store.engines.engine import Database, open_database
from tests.dead import declare_dead
from tests.integration.crawl.rig import truth, watch
from tests.integration.fetch.servers import RawServer, Visit, answer
from tests.limits import EARLY, FAR, HANGS

if TYPE_CHECKING:
    from tests.integration.crawl.conftest import Crawl

SPEC = WebSpec(seed=7, sites=6, equal=True, mean_pages=25, page_bytes=300)


class Running:
    """A crawl that runs in a thread of its own, and its database."""

    def __init__(self, crawl: Crawl, changes: dict[str, object]) -> None:
        self.stop = threading.Event()
        self.summary: RunSummary | None = None
        self._progress: Progress | None = None
        self._news = threading.Condition()
        self.database: Database = open_database(crawl.url)
        self.control = Control(self.database)
        self._thread = threading.Thread(target=self._run, args=(crawl, changes))
        self._thread.start()

    def _run(self, crawl: Crawl, changes: dict[str, object]) -> None:
        self.summary = crawl.run(self._look, self.stop, **changes)

    def _look(self, progress: Progress) -> None:
        with self._news:
            self._progress = progress
            self._news.notify_all()

    def wait(self, until: Callable[[Progress], bool], seconds: float = HANGS) -> Progress:
        """Wait for a progress report of which `until` is true."""
        with self._news:
            assert self._news.wait_for(lambda: self._progress is not None and until(self._progress), seconds)
            assert self._progress is not None
            return self._progress

    def see(self, state: MachineState) -> None:
        """Wait until the machine says that this is its state."""
        machines = Machines(self.database)
        self.wait(lambda progress: any(one.state is state for one in machines.machines()))

    def see_it_stop(self) -> None:
        """Wait until the machine says that it is stopping; then it reports no progress any more."""
        machines, deadline = Machines(self.database), time.monotonic() + HANGS
        while all(one.state is not MachineState.STOPPING for one in machines.machines()):
            assert not self.stop.wait(0.05)
            assert time.monotonic() < deadline

    def join(self) -> RunSummary:
        self._thread.join(HANGS)
        assert not self._thread.is_alive()
        assert self.summary is not None
        return self.summary

    def close(self) -> None:
        self.stop.set()
        self._thread.join()
        self.database.close()


@contextmanager
def running(crawl: Crawl, seeds: Sequence[str] = (), **changes: object) -> Iterator[Running]:
    if seeds:
        crawl.add(seeds)
    one = Running(crawl, changes)
    try:
        yield one
    finally:
        one.close()


class Refusals:
    """How often collectors wanted to start a request and were told no."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._number = 0
        self._news = threading.Condition()
        may_start = Permission.may_start

        def counted(permission: Permission) -> bool:
            may = may_start(permission)
            with self._news:
                self._number += not may
                self._news.notify_all()
            return may

        monkeypatch.setattr(Permission, "may_start", counted)

    def wait_for_more(self, number: int) -> None:
        """Wait until so many more were counted."""
        with self._news:
            enough = self._number + number
            assert self._news.wait_for(lambda: self._number >= enough, HANGS)


@pytest.fixture
def refusals(monkeypatch: pytest.MonkeyPatch) -> Refusals:
    return Refusals(monkeypatch)


def asked(server: SynthServer) -> int:
    return len(server.log())


def test_a_paused_crawl_asks_nobody_and_goes_on_when_resumed(crawl_on_both: Crawl, refusals: Refusals) -> None:
    crawl = crawl_on_both
    with SynthServer(SPEC) as server:
        crawl.add(server.web.seeds())
        with running(crawl, delay=0.1) as run:
            run.wait(lambda progress: progress.pages > 5)
            assert len(run.control.pause()) == 1
            run.see(MachineState.PAUSED)
            before = asked(server)
            refusals.wait_for_more(3)
            assert asked(server) == before
            run.control.resume()
            assert run.join().outcome == "ended"
        assert crawl.html() == truth(server)
    crawl.check()


def test_a_paused_crawl_stays_paused_for_machines_that_come_later(crawl: Crawl) -> None:
    with SynthServer(SPEC) as server:
        crawl.add(server.web.seeds())
        database = open_database(crawl.url)
        Control(database).pause()
        database.close()
        with running(crawl) as run:
            run.see(MachineState.PAUSED)
            assert asked(server) == 0
            run.stop.set()
            assert run.join().outcome == "stopped"
    assert crawl.pages() == []


@pytest.mark.parametrize("by_name", [False, True])
def test_a_stop_comes_through_the_database_and_a_later_run_goes_on(crawl: Crawl, by_name: bool) -> None:
    with SynthServer(SPEC) as server:
        crawl.add(server.web.seeds())
        with running(crawl, delay=0.1) as run:
            run.wait(lambda progress: progress.pages > 5)
            names = [one.name for one in Machines(run.database).machines()] if by_name else None
            run.control.stop(names)
            run.wait(lambda progress: True)
            assert run.join().outcome == "stopped"
        assert 5 < len(crawl.pages()) < len(truth(server))
        assert crawl.run().outcome == "ended"
        assert crawl.html() == truth(server)
        assert [url for url, times in server.requests().items() if times > 1 and "robots" not in url] == []
    crawl.check()


def test_a_drained_machine_waits_for_what_is_in_flight(crawl: Crawl) -> None:
    with SynthServer(SPEC) as server:
        crawl.add(server.web.seeds())
        with running(crawl, delay=0.1, stop_timeout=0) as run:
            run.wait(lambda progress: progress.pages > 5)
            run.control.drain(Machines(run.database).machines()[0].name)
            assert run.join().outcome == "stopped"
        assert crawl.run().outcome == "ended"
        assert [url for url, times in server.requests().items() if times > 1 and "robots" not in url] == []
        assert crawl.html() == truth(server)


def test_settings_change_while_it_runs(crawl: Crawl) -> None:
    with SynthServer(SPEC) as server:
        crawl.add(server.web.seeds())
        with running(crawl, delay=10, threads=6, seeds_per_thread=1, robots=False) as run:
            run.wait(lambda progress: progress.pages >= 1)
            run.control.set({"delay": 0.0, "max_pages": 7, "threads": 2})
            summary = run.join()
        assert summary.elapsed_s < 50, "with 10 s between two pages it would have taken 60"
        assert {seed.end_reason for seed in crawl.seeds()} == {EndReason.MAX_PAGES}
        assert {seed.counts.pages for seed in crawl.seeds()} == {7}
    crawl.check()


def test_threads_that_come_take_their_share_and_threads_that_go_leave_it(crawl: Crawl) -> None:
    with SynthServer(SPEC) as server:
        crawl.add(server.web.seeds())
        with running(crawl, delay=0.3, threads=1) as run:

            def held() -> list[tuple[int, ...]]:
                return [one.held for one in Machines(run.database).machines()]

            run.wait(lambda progress: progress.pages >= 1)
            run.control.set({"threads": 3})
            run.wait(lambda progress: any(len(threads) == 3 and min(threads) >= 1 for threads in held()))
            run.control.set({"threads": 2, "delay": 0.01})
            assert run.join().outcome == "ended"
        assert crawl.html() == truth(server)
        assert [url for url, times in server.requests().items() if times > 1 and "robots" not in url] == []
    crawl.check()


def test_seeds_that_are_imported_meanwhile_are_taken_up_at_once(crawl_on_both: Crawl) -> None:
    """One on a new site, and one on the site of a party in work."""
    crawl = crawl_on_both
    with SynthServer(SPEC) as server:
        first, new = server.web.seeds()[:2]
        also = next(url for url in sorted(party(server.web, first).pages) if url != first)
        crawl.add([first])
        with running(crawl, delay=FAR) as run:
            run.wait(lambda progress: progress.active == 1)
            crawl.add([also, new])
            begun = run.wait(lambda progress: True).elapsed_s
            taken = run.wait(lambda progress: all(seed.state is SeedState.ACTIVE for seed in crawl.seeds()))
            assert taken.elapsed_s - begun < EARLY
            run.stop.set()
            run.join()


def test_seeds_are_taken_up_also_where_the_site_just_waits_for_something(crawl: Crawl) -> None:
    """A site waits, for an address or a part of its list, while seeds of it are imported."""
    with SynthServer(SPEC) as server:
        first = server.web.seeds()[0]
        also = next(url for url in sorted(party(server.web, first).pages) if url != first)
        crawl.add([first])
        stop = threading.Event()
        imported_at: list[float] = []
        looked_at: list[float] = [0.0]
        active: list[int] = []

        def look(machine: Machine) -> None:
            for site in machine.crew.held_sites():
                if not imported_at:
                    crawl.add([also])
                    imported_at.append(time.monotonic())
                    site.await_answer()
            if imported_at and time.monotonic() > looked_at[-1] + 0.2:
                looked_at.append(time.monotonic())
                active.append(sum(seed.state is SeedState.ACTIVE for seed in crawl.seeds()))
                if active[-1] == 2 or looked_at[-1] > imported_at[0] + HANGS:
                    stop.set()

        watch(crawl.settings(delay=FAR), look, stop)
        assert active[-1] == 2


def test_a_machine_that_was_told_to_stop_does_not_begin_anew_when_it_loses_its_lease(
    crawl: Crawl, serve: Callable[..., RawServer]
) -> None:
    with running(crawl, seeds=[serve(Visit.hang).url()], stop_timeout=4) as run:
        run.wait(lambda progress: progress.active == 1)
        machines = Machines(run.database)
        run.control.stop([machines.machines()[0].name])
        run.see_it_stop()
        declare_dead(run.database, machines.machines()[0].id)
        assert run.join().outcome == "stopped"
        assert len(machines.machines()) == 1


def test_a_machine_that_is_being_drained_can_be_removed(crawl: Crawl, serve: Callable[..., RawServer]) -> None:
    with running(crawl, seeds=[serve(Visit.hang).url()], timeout=FAR) as run:
        run.wait(lambda progress: progress.active == 1)
        name = Machines(run.database).machines()[0].name
        run.control.drain(name)
        run.see_it_stop()
        assert not run.control.remove(name)
        began = time.monotonic()
        run.join()
        assert time.monotonic() - began < EARLY


def test_a_thread_that_downloads_one_page_after_the_other_begins_none_while_paused(
    crawl: Crawl, serve: Callable[..., RawServer], refusals: Refusals
) -> None:
    """Its sites have each asked for a page already, and wait for their turn."""
    asked: list[bytes] = []
    answers = threading.Event()

    def script(visit: Visit) -> None:
        while head := visit.request():
            asked.append(head)
            answers.wait(HANGS)
            visit.hang(0.5)
            visit.send(answer(b'<a href="x/">', "200 OK", "Content-Type: text/html"))

    seeds = [serve(script).url() for _ in range(9)]
    with running(crawl, seeds, profile="classic", threads=1, robots=False, timeout=FAR) as run:
        run.wait(lambda progress: progress.active == 9 and len(asked) > 0)
        run.control.pause()
        run.see(MachineState.PAUSED)
        answers.set()
        refusals.wait_for_more(4)
        assert len(asked) <= 2, "more than what may have begun before"
        run.control.resume()
        run.wait(lambda progress: len(asked) > 9)
        run.stop.set()
        before = len(asked)
        run.join()
        assert len(asked) < before + 8, "what had not begun was waited for"


@pytest.mark.heavy
def test_a_machine_that_comes_when_all_sites_are_taken_gets_its_share(
    crawl_on_both: Crawl, serve: Callable[..., RawServer]
) -> None:
    """Without a delay a site is hardly ever seen with nothing in flight. Pages are slow until all have their share."""
    crawl, pages = crawl_on_both, 250
    asked: list[bytes] = []
    shared = threading.Event()
    links = b"".join(b'<a href="/%d">' % number for number in range(pages))

    def script(visit: Visit) -> None:
        while head := visit.request():
            asked.append(head)
            visit.hang(0.03 if shared.is_set() else HANGS / pages)
            visit.send(answer(links, "200 OK", "Content-Type: text/html"))

    seeds = [serve(script).url() for _ in range(6)]
    with running(crawl, seeds, robots=False, traps=False) as first:
        first.wait(lambda progress: progress.active == 6 and progress.pages > 6)
        with running(crawl, robots=False, traps=False) as second:
            machines = Machines(first.database)
            second.wait(lambda progress: [one.sites for one in machines.machines()] == [3, 3])
            shared.set()
            assert second.join().pages > 0
        assert first.join().outcome == "ended"
    assert len(asked) == len(set(asked)) == len(crawl.pages()) == 6 * (pages + 1)
    crawl.check()
