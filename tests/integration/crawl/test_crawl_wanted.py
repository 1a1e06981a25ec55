"""`run --retry urls`: URLs that failed, or were left out, are asked for alone; what they lead to obeys the rules."""

from __future__ import annotations

import subprocess
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from scrawler.app import retry_urls
from scrawler.features.synthweb.process import WebProcess
from scrawler.features.synthweb.traps.server import TrapWeb
from scrawler.model.results import PageFlag, Result
from scrawler.model.seeds import EndReason
from tests.consistency import check_records
from tests.integration.crawl.hostile import NOT_FOUND, Reply, asked, by_path, page
from tests.integration.crawl.rig import running
from tests.integration.fetch.servers import RawServer, Visit, path_of

if TYPE_CHECKING:
    from tests.integration.crawl.conftest import Crawl

Serve = Callable[..., RawServer]
BUSY = page("come back later", status="500 Internal Server Error")


@pytest.fixture(scope="module")
def web() -> Iterator[TrapWeb]:
    with WebProcess("--traps", "--port=0") as process:
        yield TrapWeb(process.port)


def want(crawl: Crawl, *results: Result) -> list[str]:
    """Order URLs with these results; return what is said of it."""
    said: list[str] = []
    retry_urls(crawl.settings(), results, threading.Event(), said.append)
    return said


def check(crawl: Crawl) -> None:
    crawl.check()
    check_records(crawl.url, crawl.folder / "pages")


def asked_since(server: RawServer, before: Counter[str]) -> set[str]:
    return set(asked(server) - before) - {"/robots.txt"}


def test_failed_urls_of_ended_seeds_are_asked_for_alone(crawl_on_both: Crawl, serve: Serve) -> None:
    """Of one that is completed, and of one that has come to a limit, which it is at afterwards as well."""
    crawl = crawl_on_both
    links = ("/fine", "/broken", "/gone", "/copy")
    replies: dict[str, Reply] = {
        "/": page("home", links=links), "/fine": page("fine"), "/broken": BUSY, "/copy": BUSY, "/gone": NOT_FOUND,
    }  # fmt: skip
    whole = serve(by_path(replies))
    more = tuple(f"/page/{name}" for name in "abcdef")
    cut: dict[str, Reply] = {"/": page("home", links=("/broken", *more)), "/broken": BUSY}
    cut |= {path: page(path) for path in more}
    limited = serve(by_path(cut), "127.0.0.2")
    seeds = [whole.url(), limited.url()]
    crawl.add(seeds)
    limits = {"retries": 0, "threads": 1, "sites": {"127.0.0.2": {"max_pages": 3}}}
    crawl.run(**limits)
    assert [crawl.seed(url).end_reason for url in seeds] == [EndReason.COMPLETED, EndReason.MAX_PAGES]
    before = asked(whole), asked(limited)
    replies["/broken"] = cut["/broken"] = page("mended", links=("/new", "/fine"))
    replies["/new"] = page("new")

    assert want(crawl, Result.HTTP_ERROR) == ["URLs to be asked for again (http-error): 4"]
    assert want(crawl, Result.HTTP_ERROR) == ["URLs to be asked for again (http-error): 0"], "they are listed"
    with crawl.opened() as there:
        assert "asked for again by `run --retry`" in str(there.why(whole.url("/broken")))
    crawl.run(**limits)
    check(crawl)
    assert asked_since(whole, before[0]) == {"/broken", "/gone", "/copy", "/new"}
    assert asked_since(limited, before[1]) == {"/broken"}, "what it leads to is listed, and the limit holds for that"
    assert [crawl.seed(url).end_reason for url in seeds] == [EndReason.COMPLETED, EndReason.MAX_PAGES]
    results = {row.url.removeprefix(whole.url("")): row.result for row in crawl.pages()}
    assert [results[path] for path in ("/broken", "/new", "/gone", "/copy")] == [
        Result.FETCHED, Result.FETCHED, Result.HTTP_ERROR, Result.HTTP_ERROR,
    ]  # fmt: skip


def test_what_was_left_out_as_a_trap_is_fetched_and_its_links_obey_the_rule(crawl: Crawl, web: TrapWeb) -> None:
    """A kill amid the run loses nothing of it."""
    home = web.home("soft-404")
    crawl.add([home])
    crawl.run(threads=1)
    seed, left_out = crawl.seed(home), {row.url for row in crawl.pages() if row.result == Result.TRAP}
    assert len(left_out) == seed.counts.trapped > 10
    words = ["--retry=urls", "--result=trap", "--delay=0.1", "--delay-factor=0", "--checkpoint-interval=0.1"]
    with running(crawl, *words) as process:
        while not left_out & crawl.fetched():
            with suppress(subprocess.TimeoutExpired):
                process.wait(0.05)
                pytest.fail(f"the crawl ended too early: {process.communicate()}")
    assert crawl.seed(home).end_reason is None
    crawl.run(threads=1)
    check(crawl)
    after = crawl.seed(home)
    assert left_out <= crawl.fetched()
    # The next machine has to meet a few pages with the same links before it knows them for what they are.
    assert after.counts.requests <= seed.counts.requests + len(left_out) + 10, "hardly anything else was asked for"
    assert after.end_reason is EndReason.COMPLETED
    left = {row.url for row in crawl.pages() if row.result == Result.TRAP}
    assert not left & left_out
    assert left or after.verdicts.get("trap", 0), "their links are left out"


def test_what_a_later_visit_has_brought_counts(crawl: Crawl, serve: Serve) -> None:
    """A failure that a later round has mended is none any more; one of a later round is asked for again."""
    replies: dict[str, Reply] = {
        "/": page("home", links=("/first", "/later")), "/first": BUSY, "/later": page("fine"),
    }  # fmt: skip
    server = serve(by_path(replies))
    crawl.add([server.url()])
    crawl.run(retries=0)
    replies["/first"], replies["/later"] = page("mended"), BUSY
    with crawl.opened() as there:
        there.run(again=True)
    before = asked(server)
    replies["/later"] = page("mended as well")
    assert want(crawl, Result.HTTP_ERROR) == ["URLs to be asked for again (http-error): 1"]
    crawl.run(retries=0)
    check_records(crawl.url, crawl.folder / "pages")
    assert asked_since(server, before) == {"/later"}
    with crawl.opened() as there:
        assert [(one.url, one.visit) for one in there.pages(result="http-error")] == [(server.url("/first"), 0)]
        assert there.read(server.url("/later")) == page("mended as well").partition(b"\r\n\r\n")[2]


def test_a_retry_that_brings_nothing_better_takes_nothing_away(crawl_on_both: Crawl, serve: Serve) -> None:
    """What is there of a page stays, and its record, while the site is down or worse; it can be asked for again."""
    crawl, state = crawl_on_both, ["half"]

    def script(visit: Visit) -> None:
        while head := visit.request():
            path = path_of(head)
            if state[0] == "down":
                return
            if path in ("/robots.txt", "/"):
                visit.send(page("home", links=("/cut", "/error", "/copy")) if path == "/" else NOT_FOUND)
            elif state[0] == "well":
                visit.send(page(f"whole {path}"))
            elif path != "/cut" or state[0] == "worse":
                visit.send(BUSY)
            else:
                visit.send(page("the beginning of the page")[:-8])
                return

    server = serve(script)
    crawl.add([server.url()])
    run: dict[str, Any] = {"retries": 0, "threads": 1}
    crawl.run(**run)
    before, counts = crawl.pages(), crawl.seed(server.url()).counts
    assert Counter(row.result for row in before) == {"fetched": 1, "http-error": 2, "cut": 1}
    assert sum(row.revisit for row in before) == 1, "one error refers to the record of another"
    for trouble in ("down", "worse"):
        state[0] = trouble
        said = want(crawl, Result.CUT, Result.HTTP_ERROR)
        assert said == ["URLs to be asked for again (cut, http-error): 3"]
        crawl.run(**run)
        check(crawl)
        # One may still be listed: a site that cuts connections is left alone for now.
        rows = [row._replace(flags=row.flags & ~PageFlag.WAITING) for row in crawl.pages()]
        if trouble == "down":
            assert rows == before
            assert crawl.seed(server.url()).end_reason is EndReason.PUSHED_BACK
        assert [row for row in rows if row.result == Result.CUT] == [row for row in before if row.result == Result.CUT]
        assert Counter(row.result for row in rows) == Counter(row.result for row in before)
        now = crawl.seed(server.url()).counts
        assert (now.pages, now.http_errors, now.failures) == (counts.pages, counts.http_errors, counts.failures)
    state[0] = "well"
    want(crawl, Result.CUT, Result.HTTP_ERROR)
    crawl.run(**run)
    check(crawl)
    assert {row.result for row in crawl.pages()} == {Result.FETCHED}
    assert len(crawl.pages()) == 4
    assert crawl.seed(server.url()).end_reason is EndReason.COMPLETED
