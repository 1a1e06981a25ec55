"""Candidates: external URLs, kept by the seed that found them, merged by URL when they are read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sqlalchemy import Connection, select, update
from sqlalchemy import func as sql

from scrawler.store.engine import Database
from scrawler.store.rows import AnySelect, sliced
from scrawler.store.tables import candidate, seed

_MERGED = 2_000  # URLs held in memory at a time


@dataclass(frozen=True, slots=True)
class CandidateView:
    """An external URL over all seeds that found it."""

    url_hash: bytes
    url: str
    count: int  # times found
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
        after = b""
        while found := self._page(_query(like, min_count), after, _MERGED):
            yield from found
            after = found[-1].url_hash

    def unpromoted(
        self, max_hops: int, after: bytes, limit: int, *, like: str | None = None, min_count: int = 1
    ) -> list[CandidateView]:
        """Return up to `limit` candidates within `max_hops` of a user's seed, with hashes above `after` (b"": all)."""
        return self._page(_query(like, min_count).where(seed.c.hops < max_hops), after, limit)

    def mark_promoted(self, hashes: Iterable[bytes]) -> None:
        """Note that these candidates are seeds now: they are no longer looked at."""
        ordered = sorted(set(hashes))

        def work(connection: Connection) -> None:
            for part in sliced(ordered):
                rows = update(candidate).where(candidate.c.promoted == 0, candidate.c.url_hash.in_(part))
                connection.execute(rows.values(promoted=1))

        self._database.retrying(work)

    def _page(self, query: AnySelect, after: bytes, limit: int) -> list[CandidateView]:
        if after:
            query = query.where(candidate.c.url_hash > after)

        def work(connection: Connection) -> list[CandidateView]:
            rows = connection.execute(query.order_by(candidate.c.url_hash).limit(limit))
            return [CandidateView(row[0], row[1], int(row[2]), *row[3:]) for row in rows]

        return self._database.reading(work)


def _query(like: str | None, min_count: int) -> AnySelect:
    times = sql.sum(candidate.c.count)
    known = seed.alias("known")
    query = (
        select(
            candidate.c.url_hash,
            sql.min(candidate.c.url),
            times,
            sql.count(),
            sql.min(candidate.c.seed_id),
            sql.min(seed.c.hops) + 1,
        )
        .join(seed, seed.c.id == candidate.c.seed_id)
        .where(candidate.c.promoted == 0, ~select(known.c.id).where(known.c.url_hash == candidate.c.url_hash).exists())
        .group_by(candidate.c.url_hash)
    )
    if like is not None:
        query = query.where(candidate.c.url.like(like))
    return query.having(times >= min_count) if min_count > 1 else query
