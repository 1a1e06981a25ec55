"""Tests of many rows tell of each row that fails."""

from __future__ import annotations

import inspect

import pytest

from tests.tables import each


def test_all_rows_run_and_each_that_fails_is_named() -> None:
    ran: list[tuple[int, int]] = []

    @each(("one", "other"), [(1, 1), (1, 2), (3, 3), (3, 4), (5, 5)])
    def equal(one: int, other: int, *, why: str) -> None:
        ran.append((one, other))
        if one == 5:
            pytest.fail(why)
        assert one == other

    assert list(inspect.signature(equal).parameters) == ["why"]  # it is a fixture's
    with pytest.raises(BaseExceptionGroup, match="3 of 5 rows") as told:
        equal(why="it is five")
    assert len(ran) == 5
    notes = [note for failure in told.value.exceptions for note in failure.__notes__]
    assert notes == ["in the row one=1, other=2", "in the row one=3, other=4", "in the row one=5, other=5"]


def test_no_row_is_skipped_among_others_and_no_table_is_empty() -> None:
    @each("number", [1, 2])
    def skips(number: int) -> None:
        pytest.skip("not here")

    with pytest.raises(BaseExceptionGroup, match="2 of 2 rows"):
        skips()
    with pytest.raises(AssertionError, match="proves nothing"):
        each("number", [])
