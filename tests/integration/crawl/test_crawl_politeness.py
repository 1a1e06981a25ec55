"""What the servers see: pauses between requests, never too many at a time, few look-ups."""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from scrawler.core.asking.visits import Visits
from scrawler.features.synthweb.process import SynthServer
from scrawler.features.synthweb.spec import Hosts, WebSpec
from scrawler.model.seeds import EndReason
from tests.integration.crawl.hostile import by_host, page
from tests.limits import EARLY, FAR, HANGS

if TYPE_CHECKING:
    from scrawler.core.party.site import SiteContext
    from tests.integration.crawl.conftest import Crawl
    from tests.integration.fetch.servers import RawServer

CLOCK = 0.004  # seconds: granularity of clocks, and the way of an answer


def gaps(server: SynthServer) -> dict[str, list[float]]:
    """Seconds between one answer of a host and the next, robots.txt among them."""
    times: dict[str, list[float]] = defaultdict(list)
    for line in server.log():
        times[line.url.split("/")[2]].append(line.at)
    return {host: [after - before for before, after in itertools.pairwise(at)] for host, at in times.items()}


@pytest.mark.parametrize("profile", ["default", "classic"])
def test_the_delay_lies_between_two_requests_to_a_host(crawl: Crawl, profile: str) -> None:
    with SynthServer(WebSpec(seed=5, sites=6, equal=True, mean_pages=5, page_bytes=400)) as server:
        crawl.add(server.web.seeds(per_site=2))
        crawl.run(delay=0.2, threads=3, profile=profile)
        found = gaps(server)
        robots = sum(line.url.endswith("/robots.txt") for line in server.log())
    assert len(found) == 6
    assert robots == 6
    assert min(map(len, found.values())) >= 4
    shortest = min(min(of_host) for of_host in found.values())
    assert shortest >= 0.2 - CLOCK
    assert sorted(gap for of_host in found.values() for gap in of_host)[15] < 0.35, "nor much more than asked for"


def test_the_delay_outlives_a_stop(crawl: Crawl) -> None:
    """The politeness clock travels with the site: the next machine waits too."""
    with SynthServer(WebSpec(seed=5, sites=2, equal=True, mean_pages=5, page_bytes=400)) as server:
        crawl.add(server.web.seeds())
        stop = threading.Event()
        crawl.run(lambda progress: stop.set() if progress.pages else None, stop, delay=0.8)
        stop = threading.Event()
        crawl.run(lambda progress: stop.set() if progress.pages else None, stop, delay=0.8)
        found = gaps(server)
    pages = {host: [gap for gap in of_host if gap > 0.0] for host, of_host in found.items()}
    assert min(min(of_host) for of_host in pages.values() if of_host) >= 0.8 - CLOCK


def test_a_page_costs_one_visit_of_its_site(crawl: Crawl, monkeypatch: pytest.MonkeyPatch) -> None:
    visits = 0
    start_requests = Visits.start_requests

    def counted(self: Visits, site: SiteContext, now: float) -> float:
        nonlocal visits
        visits += 1
        return start_requests(self, site, now)

    monkeypatch.setattr(Visits, "start_requests", counted)
    with SynthServer(WebSpec(seed=5, sites=3, equal=True, mean_pages=40, page_bytes=400)) as server:
        crawl.add(server.web.seeds())
        summary = crawl.run(delay=0.05)
    assert summary.pages >= 100
    assert summary.requests <= visits < 1.2 * summary.requests, "not one to find that it may not be asked yet"


def test_a_seed_that_is_over_does_not_wait_for_a_pause(crawl: Crawl) -> None:
    with SynthServer(WebSpec(seed=5, sites=2, equal=True, mean_pages=20, page_bytes=400)) as server:
        crawl.add(server.web.seeds())
        begun = time.monotonic()
        summary = crawl.run(delay=FAR, max_pages=1, robots=False)
    assert time.monotonic() - begun < EARLY
    assert summary.pages == 2
    assert {seed.end_reason for seed in crawl.seeds()} == {EndReason.MAX_PAGES}


def test_another_host_of_a_domain_does_not_wait_for_the_pause_of_the_first(
    crawl: Crawl, serve: Callable[..., RawServer]
) -> None:
    sites: dict[str, dict[str, bytes | str]] = {"one.site.example": {}, "two.site.example": {"/": page("two")}}
    server = serve(by_host(sites))
    sites["one.site.example"]["/"] = page("one", links=(f"http://two.site.example:{server.port}/", "/later"))
    crawl.add([f"http://one.site.example:{server.port}/"])
    stop = threading.Event()
    begun = time.monotonic()
    crawl.run(
        lambda progress: stop.set() if progress.pages == 2 else None, stop, delay=FAR, robots=False, scope="domain",
        resolve=("one.site.example=127.0.0.1", "two.site.example=127.0.0.1"),
    )  # fmt: skip
    assert time.monotonic() - begun < EARLY
    assert crawl.fetched() == {f"http://{name}:{server.port}/" for name in sites}


def test_connections_are_kept_for_as_many_requests_as_a_site_may_have(
    crawl: Crawl, serve: Callable[..., RawServer]
) -> None:
    """With room for one a site, those of four sites drove each other out: most requests began with a new one."""
    names, paths = [f"{name}.example" for name in "abcd"], [f"/{number}" for number in range(40)]
    replies = {path: page(f"{path} is like no other") for path in paths}
    sites = {name: {"/": page(name, links=tuple(paths)), **replies} for name in names}
    server = serve(by_host(sites))
    crawl.add([f"http://{name}:{server.port}/" for name in names])
    crawl.run(
        delay=0, per_site=4, per_ip=16, threads=1, seeds_per_thread=4, robots=False,
        resolve=tuple(f"{name}=127.0.0.1" for name in names),
    )  # fmt: skip
    assert len(crawl.fetched()) == len(names) * (len(paths) + 1)
    assert server.connections <= len(names) * 4


class BusyServer:
    """Counts the requests that it has at a time, over all connections; every answer takes 10 ms."""

    def __init__(self) -> None:
        self.most = self.now = self.total = 0
        self.port = 0
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()))

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._answer, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await reader.readuntil(b"\r\n\r\n"):
            path = head.split()[1].decode()
            self.now += 1
            self.total += 1
            self.most = max(self.most, self.now)
            await asyncio.sleep(0.01)  # the server's latency
            links = "".join(f'<a href="/{number}">x</a>' for number in range(40))
            body = links.encode() if path != "/robots.txt" else b""
            self.now -= 1
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n" % len(body) + body)

    def __enter__(self) -> BusyServer:
        self._thread.start()
        assert self._ready.wait(HANGS)
        return self

    def __exit__(self, *error: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()


@pytest.fixture
def busy() -> Iterator[BusyServer]:
    with BusyServer() as server:
        yield server


@pytest.mark.parametrize("per_site", [1, 3])
def test_a_site_has_never_more_requests_than_allowed(crawl: Crawl, busy: BusyServer, per_site: int) -> None:
    crawl.add([f"http://127.0.0.1:{busy.port}/{path}" for path in ("", "1", "2", "7", "seed")])
    crawl.run(per_site=per_site, threads=3, seeds_per_thread=2)
    assert busy.total >= 42
    assert busy.most == per_site
    crawl.check()


def test_a_name_is_looked_up_once(crawl: Crawl, busy: BusyServer) -> None:
    with BusyServer() as other:
        crawl.add(f"http://localhost:{server.port}/{path}" for server in (busy, other) for path in ("", "1", "2"))
        summary = crawl.run(threads=3)
    assert summary.pages >= 80
    assert summary.lookups == 1


def test_names_of_the_table_are_no_look_ups(crawl: Crawl) -> None:
    with SynthServer(WebSpec(seed=5, sites=3, mean_pages=5, page_bytes=400, hosts=Hosts.NAMES)) as server:
        crawl.add(server.web.seeds())
        table = [f"{host}={address}" for host, address in server.web.addresses().items()]
        summary = crawl.run(resolve=table)
    assert summary.pages >= 3
    assert summary.lookups == 0
