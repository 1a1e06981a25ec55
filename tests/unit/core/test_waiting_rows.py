"""Page rows that wait for their checkpoint: they come back as they were, and take little memory meanwhile."""

from __future__ import annotations

import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

from scrawler.core.party.context import SeedContext
from scrawler.core.party.waiting_rows import WaitingRows
from scrawler.model.results import PageFlag, Result
from scrawler.model.rows import PageRow
from scrawler.model.scope import Scope
from scrawler.model.seeds import Seed
from scrawler.urls.analyzer import UrlAnalyzer
from scrawler.urls.scope import scope_of

HOME = "http://a.org/"
ROW = PageRow(
    **dict.fromkeys(PageRow._fields, 0)
    | {"result": Result.FETCHED.value, "content_type": "text/html", "warc_file": "c-m1.warc.gz", "detail": ""}
    | {"url_hash": b"h" * 16, "digest": b"d" * 20, "flags": PageFlag.ASSET}
)


def row(number: int) -> PageRow:
    url = f"http://www.example.org:8080/some/folder/of/pages/page-{number}.html"
    where = {"position": 1_000 + number, "fetched_at": 1_790_000_000_000 + number, "warc_offset": 10_000 * number}
    return ROW._replace(url=url, url_hash=number.to_bytes(16), digest=number.to_bytes(20), **where)


@given(st.lists(st.tuples(st.text(), st.binary(max_size=20), st.integers(-(2**63), 2**63 - 1))))
def test_rows_come_back_as_they_were(values: list[tuple[str, bytes, int]]) -> None:
    rows = [ROW._replace(url=text, detail=text, digest=data, simhash=number) for text, data, number in values]
    waiting = WaitingRows()
    for one in rows:
        waiting.add(one)
    assert len(waiting) == len(rows)
    assert list(waiting) == list(waiting) == rows  # a transaction may be done again


def test_a_row_that_waits_takes_less_than_half_a_kilobyte() -> None:
    waiting = WaitingRows()
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        for number in range(1_000):
            waiting.add(row(number))
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 400 * 1_000


def test_where_external_urls_of_a_page_were_found_is_said_once() -> None:
    scope = scope_of(HOME, Scope.HOST)
    party = SeedContext(Seed(1, 1, HOME, HOME, 0, 0), UrlAnalyzer(scope), scope, 0.0)
    urls = [f"http://www.example{number}.com/" for number in range(1_000)]
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        party.note_externals(urls, 1)
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 60 * 1_000
    party.note_externals(urls[:1], 2)
    delta = party.take_delta(0.0)
    assert delta is not None
    found = [(row.url, row.depth, row.count) for row in delta.externals]
    assert found == [(url, 1, 2 if url == urls[0] else 1) for url in urls]
