"""One crawl of many servers that break HTTP, each in its own way, among good ones; and what came of each."""

from __future__ import annotations

import gzip
import socket
from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest

from scrawler.model.deaths import detail_of_death
from scrawler.model.results import Result
from scrawler.model.rows import PageRow
from scrawler.model.seeds import EndReason, Seed
from tests.integration.crawl.conftest import Crawl
from tests.integration.crawl.hostile import GOOD_PAGES, Reply, asked, by_path, end_details, good, page, run_whole
from tests.integration.fetch.servers import RawServer, Visit, answer

MAX_BODY = 1 << 20
CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n"


def says(data: bytes) -> Reply:
    """Send this and close."""
    return lambda visit: visit.send(data)


def never_answers(visit: Visit) -> None:
    visit.hang()


def stalls_in_body(visit: Visit) -> None:
    visit.send(page("x" * 1000)[:-500])
    visit.hang()


def resets_in_body(visit: Visit) -> None:
    visit.send(page("x" * 1000)[:-500])
    visit.reset()


def endless_body(visit: Visit) -> None:
    visit.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")
    while not visit.stopping.is_set():
        visit.send(b'<a href="/never">x</a>' * 1000)


def announces_far_too_much(visit: Visit) -> None:
    """A length of more digits than Python turns into a number."""
    visit.send(b"HTTP/1.1 200 OK\r\nContent-Length: %s\r\n\r\n" % (b"9" * 5000))
    while not visit.stopping.is_set():
        visit.send(b"x" * 100_000)


def endless_head(visit: Visit) -> None:
    visit.send(b"HTTP/1.1 200 OK\r\n")
    while not visit.stopping.is_set():
        visit.send(b"X-Bomb: " + b"x" * 8000 + b"\r\n")


EARLY = b"HTTP/1.1 103 Early Hints\r\nLink: </s.css>; rel=preload\r\n\r\n"
TOO_SHORT = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 22\r\n\r\n" + b'<a href="/next">x</a>\r\n' * 3
)

DEAD, COMPLETED, HTTP_ERROR = EndReason.DEAD, EndReason.COMPLETED, EndReason.HTTP_ERROR


class Case(NamedTuple):
    """What the seed's page answers; how the seed ends, with which result, after how many attempts.

    Where the HTTP libraries disagree how bad is too bad, `classic` says what the other one makes of it.
    """

    reply: Reply
    reason: EndReason
    result: Result
    attempts: int = 1
    next_page: bool = False  # whether the link to /next must have been followed
    classic: tuple[EndReason, Result, int] | None = None


NEXT = ("/next",)
CASES = {
    "never-answers": Case(never_answers, DEAD, Result.TIMEOUT, 2),
    "stalls-in-body": Case(stalls_in_body, DEAD, Result.TIMEOUT, 2),
    "cut-before-head": Case(says(b""), DEAD, Result.CUT, 2),
    "cut-in-head": Case(says(b"HTTP/1.1 200 OK\r\nContent-Ty"), DEAD, Result.CUT, 2),
    "cut-in-body": Case(says(page("x" * 1000)[:-500]), DEAD, Result.CUT, 2),
    "cut-in-chunk": Case(says(CHUNKED + b"5\r\nhel"), DEAD, Result.CUT, 2),
    "reset-in-body": Case(resets_in_body, DEAD, Result.CUT, 2),
    "length-too-short": Case(says(TOO_SHORT), COMPLETED, Result.FETCHED, 1, next_page=True),
    "length-negative": Case(
        says(b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello"), COMPLETED, Result.FETCHED, 2,
        classic=(COMPLETED, Result.FETCHED, 1),
    ),
    "length-in-letters": Case(
        says(page(links=NEXT).replace(b"Content-Length: ", b"Content-Length: abc")), COMPLETED, Result.FETCHED, 2,
        next_page=True, classic=(COMPLETED, Result.FETCHED, 1),
    ),
    "lengths-differ": Case(
        says(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 3\r\n\r\nhello"), DEAD, Result.BAD_ANSWER, 2,
    ),
    "lengths-the-same": Case(
        says(b"HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\nContent-Length: 5\r\n\r\nhello"), COMPLETED, Result.FETCHED,
    ),
    "length-beyond-numbers": Case(announces_far_too_much, DEAD, Result.TOO_LARGE),
    "endless-body": Case(endless_body, EndReason.COMPLETED, Result.TOO_LARGE),
    "header-bomb": Case(endless_head, DEAD, Result.BAD_ANSWER, 2),
    "not-http": Case(says(b"SSH-2.0-OpenSSH_9.2\r\n"), DEAD, Result.BAD_ANSWER, 2),
    "binary": Case(says(b"\x00\x01\x02\xff\xfe" * 100), DEAD, Result.BAD_ANSWER, 2),
    "status-in-letters": Case(says(b"HTTP/1.1 abc OK\r\n\r\n"), DEAD, Result.BAD_ANSWER, 2),
    "blank-line": Case(says(b"\n"), DEAD, Result.BAD_ANSWER, 2),
    "blank-line-first": Case(says(b"\r\nHTTP/1.1 200 OK\r\n\r\n"), DEAD, Result.BAD_ANSWER, 2),
    "blank-line-behind-interim": Case(
        says(EARLY + b"\r\nHTTP/1.1 200 OK\r\n\r\nx"), DEAD, Result.BAD_ANSWER, 2
    ),
    "http-2-in-letters": Case(says(b"HTTP/2 x\r\n\r\n"), DEAD, Result.BAD_ANSWER, 2),
    "status-without-space": Case(
        says(page(links=NEXT, status="200OK")), COMPLETED, Result.FETCHED, 1, next_page=True,
        classic=(DEAD, Result.BAD_ANSWER, 2),
    ),
    "status-999": Case(answer(b"no", "999 Request denied"), HTTP_ERROR, Result.HTTP_ERROR),
    "status-without-phrase": Case(page(links=NEXT, status="200"), COMPLETED, Result.FETCHED, 1, next_page=True),
    "interim-103": Case(EARLY * 3 + page(links=NEXT), COMPLETED, Result.FETCHED, 1, next_page=True),
    "not-found": Case(answer(b"no", "404 Not Found"), HTTP_ERROR, Result.HTTP_ERROR),
    "server-error": Case(answer(b"oops", "500 Oops"), HTTP_ERROR, Result.HTTP_ERROR, 2),
    "redirect-without-location": Case(answer(b"", "302 Found"), HTTP_ERROR, Result.HTTP_ERROR),
    "empty": Case(answer(b""), COMPLETED, Result.FETCHED),
    "no-content": Case(b"HTTP/1.1 204 No Content\r\n\r\n", COMPLETED, Result.FETCHED),
    "http-1.0": Case(
        says(b'HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n<a href="/next">x</a>'),
        COMPLETED, Result.FETCHED, 1, next_page=True,
    ),
    "header-without-colon": Case(
        page("", "What is this", "Content-Type: text/html"), DEAD, Result.BAD_ANSWER, 2,
        classic=(COMPLETED, Result.FETCHED, 1),
    ),
    "type-not-ascii": Case(
        page("", "Content-Type: text/html\xe9\xff; charset=\xe9", links=NEXT), COMPLETED, Result.FETCHED
    ),
}  # fmt: skip


class Zoo:
    """The crawl that has been: servers and rows by name of the case."""

    def __init__(self, crawl: Crawl, servers: dict[str, RawServer], profile: str) -> None:
        self.servers, self.profile = servers, profile
        self.seeds = {seed.url: seed for seed in crawl.seeds()}
        self.details = end_details(crawl)
        self.rows: dict[str, list[PageRow]] = {}
        for row in crawl.pages():
            self.rows.setdefault(row.url[: row.url.index("/", 8) + 1], []).append(row)

    def seed(self, name: str) -> Seed:
        return self.seeds[self.servers[name].url()]

    def pages(self, name: str) -> dict[str, PageRow]:
        """Path -> row."""
        url = self.servers[name].url()
        return {row.url.removeprefix(url[:-1]): row for row in self.rows.get(url, [])}


@pytest.fixture(scope="module", params=["default", "classic"])
def zoo(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Zoo]:
    folder = tmp_path_factory.mktemp(request.param)
    crawl = Crawl(folder, f"sqlite:///{folder / 'crawl.db'}")
    servers = {name: RawServer(by_path({"/": case.reply, "/next": page("next")})) for name, case in CASES.items()}
    servers |= {name: RawServer(good(name)) for name in ("good-1", "good-2", "good-3")}
    try:
        crawl.add(server.url() for server in servers.values())
        run_whole(
            crawl, profile=request.param, threads=3, seeds_per_thread=20, retries=1, timeout=3.0, max_body=MAX_BODY
        )
        yield Zoo(crawl, servers, request.param)
    finally:
        for server in servers.values():
            server.stop()


@pytest.mark.parametrize("name", CASES)
def test_each_seed_ends_for_its_own_reason(zoo: Zoo, name: str) -> None:
    case, seed, rows = CASES[name], zoo.seed(name), zoo.pages(name)
    expected = (case.reason, case.result, case.attempts)
    if zoo.profile == "classic":
        expected = case.classic or expected
    assert (seed.end_reason, rows["/"].result, rows["/"].attempts) == expected
    assert seed.counts.requests == sum(row.attempts for row in rows.values())
    assert seed.counts.retries == rows["/"].attempts - 1
    if case.next_page and case.reason is seed.end_reason:
        assert rows["/next"].result == Result.FETCHED
    if seed.end_reason in (DEAD, HTTP_ERROR):
        detail = rows["/"].detail or f"HTTP status {rows['/'].status}"
        result = Result(rows["/"].result) if seed.end_reason is DEAD else None
        assert zoo.details[seed.url] == detail_of_death(result, detail)
    else:
        own = rows["/"]
        assert zoo.details[seed.url] == ("" if seed.counts.pages else own.detail)


@pytest.mark.parametrize("name", ["good-1", "good-2", "good-3"])
def test_good_sites_are_crawled_whole_meanwhile(zoo: Zoo, name: str) -> None:
    assert zoo.seed(name).end_reason is COMPLETED
    assert len(zoo.pages(name)) == zoo.seed(name).counts.pages == GOOD_PAGES


def test_what_came_of_a_body_before_it_broke_is_kept(zoo: Zoo) -> None:
    assert zoo.pages("endless-body")["/"].length == MAX_BODY
    assert zoo.pages("cut-in-body")["/"].warc_file
    assert not zoo.pages("not-http")["/"].warc_file


def test_hosts_that_cannot_be_reached(crawl: Crawl, serve) -> None:
    """Nobody listens; somebody listens and never takes the connection; names without address; a forbidden one."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        closed = listener.getsockname()[1]
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
        port = full.getsockname()[1]
        filler = [socket.socket() for _ in range(4)]
        for sock in filler:
            sock.setblocking(False)
            sock.connect_ex(("127.0.0.1", port))
        expected = {
            f"http://127.0.0.1:{closed}/": (EndReason.DEAD, Result.CONNECT_FAILED, 2),
            f"http://127.0.0.1:{port}/": (EndReason.DEAD, Result.TIMEOUT, 2),
            "http://nosuch.invalid/": (EndReason.NO_ADDRESS, Result.NO_ADDRESS, 0),
            "http://a..b.invalid/": (EndReason.NO_ADDRESS, Result.NO_ADDRESS, 0),
            f"http://{'a' * 70}.invalid/": (EndReason.NO_ADDRESS, Result.NO_ADDRESS, 0),
            "http://metadata.example/": (EndReason.PRIVATE_ADDRESS, Result.PRIVATE_ADDRESS, 0),
            "http://0.0.0.0/": (EndReason.PRIVATE_ADDRESS, Result.PRIVATE_ADDRESS, 0),
        }
        fine = serve(good("fine"))
        crawl.add([*expected, fine.url()])
        run_whole(
            crawl, robots=False, connect_timeout=0.3, retries=1, threads=2,
            resolve=("metadata.example=169.254.169.254",),
        )  # fmt: skip
        for sock in filler:
            sock.close()
    rows = {row.url: row for row in crawl.pages()}
    found = {url: (crawl.seed(url).end_reason, rows[url].result, rows[url].attempts) for url in expected}
    assert found == expected
    assert all(rows[url].detail for url in expected)
    assert crawl.seed(fine.url()).counts.pages == GOOD_PAGES


def test_loopback_is_refused_unless_allowed(crawl: Crawl, serve) -> None:
    servers = [serve(good(f"site {n}")) for n in range(3)]
    names = tuple(f"site{n}.example" for n in range(3))
    crawl.add([server.url() for server in servers])
    crawl.add([server.url(host=name) for server, name in zip(servers, names, strict=True)])
    run_whole(crawl, allow_private=False, resolve=tuple(f"{name}=127.0.0.1" for name in names))
    assert {seed.end_reason for seed in crawl.seeds()} == {EndReason.PRIVATE_ADDRESS}
    assert not any(server.connections for server in servers)


def test_an_ipv6_literal_is_a_site_like_others(crawl: Crawl, serve) -> None:
    try:
        server = serve(good("six"), "::1")
    except OSError:
        pytest.skip("no IPv6 on this machine")
    crawl.add([server.url()])
    run_whole(crawl)
    assert crawl.seed(server.url()).end_reason is EndReason.COMPLETED
    assert crawl.seed(server.url()).counts.pages == GOOD_PAGES


def test_a_site_that_never_knows_its_lengths_is_fetched_whole(crawl: Crawl, serve: Callable[..., RawServer]) -> None:
    """Each URL is asked for once more, its robots.txt too, also where nothing else is; the archive has what came."""
    pages = {"/": page("home", links=("/next", "/no")), "/next": page("next")}
    pages |= {"/robots.txt": answer(b"User-agent: *\nDisallow: /no\n", "200 OK", "Content-Type: text/plain")}
    pages = {path: reply.replace(b"Content-Length: ", b"Content-Length: about ") for path, reply in pages.items()}
    server = serve(by_path({path: says(reply) for path, reply in pages.items()}))
    crawl.add([server.url()])
    run_whole(crawl, retries=0)
    assert asked(server) == {"/robots.txt": 2, "/": 2, "/next": 2}
    results = {row.url.removeprefix(server.url("")): (row.result, row.attempts) for row in crawl.pages()}
    assert results == {
        "/": (Result.FETCHED, 2), "/next": (Result.FETCHED, 2), "/no": (Result.ROBOTS_DENIED, 0)
    }  # fmt: skip
    recorded = b"".join(gzip.decompress(path.read_bytes()) for path in (crawl.folder / "pages").glob("*.warc.gz"))
    assert all(reply in recorded for reply in pages.values())
