"""The database goes away in the middle of a crawl, in all the ways there are: nothing is lost, nothing there twice."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from sqlalchemy import NullPool, create_engine
from sqlalchemy.exc import DBAPIError

from scrawler import app
from scrawler.core.progress import Progress
from scrawler.errors import StoreAwayError
from scrawler.features.synthweb.process import SynthServer
from scrawler.features.synthweb.spec import WebSpec
from scrawler.model.seeds import SeedState
from tests.integration.crawl.conftest import Crawl
from tests.integration.crawl.hostile import check_whole
from tests.integration.crawl.rig import truth
from tests.limits import HANGS
from tests.mariadb import MariaDb
from tests.postgresql import Postgresql
from tests.proxy import Proxy

SPEC = WebSpec(seed=11, sites=6, equal=True, mean_pages=25, page_bytes=300)
SLOW = {"delay": 0.15, "checkpoint_interval": 0.2, "threads": 3}
AWAY = 3.0  # seconds

Watch = Callable[[Progress], None]


@pytest.fixture(scope="module")
def web() -> Iterator[SynthServer]:
    with SynthServer(SPEC) as server:
        yield server


@pytest.fixture
def crawl(tmp_path: Path, proxied_url: str, web: SynthServer) -> Crawl:
    """A crawl whose database is behind the proxy."""
    one = Crawl(tmp_path, proxied_url)
    one.add(web.web.seeds())
    return one


def check(crawl: Crawl, web: SynthServer) -> None:
    """The set of pages is the truth, and rows, counters, archive and index tell the same."""
    check_whole(crawl)
    assert crawl.html() == truth(web)


def once_under_way(strike: Callable[[], None]) -> Watch:
    """Call `strike` once, after the first pages."""
    struck: list[bool] = []

    def look(progress: Progress) -> None:
        if progress.pages >= 10 and not struck:
            struck.append(True)
            strike()

    return look


def later(seconds: float, call: Callable[[], None]) -> threading.Timer:
    timer = threading.Timer(seconds, call)
    timer.start()
    return timer


def away(proxy: Proxy, leave: Callable[[], None], seconds: float) -> Watch:
    def strike() -> None:
        leave()
        later(seconds, proxy.accept)

    return once_under_way(strike)


def test_connections_that_are_cut_again_and_again(crawl: Crawl, web: SynthServer, proxy: Proxy) -> None:
    cuts = 0

    def look(progress: Progress) -> None:
        nonlocal cuts
        if progress.pages and cuts < 5:
            cuts += 1
            proxy.cut()

    assert crawl.run(look, **SLOW).outcome == "ended"
    assert cuts == 5
    check(crawl, web)


def test_commits_whose_acknowledgement_is_lost(crawl: Crawl, web: SynthServer, proxy: Proxy) -> None:
    """Of checkpoints, claims and heartbeats, as they come."""
    lost = [proxy.cut_after_commit()]  # of the registration

    def look(progress: Progress) -> None:
        if lost[-1].is_set():
            lost.append(proxy.cut_after_commit())

    assert crawl.run(look, **SLOW).outcome == "ended"
    assert len(lost) > 5
    check(crawl, web)


def test_a_server_that_refuses_for_a_while(crawl: Crawl, web: SynthServer, proxy: Proxy) -> None:
    assert crawl.run(away(proxy, proxy.refuse, AWAY), **SLOW).outcome == "ended"
    check(crawl, web)


def test_a_server_that_says_nothing_for_longer_than_is_waited_for(
    crawl: Crawl, web: SynthServer, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "_ANSWER", 1.0)
    assert crawl.run(away(proxy, proxy.swallow, 2 * AWAY), **SLOW).outcome == "ended"
    check(crawl, web)


@pytest.mark.heavy
def test_a_database_away_for_too_long_ends_the_run_and_the_next_goes_on(
    crawl: Crawl, web: SynthServer, proxy: Proxy
) -> None:
    with pytest.raises(StoreAwayError, match=r"cannot be reached .* given up after 2s: .* the next run goes on"):
        crawl.run(once_under_way(proxy.refuse), database_patience=2, **SLOW)
    proxy.accept()
    crawl.check()
    assert {seed.state for seed in crawl.seeds()} == {SeedState.ACTIVE}
    assert crawl.run().outcome == "ended"
    crawl.check()
    assert crawl.html() == truth(web)


@pytest.mark.parametrize("leave", ["refuse", "swallow"])
def test_a_stop_while_the_database_is_away_ends_within_its_deadline(
    crawl: Crawl, proxy: Proxy, monkeypatch: pytest.MonkeyPatch, leave: str
) -> None:
    monkeypatch.setattr(app, "_ANSWER", 1.0)
    stop, deadline, stopped_at = threading.Event(), 2.0, []

    def ask() -> None:
        stopped_at.append(time.monotonic())
        stop.set()

    def strike() -> None:
        getattr(proxy, leave)()
        later(1.0, ask)

    with pytest.raises(StoreAwayError, match=r"cannot be reached .* stopped without it"):
        crawl.run(once_under_way(strike), stop, stop_timeout=deadline, **SLOW)
    assert time.monotonic() - stopped_at[0] < deadline + HANGS  # far less than `database_patience`
    proxy.accept()
    crawl.check()


def test_a_killed_server_that_comes_back(tmp_path: Path, web: SynthServer, mortal: MariaDb | Postgresql) -> None:
    crawl = Crawl(tmp_path, mortal.create("crawl_killed"))
    crawl.add(web.web.seeds())
    back: list[threading.Timer] = []

    def strike() -> None:
        mortal.kill()
        back.append(later(AWAY, mortal.start_again))

    assert crawl.run(once_under_way(strike), **SLOW).outcome == "ended"
    back[0].join()
    check(crawl, web)


def test_deadlocks_with_another_session(
    crawl: Crawl, web: SynthServer, server_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It locks the machine's row first and the sites after; on MariaDB with more to undo than the crawler has."""
    over = threading.Event()
    other = _Deadlocker(server_url, over)
    thread = threading.Thread(target=other.run)
    thread.start()
    try:
        before = other.deadlocks()
        assert crawl.run(**SLOW).outcome == "ended"
    finally:
        over.set()
        thread.join()
    give_up_at = time.monotonic() + HANGS  # PostgreSQL counts them a moment later
    while other.deadlocks() == before and time.monotonic() < give_up_at:
        time.sleep(0.1)
    assert other.deadlocks() > before
    other.close()
    check(crawl, web)


class _Deadlocker:
    def __init__(self, url: str, over: threading.Event) -> None:
        self._engine = create_engine(url, poolclass=NullPool)
        self._over = over

    def deadlocks(self) -> int:
        with self._engine.connect() as connection:
            if connection.dialect.name == "mysql":
                return int(connection.exec_driver_sql("SHOW GLOBAL STATUS LIKE 'Innodb_deadlocks'").one()[1])
            query = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
            return int(connection.exec_driver_sql(query).scalar_one())

    def run(self) -> None:
        numbers = ", ".join(f"(999, {n}, 0, 0, 0, 0, 0)" for n in range(500))
        while not self._over.wait(0.1):
            with suppress(DBAPIError), self._engine.connect() as connection:  # the server may end this one
                connection.exec_driver_sql(f"INSERT INTO machine_statistics VALUES {numbers}")
                connection.exec_driver_sql("SELECT id FROM machine FOR UPDATE")
                self._over.wait(0.3)  # until a checkpoint has locked its sites and waits for the machine's row
                connection.exec_driver_sql("SELECT id FROM site FOR UPDATE")

    def close(self) -> None:
        self._engine.dispose()
