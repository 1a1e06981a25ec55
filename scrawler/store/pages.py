"""Pages: the final results of URLs, by seed, by WARC file, or all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import Column, ColumnElement, Connection, ScalarSelect, select
from sqlalchemy import func as sql

from scrawler.model import CdxRow, PageRow, url_hash
from scrawler.store.engine import Database
from scrawler.store.rows import AnyRow
from scrawler.store.tables import page, relation, seed

_COLUMNS = [page.c[name] for name in PageRow._fields]
_CDX = [  # the fields of a CdxRow
    *(page.c.url, page.c.fetched_at, page.c.content_type, page.c.status, page.c.digest),
    *(page.c.warc_length, page.c.warc_offset, page.c.warc_file, page.c.revisit),
]
_READ = 1_000  # rows held in memory at a time


class Pages:
    """The page rows of a crawl."""

    def __init__(self, database: Database) -> None:
        """Read from `database`."""
        self._database = database

    def of_seed(self, which: str | int) -> Iterator[PageRow]:
        """Yield the pages fetched for a seed, given by URL or id, in the order of their commits."""
        return self._rows(page.c.seed_id == (which if isinstance(which, int) else _id_of(which)))

    def with_canonical(self, which: str) -> Iterator[tuple[PageRow, str]]:
        """Yield the same for a seed given by URL, each page with the other URL that it calls canonical, or nothing."""
        called = select(relation.c.target).where(relation.c.url_hash == page.c.url_hash, relation.c.kind == "canonical")
        columns = [*_COLUMNS, called.scalar_subquery()]
        return ((PageRow(*row[:-2]), row[-2] or "") for row in self._in_order(columns, page.c.seed_id == _id_of(which)))

    def of_file(self, warc_file: str) -> Iterator[CdxRow]:
        """Yield the pages whose records are in a WARC file, by offset."""
        return map(CdxRow._make, self._by_offset(warc_file, _CDX))

    def files(self, prefix: str) -> Iterator[str]:
        """Yield the names of a writer's WARC files that hold records of pages; each costs a look-up in the index."""
        first = select(sql.min(page.c.warc_file)).where(page.c.warc_file < prefix + ".")  # which comes next to "-"
        after = prefix + "-"
        while (name := self._database.rows(first.where(page.c.warc_file > after))[0][0]) is not None:
            yield name
            after = name

    def places(self, warc_file: str) -> Iterator[tuple[int, int]]:
        """Yield offset and length of the committed records of a WARC file, by offset."""
        return ((row[0], row[1]) for row in self._by_offset(warc_file, [page.c.warc_offset, page.c.warc_length]))

    def committed(self, warc_file: str) -> tuple[int, int]:
        """Return how many records of a WARC file are committed, and where the last of them ends (0 without any)."""
        of_file = page.c.warc_file == warc_file
        number = select(sql.count()).where(of_file)
        end = select(page.c.warc_offset + page.c.warc_length).where(of_file).order_by(page.c.warc_offset.desc())

        def work(connection: Connection) -> tuple[int, int]:
            return connection.scalar(number) or 0, connection.scalar(end.limit(1)) or 0

        return self._database.reading(work)

    def ends(self, warc_file: str) -> tuple[tuple[int, int], tuple[int, int]] | None:
        """Return offset and length of the first and the last committed record of a WARC file; None without any."""
        of_file = select(page.c.warc_offset, page.c.warc_length).where(page.c.warc_file == warc_file).limit(1)

        def work(connection: Connection) -> tuple[tuple[int, int], tuple[int, int]] | None:
            first = connection.execute(of_file.order_by(page.c.warc_offset)).one_or_none()
            last = connection.execute(of_file.order_by(page.c.warc_offset.desc())).one_or_none()
            return ((first[0], first[1]), (last[0], last[1])) if first and last else None

        return self._database.reading(work)

    def all(self) -> Iterator[PageRow]:
        """Yield all pages in the order of their commits."""
        return self._rows()

    def _by_offset(self, warc_file: str, columns: Sequence[Column[Any]]) -> Iterator[AnyRow]:
        query = select(*columns).where(page.c.warc_file == warc_file).order_by(page.c.warc_offset).limit(_READ)
        after = -1

        def work(connection: Connection) -> Sequence[AnyRow]:
            return connection.execute(query.where(page.c.warc_offset > after)).all()

        while rows := self._database.reading(work):
            yield from rows
            after = rows[-1].warc_offset

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
