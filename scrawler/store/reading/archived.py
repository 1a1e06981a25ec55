"""What the database of a crawl says of its archive: where the records are that hold a payload."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import bindparam, select

from scrawler.model.terms import Millis, url_hash
from scrawler.store.claims.crawls import Crawl, Crawls
from scrawler.store.claims.machines import Machines
from scrawler.store.engines.engine import Database
from scrawler.store.reading.traces import MOST_READ
from scrawler.store.schema.tables import page


class ArchivedPage(NamedTuple):
    """A row of the table `page`, as far as it says what the archive holds."""

    url: str
    digest: bytes
    fetched_at: Millis
    result: str
    status: int
    flags: int
    length: int  # bytes of the body
    revisit: int
    warc_file: str
    warc_offset: int
    warc_length: int


_ORIGINALS = (  # made once: it is asked for each page whose payload is to be referred to
    select(*(page.c[name] for name in ArchivedPage._fields))
    .where(page.c.url_hash == bindparam("of_url"), page.c.digest == bindparam("of_payload"))
    .where(page.c.revisit == 0, page.c.warc_file != "")
    .order_by(page.c.id.desc())
    .limit(MOST_READ)
)


class ArchivedCrawl:
    """A crawl whose archive is read."""

    def __init__(self, database: Database, crawl: Crawl) -> None:
        """Read from `database`, which it closes."""
        self.database = database
        self.crawl = crawl

    def originals(self, url: str, digest: bytes) -> list[ArchivedPage]:
        """Return the visits to a URL whose records hold a payload themselves, the newest first. Raises StoreError."""
        rows = self.database.rows(_ORIGINALS, {"of_url": url_hash(url), "of_payload": digest})
        return [ArchivedPage._make(row)._replace(digest=digest) for row in rows]

    def originals_of(self, urls: Collection[str]) -> dict[str, list[ArchivedPage]]:
        """Return for each of these URLs the visits whose records hold a payload themselves, the newest first.

        Nothing where these are too many. Raises StoreError.
        """
        hashes = sorted({url_hash(url) for url in urls})
        query = select(*(page.c[name] for name in ArchivedPage._fields)).where(page.c.url_hash.in_(hashes))
        query = query.where(page.c.revisit == 0, page.c.warc_file != "").order_by(page.c.id.desc())
        rows = self.database.plain_rows(query.limit(MOST_READ * len(hashes)))
        if len(rows) >= MOST_READ * len(hashes):
            return {}
        found: dict[str, list[ArchivedPage]] = {url: [] for url in urls}
        for row in rows:
            one = ArchivedPage._make(row)
            if one.url in found:
                found[one.url].append(one._replace(digest=bytes(one.digest)))
        return found

    def folders(self, host: str) -> dict[str, Path]:
        """Return in which folders of a host its machines wrote, by what the names of their files begin with."""
        return Machines(self.database).written_to(self.crawl, host)

    def is_copied(self) -> bool:
        """Tell whether one of its runs has copied files elsewhere, so that what is not here may be there."""
        return Crawls(self.database).copied_to() is not None

    def close(self) -> None:
        """Close its database."""
        self.database.close()
