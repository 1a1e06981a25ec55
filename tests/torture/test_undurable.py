"""A receiver that is killed after a URL was delivered to it, and before a checkpoint has made that durable.

Of two sites, one links to pages of the other that nothing there leads to. So who asks for one has been sent it. What
was sent is committed as soon as it is listed: so the test locks the database between the two, until the machine is
dead.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import threading
import time
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

import pytest

from tests.integration.crawl.hostile import NOT_FOUND, asked, by_host, page
from tests.integration.fetch.servers import RawServer, Visit, path_of
from tests.torture.crawl import CrawlUnderTest, Pace, StandsStillError, freeze_between_transactions, wait_for

PAGES = 60  # of each site, one after the other; the first one leads to as many pages of the second as well
TIMEOUT = 200  # seconds
MANY = 50  # pages: more than an outbox with lists of one URL has room for
_SLOW = 3.0  # seconds
KILLS = 2
_PATIENCE = 5.0  # seconds for which the database is locked at a time: well within a lease
A, B = "a.example", "b.example"

pytestmark = pytest.mark.servers  # chance decides whether a moment is met: where it is not, they are skipped


@pytest.fixture
def server() -> Iterator[RawServer]:
    sites: dict[str, dict[str, bytes | str]] = {A: {}, B: {}}
    served = RawServer(by_host(sites))
    for number in range(PAGES):
        further = _path(number + 1) if number + 1 < PAGES else "/"
        hidden = f"/hidden/{number}"
        sites[A][_path(number)] = page(f"a {number}", links=(further, served.url(hidden, host=B)))
        sites[B][_path(number)] = page(f"b {number}", links=(further,))
        sites[B][hidden] = page(f"hidden {number}")
    yield served
    served.stop()


@pytest.fixture
def gate() -> threading.Event:
    return threading.Event()


@pytest.fixture
def slow_server(gate: threading.Event) -> Iterator[RawServer]:
    """The same two sites, but slow until the gate opens; then each page of the first leads to many of the second.

    They have addresses of their own: at one that both had, a frozen machine would keep its share of the requests.
    """

    def script(visit: Visit) -> None:
        while head := visit.request():
            path = path_of(head)
            if path == "/robots.txt":
                visit.send(NOT_FOUND)
                continue
            gate.wait(_SLOW)
            number = int(path.rpartition("/")[2] or 0)
            further = [_path(number + 1)] if number + 1 < PAGES and "/many/" not in path else []
            is_first = f"Host: {A}".encode() in head
            many = [served.url(f"/many/{one}", host=B) for one in range(MANY)] if is_first and gate.is_set() else []
            visit.send(page(f"{path} {is_first}", links=(*further, *many)))

    served = RawServer(script, "0.0.0.0")
    yield served
    gate.set()
    served.stop()


def _path(number: int) -> str:
    return f"/{number or ''}"


def _owners(crawl: CrawlUnderTest) -> list[int]:
    """Return the machines that have a site."""
    return [pid for (pid,) in crawl.sql.rows("SELECT DISTINCT pid FROM machine JOIN site ON owner = machine.id")]


@contextmanager
def _locked(file: Path) -> Iterator[sqlite3.Connection]:
    """Let nobody write into the database meanwhile: no checkpoint comes through, and no receipt is noted."""
    with closing(sqlite3.connect(file, timeout=TIMEOUT, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield connection
        finally:
            connection.execute("ROLLBACK")


def _undurable(connection: sqlite3.Connection) -> dict[str, int]:
    """Return the URLs that are durable with their finder alone, and whose process has the site of each."""
    lists = [zlib.decompress(data).decode() for (data,) in connection.execute("SELECT data FROM chunk")]
    listed = {line.rpartition(" ")[2] for text in lists for line in text.splitlines()}
    query = (
        "SELECT outbox.url, machine.pid FROM outbox JOIN site ON site.key_hash = outbox.key_hash"
        " JOIN machine ON machine.id = site.owner WHERE machine.id <> outbox.machine_id"
    )
    return {url: pid for url, pid in connection.execute(query) if url not in listed}


def _kill_one(crawl: CrawlUnderTest, server: RawServer, file: Path) -> str:
    """Kill the machine that has asked for a page which it was sent, while that is not durable there; return its URL."""
    tried: set[str] = set()  # whoever locked again for the same ones would let nobody ever commit

    def waits_or_ended() -> bool:
        return not {url for (url,) in crawl.sql.rows("SELECT url FROM outbox")} <= tried or not crawl.runs()

    until = time.monotonic() + TIMEOUT
    while time.monotonic() < until:
        wait_for(waits_or_ended, TIMEOUT, "a URL in an outbox")
        with _locked(file) as connection:
            tried.update(url for (url,) in connection.execute("SELECT url FROM outbox"))
            there = {url: pid for url, pid in _undurable(connection).items() if pid in crawl.runs()}
            if not crawl.runs():
                break

            def delivered(urls: frozenset[str] = frozenset(there)) -> set[str]:
                return {*urls} & {server.url(path, host=B) for path in asked(server)}

            with suppress(StandsStillError):  # its sender waits for the database as well: with the next one, then
                wait_for(lambda: bool(delivered()), _PATIENCE if there else 0, "that one is asked for")
            for url in delivered():
                crawl.kill_machine(there[url])
                return url
    pytest.skip("the crawl has ended, and no URL was delivered while it was not durable")


def test_a_receiver_that_is_killed_between_delivery_and_checkpoint_costs_no_url(
    server: RawServer, sqlite_url: str, tmp_path: Path
) -> None:
    pytest.importorskip("zmq")
    with ExitStack() as stack:
        (tmp_path / "secret").write_text("a secret that is long enough")
        more = (
            # What A finds goes off at once.
            *("--communicator=tcp://127.0.0.1:0", "--send-wait=0.1", "--send-list-max=1"),
            *("--max-depth=1000", "--no-traps", f"--exchange-secret-file={tmp_path / 'secret'}"),
            *(f"--resolve={host}=127.0.0.1" for host in (A, B)),
        )
        pace = Pace(threads=1, seeds_per_thread=1, delay=0.3, mode="exchange", more=more)
        crawl = CrawlUnderTest(tmp_path, sqlite_url, pace)
        stack.callback(crawl.stop)
        crawl.add_seeds([server.url(host=host) for host in (A, B)])
        crawl.start()
        wait_for(lambda: len(_owners(crawl)) == 2, TIMEOUT, "that each site is with another machine")
        killed = [_kill_one(crawl, server, tmp_path / "crawl.db") for _ in range(KILLS)]
        wait_for(lambda: not crawl.runs(), TIMEOUT, "the end of the crawl")
    rows = crawl.sql.rows("SELECT url, result FROM page")
    paths = {_path(number) for number in range(PAGES)}
    hidden = {f"/hidden/{number}" for number in range(PAGES)}
    expected = {server.url(path, host=A) for path in paths} | {server.url(path, host=B) for path in paths | hidden}
    assert sorted(rows) == sorted((one, "fetched") for one in expected)
    assert crawl.sql.rows("SELECT (SELECT COUNT(*) FROM outbox), (SELECT COUNT(*) FROM inbox)") == [(0, 0)]
    sent, received = crawl.sql.rows("SELECT SUM(sent), SUM(received) FROM machine")[0]
    assert sent == received >= PAGES
    times: Counter[str] = asked(server)
    assert all(times["/" + one.split("/", 3)[3]] > 1 for one in killed), "its heir has asked for it again"


def _exchanging(runs: int, sqlite_url: str, folder: Path) -> CrawlUnderTest:
    """Return a crawl of the slow server, whose machines send each URL at once."""
    (folder / "secret").write_text("a secret that is long enough")
    more = (
        *("--communicator=tcp://127.0.0.1:0", "--send-wait=0.1", "--send-list-max=1", "--max-depth=1000"),
        *("--no-traps", f"--exchange-secret-file={folder / 'secret'}"),
        *(f"--resolve={A}=127.0.0.1", f"--resolve={B}=127.0.0.2"),
    )
    pace = Pace(runs=runs, threads=1, seeds_per_thread=1, delay=0.1, mode="exchange", more=more)
    return CrawlUnderTest(folder, sqlite_url, pace)


def _frozen_receiver(crawl: CrawlUnderTest) -> int:
    """Freeze the machine that has the site to which the other links, but not while it writes; return its process."""
    ((pid,),) = crawl.sql.rows(f"SELECT pid FROM machine JOIN site ON owner = machine.id WHERE site_key LIKE '{B}%'")
    freeze_between_transactions(pid, crawl.sql)
    return int(pid)


def _full_outbox(crawl: CrawlUnderTest) -> None:
    """Wait for it; where the machine is so busy that the receiver is taken for dead before, there is none."""

    def is_full() -> bool:
        return bool(crawl.sql.one("SELECT COUNT(*) FROM outbox") > 40)

    def is_full_or_late() -> bool:
        return is_full() or bool(crawl.sql.one("SELECT COUNT(*) FROM machine WHERE state = 'dead'"))

    wait_for(is_full_or_late, TIMEOUT, "a full outbox")
    if not is_full():
        pytest.skip("the frozen receiver was taken for dead before its sender had much for it")


@pytest.mark.parametrize("way", ["the receiver is killed", "the sender is stopped"])
def test_with_a_full_outbox_sites_rest_and_nothing_is_lost(
    slow_server: RawServer, gate: threading.Event, sqlite_url: str, tmp_path: Path, way: str
) -> None:
    """Forty full lists are a full outbox: with lists of one URL, a page that leads to more fills it."""
    pytest.importorskip("zmq")
    crawl = _exchanging(2, sqlite_url, tmp_path)
    try:
        crawl.add_seeds([slow_server.url(host=host) for host in (A, B)])
        crawl.start()
        wait_for(lambda: len(_owners(crawl)) == 2, TIMEOUT, "that each site is with another machine")
        receiver = _frozen_receiver(crawl)
        gate.set()
        _full_outbox(crawl)
        assert len(crawl.sql.rows("SELECT url FROM page")) < PAGES, "its site rests, in the midst"
        (sender,) = set(crawl.runs()) - {receiver}
        if way == "the receiver is killed":
            crawl.kill_run(receiver)
        else:
            os.kill(sender, signal.SIGTERM)
            wait_for(lambda: sender not in crawl.runs(), TIMEOUT, "the end of the sender, in order")
            assert crawl.sql.one("SELECT COUNT(*) FROM outbox") == 0, "what waited there is left to the database"
            crawl.join()
            os.kill(receiver, signal.SIGCONT)
        wait_for(lambda: not crawl.runs(), TIMEOUT, "the end of the crawl")
        rows = crawl.sql.rows("SELECT url FROM page WHERE result = 'fetched'")
        assert len(rows) == len(set(rows)) == 2 * PAGES + MANY
        sent, received = crawl.sql.rows("SELECT SUM(sent), SUM(received) FROM machine")[0]
        assert sent == received >= MANY
    finally:
        crawl.stop()


def test_a_receiver_that_was_frozen_beyond_its_lease_comes_back(
    slow_server: RawServer, gate: threading.Event, sqlite_url: str, tmp_path: Path
) -> None:
    """The others take over its site, and what waited for it; what it still has when it wakes is refused."""
    pytest.importorskip("zmq")
    crawl = _exchanging(3, sqlite_url, tmp_path)
    try:
        crawl.add_seeds([slow_server.url(host=host) for host in (A, B)])
        crawl.start()
        wait_for(lambda: len(_owners(crawl)) == 2, TIMEOUT, "that each site is with another machine")
        receiver = _frozen_receiver(crawl)
        gate.set()
        dead = f"SELECT COUNT(*) FROM machine WHERE pid = {receiver} AND state = 'dead'"
        wait_for(lambda: bool(crawl.sql.one(dead)), TIMEOUT, "that the others take it for dead")
        theirs = f"SELECT COUNT(*) FROM site JOIN machine ON owner = machine.id WHERE pid = {receiver}"
        wait_for(lambda: not crawl.sql.one(theirs), TIMEOUT, "that another one has its site")
        wait_for(lambda: not crawl.sql.one("SELECT COUNT(*) FROM outbox"), TIMEOUT, "that nothing waits for it")
        os.kill(receiver, signal.SIGCONT)
        wait_for(lambda: not crawl.runs(), TIMEOUT, "the end of the crawl")
        rows = crawl.sql.rows("SELECT url FROM page WHERE result = 'fetched'")
        assert len(rows) == len(set(rows)) == 2 * PAGES + MANY
        sent, received = crawl.sql.rows("SELECT SUM(sent), SUM(received) FROM machine")[0]
        assert sent == received >= MANY
        assert crawl.sql.rows("SELECT (SELECT COUNT(*) FROM outbox), (SELECT COUNT(*) FROM inbox)") == [(0, 0)]
    finally:
        crawl.stop()
