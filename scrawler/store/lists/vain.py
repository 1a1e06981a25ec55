"""Revisit records whose payload is in no file any more: they are whole, and refer to what is gone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable

from sqlalchemy import ColumnElement, Connection, Select, select, update
from sqlalchemy import func as sql

from scrawler.model.results import PageFlag
from scrawler.model.rows import PageRow
from scrawler.store.engines.engine import Database
from scrawler.store.engines.rows import sliced
from scrawler.store.schema.tables import loss, page, seed

_SITES = 20  # sites of one query, which reads all of their pages

# While its statistics of the table are old, MariaDB might read all pages of a seed instead, each time.
BY_PLACE = "FORCE INDEX (page_warc_file)"

_Payload = tuple[int, bytes]  # the site, and the digest of the payload


class VainRevisits:
    """Finds them for lost records, each once.

    No index leads from a digest to its pages: all pages of a site are read once, however many records are lost. Kept
    are only the revisits that refer to nothing in a whole file, which is one of which no loss is noted.
    """

    def __init__(self, database: Database, stopping: Callable[[], bool] = lambda: False) -> None:
        """Read from `database`; once `stopping`, nothing is found any more."""
        self._database = database
        self._stopping = stopping
        self._known: set[int] = set()  # sites whose payloads are known
        self._ids: defaultdict[_Payload, list[int]] = defaultdict(list)

    def taken(self, warc_file: str, offsets: Collection[int]) -> list[int]:
        """Return the ids of the page rows of revisits that refer to payloads at these spans; none comes twice."""
        at = page.c.warc_file == warc_file, page.c.warc_offset.in_(offsets), page.c.revisit == 0
        query = select(seed.c.site_id, page.c.digest).join_from(page, seed, seed.c.id == page.c.seed_id).where(*at)
        query = query.with_hint(page, BY_PLACE, "mysql")
        gone = [(row.site_id, row.digest) for row in self._database.rows(query)]
        for sites in sliced(sorted({site_id for site_id, _ in gone} - self._known), _SITES):
            if self._stopping():
                break
            self._look_at(sites)
        return sorted(number for payload in gone for number in self._ids.pop(payload, ()))

    def _look_at(self, sites: Collection[int]) -> None:
        def work(connection: Connection) -> list[tuple[_Payload, int]]:
            revisits = connection.execute(_whole(sites, page.c.id).where(page.c.revisit == 1)).all()
            alone = _alone(connection, sites) if revisits else set()
            found = [((row.site_id, row.digest), row.id) for row in revisits]
            return [(payload, number) for payload, number in found if payload in alone]

        for payload, number in self._database.reading(work):
            self._ids[payload].append(number)
        self._known.update(sites)


def let_be(database: Database, revisits: Iterable[PageRow]) -> int:
    """Accept that payloads are gone from the archives of earlier crawls; return of how many pages."""
    number = 0
    by_file: defaultdict[str, list[int]] = defaultdict(list)
    for one in revisits:
        by_file[one.warc_file].append(one.warc_offset)
    for warc_file, offsets in sorted(by_file.items()):
        for part in sliced(sorted(offsets)):
            at = page.c.warc_file == warc_file, page.c.warc_offset.in_(part), page.c.revisit == 1
            marked = update(page).where(*at).values(flags=page.c.flags.bitwise_or(PageFlag.LET_BE.value))
            number += database.retrying(lambda connection, marked=marked: connection.execute(marked).rowcount)  # type: ignore[misc]
    return number


def count_let_be(database: Database) -> int:
    """Return how many pages there are whose payload is gone, which was accepted."""
    accepted = page.c.revisit == 1, page.c.flags.bitwise_and(PageFlag.LET_BE.value) != 0
    return int(database.rows(select(sql.count()).select_from(page).where(*accepted))[0][0])


def _alone(connection: Connection, sites: Iterable[int]) -> set[_Payload]:
    """Return the payloads of sites of which whole files hold revisits, and no response."""
    query = _whole(sites).group_by(seed.c.site_id, page.c.digest).having(sql.min(page.c.revisit) == 1)
    return {(row.site_id, row.digest) for row in connection.execute(query)}


def _whole(sites: Iterable[int], *columns: ColumnElement[int]) -> Select[*tuple[object, ...]]:
    """Select payloads of records in whole files."""
    whole = page.c.warc_file != "", page.c.warc_file.not_in(select(loss.c.warc_file)), page.c.digest != b""
    of_site = select(seed.c.site_id, page.c.digest, *columns).join_from(page, seed, seed.c.id == page.c.seed_id)
    return of_site.where(seed.c.site_id.in_(sites), *whole)
