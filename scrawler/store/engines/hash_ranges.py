"""Goes through rows by the hashes of their URLs, range by range: any index finds the rows of a range.

A LIMIT would do where an index has all hashes in their order; one in parts has not, and all that is left would be
sorted for each step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from sqlalchemy import ColumnElement, Connection, select
from sqlalchemy import func as sql

from scrawler.store.engines.engine import Database

T = TypeVar("T")

_BITS = 128
_HIGHEST = (1 << _BITS) - 1
_FIRST = 12  # the first range is one of 2 ** 12
_MOST_GROWTH = 16  # times that a range may be as wide as the one before
_TOO_MANY = 4  # times as many hashes as are wanted


class HashRanges:
    """Ranges of hashes that hold about as many as are wanted: hashes are even, how many there are is found out."""

    def __init__(self, wanted: int) -> None:
        """Begin with the lowest hashes; `wanted` are as many as are read at a time."""
        self._after = b""
        self._at = 0
        self._width = 1 << (_BITS - _FIRST)
        self._wanted = wanted

    @property
    def over(self) -> bool:
        """Whether no hash is left."""
        return self._at == _HIGHEST

    def hold(self, column: ColumnElement[bytes]) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
        """Return the conditions that a column of hashes meets within the range."""
        return column > self._after, column <= _hash(self._last)

    @property
    def _last(self) -> int:
        return min(self._at + self._width, _HIGHEST)

    def fits(self, found: int) -> bool:
        """Tell whether this range, of so many hashes, is to be read; else it is narrower now, and to be asked again."""
        if found <= _TOO_MANY * self._wanted or self._width == 1:
            return True
        self._width = max(1, self._width * self._wanted // found)
        return False

    def go_on(self, found: int) -> None:
        """Take the next range, after one that had so many hashes."""
        self._at = self._last
        self._after = _hash(self._at)
        self._width = max(1, min(_MOST_GROWTH * self._width, self._width * self._wanted // max(1, found)))


def read_by_hash(
    database: Database,
    wanted: int,
    column: ColumnElement[bytes],
    read: Callable[[Connection, HashRanges], T],
    *conditions: ColumnElement[bool],
) -> Iterator[T]:
    """Yield what `read` returns for range after range; each has about `wanted` values of `column` among some rows.

    `conditions` tell which rows these are. A range that has none is not read.
    """
    ranges = HashRanges(wanted)

    def number(connection: Connection) -> int:
        within = select(sql.count(column.distinct())).where(*conditions, *ranges.hold(column))
        return connection.execute(within).scalar_one()

    def work(connection: Connection) -> tuple[int, list[T]]:
        while not ranges.fits(found := number(connection)):
            pass  # it is narrower now
        return found, [read(connection, ranges)] if found else []

    while not ranges.over:
        found, result = database.reading(work)
        ranges.go_on(found)
        yield from result


def _hash(number: int) -> bytes:
    return number.to_bytes(_BITS // 8, "big")
