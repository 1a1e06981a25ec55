"""A robots.txt that redirects to another host waits for that host's clock, and one copy serves all."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from scrawler.model.results import Result
from scrawler.model.seeds import SeedState
from tests.integration.crawl.hostile import NOT_FOUND, page, redirect
from tests.integration.crawl.rig import running
from tests.integration.fetch.servers import RawServer, Visit, path_of
from tests.limits import HANGS

if TYPE_CHECKING:
    from tests.integration.crawl.conftest import Crawl

Serve = Callable[..., RawServer]
DELAY = 0.3
MARGIN = 0.02  # seconds by which the clocks of both sides may differ
TEXT = b"User-agent: *\nDisallow: /secret/\n"
ROBOTS = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%s" % (len(TEXT), TEXT)
OWN = "127.51.0.1"  # the host to which all others redirect
OTHERS = [f"127.51.0.{number}" for number in range(2, 42)]


class Web:
    """Hosts whose robots.txt redirects to `target` at one host, which has pages as well, or none."""

    def __init__(self, target: Callable[[str], str], says: bytes = ROBOTS) -> None:
        self.target = target
        self.says = says
        self.port = 0
        self.lock = threading.Lock()
        self.asked: list[tuple[float, float, str]] = []  # of the one host: from when to when, and for what

    def __call__(self, visit: Visit) -> None:
        while head := visit.request():
            came, path = time.monotonic(), path_of(head)
            host = head.split(b"Host: ", 1)[1].partition(b":")[0].decode()
            reply = self.answer(host, path)
            if host == OWN:
                with self.lock:
                    self.asked.append((came, time.monotonic(), path))
            visit.send(reply)

    def answer(self, host: str, path: str) -> bytes:
        if host == OWN:
            if "robots" in path:
                return self.says
            number = int(path[1:]) if path[1:].isdigit() else 0
            return page(f"page {number}", links=(f"/{number + 1}",) if number < 5 else ())
        if path == "/robots.txt":
            return redirect(f"http://{OWN}:{self.port}{self.target(host)}")
        return page(f"home of {host}", links=("/secret/page",)) if path == "/" else NOT_FOUND

    def gaps(self) -> list[float]:
        asked = sorted(self.asked)
        return [after[0] - before[1] for before, after in pairwise(asked)]


def _crawl(crawl: Crawl, web: Web, hosts: list[str], **changes: object) -> None:
    with closing(_Stopped(RawServer(web, "0.0.0.0"))) as running:
        web.port = running.server.port
        crawl.add([f"http://{host}:{web.port}/" for host in hosts])
        crawl.run(delay=DELAY, traps=False, **changes)


class _Stopped:
    def __init__(self, server: RawServer) -> None:
        self.server = server

    def close(self) -> None:
        self.server.stop()


@pytest.mark.parametrize("target", ["/robots.txt", "/shared/robots.txt"])
@pytest.mark.parametrize("hosts", [[OWN, *OTHERS], OTHERS], ids=["a site of the crawl", "nobody's"])
def test_one_copy_serves_all_and_comes_in_its_host_turn(crawl: Crawl, hosts: list[str], target: str) -> None:
    web = Web(lambda host: target)
    _crawl(crawl, web, hosts)
    assert Counter(path for _, _, path in web.asked)[target] == 1
    assert min(web.gaps(), default=DELAY) >= DELAY - MARGIN
    rows = {(row.url.split("/", 3)[2].partition(":")[0], row.result) for row in crawl.pages() if "/secret/" in row.url}
    assert rows == {(host, Result.ROBOTS_DENIED) for host in OTHERS}, "its rules hold for all"
    if OWN in hosts:
        assert {f"/{number}" for number in range(1, 6)} <= {path for _, _, path in web.asked}
    crawl.check()


@pytest.mark.parametrize("target", ["/robots.txt", "/shared/robots.txt"])
@pytest.mark.parametrize("hosts", [[OWN, *OTHERS], OTHERS], ids=["a site of the crawl", "nobody's"])
def test_so_it_is_with_several_machines(crawl: Crawl, hosts: list[str], target: str) -> None:
    _crawl_by_machines(crawl, hosts, target)


@pytest.mark.on_each_engine
def test_so_it_is_on_each_engine(crawl_on_both: Crawl) -> None:
    _crawl_by_machines(crawl_on_both, [OWN, *OTHERS[:20]], "/robots.txt")


def _crawl_by_machines(crawl: Crawl, hosts: list[str], target: str) -> None:
    web = Web(lambda host: target)
    with closing(_Stopped(RawServer(web, "0.0.0.0"))) as serving:
        web.port = serving.server.port
        crawl.add([f"http://{host}:{web.port}/" for host in hosts])
        with running(crawl, "--machines", "3", "--delay", str(DELAY), "--no-traps") as command:
            _, said = command.communicate(timeout=HANGS)
    assert command.returncode == 0, said
    asked = Counter(path for _, _, path in web.asked)
    assert asked[target] == 1
    assert len(asked) == sum(asked.values()), "nothing is asked for twice"
    assert min(web.gaps(), default=DELAY) >= DELAY - MARGIN
    crawl.check()
    rows = {(row.url.split("/", 3)[2].partition(":")[0], row.result) for row in crawl.pages() if "/secret/" in row.url}
    assert rows == {(host, Result.ROBOTS_DENIED) for host in hosts if host != OWN}, "its rules hold for all"


def test_different_texts_of_one_host_come_one_by_one_and_its_pages_between_them(crawl: Crawl) -> None:
    few = OTHERS[:6]
    web = Web(lambda host: f"/robots-of-{host}.txt")
    _crawl(crawl, web, [OWN, *few])
    assert min(web.gaps()) >= DELAY - MARGIN
    paths = [path for _, _, path in sorted(web.asked)]
    assert sum("robots-of" in path for path in paths) == len(few)
    last = max(at for at, path in enumerate(paths) if "robots-of" in path)
    assert sum("robots" not in path for path in paths[:last]) >= 3, "neither waits until the other has all it wants"
    assert len([row for row in crawl.pages() if row.result == Result.ROBOTS_DENIED]) == len(few)


@pytest.mark.parametrize(
    "says",
    [
        b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nRetry-After: 1\r\n\r\n",
        b"HTTP/1.1 500 Broken\r\nContent-Length: 0\r\n\r\n",
        redirect("/robots-elsewhere.txt"),
    ],
    ids=["busy", "broken", "for ever"],
)
def test_what_cannot_be_had_there_ends_for_all(crawl: Crawl, says: bytes) -> None:
    web = Web(lambda host: "/robots.txt", says)
    few = OTHERS[:5]
    _crawl(crawl, web, few, max_pushbacks=1, retries=1)
    assert min(web.gaps(), default=DELAY) >= DELAY - MARGIN
    assert {seed.state for seed in crawl.seeds()} == {SeedState.DONE}
    assert not [row for row in crawl.pages() if row.result == Result.FETCHED and "/secret/" in row.url]


class Literals(Web):
    """Hosts at one address, whose pages link to that address itself, which is a site of its own."""

    def answer(self, host: str, path: str) -> bytes:
        if path.endswith("robots.txt"):
            return NOT_FOUND
        if host == OWN:
            return super().answer(host, path)
        return page(f"home of {host}", links=(f"http://{OWN}:{self.port}/of-{host}",))


def test_a_look_at_an_address_waits_for_the_clock_of_the_site_that_it_is(crawl: Crawl) -> None:
    names = [f"n{number}.example" for number in range(6)]
    web = Literals(lambda host: "")
    _crawl(crawl, web, [OWN, *names], resolve=[f"{name}={OWN}" for name in names])
    looks = len(web.asked) - len({path for _, _, path in web.asked})
    assert looks >= 3, "each name asks whether it is the same site"
    assert min(web.gaps()) >= DELAY - MARGIN
    crawl.check()
