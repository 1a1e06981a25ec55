"""Receivers of URLs that do not make them durable: killed before the checkpoint, silent, or frozen beyond the lease.

Of two sites, one links to pages of the other that nothing there leads to. So who asks for one has been sent it. Both go
on for as long as a test wants, and networks before the machines keep what is sent until the test lets it through: what
happens between two moments is decided, and not left to chance.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from scrawler.model.machines import BEAT_EVERY
from tests.integration.crawl.hostile import asked, page
from tests.integration.fetch.servers import RawServer, Visit, answer, path_of
from tests.torture.crawl import CrawlUnderTest, Pace, freeze_between_transactions, wait_for
from tests.torture.messy import GatedNetwork, Networks

TIMEOUT = 200  # seconds
KILLS = 2
A, B = "a.example", "b.example"
LISTS = 40  # that are full make a full outbox, ...
FEWEST = 20_000  # ... but so many URLs at least
_PATIENCE = 7.0  # seconds for which the database is locked at a time: well within a lease
_BEATS = 3  # heartbeats in which a machine that is not at rest asks for something

pytestmark = pytest.mark.servers


class TwoSites:
    """Each page of `a` leads to its next one, and to hidden ones of `b`; each page of `b` to its next one.

    They have addresses of their own: at one that both had, a frozen machine would keep its share of the requests.
    """

    def __init__(self, hidden: int = 1) -> None:
        """Let a page lead to so many hidden ones; those that are many are forbidden by robots.txt, and cost nothing."""
        self.hidden = hidden
        self.enough = threading.Event()  # pages lead to no further ones
        self.told: set[str] = set()  # the hidden pages to which a page has led
        self.server = RawServer(self._script, "0.0.0.0")

    def stop(self) -> None:
        self.enough.set()
        self.server.stop()

    def of_a(self) -> int:
        """Return how often the first site was asked for something."""
        return sum(f"Host: {A}".encode() in head for head in [*self.server.heads])

    def seeds(self) -> list[str]:
        return [self.server.url(host=host) for host in (A, B)]

    def _script(self, visit: Visit) -> None:
        while head := visit.request():
            path = path_of(head)
            is_a = f"Host: {A}".encode() in head
            if path == "/robots.txt":
                visit.send(answer(b"User-agent: *\nDisallow: /many/\n", "200 OK", "Content-Type: text/plain"))
                continue
            links = [] if self.enough.is_set() or "/hidden/" in path else [f"/{_number(path) + 1}"]
            visit.send(page(f"{path} of {'a' if is_a else 'b'}", links=(*links, *(self._hidden(path) if is_a else ()))))

    def _hidden(self, path: str) -> list[str]:
        folder = "hidden" if self.hidden <= 100 else "many"
        found = [self.server.url(f"/{folder}/{_number(path)}-{one}", host=B) for one in range(self.hidden)]
        self.told.update(found)
        return found


def _number(path: str) -> int:
    return int(path.strip("/") or 0)


@pytest.fixture
def sites(request: pytest.FixtureRequest) -> Iterator[TwoSites]:
    made = TwoSites(getattr(request, "param", 1))
    yield made
    made.stop()


def _exchanging(runs: int, sqlite_url: str, folder: Path, list_max: int = 1) -> CrawlUnderTest:
    """Return a crawl of the two sites, whose machines send each other what they find at once."""
    (folder / "secret").write_text("a secret that is long enough")
    more = (
        *("--communicator=tcp://127.0.0.1:0", "--send-wait=0.1", f"--send-list-max={list_max}", "--max-depth=10000"),
        *("--no-traps", f"--exchange-secret-file={folder / 'secret'}"),
        *(f"--resolve={A}=127.0.0.1", f"--resolve={B}=127.0.0.2"),
    )
    pace = Pace(runs=runs, threads=1, seeds_per_thread=1, delay=0.3, mode="exchange", more=more)
    return CrawlUnderTest(folder, sqlite_url, pace)


def _begun(crawl: CrawlUnderTest, sites: TwoSites) -> None:
    """Start the crawl, until each site is with another machine."""
    crawl.add_seeds(sites.seeds())
    crawl.order("pause")  # whoever comes first would have both for a while
    crawl.start()
    machines = "SELECT COUNT(*) FROM machine"
    wait_for(lambda: crawl.sql.one(machines) == crawl.pace.runs, TIMEOUT, "all machines")
    crawl.order("resume")
    owners = "SELECT DISTINCT pid FROM machine JOIN site ON owner = machine.id"
    wait_for(lambda: len(crawl.sql.rows(owners)) == 2, TIMEOUT, "that each site is with another machine")


def _with(crawl: CrawlUnderTest, host: str) -> tuple[int, int]:
    """Return id and process of the machine that has a site; (0, 0): none that runs has it."""
    query = f"SELECT machine.id, pid FROM machine JOIN site ON owner = machine.id WHERE site_key LIKE '{host}%'"
    return next(((number, pid) for number, pid in crawl.sql.rows(query) if pid in crawl.runs()), (0, 0))


def judge(crawl: CrawlUnderTest, sites: TwoSites) -> None:
    """Hold the end of a crawl against what its sites have told."""
    rows = crawl.sql.rows("SELECT url, result FROM page")
    results = dict(rows)
    assert len(rows) == len(results), "no URL has two rows"
    wanted = "fetched" if sites.hidden <= 100 else "robots-denied"
    assert {url: results.get(url) for url in sites.told} == dict.fromkeys(sites.told, wanted)
    chains = [url for url in rows if url[0] not in sites.told]
    assert {result for _, result in chains} == {"fetched"}
    assert crawl.sql.rows("SELECT (SELECT COUNT(*) FROM outbox), (SELECT COUNT(*) FROM inbox)") == [(0, 0)]
    sent, received = crawl.sql.rows("SELECT SUM(sent), SUM(received) FROM machine")[0]
    assert sent == received >= len(sites.told)


@contextmanager
def _locked(file: Path) -> Iterator[sqlite3.Connection]:
    """Let nobody write into the database meanwhile: no checkpoint comes through, and no receipt is noted."""
    with closing(sqlite3.connect(file, timeout=TIMEOUT, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield connection
        finally:
            connection.execute("ROLLBACK")


def _undurable(connection: sqlite3.Connection, receiver: int) -> set[str]:
    """Return the URLs for a machine's site that are durable with their finder alone."""
    lists = [zlib.decompress(data).decode() for (data,) in connection.execute("SELECT data FROM chunk")]
    listed = {line.rpartition(" ")[2] for text in lists for line in text.splitlines()}
    query = (
        "SELECT outbox.url FROM outbox JOIN site ON site.key_hash = outbox.key_hash"
        " WHERE site.owner = ? AND site.owner <> outbox.machine_id"
    )
    return {url for (url,) in connection.execute(query, (receiver,)) if url not in listed}


def _kill_one(crawl: CrawlUnderTest, sites: TwoSites, networks: Networks[GatedNetwork], file: Path) -> str:
    """Kill the machine that has asked for a page which it was sent, while that is not durable there; return its URL.

    What it is sent is kept until nobody can write into the database. Where it does not come to ask for it before its
    lease would end, it is let go, and all begins anew: there are pages for as long as that takes.
    """
    until = time.monotonic() + TIMEOUT
    while time.monotonic() < until:
        wait_for(lambda: _with(crawl, B)[0] in networks.of, TIMEOUT, "a machine with the other site")
        receiver, pid = _with(crawl, B)
        if receiver not in networks.of:
            continue
        network = networks.of[receiver]
        network.close()

        def sent(network: GatedNetwork = network, receiver: int = receiver) -> bool:
            return network.keeps > 0 or _with(crawl, B)[0] != receiver

        wait_for(sent, TIMEOUT, "that it is sent something")
        with _locked(file) as connection:
            there = _undurable(connection, receiver)
            network.open()
            patience = time.monotonic() + _PATIENCE

            def delivered(there: frozenset[str] = frozenset(there)) -> set[str]:
                return there & {sites.server.url(path, host=B) for path in asked(sites.server)}

            wait_for(lambda end=patience: bool(delivered()) or time.monotonic() > end, TIMEOUT, "a page")  # type: ignore[misc]
            for url in delivered():
                crawl.kill_machine(pid)
                return url
    raise AssertionError("no machine has asked for what it was sent, whenever that was not durable")


def test_a_receiver_that_is_killed_between_delivery_and_checkpoint_costs_no_url(
    sites: TwoSites, sqlite_url: str, tmp_path: Path
) -> None:
    crawl = _exchanging(3, sqlite_url, tmp_path)
    networks = Networks(sqlite_url, lambda address, number: GatedNetwork(address))
    try:
        with networks.watching():
            _begun(crawl, sites)
            killed = [_kill_one(crawl, sites, networks, tmp_path / "crawl.db") for _ in range(KILLS)]
            sites.enough.set()
            wait_for(lambda: not crawl.runs(), TIMEOUT, "the end of the crawl")
    finally:
        crawl.stop()
    judge(crawl, sites)
    times = asked(sites.server)
    assert all(times["/" + one.split("/", 3)[3]] > 1 for one in killed), "its heir has asked for it again"


def _rests(crawl: CrawlUnderTest, sender: int, sites: TwoSites) -> None:
    """Wait until a machine has had some heartbeats in which the first site was not asked for anything."""
    beat = f"SELECT heartbeat_at FROM machine WHERE id = {sender}"
    since, before = crawl.sql.one(beat), sites.of_a()

    def stands() -> bool:
        nonlocal since, before
        at, now = crawl.sql.one(beat), sites.of_a()
        if now != before:
            since, before = at, now
        return bool(at - since >= _BEATS * BEAT_EVERY)

    wait_for(stands, TIMEOUT, "that a machine rests")


@pytest.mark.parametrize("way", ["the receiver is killed", "the sender is stopped"])
@pytest.mark.parametrize("sites", [1_500], indirect=True)
def test_with_a_full_outbox_sites_rest_and_nothing_is_lost(
    sites: TwoSites, sqlite_url: str, tmp_path: Path, way: str
) -> None:
    """Each page leads to three full lists, none of which comes through."""
    crawl = _exchanging(2, sqlite_url, tmp_path, list_max=FEWEST // LISTS)
    networks = Networks(sqlite_url, lambda address, number: GatedNetwork(address))
    try:
        with networks.watching():
            _begun(crawl, sites)
            wait_for(lambda: _with(crawl, B)[0] in networks.of, TIMEOUT, "the network before the receiver")
            (receiver, pid), (sender, sender_pid) = _with(crawl, B), _with(crawl, A)
            networks.of[receiver].close()
            waiting = f"SELECT COUNT(*) FROM outbox WHERE machine_id = {sender}"
            wait_for(lambda: crawl.sql.one(waiting) > FEWEST, TIMEOUT, "a full outbox")
            _rests(crawl, sender, sites)
            assert crawl.sql.one(waiting) > FEWEST, "there is another page all the time, but no room"
            sites.enough.set()
            if way == "the receiver is killed":
                crawl.kill_run(pid)
            else:
                os.kill(sender_pid, signal.SIGTERM)
                wait_for(lambda: sender_pid not in crawl.runs(), TIMEOUT, "the end of the sender, in order")
                assert crawl.sql.one(waiting) == 0, "what waited there is left to the database"
                crawl.join()
                networks.of[receiver].open()
            wait_for(lambda: not crawl.runs(), TIMEOUT, "the end of the crawl")
        judge(crawl, sites)
    finally:
        crawl.stop()


def test_a_receiver_that_was_frozen_beyond_its_lease_comes_back(
    sites: TwoSites, sqlite_url: str, tmp_path: Path
) -> None:
    """The others take over its site, and what waited for it; what it still has when it wakes is refused."""
    crawl = _exchanging(3, sqlite_url, tmp_path)
    try:
        _begun(crawl, sites)
        _, receiver = _with(crawl, B)
        freeze_between_transactions(receiver, crawl.sql)
        dead = f"SELECT COUNT(*) FROM machine WHERE pid = {receiver} AND state = 'dead'"
        wait_for(lambda: bool(crawl.sql.one(dead)), TIMEOUT, "that the others take it for dead")
        sites.enough.set()
        theirs = f"SELECT COUNT(*) FROM site JOIN machine ON owner = machine.id WHERE pid = {receiver}"
        wait_for(lambda: not crawl.sql.one(theirs), TIMEOUT, "that another one has its site")
        wait_for(lambda: not crawl.sql.one("SELECT COUNT(*) FROM outbox"), TIMEOUT, "that nothing waits for it")
        os.kill(receiver, signal.SIGCONT)
        wait_for(lambda: not crawl.runs(), TIMEOUT, "the end of the crawl")
        judge(crawl, sites)
    finally:
        crawl.stop()
