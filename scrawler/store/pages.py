"""Pages: the final results of URLs, by seed, by WARC file, or all of them."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import ColumnElement, Connection, select
from sqlalchemy import func as sql

from scrawler.model import PageRow, url_hash
from scrawler.store.engine import Database
from scrawler.store.rows import AnyRow
from scrawler.store.tables import page, seed

_READ = 1_000  # rows held in memory at a time


class Pages:
    """The page rows of a crawl."""

    def __init__(self, database: Database) -> None:
        """Read from `database`."""
        self._database = database

    def of_seed(self, which: str | int) -> Iterator[PageRow]:
        """Yield the pages fetched for a seed, given by URL or id, in the order of their commits."""
        if isinstance(which, int):
            return self._rows(page.c.seed_id == which)
        found = select(seed.c.id).where(seed.c.url_hash == url_hash(which))
        return self._rows(page.c.seed_id == found.scalar_subquery())

    def of_file(self, warc_file: str) -> Iterator[PageRow]:
        """Yield the pages whose records are in a WARC file."""
        return self._rows(page.c.warc_file == warc_file)

    def all(self) -> Iterator[PageRow]:
        """Yield all pages in the order of their commits."""
        return self._rows()

    def files(self) -> dict[str, int]:
        """Return the WARC files that hold committed records -> the offset where the last of these ends."""
        end = sql.max(page.c.warc_offset + page.c.warc_length)
        query = select(page.c.warc_file, end).where(page.c.warc_file != "").group_by(page.c.warc_file)
        return self._database.reading(lambda connection: {row[0]: row[1] for row in connection.execute(query)})

    def _rows(self, *conditions: ColumnElement[bool]) -> Iterator[PageRow]:
        columns = [page.c[name] for name in PageRow._fields]
        query = select(*columns, page.c.id).where(*conditions).order_by(page.c.id).limit(_READ)
        after = 0

        def work(connection: Connection) -> list[AnyRow]:
            return list(connection.execute(query.where(page.c.id > after)))

        while rows := self._database.reading(work):
            yield from (PageRow(*row[:-1]) for row in rows)
            after = rows[-1].id
