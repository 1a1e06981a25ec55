"""The line of a machine goes down while it crawls, and comes back: no seed dies of it, and no URL is lost."""

from __future__ import annotations

import selectors
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import pytest

from scrawler.assembly import machine as machine_parts
from scrawler.core.outage.silence import HOSTS
from scrawler.core.progress import Progress, RunSummary
from scrawler.fetch.resolver import Resolver
from scrawler.model.machines import MachineState
from scrawler.model.seeds import EndReason
from scrawler.store.claims.control import Control
from scrawler.store.claims.machines import Machines
from scrawler.store.engines.engine import open_database
from tests.integration.crawl.conftest import Crawl
from tests.integration.crawl.rig import running
from tests.integration.fetch.servers import answer, path_of
from tests.torture.crawl import wait_for

PAGES = 12  # of each site: / and /1 to /11, each of which leads to the next
LONG = 120  # seconds
HARSH = {"retries": 0, "max_failures": 2, "retry_pause": 0.2, "delay": 0.05, "robots": True}


class Web:
    """Sites at many addresses, all of which can be cut off at once; one thread serves them all."""

    def __init__(self, sites: int) -> None:
        self.addresses = [f"127.0.7.{number + 1}" for number in range(sites)]
        self.asked: Counter[str] = Counter()
        self.down_after: int | None = None  # requests after which the line goes down by itself
        self.is_down = threading.Event()
        self._port = 0
        self._wishes: list[bool] = []
        self._lock = threading.Lock()
        self._selector = selectors.DefaultSelector()
        self._wake_reader, self._wake_writer = socket.socketpair()
        self._selector.register(self._wake_reader, selectors.EVENT_READ, None)
        self._ended = False
        self._open(True)
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def seeds(self, sites: slice = slice(None)) -> list[str]:
        """Return the home pages."""
        return [f"http://{address}:{self._port}/" for address in self.addresses[sites]]

    def pages(self) -> set[str]:
        """Return all there is."""
        return {url + (str(page) if page else "") for url in self.seeds() for page in range(PAGES)}

    def up(self) -> None:
        """Put the line back."""
        with self._lock:
            self._wishes.append(True)
        self._wake_writer.send(b"w")

    def stop(self) -> None:
        """End."""
        self._ended = True
        self._wake_writer.send(b"w")
        self._thread.join()

    def _serve(self) -> None:
        while not self._ended:
            for key, _ in self._selector.select():
                if key.fileobj is self._wake_reader:
                    self._wake_reader.recv(100)
                elif key.data is None:
                    self._accept(key.fileobj)  # type: ignore[arg-type]
                elif key.fileobj.fileno() >= 0:  # type: ignore[union-attr]
                    self._answer(key.fileobj, key.data)  # type: ignore[arg-type]
                if self.down_after is not None and self.asked.total() >= self.down_after:
                    self.down_after = None
                    self._open(False)
                    self.is_down.set()
                    break
            with self._lock:
                wishes, self._wishes = self._wishes, []
            for wish in wishes:
                self._open(wish)
        self._open(False)
        self._selector.close()
        self._wake_reader.close()
        self._wake_writer.close()

    def _open(self, wanted: bool) -> None:
        if not wanted:
            for key in list(self._selector.get_map().values()):
                if key.fileobj is not self._wake_reader:
                    self._selector.unregister(key.fileobj)
                    key.fileobj.close()  # type: ignore[union-attr]
            return
        for address in self.addresses:
            listener = socket.create_server((address, self._port), backlog=64)
            self._port = listener.getsockname()[1]
            self._selector.register(listener, selectors.EVENT_READ, None)

    def _accept(self, listener: socket.socket) -> None:
        sock, _ = listener.accept()
        self._selector.register(sock, selectors.EVENT_READ, bytearray())

    def _answer(self, sock: socket.socket, head: bytearray) -> None:
        try:
            data = sock.recv(65536)
            head += data
            if data and not head.endswith(b"\r\n\r\n"):
                return
            if data:
                sock.sendall(self._page(sock.getsockname()[0], path_of(bytes(head))))
                head.clear()
                return
        except OSError:
            pass
        with suppress(KeyError):
            self._selector.unregister(sock)
        sock.close()

    def _page(self, address: str, path: str) -> bytes:
        if path == "/robots.txt":
            return answer(b"", "404 Not Found")
        self.asked[address + path] += 1
        following = int(path[1:] or 0) + 1
        link = f'<a href="/{following}">on</a>' if following < PAGES else ""
        return answer(link.encode(), "200 OK", "Content-Type: text/html")


@pytest.fixture
def web(request: pytest.FixtureRequest) -> Iterator[Web]:
    one = Web(sites=getattr(request, "param", 2 * HOSTS))
    yield one
    one.stop()


def check_untouched(crawl: Crawl, web: Web) -> None:
    """All is fetched, and nothing tells of failures."""
    crawl.check()
    assert crawl.fetched() == web.pages()
    seeds = crawl.seeds()
    assert {seed.end_reason for seed in seeds} == {EndReason.COMPLETED}
    assert sum(seed.counts.failures + seed.counts.retries for seed in seeds) == 0


def control(crawl: Crawl, order: Callable[[Control], object]) -> None:
    database = open_database(crawl.url)
    order(Control(database))
    database.close()


def paused(crawl: Crawl) -> int:
    """Return how many machines are paused."""
    database = open_database(crawl.url)
    states = [one.state for one in Machines(database).machines()]
    database.close()
    return states.count(MachineState.PAUSED)


def run_until_back(crawl: Crawl, back: threading.Event, **settings: Any) -> tuple[RunSummary, list[Progress]]:
    """Run, and call `back` once the machine has said some times that it rests."""
    seen: list[Progress] = []

    def look(progress: Progress) -> None:
        seen.append(progress)
        if sum(one.outage for one in seen) == 4:
            back.set()

    return crawl.run(look, **(HARSH | settings)), seen


@pytest.mark.parametrize("profile", ["default", "classic"])
def test_a_machine_rests_while_its_line_is_down(profile: str, crawl: Crawl, web: Web) -> None:
    crawl.add(web.seeds())
    web.down_after = 3 * len(web.addresses)
    back = threading.Event()
    waiter = threading.Thread(target=lambda: back.wait(LONG) and web.up())
    waiter.start()
    summary, seen = run_until_back(crawl, back, profile=profile, threads=8)
    waiter.join()
    assert (web.is_down.is_set(), summary.outcome) == (True, "ended")
    assert sum(one.outage for one in seen) >= 4
    assert not seen[-1].outage
    check_untouched(crawl, web)


@pytest.mark.heavy
@pytest.mark.parametrize("web", [6 * HOSTS], indirect=True)
def test_two_machines_rest_while_their_line_is_down(crawl: Crawl, web: Web) -> None:
    """Each of them has more than ten of the sites in work: they begin together."""
    crawl.add(web.seeds())
    control(crawl, Control.pause)
    web.down_after = 3 * len(web.addresses)
    flags = (
        "--machines",
        "2",
        "--threads",
        "4",
        "--retries",
        "0",
        "--max-failures",
        "2",
        "--retry-pause",
        "0.2",
        "--delay",
        "0.2",
    )
    with running(crawl, *flags) as process:
        assert process.stderr is not None
        wait_for(lambda: paused(crawl) == 2, LONG, "two machines that are paused")
        control(crawl, Control.resume)
        assert any("no host answers any more" in line for line in process.stderr), "it has ended"
        assert web.is_down.is_set()
        web.up()
        _, said = process.communicate(timeout=LONG)
        assert process.returncode == 0, said
    check_untouched(crawl, web)


def test_when_patience_is_over_the_hosts_are_to_blame(crawl: Crawl, web: Web) -> None:
    crawl.add(web.seeds())
    web.down_after = 3 * len(web.addresses)
    summary, seen = run_until_back(crawl, threading.Event(), outage_patience=1)
    assert any(one.outage for one in seen)
    assert summary.outcome == "ended"
    assert {seed.end_reason for seed in crawl.seeds()} <= {EndReason.DEAD, EndReason.COMPLETED}
    crawl.check()


def test_few_hosts_that_die_are_no_outage(crawl: Crawl, web: Web) -> None:
    web.addresses, gone = web.addresses[: HOSTS - 1], web.addresses[HOSTS - 1 :]
    assert gone
    crawl.add(web.seeds())
    web.down_after = 3 * len(web.addresses)
    summary, seen = run_until_back(crawl, threading.Event())
    assert web.is_down.is_set()
    assert not any(one.outage for one in seen)
    assert (summary.outcome, summary.errors > 0) == ("ended", True)


def test_a_machine_is_stopped_while_its_line_is_down(crawl: Crawl, web: Web) -> None:
    crawl.add(web.seeds())
    web.down_after = 3 * len(web.addresses)
    stop = threading.Event()
    seen: list[Progress] = []

    def look(progress: Progress) -> None:
        seen.append(progress)
        if progress.outage:
            stop.set()

    assert crawl.run(look, stop, **HARSH).outcome == "stopped"
    web.up()
    assert crawl.run(**HARSH).outcome == "ended"
    check_untouched(crawl, web)


def test_names_that_do_not_resolve_any_more_are_an_outage(
    crawl: Crawl, web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is the resolver that is gone: what is asked of it again and again is found, then nothing, then all again."""
    known = {f"host{number}.test": address for number, address in enumerate(web.addresses)}
    port = web.seeds()[0].rpartition(":")[2]
    gone, asked = threading.Event(), Counter[str]()

    def look_up(host: str) -> list[str]:
        asked[host] += 1
        if asked.total() > 2 * len(known) and not back.is_set():
            gone.set()
        if gone.is_set() and not back.is_set():
            raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")
        return [known[host]]

    back = threading.Event()
    monkeypatch.setattr(machine_parts, "Resolver", partial(Resolver, ttl=0.3, look_up=look_up))
    crawl.add(f"http://{host}:{port}" for host in known)
    summary, seen = run_until_back(crawl, back)
    assert (gone.is_set(), summary.outcome) == (True, "ended")
    assert any(one.outage for one in seen)
    crawl.check()
    assert {seed.end_reason for seed in crawl.seeds()} == {EndReason.COMPLETED}
    assert {seed.counts.pages for seed in crawl.seeds()} == {PAGES}
