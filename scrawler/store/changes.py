"""What visits have found changed, what is known of single URLs, and the rounds of seeds."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from sqlalchemy import and_, or_, select
from sqlalchemy import func as sql

from scrawler.model.rows import PageRow
from scrawler.model.seeds import SeedCounts
from scrawler.model.terms import Millis
from scrawler.model.visits import UrlState
from scrawler.store.engine import Database
from scrawler.store.frontier import state_of
from scrawler.store.rows import AnySelect, sliced
from scrawler.store.tables import SEED_COUNTS, page, seed, seed_round, url_change, url_state
from scrawler.tuples.classes import NamedTuple

_READ = 1_000  # rows held in memory at a time
_MOST = 1_000  # visits to a URL that are looked at
_COUNTS = [column.name for column in SEED_COUNTS]


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


class RoundView(NamedTuple):
    """A round of a seed; its counts are those of this round alone."""

    seed: str
    number: int
    began_at: Millis | None
    ended_at: Millis | None  # None: it goes on
    end_reason: str | None
    elapsed_ms: int
    counts: SeedCounts


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

    def begun_since(self, since: Millis, seed_id: int | None = None) -> tuple[int, int]:
        """Return how many rounds began since a time, and how many of them have ended: of one seed or all."""
        total, ended = [], []
        for table, at in ((seed_round, seed_round.c.began_at), (seed, seed.c.round_at)):
            query = select(sql.count(), sql.count(table.c.ended_at)).where(at >= since)
            column = seed_round.c.seed_id if table is seed_round else seed.c.id
            query = query if seed_id is None else query.where(column == seed_id)
            row = self._database.plain_rows(query)[0]
            total.append(row[0])
            ended.append(row[1])
        return sum(total), sum(ended)

    def rounds(self, seed_id: int | None = None) -> Iterator[RoundView]:
        """Yield the rounds of a seed, or of all, seed by seed from the first on."""
        after = 0
        while seeds := self._database.plain_rows(_seeds(seed_id, after)):
            over = select(
                seed_round.c.seed_id, seed_round.c.round, seed_round.c.began_at, seed_round.c.ended_at,
                seed_round.c.end_reason, seed_round.c.elapsed_ms, *(seed_round.c[name] for name in _COUNTS),
            )  # fmt: skip
            by_seed: dict[int, list[tuple[Any, ...]]] = {}
            for part in sliced([row[0] for row in seeds]):
                rows = over.where(seed_round.c.seed_id.in_(part)).order_by(seed_round.c.seed_id, seed_round.c.round)
                for row in self._database.plain_rows(rows):
                    by_seed.setdefault(row[0], []).append(row)
            for identity, url, *last in seeds:
                yield from _rounds(url, [*by_seed.get(identity, []), (identity, *last)])
            after = seeds[-1][0]


def _changes() -> AnySelect:
    """Return the query for changes, with the columns of a ChangeView."""
    columns = (url_change.c.id, url_change.c.at, url_change.c.kind, url_change.c.url, seed.c.url)
    query = select(*columns, url_change.c.visit, url_change.c.detail, url_change.c.distance)
    return query.join(seed, seed.c.id == url_change.c.seed_id)


def _of(query: AnySelect, seed_id: int | None, kinds: Collection[str]) -> AnySelect:
    """Narrow a query down to the changes of a seed, and of some kinds."""
    query = query if seed_id is None else query.where(url_change.c.seed_id == seed_id)
    return query.where(url_change.c.kind.in_(kinds)) if kinds else query


def _seeds(seed_id: int | None, after: int) -> AnySelect:
    counts = (seed.c[name] for name in _COUNTS)
    columns = seed.c.round, seed.c.round_at, seed.c.ended_at, seed.c.end_reason, seed.c.elapsed_ms
    query = select(seed.c.id, seed.c.url, *columns, *counts).where(seed.c.id > after)
    query = query if seed_id is None else query.where(seed.c.id == seed_id)
    return query.order_by(seed.c.id).limit(_READ)


def _rounds(url: str, rows: list[tuple[Any, ...]]) -> Iterator[RoundView]:
    """Make rounds of what was counted at the end of each, and by now."""
    before = (0,) * (1 + len(_COUNTS))
    for _, number, began_at, ended_at, reason, *sums in rows:
        elapsed, *counts = (now - then for now, then in zip(sums, before, strict=True))
        yield RoundView(url, number, began_at or None, ended_at, reason or None, elapsed, SeedCounts(*counts))
        before = tuple(sums)
