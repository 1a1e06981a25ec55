"""Orphans: records in finished WARC files that no page row refers to.

Their delta was never committed, or their row was taken back: because the record was gone, which may come back with its
file, or because its URL was to be fetched again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

from sqlalchemy import select

from scrawler.store.bulk import BulkInsert
from scrawler.store.engine import Database
from scrawler.store.rows import sliced
from scrawler.store.tables import orphan

_ROWS = 1_000  # rows of one transaction


class Orphans:
    """The orphan rows of a crawl: with the page rows, all response and revisit records of the finished files."""

    def __init__(self, database: Database) -> None:
        """Work on `database`."""
        self._database = database
        columns = [column.name for column in orphan.columns]
        self._rows = BulkInsert.ignoring(orphan, columns, database.compiler)

    def of_file(self, warc_file: str) -> Iterator[tuple[int, int]]:
        """Yield offset and length of the orphans of a WARC file, by offset."""
        columns = orphan.c.warc_offset, orphan.c.warc_length
        query = select(*columns).where(orphan.c.warc_file == warc_file).order_by(orphan.c.warc_offset).limit(_ROWS)
        after = -1
        while rows := self._database.rows(query.where(orphan.c.warc_offset > after)):
            yield from ((row[0], row[1]) for row in rows)
            after = rows[-1][0]

    def files(self) -> list[str]:
        """Return the WARC files that hold orphans, those of rows that were taken back among them."""
        query = select(orphan.c.warc_file).distinct().order_by(orphan.c.warc_file)
        return self._database.reading(lambda connection: list(connection.scalars(query)))

    def last(self, warc_file: str) -> tuple[int, int] | None:
        """Return offset and length of the last orphan of a WARC file, None without any."""
        query = select(orphan.c.warc_offset, orphan.c.warc_length).where(orphan.c.warc_file == warc_file)
        rows = self._database.rows(query.order_by(orphan.c.warc_offset.desc()).limit(1))
        return (rows[0][0], rows[0][1]) if rows else None

    def add(self, warc_file: str, spans: Iterable[tuple[int, int]]) -> int:
        """Make `spans` (offset, length) orphans of a WARC file; return how many these are.

        Done in pieces: what is left half-way is made right by doing it again.
        """
        number = 0
        for part in sliced(((warc_file, *span) for span in spans), _ROWS):
            self._database.retrying(partial(self._rows.run, rows=part))
            number += len(part)
        return number
