"""Sums of reports, beside the same sums made row by row."""

from __future__ import annotations

import json
import random
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import insert, literal, select

from scrawler.errors import StoreError
from scrawler.model.results import PageFlag, Result
from scrawler.model.rows import PageRow
from scrawler.model.seeds import EndReason, SeedState
from scrawler.model.terms import url_hash
from scrawler.store.engines import sqlite_sums
from scrawler.store.engines.engine import Database, open_database
from scrawler.store.reading.pages import Pages
from scrawler.store.schema.tables import candidate, seed, site
from scrawler.store.schema.tables import page as page_table
from scrawler.store.sums import page_groups
from scrawler.store.sums import periods as periods_module
from scrawler.store.sums.page_classes import DEEPEST, SIZES, TIMES, class_of
from scrawler.store.sums.page_sums import PageSums, page_sums
from scrawler.store.sums.periods import periods_between
from scrawler.store.sums.reports import PARTIES, Reports
from tests.integration.store.crawling import Worker, add, page

_TYPES = (
    *("text/html", "application/xhtml+xml", "image/png", "image/x", "audio/a", "video/v", "text/css", "TEXT/html"),
    *("application/javascript", "application/pdf", "text/plain", "text/ünï", "", "application/x-" + "y" * 60),
)
_EDGES = (0, 1, *(bound + by for bound in (*SIZES, *TIMES) for by in (-1, 0, 1)), 5 * 10**12)


def _varied(seeds: list[int]) -> Iterator[dict[str, Any]]:
    chance = random.Random(7)
    for number in range(3_000):
        row = page(
            chance.choice(seeds),
            f"http://a.org/{number}",
            depth=chance.choice((0, 1, 2, DEEPEST - 1, DEEPEST, DEEPEST + 1, 100_000)),
            result=chance.choice([*Result, *[Result.FETCHED] * 20]).value,
            status=chance.choice((0, 200, 204, 301, 404, 599, 999)),
            flags=chance.choice((0, 0, 0, 1, 2, 128, 255)),
            content_type=chance.choice(_TYPES),
            length=chance.choice(_EDGES),
            elapsed_ms=chance.choice(_EDGES),
            attempts=chance.choice((1, 1, 2, 7)),
            fetched_at=chance.randrange(10**12, 10**13),
            position=number,
        )
        yield row._asdict()


@pytest.fixture
def seeds(database: Database) -> list[int]:
    add(database, "http://a.org/", "http://b.org/", "http://c.org/")
    worker = Worker.of(database)
    ids = [claimed.seeds[0].id for claimed in worker.claim()]
    with database.begin() as connection:
        connection.execute(insert(page_table), list(_varied(ids[:2])))
    return ids


def _kind(content_type: str) -> str:
    if content_type in ("text/html", "application/xhtml+xml"):
        return "html"
    if content_type in ("text/css", "text/javascript", "application/javascript"):
        return "code"
    known = {"application/pdf": "pdf", "": "unknown"}
    group = content_type.partition("/")[0]
    return known.get(content_type) or (group if group in ("image", "audio", "video", "text") else "other")


def _period_length(rows: list[PageRow]) -> int:
    times = [row.fetched_at for row in rows]
    return periods_between(min(times), max(times)).length


def _added_row_by_row(rows: list[PageRow]) -> tuple[dict[Any, list[PageRow]], ...]:
    shapes: dict[Any, list[PageRow]] = {}
    kinds: dict[Any, list[PageRow]] = {}
    types: dict[Any, list[PageRow]] = {}
    length = _period_length(rows)
    for row in rows:
        shape = (row.result, row.status, min(row.depth, DEEPEST), row.flags, row.fetched_at // length)
        shapes.setdefault(shape, []).append(row)
        if row.result == Result.FETCHED:
            classes = bisect_right(SIZES, row.length), bisect_right(TIMES, row.elapsed_ms)
            kinds.setdefault((_kind(row.content_type), *classes), []).append(row)
            types.setdefault(row.content_type, []).append(row)
    return shapes, kinds, types


def _check(sums: PageSums, rows: list[PageRow]) -> None:
    shapes, kinds, types = _added_row_by_row(rows)
    added: dict[Any, list[int]] = {}
    length = _period_length(rows)
    for one in sums.pages:
        assert one.first_at // length == one.last_at // length
        mine = added.setdefault((*one[:4], one.first_at // length), [0, 0, 0])
        mine[:] = (have + more for have, more in zip(mine, (one.pages, one.bytes, one.retried), strict=True))
    assert added == {
        key: [len(of), sum(row.length for row in of), sum(row.attempts > 1 for row in of)] for key, of in shapes.items()
    }
    times = [row.fetched_at for row in rows]
    assert (min(one.first_at for one in sums.pages), max(one.last_at for one in sums.pages)) == (min(times), max(times))
    assert {one[:3]: one[3:] for one in sums.kinds} == {
        key: (len(of), sum(row.length for row in of)) for key, of in kinds.items()
    }
    assert list(map(tuple, sums.types)) == sorted(
        ((key, len(of), sum(row.length for row in of), max(row.length for row in of)) for key, of in types.items()),
        key=lambda one: (-one[1], one[0]),
    )


def test_sums_of_pages_are_those_of_their_rows(database: Database, seeds: list[int]) -> None:
    rows = list(Pages(database).all())
    assert len(rows) == 3_000
    _check(page_sums(database, None), rows)
    _check(page_sums(database, seeds[0]), [row for row in rows if row.seed_id == seeds[0]])
    assert page_sums(database, seeds[2]) == PageSums([], [], [])
    _check(page_sums(database, None), rows)  # nothing is left of those before
    numbers = {type(value) for one in page_sums(database, None).kinds for value in one[1:]}
    assert numbers == {int}  # MariaDB's sums are decimals, which JSON does not know


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_sums_by_the_part_in_c_are_those_by_sql(
    database: Database, seeds: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    if not sqlite_sums.attached():
        pytest.skip("not compiled: python setup.py build_ext --inplace")
    chance = random.Random(5)
    with database.begin() as connection:  # times as a crawl has them, a few of them before those committed first
        for row in connection.execute(select(page_table.c.id)).all():
            values = {"fetched_at": 1_700_000_000_000 + 1_000 * row.id + chance.randrange(-5_000, 5_000)}
            connection.execute(page_table.update().where(page_table.c.id == row.id).values(**values))
        for one in seeds:
            counts = {name: chance.randrange(1, 9) for name in ("pages", "requests", "elapsed_ms", "wait_ms", "bytes")}
            verdicts = json.dumps({"internal": one, "external": 2})
            connection.execute(seed.update().where(seed.c.id == one).values(**counts, verdicts=verdicts))

    def sums() -> list[Any]:
        wanted = [(None, 0), (seeds[0], 0), (seeds[1], 1_700_000_001_234), (None, 1_700_000_001_234), (None, 10**15)]
        reports = Reports(database)
        of_seeds = [reports.sites(), reports.verdicts(None), reports.verdicts(seeds[1]), reports.verdicts(10**6)]
        return [*(page_sums(database, *one) for one in wanted), *of_seeds]

    found = sums()
    monkeypatch.setattr(sqlite_sums, "attached", lambda: False)
    assert sums() == found


@pytest.mark.parametrize(("numbered", "looked_at"), [(1, 3_000), (2, 5), (32, 0)])
def test_sums_of_pages_hold_with_more_media_types_and_results_than_are_numbered(
    database: Database, seeds: list[int], monkeypatch: pytest.MonkeyPatch, numbered: int, looked_at: int
) -> None:
    monkeypatch.setattr(sqlite_sums, "attached", lambda: False)
    monkeypatch.setattr(page_groups, "_TYPES_NUMBERED", numbered)
    monkeypatch.setattr(page_groups, "_LOOKED_AT", looked_at)
    monkeypatch.setattr(page_groups, "_RESULTS", ["redirect", "fetched"])
    rows = list(Pages(database).all())
    _check(page_sums(database, None), rows)
    _check(page_sums(database, seeds[0]), [row for row in rows if row.seed_id == seeds[0]])


def test_all_results_and_flags_have_room_in_the_number_of_a_group() -> None:
    """A later result or flag that had none would be taken for another one."""
    sums = page_groups
    assert len(Result) <= 1 << sums._FLAGS_AT - sums._RESULT_AT
    assert sum(PageFlag) < 1 << sums._STATUS_AT - sums._FLAGS_AT
    assert len(SIZES) < 1 << sums._TYPE_AT - sums._SIZE_AT
    assert len(TIMES) < 1 << sums._SIZE_AT
    assert 1 << sums._DEPTH_AT - sums._STATUS_AT > 999
    assert periods_module._NUMBERS << sums._PERIOD_AT <= 1 << 63


def test_lines_of_pages_are_their_rows_in_short(database: Database, seeds: list[int]) -> None:
    rows = [(row.url, row.depth, row.result, row.status, row.seed_id) for row in Pages(database).all()]
    assert [tuple(line) for line in Pages(database).lines()] == [row[:-1] for row in rows]
    own = [row[:-1] for row in rows if row[-1] == seeds[1]]
    assert [tuple(line) for line in Pages(database).lines(seeds[1])] == own


@pytest.mark.parametrize("bounds", [(), (5,), SIZES, TIMES, PARTIES], ids=len)
def test_a_class_is_the_first_bound_above(database: Database, bounds: tuple[int, ...]) -> None:
    values = sorted({0, *(bound + by for bound in bounds for by in (-1, 0, 1))})
    found = [database.rows(select(class_of(literal(value), bounds)))[0][0] for value in values]
    assert found == [bisect_right(bounds, value) for value in values]


def test_ends_verdicts_and_sites_are_those_of_the_seeds(database: Database) -> None:
    chance = random.Random(3)
    urls = [f"http://s{number % 40}.org/{number}" for number in range(300)]
    add(database, *urls)
    ends = [None, *EndReason]
    ended: Counter[str] = Counter()
    verdicts: Counter[str] = Counter()
    pages: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    with database.begin() as connection:
        for number, url in enumerate(urls):
            end = ends[number % len(ends)] if number % 3 else None
            found = {"internal": number % 5, "external": number} if number % 7 else None
            values = {"pages": chance.choice((0, 1, 2, 9, 10, 250)), "bytes": 2**40 + number}
            state = SeedState.DONE if end else chance.choice((SeedState.READY, SeedState.SLOW))
            stored = {"state": state.value, "end_reason": end and end.value, "verdicts": found and json.dumps(found)}
            connection.execute(seed.update().where(seed.c.url_hash == url_hash(url)).values(**stored, **values))
            ended[end.value if end else state.value] += 1
            verdicts.update(found or {})
            pages[url.split("/")[2]] += values["pages"]
            sizes[url.split("/")[2]] += values["bytes"]
    reports = Reports(database)
    assert list(reports.ends().items()) == sorted(ended.items(), key=lambda item: (-item[1], item[0]))
    assert reports.verdicts(None) == verdicts
    sites = reports.sites()
    assert sites.sizes == Counter(bisect_right(PARTIES, number) for number in pages.values())
    ids = {row.site_key: row.id for row in database.rows(select(site))}
    largest = sorted(pages, key=lambda key: (-pages[key], ids[key]))[:10]
    assert sites.largest == [(key, pages[key], sizes[key]) for key in largest]
    assert {type(number) for pair in sites.sizes.items() for number in pair} == {int}


@pytest.mark.parametrize("part", [0, 9])  # of many parts of the index: candidates are fewer than look-ups
def test_links_to_seeds_count_promoted_ones_and_those_that_were_never_promoted(database: Database, part: int) -> None:
    add(database, "http://a.org/", "http://b.org/", "http://c.org/")
    rows = [
        (1, "http://b.org/", 2, 1),
        (2, "http://b.org/", 3, 0),
        (2, "http://c.org/", 5, 0),
        (3, "http://a.org/", 7, 1),
        (3, "http://gone.org/", 11, 1),  # promoted under another spelling
        (3, "http://other.org/", 13, 0),
    ]
    with database.begin() as connection:
        for seed_id, url, count, promoted in rows:
            values = {"seed_id": seed_id, "url_hash": url_hash(url), "url": url, "depth": 1, "count": count}
            connection.execute(insert(candidate).values(**values, promoted=promoted, part=part))
    assert Reports(database).links_to_seeds() == (2 + 3 + 5 + 7, 3)


def test_a_damaged_database_is_told_of_by_plain_rows_too(sqlite_url: str) -> None:
    database = open_database(sqlite_url)
    add(database, *(f"http://s{number}.org/" for number in range(2_000)))
    with database.begin() as connection:
        connection.exec_driver_sql("PRAGMA writable_schema = ON")
        connection.exec_driver_sql(
            "UPDATE sqlite_master SET rootpage = (SELECT rootpage FROM sqlite_master WHERE name = 'site_key_hash')"
            " WHERE name = 'page'"
        )
    database.close()
    damaged = open_database(sqlite_url)
    with pytest.raises(StoreError, match="is damaged"):
        list(Pages(damaged).lines())
    damaged.close()
