"""Kinds of rows that features add to what is committed with a site; the store knows no more of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from scrawler.tuples.classes import NamedTuple

Row = tuple[Any, ...]


class RowKind(NamedTuple):
    """Rows of one table, written in the transaction of the pages that they come with.

    Fields:
        table: leads to it, as `package.module:TABLE`.
        columns: what a row holds, in order; the first `key` of them are its primary key.
        key: of two rows with the same key that wait together, the later one counts.
    """

    table: str
    columns: tuple[str, ...]
    key: int


Rows = tuple[tuple[RowKind, tuple[Row, ...]], ...]


def joined(parts: Sequence[Rows]) -> Rows:
    """Return rows that wait together, in order of time, each key once."""
    found: dict[RowKind, dict[Row, Row]] = {}
    for part in parts:
        for kind, rows in part:
            found.setdefault(kind, {}).update((row[: kind.key], row) for row in rows)
    return tuple((kind, tuple(rows.values())) for kind, rows in found.items())


def gathered(parts: Iterable[Rows]) -> list[tuple[RowKind, list[Row]]]:
    """Return all rows of each kind, in the order of their keys; kinds by their tables.

    Writers that go through tables, or a table, in different orders lock each other out.
    """
    found: dict[RowKind, list[Row]] = {}
    for part in parts:
        for kind, rows in part:
            found.setdefault(kind, []).extend(rows)
    return [(kind, sorted(rows, key=lambda row: row[: kind.key])) for kind, rows in sorted(found.items())]
