"""robots.txt over time: kept for a day across runs, asked anew after that, and the pauses that it asks for."""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
from warcio.archiveiterator import ArchiveIterator

from scrawler.core.asking import origins
from scrawler.model.results import Result
from scrawler.model.robots import RobotsRow
from scrawler.model.scope import Scope
from scrawler.model.seeds import EndReason, SeedState
from scrawler.store.commit.robots import RobotsCopies
from scrawler.store.engines.engine import open_database
from tests.integration.crawl.hostile import asked, by_host, by_path, end_details, page, redirect, run_whole
from tests.integration.crawl.rig import running
from tests.integration.fetch.servers import RawServer, Visit, answer, path_of
from tests.limits import HANGS

if TYPE_CHECKING:
    from tests.integration.crawl.conftest import Crawl

Serve = Callable[..., RawServer]

CLOSED = b"User-agent: *\nDisallow: /closed\n"
HOUR = 3600 * 1000  # milliseconds
CLOCK = 0.002  # seconds: granularity of clocks
PAGES = 9


class Site:
    """Pages in a row, each with a link to the next and one to what is closed; its robots.txt can be changed."""

    def __init__(self, robots: bytes = answer(CLOSED), later: bytes = b"") -> None:
        self.robots, self._later = robots, later  # `later`: from the second time on
        self.times: list[tuple[str, float, float]] = []  # URL, asked at, answered at
        self._lock = threading.Lock()

    def script(self, visit: Visit) -> None:
        while head := visit.request():
            began = time.monotonic()
            path, host = path_of(head), head.partition(b"Host: ")[2].split(b"\r")[0].decode()
            reply = self.reply(host, path)
            with self._lock:
                self.times.append((host + path, began, time.monotonic()))  # before it is sent: nobody has it earlier
            visit.send(reply)

    def reply(self, host: str, path: str) -> bytes:
        if path == "/robots.txt":
            given, self.robots = self.robots, self._later or self.robots
            return given
        number = int(path[1:] or 0) if path != "/closed" else PAGES
        return page(path, links=("/closed", f"/{number + 1}") if number < PAGES else ())

    def gaps(self, host: str = "") -> list[float]:
        """Seconds between an answer and the next request."""
        times = sorted((began, ended) for url, began, ended in self.times if url.startswith(host))
        return [then[0] - before[1] for before, then in itertools.pairwise(times)]


def run_for(crawl: Crawl, pages: int, **changes: Any) -> None:
    """Run, and stop once so many pages are there."""
    stop = threading.Event()
    crawl.run(lambda progress: stop.set() if progress.pages >= pages else None, stop, **changes)
    assert [seed.state for seed in crawl.seeds()] == [SeedState.ACTIVE]


def copies(crawl: Crawl) -> list[RobotsRow]:
    database = open_database(crawl.url)
    rows = list(RobotsCopies(database).of_site(1, 0))
    database.close()
    return rows


def age(crawl: Crawl, milliseconds: int) -> None:
    database = open_database(crawl.url)
    change = f"UPDATE robots SET fetched_at = fetched_at - {milliseconds}"
    database.retrying(lambda connection: connection.exec_driver_sql(change))
    database.close()


def test_a_restart_asks_again_after_a_day_only(crawl: Crawl, serve: Serve) -> None:
    site = Site()
    server = serve(site.script)
    crawl.add([server.url()])
    run_for(crawl, 1, delay=0.6)
    run_for(crawl, 1, delay=0.6)
    assert asked(server)["/robots.txt"] == 1
    (row,) = copies(crawl)
    assert (row.origin, row.status, row.detail) == (server.url()[:-1], 200, "")
    age(crawl, 23 * HOUR)
    run_for(crawl, 1, delay=0.6)
    assert asked(server)["/robots.txt"] == 1
    site.robots = answer(b"User-agent: *\nDisallow: /\n")
    age(crawl, HOUR)
    run_whole(crawl)
    assert asked(server)["/robots.txt"] == 2
    results = {url.removeprefix(server.url()): result for url, result in results_of(crawl).items()}
    assert results["closed"] == Result.ROBOTS_DENIED, "also where the rules came from the database"
    assert set(results.values()) == {Result.FETCHED, Result.ROBOTS_DENIED}
    assert asked(server)["/closed"] == 0
    assert f"/{PAGES}" not in asked(server), "the new rules hold at once"


def results_of(crawl: Crawl) -> dict[str, str]:
    return {row.url: row.result for row in crawl.pages()}


@pytest.mark.parametrize("days", [29, 31])
def test_an_older_copy_holds_while_robots_txt_cannot_be_had(crawl: Crawl, serve: Serve, days: int) -> None:
    site = Site()
    server = serve(site.script)
    crawl.add([server.url()])
    run_for(crawl, 1, delay=0.6)
    age(crawl, days * 24 * HOUR)
    site.robots = answer(b"", "500 Oops")
    run_whole(crawl)
    assert asked(server)["/robots.txt"] == 1 + 3
    (row,) = copies(crawl)
    if days == 29:
        assert crawl.seed(server.url()).counts.pages == PAGES + 1
        assert results_of(crawl)[server.url("/closed")] == Result.ROBOTS_DENIED
        assert row.detail == "an older copy holds, for it cannot be had: HTTP status 500"
    else:
        assert f"/{PAGES}" not in asked(server)
        assert Result.ROBOTS_UNAVAILABLE in results_of(crawl).values()
        assert row.detail == "", "what cannot be had replaces nothing"


def test_a_site_that_is_held_for_long_is_asked_again(
    crawl: Crawl, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A day lasts a quarter of a second here."""
    monkeypatch.setattr(origins, "ROBOTS_FRESH", 250)
    site = Site()
    server = serve(site.script)
    crawl.add([server.url()])
    run_whole(crawl, delay=0.1)
    paths = [url.removeprefix(server.url()[7:-1]) for url, _, _ in site.times]
    assert paths.count("/robots.txt") >= 3
    assert sorted(set(paths)) == sorted(["/robots.txt", "/", *(f"/{n}" for n in range(1, PAGES + 1))])


@pytest.mark.parametrize(("kept", "status"), [(60_000, "500 Oops"), (60_000, "503 Busy"), (100, "500 Oops")])
def test_what_a_site_has_said_before_holds_while_it_is_held(
    crawl: Crawl, serve: Serve, monkeypatch: pytest.MonkeyPatch, kept: int, status: str
) -> None:
    monkeypatch.setattr(origins, "ROBOTS_FRESH", 250)
    monkeypatch.setattr(origins, "ROBOTS_KEPT", kept)
    server = serve(Site(later=answer(b"", status)).script)
    crawl.add([server.url()])
    run_whole(crawl, delay=0.1)
    unavailable = Result.ROBOTS_UNAVAILABLE in results_of(crawl).values()
    assert unavailable == (kept == 100)
    assert (f"/{PAGES}" in asked(server)) == (kept == 60_000)
    assert asked(server)["/closed"] == 0


def test_the_crawl_delay_lies_between_all_requests_of_all_runs(crawl: Crawl, serve: Serve) -> None:
    site = Site(answer(b"User-agent: *\nCrawl-delay: 0.3\n"))
    server = serve(site.script)
    crawl.add([server.url()])
    run_for(crawl, 2)
    run_whole(crawl)
    assert asked(server)["/robots.txt"] == 1
    assert len(site.gaps()) > PAGES
    assert min(site.gaps()) >= 0.3 - CLOCK


def test_a_crawl_delay_above_the_limit_ends_the_seeds(
    crawl: Crawl, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []

    def counting(copies: RobotsCopies, site_id: int, since: int) -> Iterator[RobotsRow]:
        read.append(site_id)
        return of_site(copies, site_id, since)

    of_site = RobotsCopies.of_site
    monkeypatch.setattr(RobotsCopies, "of_site", counting)
    slow = serve(Site(answer(b"User-agent: *\nCrawl-delay: 86400\nDisallow: /\n")).script)
    kept = serve(Site(answer(b"User-agent: *\nCrawl-delay: 0.01\n")).script)
    crawl.add([slow.url(), slow.url("/2"), kept.url()])
    run_whole(crawl)
    assert asked(slow) == {"/robots.txt": 1}
    for seed in crawl.seeds()[:2]:
        assert (seed.end_reason, seed.counts.requests, seed.counts.denied) == (EndReason.CRAWL_DELAY, 0, 0)
        assert end_details(crawl)[seed.url] == (
            f"{slow.url()}robots.txt asks for a Crawl-delay of 86400 s; max_crawl_delay is 1m"
        )
    assert crawl.seed(kept.url()).end_reason is EndReason.COMPLETED
    assert read == [], "nothing is looked up for sites that are new"
    crawl.add([kept.url("/closed"), slow.url("/3")])
    run_whole(crawl, max_crawl_delay=0.001)
    assert asked(slow) == {"/robots.txt": 1}, "what the database has of it is enough"
    assert sorted(read) == [1, 2]
    assert crawl.seed(slow.url("/3")).end_reason is EndReason.CRAWL_DELAY


def test_a_crawl_delay_above_the_limit_of_another_host_ends_nothing(crawl: Crawl, serve: Serve) -> None:
    asks = answer(b"User-agent: *\nCrawl-delay: 86400\n")
    sites: dict[str, dict[str, bytes | str]] = {"a.example": {}, "asks.a.example": {"/robots.txt": asks}}
    server = serve(by_host(sites))
    mine, other = (f"http://{host}:{server.port}" for host in sites)
    sites["a.example"] |= {"/": page(links=(other + "/x", "/y")), "/y": page("y")}
    crawl.add([mine + "/"], Scope.DOMAIN)
    run_whole(crawl, resolve=[f"{host}=127.0.0.1" for host in sites], scope="domain")
    assert crawl.seed(mine + "/").end_reason is EndReason.COMPLETED
    rows = {row.url: (row.result, row.detail) for row in crawl.pages()}
    assert rows[mine + "/y"] == (Result.FETCHED, "")
    assert rows[other + "/x"] == (
        Result.ROBOTS_DENIED,
        f"{other}/robots.txt asks for a Crawl-delay of 86400 s; max_crawl_delay is 1m",
    )


def test_a_robots_txt_elsewhere_in_the_site_keeps_to_the_pauses_there(crawl: Crawl, serve: Serve) -> None:
    """That of host b. leads to host a., which asks for longer pauses."""

    class Two(Site):
        def reply(self, host: str, path: str) -> bytes:
            port = host.partition(":")[2]
            if host.startswith("b."):
                return redirect(f"http://a.site.example:{port}/robots-b.txt") if "robots" in path else page("b")
            if path.endswith("txt"):
                return answer(b"User-agent: *\nCrawl-delay: 0.5\n" if path == "/robots.txt" else b"")
            return page(path, links=(f"http://b.site.example:{port}/", "/1", "/2") if path == "/" else ())

    site = Two()
    server = serve(site.script)
    crawl.add([server.url(host="a.site.example")], Scope.DOMAIN)
    run_whole(crawl, scope="domain", delay=0.1, resolve=("a.site.example=127.0.0.1", "b.site.example=127.0.0.1"))
    paths = [url.partition("/")[2] for url, _, _ in site.times]
    assert paths == ["robots.txt", "", "robots.txt", "robots-b.txt", "", "1", "2"]
    assert min(site.gaps("a.")) >= 0.5 - CLOCK
    assert min(site.gaps("b.")) >= 0.1 - CLOCK


def test_a_robots_txt_elsewhere_that_fails_once_is_asked_for_again(crawl: Crawl, serve: Serve) -> None:
    """What others have heard of it serves them for a minute; whoever tries again would hear the same each time."""

    class Two(Site):
        def reply(self, host: str, path: str) -> bytes:
            if path == "/robots.txt" and not host.startswith("a."):
                return redirect(f"http://a.site.example:{host.partition(':')[2]}/robots.txt")
            return super().reply(host, path)

    site = Two(answer(b"", "500 Oops"), answer(CLOSED))
    server = serve(site.script)
    crawl.add([server.url(host="b.site.example")])
    run_whole(crawl, retries=2, retry_pause=0.01, resolve=("a.site.example=127.0.0.1", "b.site.example=127.0.0.1"))
    (seed,) = crawl.seeds()
    assert (seed.end_reason, seed.counts.pages, seed.counts.denied) == (EndReason.COMPLETED, PAGES + 1, 1)
    assert [url for url, _, _ in site.times if "robots" in url] == [
        f"{host}.site.example:{server.port}/robots.txt" for host in "baba"
    ]


def robots_records(crawl: Crawl) -> list[tuple[str, str, str, bytes]]:
    """URL, type, status and payload of the records of robots.txt files, as warcio reads them, in order."""
    found = []
    for file in sorted((crawl.folder / "pages").glob("*.warc.gz")):
        with file.open("rb") as stream:
            for record in ArchiveIterator(stream):
                url = record.rec_headers.get_header("WARC-Target-URI") or ""
                if "robots" in url:
                    status = record.http_headers.get_statuscode() if record.rec_type == "response" else ""
                    found.append((url, record.rec_type, status, record.content_stream().read()))
    return found


def in_index(crawl: Crawl) -> Counter[str]:
    """URLs of the lines of the CDXJ files."""
    lines = (line for file in (crawl.folder / "pages").glob("*.cdxj") for line in file.read_text().splitlines())
    return Counter(json.loads(line.split(" ", 2)[2])["url"] for line in lines)


def test_each_answer_for_a_robots_txt_is_in_the_archive(crawl: Crawl, serve: Serve) -> None:
    """With those that fail, redirect, or come from elsewhere; none of them is a page."""
    failing = [answer(b"", "500 Oops"), redirect("/robots/elsewhere")]

    def script(visit: Visit) -> None:
        while head := visit.request():
            path = path_of(head)
            if path == "/robots.txt":
                visit.send(failing.pop(0))
            elif path == "/robots/elsewhere":
                visit.send(answer(CLOSED, "200 OK", "Content-Type: text/plain"))
            else:
                visit.send(page("home", links=("/closed",)))

    server, silent = serve(script), serve(lambda visit: None)
    missing = serve(by_path({"/": page("home")}))
    crawl.add([server.url(), silent.url(), missing.url()])
    run_whole(crawl, retries=1, retry_pause=0.01)
    there = [record for record in robots_records(crawl) if record[0].startswith(server.url())]
    first, led = server.url("/robots.txt"), server.url("/robots/elsewhere")
    assert [(url, kind, status) for url, kind, status, _ in there] == [
        (first, "request", ""), (first, "response", "500"), (first, "request", ""), (first, "response", "302"),
        (led, "request", ""), (led, "response", "200"),
    ]  # fmt: skip
    assert there[-1][3] == CLOSED
    assert all(b"GET /robots" in text for _, kind, _, text in there if kind == "request") or there[0][3] == b""
    assert [record[1:3] for record in robots_records(crawl) if record[0].startswith(missing.url())] == [
        ("request", ""),
        ("response", "404"),
    ]
    assert not [record for record in robots_records(crawl) if record[0].startswith(silent.url())]
    listed = in_index(crawl)
    assert (listed[first], listed[led], listed[missing.url("/robots.txt")], listed[server.url()]) == (2, 1, 1, 1)
    assert not any("robots" in row.url for row in crawl.pages())


@pytest.mark.heavy
def test_robots_records_that_were_not_committed_are_orphans_or_cut(crawl: Crawl, serve: Serve) -> None:
    """The process is killed while a page waits: its robots.txt is asked for again, and nothing is told twice."""
    asked_for = threading.Event()

    def script(visit: Visit) -> None:
        while head := visit.request():
            if path_of(head) == "/" and not asked_for.is_set():
                asked_for.set()
                visit.hang(60)
                return
            visit.send(answer(CLOSED) if path_of(head) == "/robots.txt" else page("home"))

    server = serve(script)
    crawl.add([server.url()])
    with running(crawl, "--checkpoint-interval", "60") as process:
        assert asked_for.wait(HANGS)
        process.kill()
        process.wait()
    run_whole(crawl)
    kinds = Counter(record[1] for record in robots_records(crawl))
    assert kinds["request"] == kinds["response"] == in_index(crawl)[server.url("/robots.txt")] == 1
