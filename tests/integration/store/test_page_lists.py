"""Pages as they are listed: chosen, in order, with the URLs that belong to them; on both databases, some at a time."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from scrawler.model.results import Result
from scrawler.model.rows import PageRow, RelationRow
from scrawler.model.terms import url_hash
from scrawler.store.engines.engine import Database
from scrawler.store.reading.page_lists import SORTED_BY, PageFilter, PageLists, PageView
from scrawler.store.reading.traces import Traces
from tests.integration.store.crawling import Worker, add, candidate, page, seed_delta, site_delta

HOME = "http://a.org/"
PAGES = 2_300  # more than are read at a time
TYPES = ("text/html", "image/png", "image/gif", "")


def _rows(seed_id: int) -> Iterator[PageRow]:
    yield page(seed_id, HOME, depth=0)
    for number in range(1, PAGES):
        url = f"{HOME}{number}"
        status = (200, 404, 503, 0)[number % 4]
        result = {200: Result.FETCHED, 0: Result.TIMEOUT}.get(status, Result.HTTP_ERROR)
        yield page(
            seed_id,
            url,
            referrer=url_hash(HOME if number < 10 else f"{HOME}{number // 10}"),
            result=result.value,
            status=status,
            content_type=TYPES[number % 3],
            length=number * 7919 % 1000,
        )
    # behind a cookie gate a page has two rows, and is one referrer
    yield page(seed_id, f"{HOME}1", referrer=url_hash(HOME), attempts=2, result="redirect", status=302)


@pytest.fixture
def lists(database: Database) -> PageLists:
    add(database, HOME)
    add(database, "http://b.org/")
    worker = Worker.of(database)
    one, other = sorted(worker.claim(), key=lambda claimed: claimed.seeds[0].url)
    mine, theirs = one.seeds[0].id, other.seeds[0].id
    canonical = RelationRow(url_hash(f"{HOME}7"), "canonical", mine, f"{HOME}3")
    found = candidate(mine, "http://x.org/")._replace(referrer=url_hash(f"{HOME}5"))
    worker.commit(
        site_delta(one, seed_delta(mine, pages=tuple(_rows(mine)), relations=(canonical,), externals=(found,))),
        site_delta(other, seed_delta(theirs, pages=(page(theirs, "http://b.org/"),))),
    )
    return PageLists(database)


def _views(lists: PageLists, wanted: PageFilter) -> list[PageView]:
    return list(lists.all(wanted))


def test_all_pages_come_once_with_what_belongs_to_them(lists: PageLists, database: Database) -> None:
    views = _views(lists, PageFilter())
    assert len(views) == PAGES + 2
    assert {view.seed for view in views} == {HOME, "http://b.org/"}
    by_url = {view.page.url: view for view in views}
    assert by_url[f"{HOME}1234"].referrer == f"{HOME}123"
    assert by_url[f"{HOME}15"].referrer == f"{HOME}1"
    assert (by_url[HOME].referrer, by_url[f"{HOME}7"].canonical) == ("", f"{HOME}3")
    (mine,) = {view.page.seed_id for view in views if view.seed == "http://b.org/"}
    assert [view.page.url for view in _views(lists, PageFilter(mine))] == ["http://b.org/"]
    traces = Traces(database)
    finding = traces.candidates([url_hash("http://x.org/")])
    assert finding is not None
    assert traces.urls([finding.referrer, b"", b"x" * 16]) == {finding.referrer: f"{HOME}5"}


def test_pages_are_chosen(lists: PageLists) -> None:
    def numbers(wanted: PageFilter) -> set[int]:
        return {view.page.status for view in _views(lists, wanted)}

    assert numbers(PageFilter(results=("timeout", "redirect"))) == {0, 302}
    assert numbers(PageFilter(statuses=((400, 499), (0, 0)))) == {404, 0}
    kinds = {view.page.content_type for view in _views(lists, PageFilter(types=("image/",)))}
    assert kinds == {"image/png", "image/gif"}
    both = _views(lists, PageFilter(statuses=((404, 404),), types=("image/png",)))
    assert both
    assert {(view.page.status, view.page.content_type) for view in both} == {(404, "image/png")}
    assert not _views(lists, PageFilter(types=("image%/",)))


def test_pages_come_in_order(lists: PageLists) -> None:
    names = {"type": "content_type", "size": "length", "time": "elapsed_ms", "date": "fetched_at"}
    for column in SORTED_BY:
        for descending in (False, True):
            views = _views(lists, PageFilter(sort=column, descending=descending, statuses=((200, 599),)))
            keys = [getattr(view.page, names.get(column, column)) for view in views]
            assert len(keys) > 1_000
            assert keys == sorted(keys, reverse=descending), column
