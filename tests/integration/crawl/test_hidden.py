"""Search forms as a source: what a crawl asks of a shop, what it never asks, and what a kill costs."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import select

from scrawler.features.hidden.rows import SearchQueryRow
from scrawler.features.hidden.tables import search, search_query
from scrawler.features.revisit.orders import begin_again
from scrawler.features.synthweb.shop import Shop
from scrawler.model.results import Result
from scrawler.model.seeds import EndReason
from scrawler.store.engines.engine import open_database
from tests.integration.crawl.hostile import asked, page, redirect, run_whole
from tests.integration.crawl.rig import running
from tests.integration.fetch.servers import RawServer, Visit, answer, path_of
from tests.limits import HANGS

if TYPE_CHECKING:
    from tests.integration.crawl.conftest import Crawl

Serve = Callable[..., RawServer]

ROWS = 120
SHOP = Shop(7, ROWS)
NO_ROBOTS = answer(b"no such page", "404 Not Found", "Content-Type: text/plain")


def from_shop(path: str) -> bytes:
    made = SHOP.answer(path)
    return answer(made.body, f"{made.status} OK", f"Content-Type: {made.content_type}")


def shop(robots: bytes = NO_ROBOTS, **others: bytes) -> Callable[[Visit], None]:
    """Serve the shop; `others` are what paths that begin so are answered instead."""

    def script(visit: Visit) -> None:
        while head := visit.request():
            path = path_of(head)
            instead = next((reply for name, reply in others.items() if path.startswith(f"/{name}")), None)
            visit.send(robots if path == "/robots.txt" else instead or from_shop(path))

    return script


def queries(crawl: Crawl) -> list[SearchQueryRow]:
    """The queries, in the order in which they were asked."""
    with closing(open_database(crawl.url)) as database:
        columns = [search_query.c[name] for name in SearchQueryRow._fields]
        rows = database.rows(select(*columns).order_by(search_query.c.number))
        return [SearchQueryRow._make(row) for row in rows]


def ended(crawl: Crawl) -> str:
    with closing(open_database(crawl.url)) as database:
        rows = database.rows(select(search.c.ended))
        return rows[0][0] if rows else "nothing is known"


def items(crawl: Crawl) -> int:
    return sum("/item/" in url for url in crawl.fetched())


def test_what_stands_behind_a_form_joins_the_party(crawl_on_both: Crawl, serve: Serve) -> None:
    """No trap caps the queries, though their answers bring little that is new in the end; and nothing else is sent."""
    crawl, server = crawl_on_both, serve(shop())
    crawl.add([server.url()])
    run_whole(crawl, hidden=True, trap_pages=5, near_duplicates="all")
    done = queries(crawl)
    assert items(crawl) >= 0.9 * ROWS
    assert [one.number for one in done] == list(range(1, len(done) + 1))
    assert len({one.term for one in done}) == len(done)
    assert ended(crawl) == "repeats"
    # Each URL was asked once, the forms that change something not at all, and no other view of an answer.
    paths = asked(server)
    assert max(paths.values()) == 1
    assert not [path for path in paths if "unsubscribe" in path or "login" in path or "sort=" in path]
    seed = crawl.seed(server.url())
    assert seed.end_reason is EndReason.COMPLETED
    assert seed.verdicts["search-view"] > 0
    assert seed.counts.trapped == 0
    linked = sum(row.depth == 1 and "/item/" in row.url for row in crawl.pages())
    assert sum(one.found for one in done) == items(crawl) - linked
    with crawl.opened() as opened:
        last = max((row for row in crawl.pages() if "/item/" in row.url), key=lambda row: row.position)
        said = opened.why(last.url)
        assert any(fact.kind == "search" and fact.values["term"] in {one.term for one in done} for fact in said.facts)
        assert {section.key for section in opened.report().sections} >= {"searches"}


def test_nothing_is_asked_unless_it_is_wanted(crawl: Crawl, serve: Serve) -> None:
    server = serve(shop())
    crawl.add([server.url()])
    run_whole(crawl)
    assert not [path for path in asked(server) if path.startswith("/search")]
    assert ended(crawl) == "nothing is known"


def test_the_budget_holds_for_a_site_with_a_table_of_its_own(crawl: Crawl, serve: Serve) -> None:
    server, other = serve(shop()), serve(shop(), "127.0.0.2")
    crawl.add([server.url(), other.url()])
    run_whole(crawl, sites={"127.0.0.1": {"hidden": True, "hidden_queries": 3}})
    assert len(queries(crawl)) == 3
    assert ended(crawl) == "budget"
    assert not [path for path in asked(other) if path.startswith("/search")]
    # With a wider budget the next round goes on where this one has ended, and repeats no query.
    before = [one.term for one in queries(crawl)]
    settings = crawl.settings(sites={"127.0.0.1": {"hidden": True, "hidden_queries": 5}})
    begin_again(settings, (), 0.0, threading.Event(), print)
    crawl.run(sites={"127.0.0.1": {"hidden": True, "hidden_queries": 5}})
    after = [one.term for one in queries(crawl)]
    assert after[:3] == before
    assert len(set(after)) == 5


@pytest.mark.parametrize(
    ("robots", "reply", "why", "most"),
    [
        (answer(b"User-agent: *\nDisallow: /search\n", "200 OK", "Content-Type: text/plain"), None, "refused", 1),
        (NO_ROBOTS, answer(b"no", "500 Internal Server Error"), "failing", 3),
    ],
)
def test_a_form_that_may_not_or_cannot_be_asked_is_given_up(
    crawl: Crawl, serve: Serve, robots: bytes, reply: bytes | None, why: str, most: int
) -> None:
    server = serve(shop(robots, **({"search": reply} if reply else {})))
    crawl.add([server.url()])
    run_whole(crawl, hidden=True, retries=0)
    assert ended(crawl) == why
    assert len(queries(crawl)) == most
    assert crawl.seed(server.url()).end_reason is EndReason.COMPLETED
    if why == "refused":
        assert not [path for path in asked(server) if path.startswith("/search")]
        assert [row.result for row in crawl.pages() if "/search" in row.url] == [Result.ROBOTS_DENIED.value]


@pytest.mark.parametrize("options", [{"exclude": ("*/search*",)}, {"max_depth": 0}, {"max_pages": 5}])
def test_limits_and_patterns_hold_for_queries(crawl: Crawl, serve: Serve, options: dict[str, object]) -> None:
    server = serve(shop())
    crawl.add([server.url()])
    run_whole(crawl, hidden=True, **options)
    assert not [path for path in asked(server) if path.startswith("/search")]
    assert queries(crawl) == []


def test_an_endless_answer_is_read_so_far_only(crawl: Crawl, serve: Serve) -> None:
    """Each page of it leads to three more; what is not wanted of them is counted, and the crawl ends by itself."""

    def script(visit: Visit) -> None:
        while head := visit.request():
            path = path_of(head)
            if path == "/":
                form = "<form><input type=search name=q></form>some words that can be asked for"
                visit.send(page(form))
            elif "q=" in path:
                term = path.partition("q=")[2].partition("&")[0]
                number = int(path.partition("page=")[2] or 1)
                visit.send(page("", links=tuple(f"/?q={term}&page={3 * number + more}" for more in range(3))))
            else:
                visit.send(NO_ROBOTS)

    server = serve(script)
    crawl.add([server.url()])
    run_whole(crawl, hidden=True)
    done = queries(crawl)
    assert done
    assert max(one.answers for one in done) == 10
    assert max(asked(server).values()) == 1
    assert sum("q=" in path for path in asked(server)) == sum(one.answers for one in done)


def test_a_query_that_redirects_has_found_what_its_target_adds(crawl: Crawl, serve: Serve) -> None:
    """It is asked for after pages whose links were listed, and leads over two redirects to one page."""

    def script(visit: Visit) -> None:
        while head := visit.request():
            path = path_of(head)
            if path == "/":
                visit.send(page("<form><input type=search name=q></form>lamps", links=("/a", "/b")))
            elif path == "/?q=lamps":
                visit.send(redirect("/?q=lamps&page=2"))
            elif path == "/?q=lamps&page=2":
                visit.send(redirect("/lamps"))
            else:
                visit.send(page("lamps") if path in {"/a", "/b", "/lamps"} else NO_ROBOTS)

    server = serve(script)
    crawl.add([server.url()])
    run_whole(crawl, hidden=True, hidden_queries=1)
    assert [(one.term, one.found) for one in queries(crawl)] == [("lamps", 2)]


@pytest.mark.heavy
def test_kills_repeat_no_query_and_lose_none(crawl: Crawl, serve: Serve) -> None:
    """A machine is killed twice while a query is in flight; the database is whole each time, and so is the end."""
    hold, seen, stall = threading.Event(), set[str](), [2]

    def script(visit: Visit) -> None:
        while head := visit.request():
            path = path_of(head)
            if "in=all" in path:
                seen.add(path)
                if len(seen) >= stall[0]:
                    hold.wait(HANGS)
            visit.send(NO_ROBOTS if path == "/robots.txt" else from_shop(path))

    server = serve(script)
    crawl.add([server.url()])
    flags = "--hidden", "--checkpoint-pages", "1", "--checkpoint-interval", "0.1", "--timeout", "10"
    known: list[str] = []
    for number in (2, 4):
        stall[0] = number
        hold.clear()
        with running(crawl, *flags) as process:
            wait_until(lambda: process.poll() is None, lambda least=number: len(queries(crawl)) >= least)
            process.send_signal(signal.SIGKILL)
            process.communicate()
        stall[0] = 1_000_000
        hold.set()
        after = queries(crawl)
        assert [one.term for one in after[: len(known)]] == known
        assert [one.number for one in after] == list(range(1, number + 1))
        known = [one.term for one in after]
    run_whole(crawl, hidden=True)
    done = queries(crawl)
    assert [one.term for one in done[: len(known)]] == known
    assert len({one.term for one in done}) == len(done)
    assert items(crawl) >= 0.9 * ROWS
    # Of what the killed machines had asked for last, each may have been asked once more.
    again = [path for path, times in asked(server).items() if times > 1 and path != "/robots.txt"]
    assert sum("in=all" in path for path in again) <= 2


def wait_until(goes_on: Callable[[], bool], done: Callable[[], bool]) -> None:
    tick, until = threading.Event(), time.monotonic() + HANGS
    while not done():
        assert goes_on()
        assert time.monotonic() < until
        tick.wait(0.02)
