from __future__ import annotations

import pytest

from scrawler.model.rows import ExternalRow, PageRow
from scrawler.store.engines.bulk import LONGEST_TEXT, BulkInsert, _by_length, _by_size, _storable
from scrawler.store.schema.ddl import DIALECTS, dialect_of
from scrawler.store.schema.tables import candidate, page


@pytest.mark.parametrize("dialect", [dialect_of(name) for name in DIALECTS], ids=DIALECTS)
def test_rows_are_in_the_order_of_the_table(dialect):
    BulkInsert.inserting(page, PageRow._fields, dialect)
    BulkInsert.adding(candidate, ExternalRow._fields, dialect, "count")
    with pytest.raises(ValueError, match="not in the order"):
        BulkInsert.inserting(page, tuple(reversed(PageRow._fields)), dialect)


def test_text_that_fits_is_left_alone():
    values = ["plain", "grün 🕷"]
    assert _storable(values, 10) is values


def test_text_is_cut_and_lone_surrogates_are_escaped():
    assert _storable(["abc", "a"], 2) == ["ab", "a"]
    assert _storable(["\ud800x", "ü"], 10) == ["\\ud800x", "ü"]
    assert _storable(["\ud800" * 3], 4) == ["\\ud8"]


def test_statements_are_cut_by_length_and_lose_nothing():
    texts = ["x" * 400_000] * 5 + ["y" * 2_000_000]
    parts = list(_by_length(texts))
    assert [len(part) for part in parts] == [2, 2, 1, 1]
    assert [text for part in parts for text in part] == texts


@pytest.mark.parametrize(("rows", "sizes"), [(0, []), (3, [1, 1, 1]), (602, [256, 256, 64, 16, 4, 4, 1, 1])])
def test_rows_are_cut_to_few_sizes_and_none_is_lost(rows, sizes):
    given = [(number,) for number in range(rows)]
    parts = list(_by_size(given))
    assert [len(part) for part in parts] == sizes
    assert [row for part in parts for row in part] == given


def test_a_text_column_of_mysql_holds_the_longest_text():
    assert LONGEST_TEXT * 4 < 2**16
