"""Kinds of rows that features add to what is committed with a site; the store knows no more of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

Row = tuple[Any, ...]


class RowKind(NamedTuple):
    """Rows of one table, written in the transaction of the pages that they come with.

    Fields:
        table: leads to it, as `package.module:TABLE`.
        columns: what a row holds, in order; the first `key` of them are its primary key.
        key: two rows with the same key that wait together become one; 0: each row is one of its own.
        of_two: what becomes of two with the same key, the earlier one first; None: the later one counts.
    """

    table: str
    columns: tuple[str, ...]
    key: int
    of_two: Callable[[Any, Any], Any] | None = None


Rows = tuple[tuple[RowKind, tuple[Row, ...]], ...]


def joined(parts: Sequence[Rows]) -> Rows:
    """Return rows that wait together, in order of time, each key once."""
    found: dict[RowKind, list[Row]] = {}
    for part in parts:
        for kind, rows in part:
            found.setdefault(kind, []).extend(rows)
    return tuple((kind, tuple(_each_key_once(kind, rows))) for kind, rows in found.items())


def _each_key_once(kind: RowKind, rows: Sequence[Row]) -> Iterable[Row]:
    if not kind.key:
        return rows
    found: dict[Row, Row] = {}
    for row in rows:
        key = row[: kind.key]
        found[key] = row if kind.of_two is None or key not in found else kind.of_two(found[key], row)
    return found.values()


def gathered(parts: Iterable[Rows]) -> list[tuple[RowKind, list[Row]]]:
    """Return all rows of each kind, in the order of their keys; kinds by their tables.

    Writers that go through tables, or a table, in different orders lock each other out.
    """
    found: dict[RowKind, list[Row]] = {}
    for part in parts:
        for kind, rows in part:
            found.setdefault(kind, []).extend(rows)
    by_table = sorted(found.items(), key=lambda one: one[0].table)
    return [(kind, sorted(rows, key=lambda row: row[: kind.key])) for kind, rows in by_table]


def rows_of_kind(rows: Rows, kind: RowKind) -> tuple[Any, ...]:
    """Return the rows of one kind among others."""
    return next((found for one, found in rows if one == kind), ())
