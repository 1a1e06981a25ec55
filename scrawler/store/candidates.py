"""Candidates: external URLs, kept by the seed that found them, merged by URL when they are read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from sqlalchemy import Connection, select, true, update
from sqlalchemy import func as sql

from scrawler.store.engine import Database
from scrawler.store.rows import AnySelect, sliced
from scrawler.store.tables import candidate, seed

_MERGED = 2_000  # URLs held in memory at a time


class CandidateView(NamedTuple):
    """An external URL over all seeds that found it."""

    url_hash: bytes
    url: str
    times: int  # found so often
    seeds: int  # by so many seeds
    first_seed_id: int  # the first of them in order of import
    hops: int  # one more than the fewest hops of a seed that found it


class Candidates:
    """The candidate seeds of a crawl; one that is a seed of the crawl is none any more."""

    def __init__(self, database: Database) -> None:
        """Work on `database`."""
        self._database = database

    def merged(self, *, like: str | None = None, min_count: int = 1) -> Iterator[CandidateView]:
        """Yield the candidates in the order of their hashes, some in memory at a time.

        `like` is an SQL pattern of the URL (% and _), `min_count` how often it must have been found.
        """
        return self._views(_query(like, min_count), b"")

    def unpromoted(
        self, max_hops: int, after: bytes, limit: int, *, like: str | None = None, min_count: int = 1
    ) -> list[CandidateView]:
        """Return up to `limit` candidates within `max_hops` of a user's seed, with hashes above `after` (b"": all)."""
        return list(islice(self._views(_query(like, min_count).where(seed.c.hops < max_hops), after), limit))

    def mark_promoted(self, hashes: Iterable[bytes]) -> None:
        """Note that these candidates are seeds now: they are no longer looked at."""
        ordered = sorted(set(hashes))

        def work(connection: Connection) -> None:
            for part in sliced(ordered):
                rows = update(candidate).where(candidate.c.promoted == 0, candidate.c.url_hash.in_(part))
                connection.execute(rows.values(promoted=1))

        self._database.retrying(work)

    def _views(self, query: AnySelect, after: bytes) -> Iterator[CandidateView]:
        """Yield what `query` finds, range by range of the index: a LIMIT on groups would make MariaDB form them all."""
        hashes = select(candidate.c.url_hash).where(candidate.c.promoted == 0).distinct()
        hashes = hashes.order_by(candidate.c.url_hash).limit(_MERGED)

        def work(connection: Connection) -> tuple[bytes, list[CandidateView]]:
            above = candidate.c.url_hash > after if after else true()
            part = hashes.where(above).subquery()
            last = connection.scalar(select(sql.max(part.c.url_hash)))
            if last is None:
                return b"", []
            rows = connection.execute(query.where(above, candidate.c.url_hash <= last).order_by(candidate.c.url_hash))
            views = [CandidateView(row[0], row[1], int(row[2]), *row[3:]) for row in rows.all()]
            known = _seeds_among(connection, [view.url_hash for view in views])
            return last, [view for view in views if view.url_hash not in known]

        while True:
            after, views = self._database.reading(work)
            if not after:
                return
            yield from views


def _query(like: str | None, min_count: int) -> AnySelect:
    """Select candidates merged by URL, from the index on; left to itself MariaDB begins with all seeds."""
    times = sql.sum(candidate.c.count)
    query = (
        select(
            candidate.c.url_hash,
            sql.min(candidate.c.url),
            times,
            sql.count(),
            sql.min(candidate.c.seed_id),
            sql.min(seed.c.hops) + 1,
        )
        .select_from(candidate)
        .join(seed, seed.c.id == candidate.c.seed_id)
        .where(candidate.c.promoted == 0)
        .group_by(candidate.c.url_hash)
        .prefix_with("STRAIGHT_JOIN", dialect="mysql")
        .with_hint(candidate, "FORCE INDEX (candidate_url_hash)", "mysql")
    )
    if like is not None:
        query = query.where(candidate.c.url.like(like))
    return query.having(times >= min_count) if min_count > 1 else query


def _seeds_among(connection: Connection, hashes: list[bytes]) -> set[bytes]:
    known: set[bytes] = set()
    for part in sliced(hashes):
        known.update(connection.scalars(select(seed.c.url_hash).where(seed.c.url_hash.in_(part))))
    return known
