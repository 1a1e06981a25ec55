"""Orphans: records in finished WARC files that no page row refers to.

Their delta was never committed, or their row was taken back: because the record was gone, which may come back with its
file, or because its URL was to be fetched again. Where the log of visits is thinned they are many. So one row holds all
those of a file that are noted at once: the first in its columns, the others packed.
"""

from __future__ import annotations

import heapq
import zlib
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby, pairwise
from operator import itemgetter
from typing import Any, TypeAlias

from sqlalchemy import Connection, Dialect, select

from scrawler.errors import StoreError
from scrawler.store.engines.bulk import BulkInsert
from scrawler.store.engines.engine import Database
from scrawler.store.engines.rows import sliced
from scrawler.store.schema.tables import orphan

_ROWS = 1_000  # spans of one transaction; rows of one query
_IN_A_ROW = 200  # spans of a row: packed, even the longest numbers fit its column
_UNPACKED = 1 << 14  # bytes, which no such row has

Span: TypeAlias = tuple[str, int, int]  # WARC file, offset, length


class OrphanWriter:
    """Notes orphans inside a transaction."""

    def __init__(self, dialect: Dialect) -> None:
        """Make the statement."""
        self._insert = BulkInsert.ignoring(orphan, [column.name for column in orphan.columns], dialect)

    def write(self, connection: Connection, spans: Iterable[Span]) -> None:
        """Note `spans`, in any order; those that are noted already stay."""
        rows = list(_packed(spans))
        if self._insert.run(connection, rows) < len(rows):
            # The first span of a row was known. The row was left out with all its others, so each is written alone.
            alone = ((file, *span, b"") for file, *row in rows for span in spans_of(file, row))
            self._insert.run(connection, sorted(alone))


class Orphans:
    """The orphan rows of a crawl: with the page rows, all response and revisit records of the finished files."""

    def __init__(self, database: Database) -> None:
        """Work on `database`."""
        self._database = database
        self._writer = OrphanWriter(database.compiler)

    def of_file(self, warc_file: str) -> Iterator[tuple[int, int]]:
        """Yield offset and length of the orphans of a WARC file, by offset. Raises StoreError for a damaged row."""
        yield from _each_once(_in_order(spans_of(warc_file, row) for row in self._rows_of(warc_file)))

    def files(self) -> list[str]:
        """Return the WARC files that hold orphans, those of rows that were taken back among them."""
        query = select(orphan.c.warc_file).distinct().order_by(orphan.c.warc_file)
        return self._database.reading(lambda connection: list(connection.scalars(query)))

    def last(self, warc_file: str) -> tuple[int, int] | None:
        """Return offset and length of the last orphan of a WARC file, None without any. Raises as `of_file`."""
        return max((spans_of(warc_file, row)[-1] for row in self._rows_of(warc_file)), default=None)

    def add(self, warc_file: str, spans: Iterable[tuple[int, int]]) -> int:
        """Make `spans` (offset, length) orphans of a WARC file; return how many these are.

        Done in pieces: what is left half-way is made right by doing it again.
        """
        known = set(self.of_file(warc_file))
        number = 0
        for part in sliced(spans, _ROWS):
            new = [(warc_file, *span) for span in part if span not in known]
            self._database.retrying(partial(self._writer.write, spans=new))
            number += len(part)
        return number

    def _rows_of(self, warc_file: str) -> Iterator[Sequence[Any]]:
        """Yield offset, length and packed spans of the rows of a file, by offset."""
        columns = orphan.c.warc_offset, orphan.c.warc_length, orphan.c.others
        query = select(*columns).where(orphan.c.warc_file == warc_file).order_by(orphan.c.warc_offset).limit(_ROWS)
        after = -1
        while rows := self._database.rows(query.where(orphan.c.warc_offset > after)):
            yield from rows
            after = rows[-1][0]


def _packed(spans: Iterable[Span]) -> Iterator[tuple[str, int, int, bytes]]:
    """Yield rows of the table that hold `spans`, by key."""
    for warc_file, of_file in groupby(sorted(set(spans)), key=itemgetter(0)):
        for part in sliced((span[1:] for span in of_file), _IN_A_ROW):
            gaps = (number for (before, _), (offset, length) in pairwise(part) for number in (offset - before, length))
            text = " ".join(map(str, gaps))
            yield warc_file, *part[0], zlib.compress(text.encode()) if text else b""


def spans_of(warc_file: str, row: Sequence[Any]) -> list[tuple[int, int]]:
    """Return the spans of a row (offset, length, packed), by offset; reads what another program may have written."""
    offset, length, packed = row
    spans = [(offset, length)]
    if packed:
        try:
            numbers = iter([int(number) for number in zlib.decompressobj().decompress(packed, _UNPACKED).split()])
            for gap, length in zip(numbers, numbers, strict=True):
                offset += gap
                spans.append((offset, length))
        except (zlib.error, ValueError) as error:
            raise StoreError(f"the orphans of {warc_file} at {row[0]} are not as this program writes them") from error
    return spans


def _in_order(rows: Iterable[list[tuple[int, int]]]) -> Iterator[tuple[int, int]]:
    """Yield the spans of rows, whose first ones come in order, in order; what is held is what overlaps."""
    waiting: list[tuple[int, int]] = []
    for spans in rows:
        while waiting and waiting[0] <= spans[0]:
            yield heapq.heappop(waiting)
        for span in spans:
            heapq.heappush(waiting, span)
    while waiting:
        yield heapq.heappop(waiting)


def _each_once(spans: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    return (span for span, _ in groupby(spans))
