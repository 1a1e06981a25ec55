"""Tables of cases whose test takes less time than pytest wants for one: all rows are one test."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

_LONGEST = 300  # characters of a value in a failure


def each(names: str | Sequence[str], rows: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Let a test run once for each row, in one test of pytest: its failure has those of all rows, each with its row.

    It is used as `pytest.mark.parametrize`, for tests that leave nothing behind: rows share their fixtures.
    """
    columns = [names] if isinstance(names, str) else list(names)
    cases = [dict(zip(columns, row if len(columns) > 1 else (row,), strict=True)) for row in rows]
    assert cases, "a table without a row proves nothing"

    def of_all(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def run(**fixtures: Any) -> None:
            failures = [failure for case in cases if (failure := _failure(test, case, fixtures)) is not None]
            if failures:
                raise BaseExceptionGroup(f"{len(failures)} of {len(cases)} rows", failures)

        wanted = inspect.signature(test)
        fixtures = [one for name, one in wanted.parameters.items() if name not in columns]
        run.__signature__ = wanted.replace(parameters=fixtures)  # type: ignore[attr-defined]
        return run

    return of_all


def _failure(test: Callable[..., None], case: dict[str, Any], fixtures: dict[str, Any]) -> BaseException | None:
    try:
        test(**case, **fixtures)
    except (Exception, pytest.fail.Exception, pytest.skip.Exception) as failure:  # none may be skipped among others
        failure.add_note("in the row " + ", ".join(f"{name}={repr(value)[:_LONGEST]}" for name, value in case.items()))
        return failure
    return None
