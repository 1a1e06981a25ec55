"""What visits have found changed, and what is known of single URLs."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from sqlalchemy import and_, or_, select
from sqlalchemy import func as sql

from scrawler.features.revisit.store.tables import url_change
from scrawler.model.rows import PageRow
from scrawler.model.terms import Millis
from scrawler.model.visits import UrlState
from scrawler.store.engines.engine import Database
from scrawler.store.engines.rows import AnySelect
from scrawler.store.lists.frontier import state_of
from scrawler.store.schema.tables import page, seed, url_state

_READ = 1_000  # rows held in memory at a time
_MOST = 1_000  # visits to a URL that are looked at


class ChangeView(NamedTuple):
    """A change that a visit has found."""

    id: int
    at: Millis  # of that visit
    kind: str  # new, changed, failing, gone, back, moved
    url: str
    seed: str  # URL of the seed
    visit: int
    detail: str  # where it has moved
    distance: int  # of 64 bits, by which the simhashes of old and new text differ; -1: not known


class Changes:
    """Reads of visits after the first."""

    def __init__(self, database: Database) -> None:
        """Read from `database`."""
        self._database = database

    def found(self, since: Millis = 0, seed_id: int | None = None, kinds: Collection[str] = ()) -> Iterator[ChangeView]:
        """Yield what was found changed since a time, in the order of the visits: of one seed or all."""
        query = _of(_changes(), seed_id, kinds).order_by(url_change.c.at, url_change.c.id).limit(_READ)
        at, after = since, 0
        while True:
            behind = or_(url_change.c.at > at, and_(url_change.c.at == at, url_change.c.id > after))
            rows = self._database.plain_rows(query.where(url_change.c.at >= at, behind))
            yield from map(ChangeView._make, rows)
            if len(rows) < _READ:
                return
            after, at = rows[-1][0], rows[-1][1]

    def of_ids(self, first: int, last: int) -> list[ChangeView]:
        """Return the changes with these ids, the two among them, in their order."""
        query = _changes().where(url_change.c.id.between(first, last)).order_by(url_change.c.id)
        return [ChangeView._make(row) for row in self._database.plain_rows(query)]

    def newest(
        self, most: int, since: Millis = 0, seed_id: int | None = None, kinds: Collection[str] = ()
    ) -> list[ChangeView]:
        """Return the changes that were found last, so many at most, the newest first."""
        query = _of(_changes().where(url_change.c.at >= since), seed_id, kinds)
        query = query.order_by(url_change.c.at.desc(), url_change.c.id.desc()).limit(most)
        return [ChangeView._make(row) for row in self._database.plain_rows(query)]

    def mark(self) -> tuple[int, int]:
        """Return what tells whether anything was found since: the highest id, and the lowest."""
        rows = self._database.plain_rows(select(sql.max(url_change.c.id), sql.min(url_change.c.id)))
        return rows[0][0] or 0, rows[0][1] or 0

    def numbers(self, seed_id: int | None = None, since: Millis = 0) -> dict[str, int]:
        """Return how many changes of each kind were found since a time: of one seed or all."""
        query = select(url_change.c.kind, sql.count()).group_by(url_change.c.kind)
        query = query.where(url_change.c.at >= since) if since else query
        query = query if seed_id is None else query.where(url_change.c.seed_id == seed_id)
        return {row[0]: row[1] for row in self._database.plain_rows(query)}

    def states(self, hashes: Collection[bytes]) -> list[UrlState]:
        """Return what is known of URLs by their visits; they are found by those of their pages."""
        pages = select(page.c.seed_id).where(page.c.url_hash.in_(hashes)).limit(_MOST)
        seeds = sorted({row[0] for row in self._database.plain_rows(pages)})
        columns = [url_state.c[name] for name in UrlState._fields]
        mine = url_state.c.seed_id.in_(seeds), url_state.c.url_hash.in_(hashes)
        return [state_of(row) for row in self._database.rows(select(*columns).where(*mine))]

    def visits(self, hashes: Collection[bytes]) -> list[PageRow]:
        """Return the visits to URLs, the newest first."""
        columns = [page.c[name] for name in PageRow._fields]
        query = select(*columns).where(page.c.url_hash.in_(hashes)).order_by(page.c.id.desc()).limit(_MOST)
        return [PageRow(*row) for row in self._database.plain_rows(query)]


def _changes() -> AnySelect:
    """Return the query for changes, with the columns of a ChangeView."""
    columns = (url_change.c.id, url_change.c.at, url_change.c.kind, url_change.c.url, seed.c.url)
    query = select(*columns, url_change.c.visit, url_change.c.detail, url_change.c.distance)
    return query.join(seed, seed.c.id == url_change.c.seed_id)


def _of(query: AnySelect, seed_id: int | None, kinds: Collection[str]) -> AnySelect:
    """Narrow a query down to the changes of a seed, and of some kinds."""
    query = query if seed_id is None else query.where(url_change.c.seed_id == seed_id)
    return query.where(url_change.c.kind.in_(kinds)) if kinds else query
