"""What an earlier crawl knows of the sizes and response times of its sites."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from math import sqrt
from typing import NamedTuple

from sqlalchemy import Column, ColumnElement, Connection, select
from sqlalchemy import func as sql

from scrawler.model.seeds import SeedState
from scrawler.model.sizes import SizedSite
from scrawler.store.engines.engine import Database
from scrawler.store.schema.tables import page, robots, seed, seed_round, site

_SITES_READ = 2_000  # sites that are read at a time


class SeedSize(NamedTuple):
    """A seed, as far as sizes follow from it."""

    site_id: int
    state: str
    requests: int
    listed: int
    pages: int


class _Rounds(NamedTuple):
    """What the rounds of a seed took that are over."""

    requests: int  # of all of them
    pages: int  # of all of them
    most_requests: int  # of one of them
    most_pages: int  # of one of them

    def largest(self, size: SeedSize) -> SeedSize:
        """Return a seed's size as one round has it, the largest: a crawl from scratch takes about as much."""
        requests = max(self.most_requests, size.requests - self.requests)
        return size._replace(requests=requests, pages=max(self.most_pages, size.pages - self.pages))


class Sizes:
    """Reads sites with their sizes, in order of import; goes through the tables seed, page and robots once."""

    def __init__(self, database: Database) -> None:
        """Read from `database`."""
        self._database = database

    def sites(self) -> Iterator[SizedSite]:
        """Yield all sites that have seeds, some in memory at a time."""
        last = 0
        while True:
            names, found = self._database.reading(partial(_block, after=last))
            if not names:
                return
            yield from found
            last = names[-1]


def _block(connection: Connection, after: int) -> tuple[list[int], list[SizedSite]]:
    """Return the ids of the next sites, and what is known of those that have seeds."""
    query = select(site.c.id, site.c.site_key).where(site.c.id > after).order_by(site.c.id).limit(_SITES_READ)
    keys = {row.id: row.site_key for row in connection.execute(query)}
    if not keys:
        return [], []
    low, high = min(keys), max(keys)
    seeds = _seeds(connection, low, high)
    elapsed = page.c.elapsed_ms
    answers = page.join(seed, seed.c.id == page.c.seed_id)
    means = (
        select(seed.c.site_id, sql.avg(elapsed), sql.avg(elapsed * elapsed))
        .select_from(answers)
        .where(seed.c.site_id.between(low, high), page.c.status > 0)
        .group_by(seed.c.site_id)
    )
    response = {row[0]: (float(row[1]), float(row[2])) for row in connection.execute(means)}
    texts: dict[int, list[bytes]] = defaultdict(list)
    bodies = select(robots.c.site_id, robots.c.body).where(robots.c.site_id.between(low, high), robots.c.status == 200)
    for row in connection.execute(bodies.order_by(robots.c.origin_hash)):
        texts[row.site_id].append(row.body)
    return list(keys), [
        sized(keys[identity], seeds[identity], response.get(identity), texts[identity])
        for identity in keys
        if identity in seeds
    ]


def _seeds(connection: Connection, low: int, high: int) -> dict[int, list[SeedSize]]:
    found: dict[int, list[SeedSize]] = defaultdict(list)
    rounds = _rounds(connection, low, high)
    columns = [seed.c.id, *(seed.c[name] for name in SeedSize._fields)]
    query = select(*columns).where(seed.c.site_id.between(low, high))
    for row in connection.execute(query.order_by(seed.c.site_id, seed.c.id)):
        size = SeedSize._make(row[1:])
        found[row.site_id].append(rounds[row.id].largest(size) if row.id in rounds else size)
    return found


def _rounds(connection: Connection, low: int, high: int) -> dict[int, _Rounds]:
    """Return what the rounds of seeds took that were over; counts stand there as they were at a round's end."""

    def of_a_round(column: Column[int]) -> ColumnElement[int]:
        before = sql.lag(column).over(partition_by=seed_round.c.seed_id, order_by=seed_round.c.round)
        return column - sql.coalesce(before, 0)

    requests, pages = seed_round.c.requests, seed_round.c.pages
    rows = (
        select(
            seed_round.c.seed_id,
            requests,
            pages,
            of_a_round(requests).label("own_requests"),
            of_a_round(pages).label("own_pages"),
        )
        .join(seed, seed.c.id == seed_round.c.seed_id)
        .where(seed.c.site_id.between(low, high))
        .subquery()
    )
    sums = [sql.max(rows.c[name]) for name in ("requests", "pages", "own_requests", "own_pages")]
    found = connection.execute(select(rows.c.seed_id, *sums).group_by(rows.c.seed_id))
    return {row[0]: _Rounds(*row[1:]) for row in found}


def sized(key: str, seeds: list[SeedSize], means: tuple[float, float] | None, texts: list[bytes]) -> SizedSite:
    """Sum a site up; of a seed that is not done, what it has listed is to be asked for.

    `means` are those of its response times and of their squares.
    """
    done = SeedState.DONE.value
    begun = [one for one in seeds if one.state == done or one.requests]
    requests = tuple(one.requests if one.state == done else max(one.requests, one.listed) for one in begun)
    mean, square = means or (None, 0.0)
    deviation = 0.0 if mean is None else sqrt(max(0.0, square - mean * mean))
    pages = sum(one.pages for one in seeds)
    return SizedSite(key, requests, len(seeds) - len(begun), pages, mean, deviation, tuple(texts))
