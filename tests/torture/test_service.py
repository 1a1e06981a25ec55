"""A crawl that is kept while servers push, webhooks are told and its log is thinned: kills lose nothing of it.

Machines and the listener are killed at any moment, and so are rounds that were ordered by `--again`. What was
acknowledged is looked for in the web server's log, what has changed at the receiver, the rest by SQL.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random
from typing import Any

import pytest

from scrawler.features.synthweb.process import ServerProcess, read_log
from scrawler.features.synthweb.spec import WebSpec
from tests.consistency import check_records
from tests.forks import SCRAWLER, Fork, forks
from tests.limits import HANGS
from tests.torture.crawl import CrawlUnderTest, Pace, wait_for
from tests.torture.sql import DatabaseAwayError, PlainSql
from tests.torture.web import host_of

pytestmark = [pytest.mark.heavy, pytest.mark.servers]

WEB = WebSpec(seed=5, sites=8, mean_pages=8, max_pages=16, page_bytes=800, links=5, changes=1_440.0)
VIRTUAL = 60.0  # seconds of the web for one of ours: pages change about once a second
WISHES = ("--revisit=fixed", "--revisit-interval=4s", "--revisit-pause=0", "--keep-visits=2")
KILLS = 8
NUMBER = int(os.environ.get("SEED", "1"))


class Receiver:
    """Takes webhooks' messages; it refuses some, and of some it loses the answer, but never two in a row."""

    def __init__(self, chance: Random) -> None:
        self.messages: list[tuple[str, bytes]] = []  # id and body, of those that were taken
        self.fails = 0.3  # share of messages
        self._chance = chance
        self._failed = False
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                status = outer.judged(self.headers["webhook-id"], body)
                if status:
                    self.send_response(status)
                    self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/"

    def judged(self, message: str, body: bytes) -> int:
        """Return the status of an answer; 0: there is none."""
        fate = 1.0 if self._failed else self._chance.random()
        self._failed = fate < self.fails
        if fate < self.fails / 2:
            return 500
        self.messages.append((message, body))
        return 0 if self._failed else 204

    def changes(self) -> dict[int, tuple[str, str, int]]:
        """All changes that came, by id; each says the same whenever it comes, and so does each message."""
        found = dict[int, tuple[str, str, int]]()
        assert len(set(self.messages)) == len({message for message, _ in self.messages}), "a message is another one"
        newest = 0
        for _, body in dict.fromkeys(self.messages):
            for change in json.loads(body)["data"]["changes"]:
                assert change["id"] > newest, "out of order, or told twice in two messages"
                newest = change["id"]
                found[newest] = (change["kind"], change["url"], change["visit"])
        return found


@dataclass
class Pusher:
    """Pings the listener, again and again, with URLs that are known and with new ones."""

    port: int
    keys: dict[str, str]  # host -> key
    urls: list[str]
    chance: Random
    acknowledged: dict[str, float] = field(default_factory=dict)  # URL -> when it was sent last, of what was taken
    stopping: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        """Ping until it is told to stop."""
        while not self.stopping.wait(0.1):
            url = self.chance.choice(self.urls)
            if self.chance.random() < 0.2:
                url = f"http://{host_of(url)}/pushed-{self.chance.randrange(50)}"
            sent_at = time.time()
            try:
                accepted = self._ping(url)
            except (OSError, http.client.HTTPException):
                continue  # the listener was killed: nothing was acknowledged
            if accepted:
                self.acknowledged[url] = sent_at

    def _ping(self, url: str) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=HANGS)
        try:
            headers = {"Authorization": f"Bearer {self.keys[host_of(url)]}", "Content-Type": "application/json"}
            connection.request("POST", "/ping", json.dumps({"urls": [url]}), headers)
            answer = connection.getresponse()
            said = json.loads(answer.read())
        finally:
            connection.close()
        assert answer.status in (200, 202, 429, 503), said
        return answer.status in (200, 202) and said["accepted"] == 1


class ListenerUnderTest:
    """`scrawler listen`, which may be killed."""

    def __init__(self, folder: Path, database_url: str) -> None:
        with socket.create_server(("127.0.0.1", 0)) as found:
            self.port = int(found.getsockname()[1])
        self._folder, self._url = folder, database_url
        self._process: Fork | None = None

    def key_of(self, host: str) -> str:
        words = [SCRAWLER, "listen", "keys", "add", host, "--db", self._url]
        done = forks().run(words, self._folder, os.environ, None, HANGS)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def start(self) -> None:
        command = [SCRAWLER, "listen", "--port", str(self.port), "--db", self._url, "--allow-private", "--delay=0"]
        with (self._folder / "listener.txt").open("ab") as output:
            streams = {"stdout": output.fileno(), "stderr": subprocess.STDOUT}
            self._process = forks().start(command, self._folder, os.environ, **streams)
        wait_for(self._answers, HANGS, "a listener that answers")

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def _answers(self) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=HANGS)
        try:
            connection.request("GET", "/health")
            return connection.getresponse().status == 200
        except OSError:
            return False
        finally:
            connection.close()


@contextmanager
def threaded(*calls: Any) -> Iterator[None]:
    """Run calls in threads, which have to end after the block."""
    threads = [threading.Thread(target=call) for call in calls]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        for thread in threads:
            thread.join()


@contextmanager
def ticking(clock: Path) -> Iterator[None]:
    """Let the web's time pass."""
    began, over = time.monotonic(), threading.Event()

    def tick() -> None:
        while not over.wait(0.05):
            new = clock.with_suffix(".new")
            new.write_text(str((time.monotonic() - began) * VIRTUAL))
            new.replace(clock)

    with threaded(tick):
        try:
            yield
        finally:
            over.set()


def test_kills_lose_nothing_of_a_crawl_that_is_kept(database_url: str, tmp_path: Path) -> None:
    chance = Random(NUMBER)
    log, clock, secret = tmp_path / "access.log", tmp_path / "clock", tmp_path / "secret"
    clock.write_text("0")
    secret.write_text("0123456789abcdef")
    receiver = Receiver(Random(NUMBER + 1))
    told = (f"--webhook={receiver.url}", f"--webhook-secret-file={secret}")
    with ServerProcess(WEB, log=log, clock=clock) as server, ticking(clock):
        crawl = CrawlUnderTest(tmp_path, database_url, _pace(2, "--keep", *WISHES, *told))
        with threaded(receiver.server.serve_forever):
            try:
                crawl.add_seeds(server.web.seeds())
                pushed = _kept(crawl, chance)
                _ended(_pace(1, *WISHES, *told), crawl)  # what was begun, and what was pushed, is brought to its end
                _check_log(crawl.sql, log, pushed)
                _check_rows(crawl.sql)
                _visit_all_once(crawl, told, chance)
                _check_rows(crawl.sql)
                receiver.fails = 0.0  # what was refused at the end of a run waits for the next one
                for index in (tmp_path / "pages").glob("*.cdxj"):
                    index.unlink()
                _ended(_pace(1, "--keep-visits=2", *told), crawl)  # which makes them anew, of the rows that are left
                _check_told(crawl.sql, receiver)
            finally:
                crawl.stop()
                receiver.server.shutdown()
        receiver.server.server_close()
    check_records(database_url, tmp_path / "pages")


def _pace(runs: int, *more: str) -> Pace:
    return Pace(runs=runs, threads=2, delay=0.02, checkpoint_interval=0.2, more=more)


def _kept(crawl: CrawlUnderTest, chance: Random) -> dict[str, float]:
    """Keep the crawl, push, and kill; return what was acknowledged, and when it was sent."""
    listener = ListenerUnderTest(crawl.folder, crawl.url)
    try:
        listener.start()
        crawl.start()
        _wait_for_visits(crawl.sql, 20)
        urls = [url for (url,) in crawl.sql.rows("SELECT url FROM page WHERE visit = 0 AND result = 'fetched'")]
        keys = {host: listener.key_of(host) for host in sorted({host_of(url) for url in urls})}
        pusher = Pusher(listener.port, keys, urls, Random(NUMBER + 2))
        with threaded(pusher.run):
            try:
                for number in range(KILLS):
                    _wait_for_visits(crawl.sql, 10 + chance.randrange(60))
                    if number % 4 == 3:
                        listener.kill()
                        listener.start()
                    else:
                        crawl.kill_machine(chance.choice(crawl.machines()))
                _wait_for_visits(crawl.sql, 20)
            finally:
                pusher.stopping.set()
        assert len(pusher.acknowledged) > 20
        waiting = "SELECT (SELECT count(*) FROM pushed) + (SELECT count(*) FROM inbox)"
        wait_for(lambda: _one(crawl.sql, waiting) == 0, HANGS, "all that was pushed is listed")
        wait_for(lambda: _have_begun(crawl), HANGS, "all machines have begun")
        crawl.order("stop")
        wait_for(lambda: not crawl.runs(), HANGS, "all machines have stopped")
        return pusher.acknowledged
    finally:
        listener.kill()


def _ended(pace: Pace, crawl: CrawlUnderTest) -> None:
    last = CrawlUnderTest(crawl.folder, crawl.url, pace)
    try:
        last.start()
        wait_for(lambda: not last.runs(), HANGS, "the end of the run")
    finally:
        last.stop()


def _visit_all_once(crawl: CrawlUnderTest, told: tuple[str, ...], chance: Random) -> None:
    """Order one more round, and kill it while it is prepared and at work: each URL has one visit more."""
    before = _visits(crawl.sql)
    rest = _pace(1, "--keep-visits=2", *told)
    ordering = CrawlUnderTest(crawl.folder, crawl.url, _pace(1, "--again", *rest.more))
    going_on = CrawlUnderTest(crawl.folder, crawl.url, rest)
    try:
        ordering.start()
        begun = (
            "SELECT count(*) FROM crawl WHERE again IS NOT NULL OR EXISTS (SELECT 1 FROM seed WHERE state <> 'done')"
        )
        wait_for(lambda: _one(crawl.sql, begun) == 1, HANGS, "the order is there")
        ordering.lose_run(ordering.machines()[0])
        going_on.start()
        for visits in sorted(chance.randrange(len(before)) for _ in range(3)):
            _wait_within(going_on, before, visits)
            if going_on.runs():
                going_on.kill_machine(going_on.machines()[0])
        wait_for(lambda: not going_on.runs(), HANGS, "the end of the round")
    finally:
        ordering.stop()
        going_on.stop()
    after = _visits(crawl.sql)
    assert {url: after[url] - visit for url, visit in before.items()} == dict.fromkeys(before, 1)


def _wait_within(crawl: CrawlUnderTest, before: dict[str, int], visits: int) -> None:
    """Wait until the round has so many visits, or is over."""
    wait_for(lambda: not crawl.runs() or _more(crawl.sql, before) > visits, HANGS, f"{visits} visits")


def _visits(sql: PlainSql) -> dict[str, int]:
    return dict(sql.rows("SELECT url, visit FROM url_state"))


def _more(sql: PlainSql, before: dict[str, int]) -> int:
    try:
        return sum(visit > before.get(url, visit) for url, visit in _visits(sql).items())
    except DatabaseAwayError:
        return 0


def _have_begun(crawl: CrawlUnderTest) -> bool:
    """Whether each machine that runs has its row."""
    return {row[0] for row in crawl.sql.rows("SELECT pid FROM machine")} >= set(crawl.machines())


def _one(sql: PlainSql, query: str) -> Any:
    try:
        return sql.one(query)
    except DatabaseAwayError:
        return None


def _wait_for_visits(sql: PlainSql, more: int) -> None:
    """Wait until so many more visits after the first ones are committed."""

    def visits() -> int:
        return int(_one(sql, "SELECT sum(visit) FROM url_state") or 0)

    before = visits()
    wait_for(lambda: visits() >= before + more, HANGS, f"{more} more visits")


def _check_log(sql: PlainSql, log: Path, pushed: dict[str, float]) -> None:
    """What was acknowledged was asked for afterwards; each visit that is counted was a request."""
    asked = read_log(log.read_text())
    last = dict[str, float]()
    times = dict[str, int]()
    for request in asked:
        last[request.url] = max(request.came, last.get(request.url, 0.0))
        times[request.url] = times.get(request.url, 0) + 1
    denied = {url for (url,) in sql.rows("SELECT url FROM url_state WHERE result = 'robots-denied'")}
    lost = {url: (at, last.get(url)) for url, at in pushed.items() if url not in denied and last.get(url, 0.0) < at}
    assert lost == {}
    assert {url: visit for url, visit in _visits(sql).items() if visit >= times.get(url, 0) and url not in denied} == {}


def _check_rows(sql: PlainSql) -> None:
    """Nothing is there twice, nothing is missing, nothing waits; rows and what was thinned are what seeds count."""
    assert sql.rows("SELECT url, visit FROM page GROUP BY url, visit HAVING count(*) > 1") == []
    known = sql.rows("SELECT url_hash, visit FROM url_state ORDER BY url_hash")
    assert known == sql.rows("SELECT url_hash, max(visit) FROM page GROUP BY url_hash ORDER BY url_hash")
    assert sql.rows("SELECT url FROM page GROUP BY url HAVING min(visit) <> 0") == []
    assert sql.one("SELECT count(*) FROM url_state WHERE due_at < 0") == 0
    assert sql.one("SELECT count(*) FROM lane WHERE cursor_position < length") == 0
    assert sql.rows("SELECT DISTINCT state FROM seed") == [("done",)]
    assert sql.one("SELECT count(*) FROM seed_round") == sql.one("SELECT sum(round) FROM seed")
    visits = sql.one("SELECT sum(visit + 1) FROM url_state")
    gone = sql.one("SELECT sum(pages) FROM thinned")
    assert gone > 0
    assert sql.one("SELECT count(*) FROM page") + gone == visits
    counted = "pages + redirects + not_modified + http_errors + failures + denied + unwanted + trapped"
    assert sql.one(f"SELECT sum({counted}) FROM seed") == visits
    assert sql.one("SELECT sum(changes) FROM url_state") >= sql.one(
        "SELECT count(*) FROM url_change WHERE kind = 'changed'"
    )
    # What a visit has found is an event of its own, and its row, which says so, is kept.
    flagged = "SELECT url, visit FROM page WHERE flags & 31744 <> 0 ORDER BY url, visit"
    assert sql.rows("SELECT url, visit FROM url_change GROUP BY url, visit ORDER BY url, visit") == sql.rows(flagged)


def _check_told(sql: PlainSql, receiver: Receiver) -> None:
    """All that has changed was told, and nothing else."""
    rows = sql.rows("SELECT id, kind, url, visit FROM url_change ORDER BY id")
    assert receiver.changes() == {number: (kind, url, visit) for number, kind, url, visit in rows}
    assert len(rows) > 20
