"""The sums in C, asked by SQLite itself: they are those of the rows, or none at all."""

from __future__ import annotations

import json
import os
import sqlite3
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random
from resource import getpagesize
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrawler.compiled import compiled_part
from scrawler.store.engines import sqlite_sums
from scrawler.store.sums.page_classes import DEEPEST, SIZES, TIMES
from scrawler.store.sums.reports import PARTIES

NOT_COMPILED = "not compiled: python setup.py build_ext --inplace"
pytestmark = pytest.mark.skipif(compiled_part("scrawler.store._sums") is None, reason=NOT_COMPILED)

PAGE = "id, result, status, depth, flags, content_type, length, elapsed_ms, attempts, fetched_at"
USUAL = (1, "fetched", 200, 0, 0, "text/html", 5_000, 20, 1, 1_700_000_000_000)
PERIOD = 1_000


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    assert sqlite_sums.attached()
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(f"CREATE TABLE page ({PAGE})")
        connection.execute("CREATE TABLE seed (site_id, pages, requests, busy, verdicts)")
        yield connection


def _pages(connection: sqlite3.Connection, rows: list[tuple[Any, ...]]) -> Any:
    connection.execute("DELETE FROM page")
    connection.executemany(f"INSERT INTO page VALUES ({', '.join('?' * 10)})", rows)
    said = connection.execute(f"SELECT scrawler_page_sums({PAGE}, {PERIOD}) FROM page").fetchone()[0]
    return said and json.loads(said)


def _edges(bounds: tuple[int, ...]) -> list[int]:
    return [0, *(bound + by for bound in bounds for by in (-1, 0))]


def _verdicts(connection: sqlite3.Connection, *texts: Any) -> dict[str, int] | None:
    connection.execute("DELETE FROM seed")
    connection.executemany("INSERT INTO seed (verdicts) VALUES (?)", [(text,) for text in texts])
    said = connection.execute("SELECT scrawler_verdict_sums(verdicts) FROM seed").fetchone()[0]
    if said is None:
        return None
    names, sums = json.loads(said)
    return dict(zip(sqlite_sums.names_in(names), sums, strict=True))


def test_many_groups_and_types_are_those_of_their_rows(connection: sqlite3.Connection) -> None:
    chance = Random(1)
    rows = [
        (
            *(number, chance.choice(("fetched", "timeout", "x" * 300, "")), chance.randrange(1_000)),
            *(chance.choice((0, DEEPEST, 10**9)), chance.choice((0, 1, 2**31 - 1))),
            *(f"type/{chance.randrange(3_000)}-\0ü", chance.choice(_edges(SIZES)), chance.choice(_edges(TIMES))),
            *(chance.choice((1, 2)), chance.randrange(10**6)),
        )
        for number in range(1, 20_000)
    ]
    results, groups, types, sums = _pages(connection, rows)
    expected: dict[Any, list[int]] = {}
    cells: Counter[Any] = Counter()
    for one, result, status, depth, flags, kind, length, elapsed, attempts, at in rows:
        key = (result, status, min(depth, DEEPEST), flags, at // PERIOD)
        old = expected.setdefault(key, [0, 0, 0, at, at, one])
        added = [old[0] + 1, old[1] + length, old[2] + (attempts > 1)]
        expected[key] = [*added, min(old[3], at), max(old[4], at), min(old[5], one)]
        if result == "fetched":
            cells[kind, bisect_right(SIZES, length), bisect_right(TIMES, elapsed)] += 1
    names = sqlite_sums.names_in(results)
    assert {(names[row[0]], *row[1:5]): row[5:] for row in groups} == expected
    assert len(groups) == len(expected)
    found = {
        (name, *cell[:2]): cell[2]
        for name, row in zip(sqlite_sums.names_in(types), sums, strict=True)
        for cell in row[3]
    }
    assert found == cells


@pytest.mark.parametrize(
    ("column", "value"),
    [
        *((1, None), (2, -1), (2, 1 << 31), (3, -1), (4, -1), (4, 1 << 40), (5, None)),
        *((6, (1 << 63) - 1), (9, -1), (9, 1 << 60)),
    ],
)
def test_a_row_without_room_leaves_the_sum_to_sql(connection: sqlite3.Connection, column: int, value: Any) -> None:
    odd = (*USUAL[:column], value, *USUAL[column + 1 :])
    assert _pages(connection, [USUAL]) is not None
    assert _pages(connection, [USUAL, odd, USUAL]) is None


def test_sums_of_nothing_are_left_to_sql(connection: sqlite3.Connection) -> None:
    assert _pages(connection, []) is None
    assert _verdicts(connection) is None
    assert connection.execute("SELECT scrawler_site_sums(site_id, pages, requests, busy) FROM seed").fetchone() == (
        None,
    )


def test_memory_is_bounded(connection: sqlite3.Connection) -> None:
    counting = "WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT {}) SELECT {} FROM c"
    types = "scrawler_page_sums(n, 'fetched', 200, 0, 0, 'a/' || n, 1, 1, 1, 1, 1)"
    groups = "scrawler_page_sums(n, 'fetched', n, 0, 0, '', 1, 1, 1, 1, 1)"
    assert connection.execute(counting.format(16_000, types)).fetchone()[0] is not None
    assert connection.execute(counting.format(17_000, types)).fetchone()[0] is None
    assert connection.execute(counting.format(263_000, groups)).fetchone()[0] is None
    sites = "scrawler_site_sums(n, 1, 1, 1)"
    assert connection.execute(counting.format(1_500_000, sites)).fetchone()[0] is not None
    assert connection.execute(counting.format(1_600_000, sites)).fetchone()[0] is None


@pytest.mark.parametrize(
    "function",
    [
        "scrawler_page_sums(n, CASE n % 2 WHEN 0 THEN 'fetched' ELSE n END, n, 0, 0, 'a/' || n, 1, 1, 1, 1, 1)",
        "scrawler_site_sums(n, 1, 1, 1)",
        "scrawler_verdict_sums('{\"' || n || '\": 1}')",
    ],
)
def test_a_sum_that_is_broken_off_gives_its_memory_back(connection: sqlite3.Connection, function: str) -> None:
    endless = f"WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT {function} FROM c"
    connection.set_progress_handler(lambda: 1, 100_000)

    def break_off(times: int) -> int:
        for _ in range(times):
            with pytest.raises(sqlite3.OperationalError, match="interrupted"):
                connection.execute(endless)
        return int(Path("/proc/self/statm").read_text().split()[1]) * getpagesize()

    before = break_off(5)
    grown = break_off(100) - before
    assert grown < 5_000_000 or "asan" in os.environ.get("LD_PRELOAD", "")  # which keeps what is given back


def test_sites_are_ranked_by_pages_and_by_time_in_work_for_a_request(connection: sqlite3.Connection) -> None:
    chance = Random(2)
    rows = [
        (
            chance.randrange(1, 900),
            chance.choice(_edges(PARTIES)),
            chance.choice((0, 1, 3)),
            chance.choice((-9, 0, 7, 10**9)),
        )
        for _ in range(2_000)
    ]
    connection.executemany("INSERT INTO seed (site_id, pages, requests, busy) VALUES (?, ?, ?, ?)", rows)
    sums: dict[int, list[int]] = {}
    for site, *numbers in rows:
        sums[site] = [have + more for have, more in zip(sums.get(site, [0, 0, 0]), numbers, strict=True)]
    said = connection.execute("SELECT scrawler_site_sums(site_id, pages, requests, busy) FROM seed").fetchone()[0]
    sizes, largest, slowest = json.loads(said)
    classes = Counter(bisect_right(PARTIES, pages) for pages, _, _ in sums.values())
    assert sizes == [classes[number] for number in range(len(PARTIES) + 1)]
    assert largest == [[site, sums[site][0]] for site in sorted(sums, key=lambda one: (-sums[one][0], one))[:10]]
    answering = {
        site: busy / requests for site, (pages, requests, busy) in sums.items() if min(pages, requests) > 0 < busy
    }
    assert [one[0] for one in slowest] == sorted(answering, key=lambda one: (-answering[one], one))[:10]


NUMBERS = st.dictionaries(st.text("abc-ü ", max_size=5), st.integers(0, 10**18 - 1), max_size=5)


@given(st.lists(NUMBERS, min_size=1, max_size=4), st.sampled_from([None, (",", ":"), (" , ", " : ")]))
def test_verdicts_are_added_up_by_name(objects: list[dict[str, int]], separators: tuple[str, str] | None) -> None:
    texts = [json.dumps(one, separators=separators, ensure_ascii=False) for one in objects]
    total: Counter[str] = Counter()
    for one in objects:
        total.update(one)
    assert sqlite_sums.attached()
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE seed (verdicts)")
        assert _verdicts(connection, *texts) == total


@pytest.mark.parametrize(
    "text",
    [
        *(None, "", " ", "{", "{}x", "{,}", '{"a"}', '{"a":}', '{"a":1,}x', '{"a": -1}', '{"a": 1.5}', '{"a": "1"}'),
        *('{"a": {"b": 1}}', '{"a\\n": 1}', '{"a": 1 "b": 2}', '{"a', '{"a": 1234567890123456789}', "[1]", "null"),
        *('{"' + "x" * 256 + '": 1}', '{"a": 1' + "0" * 18 + "}", '{"a": 1' + "0" * 30 + "}"),
    ],
)
def test_verdicts_of_another_form_leave_the_sum_to_sql(connection: sqlite3.Connection, text: Any) -> None:
    assert _verdicts(connection, '{"a": 1}', text) is None


def test_verdicts_beyond_a_number_leave_the_sum_to_sql(connection: sqlite3.Connection) -> None:
    large = json.dumps({"a": 10**18 - 1})
    assert _verdicts(connection, *[large] * 9) == {"a": 9 * (10**18 - 1)}
    assert _verdicts(connection, *[large] * 10) is None
