"""Candidates: external URLs, kept by the seed that found them, merged by URL when they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from sqlalchemy import BigInteger, ColumnElement, Connection, and_, cast, literal, select, update
from sqlalchemy import func as sql

from scrawler.model.terms import url_hash as hash_of
from scrawler.store.engines.engine import Database, plain_rows
from scrawler.store.engines.hash_ranges import HashRanges, read_by_hash
from scrawler.store.engines.rows import AnySelect, greatest_bytes, sliced
from scrawler.store.schema.tables import candidate, seed

_MERGED = 2_000  # URLs held in memory at a time
PROMOTED = 0, 1, 2, 3  # all that the column may say: the index has it before the hash


class CandidateView(NamedTuple):
    """An external URL over all seeds that found it."""

    url_hash: bytes
    url: str
    times: int  # how often it was found
    seeds: int  # how many seeds have found it
    first_seed_id: int  # the first of these seeds, in order of import
    hops: int  # one more than the fewest hops of a seed that found it
    referrer: bytes = b""  # hash of a page where a seed found it first; empty: the version before did not say it


class Candidates:
    """The candidate seeds of a crawl; one that is a seed of the crawl is none any more."""

    def __init__(self, database: Database) -> None:
        """Work on `database`."""
        self._database = database

    def merged(self, *, like: str | None = None, min_count: int = 1) -> Iterator[CandidateView]:
        """Yield the candidates in the order of their hashes, some in memory at a time.

        `like` is an SQL pattern of the URL (% and _), `min_count` how often it must have been found.
        """
        alike = self._database.reading(_alike)
        shorter = alike and _merging(literal(alike.hops, BigInteger), like, min_count)
        looked_up = _with_seeds(_merging(seed.c.hops, like, min_count))

        def query(connection: Connection) -> AnySelect:
            if shorter is None or alike is None or connection.scalar(_NEWEST) != alike.newest:
                return looked_up
            return shorter

        return self._views(query)

    def urls(self) -> Iterator[str]:
        """Yield the URLs of the candidates and nothing else of them, as `merged` does, for a third of its price."""
        grouped = _grouped(sql.min(candidate.c.url))
        for rows in self._ranges(lambda _: grouped):
            yield from map(itemgetter(1), rows)

    def unpromoted(self, max_hops: int, *, like: str | None = None, min_count: int = 1) -> Iterator[CandidateView]:
        """Yield the candidates within `max_hops` of a user's seed, as `merged` does; meanwhile they may be promoted."""
        query = _with_seeds(_merging(seed.c.hops, like, min_count)).where(seed.c.hops < max_hops)
        return self._views(lambda _: query)

    def of_urls(self, urls: Iterable[str]) -> Iterator[list[CandidateView]]:
        """Yield the candidates among these URLs, some at a time, in the order of their hashes."""
        query = _with_seeds(_merging(seed.c.hops, None, 1))
        for part in sliced(sorted(map(hash_of, urls))):
            rows = self._database.plain_rows(query.where(candidate.c.url_hash.in_(part)))
            yield [CandidateView._make(row) for row in rows]

    def mark_promoted(self, hashes: Iterable[bytes]) -> None:
        """Note that these candidates are seeds now: they are no longer looked at."""
        ordered = sorted(set(hashes))

        def work(connection: Connection) -> None:
            for part in sliced(ordered):
                rows = update(candidate).where(candidate.c.promoted == 0, candidate.c.url_hash.in_(part))
                connection.execute(rows.values(promoted=1))

        self._database.retrying(work)

    def _views(self, query: Callable[[Connection], AnySelect]) -> Iterator[CandidateView]:
        for rows in self._ranges(query):
            yield from map(CandidateView._make, rows)

    def _ranges(self, query: Callable[[Connection], AnySelect]) -> Iterator[Sequence[tuple[Any, ...]]]:
        """Yield what a query finds, range by range of the hashes: all of it at once might not fit into memory."""

        def read(connection: Connection, ranges: HashRanges) -> Sequence[tuple[Any, ...]]:
            within = query(connection).where(*ranges.hold(candidate.c.url_hash))
            return plain_rows(connection, within.order_by(candidate.c.url_hash))

        return read_by_hash(self._database, _MERGED, candidate.c.url_hash, read, candidate.c.promoted == 0)


class _Alike(NamedTuple):
    """The hops that all seeds have in common, as they do where none was promoted; `newest` is the last seed."""

    hops: int
    newest: int


_NEWEST = select(sql.max(seed.c.id))


def _alike(connection: Connection) -> _Alike | None:
    """Return the hops that all seeds share, if they do: to look up those of each finder would double the time."""
    columns = sql.min(seed.c.hops), sql.max(seed.c.hops), sql.max(seed.c.id)
    fewest, most, newest = connection.execute(select(*columns)).one()
    return None if newest is None or fewest != most else _Alike(most, newest)


def _merging(hops: ColumnElement[int], like: str | None, min_count: int) -> AnySelect:
    """Select candidates as `_grouped` does, with all that is told; `hops` are those of the seeds that found one."""
    times = cast(sql.sum(candidate.c.count), BigInteger)
    query = _grouped(
        sql.min(candidate.c.url),
        times,
        sql.count(),
        sql.min(candidate.c.seed_id),
        sql.min(hops) + 1,
        greatest_bytes(candidate.c.referrer),
    )
    if like is not None:
        query = query.where(candidate.c.url.like(like))
    return query.having(times >= min_count) if min_count > 1 else query


def _grouped(*columns: ColumnElement[Any]) -> AnySelect:
    """Select the hashes of candidates, and `columns`, merged by URL, without those that are seeds.

    They come in the order of their hashes, so the index on those of seeds is looked into from one end to the other.
    """
    itself = seed.alias("itself")
    return (
        select(candidate.c.url_hash, *columns)
        .select_from(candidate.outerjoin(itself, itself.c.url_hash == candidate.c.url_hash))
        .where(candidate.c.promoted == 0, itself.c.id.is_(None))
        .group_by(candidate.c.url_hash)
        .prefix_with("STRAIGHT_JOIN", dialect="mysql")  # MariaDB would begin with all seeds
        .with_hint(candidate, "FORCE INDEX (candidate_url_hash)", "mysql")
    )


def _with_seeds(query: AnySelect) -> AnySelect:
    """Add the seeds that found the candidates."""
    return query.join(seed, seed.c.id == candidate.c.seed_id)


def those_of_seeds(ranges: HashRanges | None = None) -> AnySelect:
    """Select the rows of candidates that are seeds, of a range or all: only those are read, all else is in indexes."""
    key = candidate.alias("key")
    it = and_(candidate.c.seed_id == key.c.seed_id, candidate.c.url_hash == key.c.url_hash)
    columns = key.c.url_hash, candidate.c.count.label("times"), candidate.c.seed_id
    query = select(*columns).select_from(key).join(seed, seed.c.url_hash == key.c.url_hash).join(candidate, it)
    return query if ranges is None else query.where(key.c.promoted.in_(PROMOTED), *ranges.hold(key.c.url_hash))


def fewer_than_looked_up(connection: Connection) -> bool:
    """Tell whether there are fewer candidates than look-ups of seeds in each part of their index, in SQLite."""
    parts = select(sql.max(candidate.c.part) + 1).scalar_subquery()
    candidates = select(sql.count()).select_from(candidate).scalar_subquery()
    seeds = select(sql.count()).select_from(seed).scalar_subquery()
    return bool(connection.execute(select(candidates < parts * seeds)).scalar_one())
