"""Sites that ask for rest, and sites that fall silent: what is kept to, when it is enough, and how it goes on later."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Sequence
from email.utils import formatdate
from itertools import pairwise
from typing import Any

import pytest
from sqlalchemy import select

from scrawler.app import retry_seeds
from scrawler.core.durable import handover
from scrawler.core.machine.machine import Machine
from scrawler.core.party import site as sites
from scrawler.insight.answer import WAITING
from scrawler.insight.why import why
from scrawler.model.results import Result
from scrawler.model.scope import Scope
from scrawler.model.seeds import EndReason
from scrawler.store.engines.engine import open_database
from scrawler.store.schema.tables import site
from tests.consistency import orphans_of
from tests.integration.crawl.conftest import Crawl
from tests.integration.crawl.hostile import (
    GOOD_PAGES,
    LONGEST_RUN,
    NOT_FOUND,
    asked,
    by_path,
    check_whole,
    end_details,
    good,
    page,
    run_whole,
)
from tests.integration.crawl.rig import running, watch
from tests.integration.fetch.servers import RawServer, Visit, answer, path_of
from tests.torture.crawl import wait_for

Serve = Callable[..., RawServer]

LINKS = tuple(f"/{n}" for n in range(1, 9))
PAGES = {"/": page("home", links=LINKS)} | {link: page(f"page {link}") for link in LINKS}
BUSY = answer(b"later", "503 Busy", "Content-Type: text/plain")


class Moody:
    """A site that says or does something else for some requests, and remembers when it was asked for what."""

    def __init__(self, other: Callable[[str, int], bytes | None]) -> None:
        """`other` is given the path and the number of the request; empty bytes close the connection."""
        self.times: list[tuple[float, str]] = []
        self.other = other

    def __call__(self, visit: Visit) -> None:
        while head := visit.request():
            path = path_of(head)
            self.times.append((time.monotonic(), path))
            reply = self.other(path, len(self.times))
            if reply is None:
                reply = PAGES.get(path, NOT_FOUND)
            elif reply:
                reply = reply.replace(b"\r\n", b"\r\nConnection: close\r\n", 1)
            visit.send(reply)
            if not reply or b"Connection: close" in reply:
                return

    def gap_after(self, path: str) -> float:
        """Seconds between the first request for a path and the next request of all."""
        at = next(number for number, (_, asked_for) in enumerate(self.times) if asked_for == path)
        return self.times[at + 1][0] - self.times[at][0]


def once(path: str, reply: Callable[[], bytes]) -> Callable[[str, int], bytes | None]:
    """Give another reply to the first request for a path."""
    left = [path]
    return lambda asked_for, _: reply() if asked_for in left and not left.remove(asked_for) else None  # type: ignore


def too_many(retry_after: str) -> bytes:
    return answer(b"slow down", "429 Too Many Requests", f"Retry-After: {retry_after}")


@pytest.mark.parametrize(("path", "form"), [("/2", "date"), ("/2", "seconds"), ("/robots.txt", "seconds")])
def test_the_whole_site_rests_as_long_as_it_asks(crawl: Crawl, serve: Serve, path: str, form: str) -> None:
    wanted = {"seconds": lambda: "1", "date": lambda: formatdate(time.time() + 2, usegmt=True)}[form]
    moody = Moody(once(path, lambda: too_many(wanted())))
    server = serve(moody)
    crawl.add([server.url()])
    run_whole(crawl, retries=0)
    assert moody.gap_after(path) >= 1.0, "of a date, up to a second is lost by rounding"
    seed, row = crawl.seed(server.url()), {row.url: row for row in crawl.pages()}
    assert (seed.end_reason, seed.counts.pages) == (EndReason.COMPLETED, len(PAGES))
    assert (seed.counts.pushed_back, seed.counts.retries) == (1, 0)
    assert row[server.url("/2")].attempts == (2 if path == "/2" else 1)


@pytest.mark.parametrize("wish", ["never", "0", "Sun, 06 Nov 1994 08:49:37 GMT"])
def test_without_retry_after_pauses_grow_and_are_bounded(crawl: Crawl, serve: Serve, wish: str) -> None:
    moody = Moody(lambda path, number: too_many(wish) if path != "/robots.txt" else None)
    absurd = Moody(lambda path, number: too_many("9" * 30) if path != "/robots.txt" else None)
    crawl.add([serve(moody).url(), serve(absurd).url()])
    run_whole(crawl, retry_pause=0.2, max_retry_after=0.5, max_pushbacks=4, threads=2)
    gaps = [later - earlier for (earlier, _), (later, _) in zip(moody.times[1:], moody.times[2:], strict=False)]
    assert [gap >= bound for gap, bound in zip(gaps, (0.2, 0.4, 0.5), strict=True)] == [True] * 3, gaps
    assert len(absurd.times) == 5, "robots.txt, and four times the page"
    assert {seed.end_reason for seed in crawl.seeds()} == {EndReason.PUSHED_BACK}


@pytest.mark.parametrize("path", ["/", "/robots.txt", "/3"])
def test_a_site_that_only_pushes_back_is_left_and_goes_on_later(crawl: Crawl, serve: Serve, path: str) -> None:
    pushing = threading.Event()
    pushing.set()
    begins = list(PAGES).index(path) if path in PAGES else -1
    pushed = {"/robots.txt", *PAGES} if begins < 0 else set(list(PAGES)[begins:])
    server = serve(Moody(lambda path, _: BUSY if pushing.is_set() and path in pushed else None))
    fine = serve(good("fine"))
    crawl.add([server.url(), fine.url()])
    run_whole(crawl, max_pushbacks=3)
    seed = crawl.seed(server.url())
    assert (seed.end_reason, seed.counts.pushed_back) == (EndReason.PUSHED_BACK, 3)
    assert seed.counts.http_errors == 0, "it was not the fault of a page"
    assert end_details(crawl)[server.url()].startswith("HTTP status 503 for http")
    assert crawl.seed(fine.url()).counts.pages == GOOD_PAGES
    pushing.clear()
    retry_seeds(crawl.settings(), {EndReason.PUSHED_BACK}, threading.Event())
    run_whole(crawl)
    seed = crawl.seed(server.url())
    assert (seed.end_reason, seed.counts.pages) == (EndReason.COMPLETED, len(PAGES))
    assert set(asked(server).values()) <= {1, 2, 4}


def test_several_at_a_time_that_are_pushed_back_count_once(crawl: Crawl, serve: Serve) -> None:
    """Four answers of 429 to requests that were on their way together are one push-back."""
    together, first = threading.Barrier(4), set(LINKS[:4])

    def other(path: str, _: int) -> bytes | None:
        if path not in first:
            return None
        first.discard(path)
        together.wait(LONGEST_RUN)
        return too_many("1")

    server = serve(Moody(other))
    crawl.add([server.url()])
    run_whole(crawl, per_site=4, max_pushbacks=2)
    seed = crawl.seed(server.url())
    assert (seed.end_reason, seed.counts.pages, seed.counts.pushed_back) == (EndReason.COMPLETED, len(PAGES), 4)


def test_a_long_rest_holds_no_place_and_its_row_goes_on(
    crawl: Crawl, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One place, two sites that rest for some seconds each time: another site is crawled meanwhile."""
    monkeypatch.setattr(sites, "LONG_REST", 1.0)
    never = Moody(lambda path, _: too_many("2") if path != "/robots.txt" else None)
    later = Moody(once("/2", lambda: too_many("3")))
    urls = [serve(never).url(), serve(later).url(), (fine := serve(good("fine"))).url()]
    crawl.add(urls)
    run_whole(crawl, threads=1, seeds_per_thread=1, max_pushbacks=3)
    reasons = [str(crawl.seed(url).end_reason) for url in urls]
    assert reasons == [EndReason.PUSHED_BACK, EndReason.COMPLETED, EndReason.COMPLETED]
    assert later.gap_after("/2") >= 3.0
    asked_for = [at for at, path in never.times if path == "/"]
    assert [second - first >= 2.0 for first, second in pairwise(asked_for)] == [True, True]
    assert later.times[0][0] < asked_for[1], "the place was free"
    assert crawl.seed(fine.url()).counts.pages == GOOD_PAGES
    assert {row.state for row in site_rows(crawl)} == {"done"}


def test_a_long_rest_that_began_before_a_restart_holds_no_place(
    crawl: Crawl, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    resting, fine, stop = Moody(once("/2", lambda: too_many("8"))), Moody(lambda path, _: None), threading.Event()
    crawl.add([serve(resting).url()])
    crawl.run(lambda _: stop.set() if "/2" in [path for _, path in resting.times] else None, stop)
    crawl.add([serve(fine).url()])
    monkeypatch.setattr(sites, "LONG_REST", 1.0)
    run_whole(crawl, threads=1, seeds_per_thread=1)
    pushed_at = next(at for at, path in resting.times if path == "/2")
    assert resting.gap_after("/2") >= 8.0
    assert fine.times[0][0] < pushed_at + 8.0, "the place was free"


def test_a_site_that_is_dead_is_given_up_however_long_it_rests(
    crawl: Crawl, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pauses after failures are longer than a place is held for a rest that was asked for."""
    monkeypatch.setattr(sites, "LONG_REST", 0.1)
    moody = Moody(lambda path, _: None if path in ("/robots.txt", "/") else b"")
    crawl.add([url := serve(moody).url()])
    run_whole(crawl, max_failures=5, retries=0, retry_pause=0.5)
    assert (crawl.seed(url).end_reason, crawl.seed(url).counts.failures) == (EndReason.DEAD, 5)


def test_a_dead_host_of_a_domain_is_not_the_end_of_the_others(crawl: Crawl, serve: Serve) -> None:
    """What it has is not asked for any more, and the rest goes on."""
    hosts = "a.example", "gone.a.example"
    dead, good = tuple(f"http://gone.a.example:2/{n}" for n in range(12)), tuple(f"/{n}" for n in range(8))
    server = serve(by_path({"/": page("home", links=dead + good), **{path: page(path) for path in good}}))
    crawl.add([f"http://a.example:{server.port}/"], Scope.DOMAIN)
    resolve = tuple(f"{host}=127.0.0.1" for host in hosts)
    run_whole(crawl, scope="domain", resolve=resolve, robots=False, max_failures=5, retries=0, retry_pause=0.01)
    (seed,) = crawl.seeds()
    assert (seed.end_reason, seed.counts.pages, seed.counts.failures) == (EndReason.COMPLETED, 9, 12)
    untried = [row for row in crawl.pages() if "has not answered 5 times" in row.detail]
    assert len(untried) == 7
    assert {row.result for row in untried} == {Result.CONNECT_FAILED}


def site_rows(crawl: Crawl) -> Sequence[Any]:
    database = open_database(crawl.url)
    with database.read() as connection:
        rows = connection.execute(select(site)).all()
    database.close()
    return rows


def test_a_rest_is_told_to_who_asks(crawl: Crawl, serve: Serve) -> None:
    server = serve(Moody(lambda path, _: too_many("1000") if path != "/robots.txt" else None))
    crawl.add([server.url()])
    with running(crawl) as process:
        wait_for(lambda: site_rows(crawl)[0].state == "resting", LONGEST_RUN, "the site rests")
        process.send_signal(signal.SIGTERM)
        process.wait()
    database = open_database(crawl.url)
    found = why(database, crawl.settings(), Scope.HOST, server.url())
    database.close()
    assert found.outcome == WAITING
    (rest,) = (fact for fact in found.facts if fact.kind == "rest")
    assert rest.values["until"] == site_rows(crawl)[0].next_due_at
    assert rest.lines[0].startswith("its site is left alone until 2")


def test_the_rest_survives_a_kill(crawl: Crawl, serve: Serve) -> None:
    moody = Moody(once("/2", lambda: too_many("3")))
    server = serve(moody)
    crawl.add([server.url()])
    with running(crawl, "--checkpoint-interval", "0.1") as process:
        wait_for(lambda: crawl.seed(server.url()).counts.pushed_back > 0, LONGEST_RUN, "the push-back is durable")
        process.send_signal(signal.SIGKILL)
        process.wait()
    run_whole(crawl)
    assert moody.gap_after("/2") >= 3.0
    assert crawl.seed(server.url()).counts.pages == len(PAGES)


def test_a_dead_server_comes_to_life(crawl_on_both: Crawl, serve: Serve) -> None:
    """It falls silent in the middle: some of its pages have failed for good by then, others were not asked for."""
    crawl = crawl_on_both
    dead, revived = threading.Event(), threading.Event()

    def other(path: str, _: int) -> bytes | None:
        if revived.is_set():
            return None
        if path == "/5":
            dead.set()
        return b"" if dead.is_set() else PAGES[path][:-3] if path == "/3" else None

    def another(path: str, _: int) -> bytes | None:
        return BUSY if path == "/4" and not revived.is_set() else None

    moody = Moody(other)
    server, busy = serve(moody), serve(Moody(another))
    crawl.add([server.url(), busy.url()])
    run_whole(crawl, max_failures=3, max_pushbacks=1, retries=0)
    seed = crawl.seed(server.url())
    assert (seed.end_reason, seed.counts.pages, seed.counts.failures) == (EndReason.PUSHED_BACK, 4, 4)
    assert end_details(crawl)[server.url()].startswith("connections cut, ")
    assert "/8" not in asked(server)
    revived.set()
    with running(crawl, "--retry", "no-address,dead", "--retry", "pushed-back", "--no-export") as process:
        _, err = process.communicate(timeout=LONGEST_RUN)
        assert process.returncode == 0, err
        assert "seeds taken up again: 2" in err
    check_whole(crawl)
    for one in (server, busy):
        seed = crawl.seed(one.url())
        assert (seed.end_reason, seed.counts.pages, seed.counts.failures) == (EndReason.COMPLETED, len(PAGES), 0)
    assert len(orphans_of(crawl.url)) == 2, "half a page, and an answer of 503"
    asked_again = [path for path, times in asked(server).items() if times > 1 and path != "/robots.txt"]
    assert sorted(asked_again) == ["/1", "/3", "/5", "/6", "/7"], "one that was good was asked whether all are cut"


def test_a_name_that_resolves_no_more(crawl: Crawl, serve: Serve) -> None:
    server = serve(Moody(lambda path, _: None))
    url = server.url(host="fades.invalid")
    crawl.add([url])
    stop = threading.Event()
    known = ("fades.invalid=127.0.0.1",)
    crawl.run(lambda progress: stop.set() if progress.pages else None, stop, delay=0.2, resolve=known)
    before = crawl.seed(url).counts.pages
    assert 0 < before < len(PAGES)
    run_whole(crawl)
    seed = crawl.seed(url)
    assert (seed.end_reason, seed.counts.pages, seed.counts.failures) == (EndReason.NO_ADDRESS, before, 0)
    assert end_details(crawl)[url]
    retry_seeds(crawl.settings(), {EndReason.NO_ADDRESS}, threading.Event())
    run_whole(crawl, resolve=known)
    seed = crawl.seed(url)
    assert (seed.end_reason, seed.counts.pages) == (EndReason.COMPLETED, len(PAGES))
    assert {row.result for row in crawl.pages()} == {Result.FETCHED}


RESTS = {"/": answer(b"", "429 Slow", "Retry-After: 40")}  # after more than a minute it would go back at once
SLOWLY = {"/robots.txt": answer(b"User-agent: *\nCrawl-delay: 5", "200 OK", "Content-Type: text/plain")}


@pytest.mark.parametrize(
    ("pages", "told"),
    [
        (RESTS, lambda row, began: row.next_due_at >= began + 30_000),
        (SLOWLY, lambda row, began: row.pause_ms == 5_000),
    ],
    ids=["retry-after", "crawl-delay"],
)
def test_what_a_server_asks_for_is_committed_at_once(
    crawl: Crawl,
    serve: Serve,
    monkeypatch: pytest.MonkeyPatch,
    pages: dict[str, bytes],
    told: Callable[[Any, float], bool],
) -> None:
    """However long the machine goes on until it commits by itself: who takes the site over after a kill knows it."""
    monkeypatch.setattr(handover, "_SOON", 500)
    server = serve(by_path(PAGES | pages))
    crawl.add([server.url()])
    stop, until, began = threading.Event(), time.monotonic() + LONGEST_RUN, time.time() * 1000
    database = open_database(crawl.url)
    found: list[bool] = []

    def look(machine: Machine) -> None:
        with database.read() as connection:
            found.append(told(connection.execute(select(site)).one(), began))
        if found[-1] or time.monotonic() > until:
            stop.set()

    watch(crawl.settings(checkpoint_interval=600), look, stop)
    database.close()
    assert any(found)
