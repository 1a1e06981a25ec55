"""The pages of a site that an earlier crawl has archived, by its database."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import select

from scrawler.model.results import Result
from scrawler.model.terms import url_hash
from scrawler.store.engines.engine import Database
from scrawler.store.reading.archived import ArchivedPage
from scrawler.store.schema.tables import loss, page, seed, site

_ROWS = 1_000  # page rows held in memory at a time
_WHOLE = tuple(result.value for result in Result if result.answered)


def pages_of_site(database: Database, site_key: str) -> Iterator[list[ArchivedPage]]:
    """Yield the pages of a site that the archive holds, some at a time, the newest first.

    Files from which records are gone are left out. Raises StoreError.
    """
    of_site = select(seed.c.id).join(site, site.c.id == seed.c.site_id).where(site.c.key_hash == url_hash(site_key))
    for (seed_id,) in database.plain_rows(of_site.order_by(seed.c.id)):
        yield from _of_seed(database, seed_id)


def _of_seed(database: Database, seed_id: int) -> Iterator[list[ArchivedPage]]:
    there = page.c.warc_file != "", page.c.warc_file.not_in(select(loss.c.warc_file))
    whole = page.c.length > 0, page.c.result.in_(_WHOLE)
    query = select(page.c.id, *(page.c[name] for name in ArchivedPage._fields)).where(page.c.seed_id == seed_id)
    query = query.where(*whole, *there).order_by(page.c.id.desc()).limit(_ROWS)
    before = None
    while rows := database.plain_rows(query if before is None else query.where(page.c.id < before)):
        pages = map(ArchivedPage._make, (row[1:] for row in rows))
        yield [one._replace(digest=bytes(one.digest)) for one in pages if one.digest]
        before = rows[-1][0]
