"""Pages: the final results of URLs, by seed, by WARC file, or all of them.

By WARC file, the answers to requests for robots.txt are among them: they have records, and rows of their own.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, ScalarSelect, Table, literal, select
from sqlalchemy import func as sql

from scrawler.model.records import CdxRow
from scrawler.model.results import PageFlag
from scrawler.model.rows import PageRow
from scrawler.model.terms import url_hash
from scrawler.store.engines.engine import Database
from scrawler.store.engines.rows import AnyRow
from scrawler.store.schema.tables import page, robots_record, seed

_COLUMNS = [page.c[name] for name in PageRow._fields]
_CDX: list[ColumnElement[Any]] = [  # the fields of a CdxRow
    *(page.c.url, page.c.fetched_at, page.c.content_type, page.c.status, page.c.digest),
    *(page.c.warc_length, page.c.warc_offset, page.c.warc_file, page.c.revisit),
]
_CDX_ROBOTS: list[ColumnElement[Any]] = [
    *(robots_record.c.url, robots_record.c.fetched_at, robots_record.c.content_type, robots_record.c.status),
    *(robots_record.c.digest, robots_record.c.warc_length, robots_record.c.warc_offset, robots_record.c.warc_file),
    literal(0).label("revisit"),
]
_CDX_OFFSET = CdxRow._fields.index("offset")
_TABLES: tuple[Table, ...] = (page, robots_record)  # tables whose rows are records
_READ = 1_000  # rows held in memory at a time


class PageLine(NamedTuple):
    """A page as a list has it."""

    url: str
    depth: int
    result: str  # the value of a Result
    status: int


_LINE = [page.c[name] for name in PageLine._fields]


class Pages:
    """The page rows of a crawl."""

    def __init__(self, database: Database) -> None:
        """Read from `database`."""
        self._database = database

    def of_seed(self, which: str | int) -> Iterator[PageRow]:
        """Yield the pages fetched for a seed, given by URL or id, in the order of their commits."""
        return self._rows(page.c.seed_id == (which if isinstance(which, int) else _id_of(which)))

    def of_file(self, warc_file: str) -> Iterator[CdxRow]:
        """Yield the rows whose records are in a WARC file, by offset."""
        tables = ((page, _CDX), (robots_record, _CDX_ROBOTS))
        rows = (self._by_offset(table, warc_file, columns, _CDX_OFFSET) for table, columns in tables)
        return map(CdxRow._make, heapq.merge(*rows, key=itemgetter(_CDX_OFFSET)))

    def files(self, prefix: str) -> Iterator[str]:
        """Yield the names of a writer's WARC files that hold records of rows; each costs a look-up in the indexes."""
        return self._files(prefix + "-", prefix + ".")  # "." is behind "-"

    def files_of_all(self, prefix: str) -> Iterator[str]:
        """Yield names as `files` does, of all writers whose own names begin so and go on with a number."""
        return self._files(prefix, prefix + ":")  # ":" is behind the digits

    def _files(self, first: str, end: str) -> Iterator[str]:
        after: str | None = first
        while after is not None:
            names = [self._next_file(table, after, end) for table in _TABLES]
            after = min((name for name in names if name is not None), default=None)
            if after is not None:
                yield after

    def _next_file(self, table: Table, after: str, end: str) -> str | None:
        file = table.c.warc_file
        rows = self._database.rows(select(sql.min(file)).where(file > after, file < end))
        name: str | None = rows[0][0]
        return name

    def spans(self, warc_file: str) -> Iterator[tuple[int, int]]:
        """Yield offset and length of the committed records of a WARC file, by offset."""
        rows = (self._by_offset(table, warc_file, [table.c.warc_offset, table.c.warc_length], 0) for table in _TABLES)
        return ((offset, length) for offset, length in heapq.merge(*rows, key=itemgetter(0)))

    def committed(self, warc_file: str) -> tuple[int, int]:
        """Return how many records of a WARC file are committed, and where the last of them ends (0 without any)."""

        def work(connection: Connection) -> tuple[int, int]:
            number = end = 0
            for table in _TABLES:
                of_file = table.c.warc_file == warc_file
                ends = select(table.c.warc_offset + table.c.warc_length).where(of_file)
                last = ends.order_by(table.c.warc_offset.desc()).limit(1)
                number += connection.scalar(select(sql.count()).select_from(table).where(of_file)) or 0
                end = max(end, connection.scalar(last) or 0)
            return number, end

        return self._database.reading(work)

    def of_earlier(self) -> int:
        """Return of how many records the payload stands in the archive of an earlier crawl (`dedup_from`)."""
        there = select(page.c.digest).where(page.c.flags.bitwise_and(PageFlag.EARLIER.value) != 0)
        query = select(sql.count()).where(page.c.revisit == 1, page.c.warc_file != "", page.c.digest.in_(there))
        return int(self._database.rows(query)[0][0])

    def ends(self, warc_file: str) -> tuple[tuple[int, int], tuple[int, int]] | None:
        """Return offset and length of the first and the last committed record of a WARC file; None without any."""

        def work(connection: Connection) -> tuple[tuple[int, int], tuple[int, int]] | None:
            found: list[tuple[int, int]] = []
            for table in _TABLES:
                spans = select(table.c.warc_offset, table.c.warc_length).where(table.c.warc_file == warc_file).limit(1)
                for order in (table.c.warc_offset, table.c.warc_offset.desc()):
                    found += [(row[0], row[1]) for row in connection.execute(spans.order_by(order))]
            return (min(found), max(found)) if found else None

        return self._database.reading(work)

    def last(self, warc_file: str) -> CdxRow | None:
        """Return the row whose record is the last one in a WARC file, None without any."""

        def work(connection: Connection) -> CdxRow | None:
            found: list[CdxRow] = []
            for table, columns in ((page, _CDX), (robots_record, _CDX_ROBOTS)):
                query = select(*columns).where(table.c.warc_file == warc_file)
                rows = connection.execute(query.order_by(table.c.warc_offset.desc()).limit(1))
                found += map(CdxRow._make, rows)
            return max(found, key=attrgetter("offset"), default=None)

        return self._database.reading(work)

    def all(self) -> Iterator[PageRow]:
        """Yield all pages in the order of their commits."""
        return self._rows()

    def revisits(self) -> Iterator[PageRow]:
        """Yield the pages whose records refer to others for their payload, in the order of their commits."""
        return self._rows(page.c.revisit == 1, page.c.warc_file != "")

    def lines(self, seed_id: int | None = None) -> Iterator[PageLine]:
        """Yield the pages fetched for a seed, or all, in the order of their commits; lines cost less than rows."""
        conditions = [] if seed_id is None else [page.c.seed_id == seed_id]
        query = select(*_LINE, page.c.id).where(*conditions).order_by(page.c.id).limit(_READ)
        after = 0
        while rows := self._database.plain_rows(query.where(page.c.id > after)):
            yield from [PageLine._make(row[:-1]) for row in rows]
            after = rows[-1][-1]

    def _by_offset(
        self, table: Table, warc_file: str, columns: Sequence[ColumnElement[Any]], offset: int
    ) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a WARC file, numbers, texts and bytes; the offset stands in the column with that number."""
        query = select(*columns).where(table.c.warc_file == warc_file).order_by(table.c.warc_offset).limit(_READ)
        after = -1
        while rows := self._database.plain_rows(query.where(table.c.warc_offset > after)):
            yield from rows
            after = rows[-1][offset]

    def _rows(self, *conditions: ColumnElement[bool]) -> Iterator[PageRow]:
        return (PageRow(*row[:-1]) for row in self._in_order(_COLUMNS, *conditions))

    def _in_order(self, columns: Sequence[ColumnElement[Any]], *conditions: ColumnElement[bool]) -> Iterator[AnyRow]:
        query = select(*columns, page.c.id).where(*conditions).order_by(page.c.id).limit(_READ)
        after = 0

        def work(connection: Connection) -> Sequence[AnyRow]:
            return connection.execute(query.where(page.c.id > after)).all()

        while rows := self._database.reading(work):
            yield from rows
            after = rows[-1].id


def _id_of(seed_url: str) -> ScalarSelect[int]:
    return select(seed.c.id).where(seed.c.url_hash == url_hash(seed_url)).scalar_subquery()
