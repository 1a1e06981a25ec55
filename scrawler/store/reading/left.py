"""What is left of a crawl that goes on: of many sites a sample, so that it is read in a moment."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, literal, literal_column, or_, select
from sqlalchemy import func as sql

from scrawler.model.machines import LEASE
from scrawler.model.results import COUNTED_AS
from scrawler.model.seeds import SeedState
from scrawler.model.sizes import CrawlLeft, SiteLeft
from scrawler.store.claims.overview import LIVING, is_over
from scrawler.store.engines.engine import Database
from scrawler.store.reading.sizes import SeedSize, sized
from scrawler.store.schema.tables import machine, page, robots, seed, site

_SITES = 1_000  # sites that are read
_LARGEST = 50  # seeds in work, those with the most left, whose sites are always among them
_NEWEST = 20_000  # pages by which response times are told
_LATELY = 60.0  # seconds
_FINAL = sorted({"failures", *COUNTED_AS.values()})  # counts of seeds that add up to their final results


class _Seed(NamedTuple):
    id: int
    size: SeedSize
    results: int  # URLs that have a final one

    @property
    def behind(self) -> int:
        """How many of its requests are behind it: what is listed and has no final result is yet to be asked for."""
        size = self.size
        if size.state == SeedState.DONE:
            return size.requests
        return max(size.requests, size.listed) - max(0, size.listed - self.results)


def crawl_left(database: Database, sites: int = _SITES) -> CrawlLeft:
    """Read what is left, of about so many `sites`. Raises StoreError."""
    return database.reading(lambda connection: _read(connection, database.clock, sites))


def _read(connection: Connection, clock: str, sites: int) -> CrawlLeft:
    now: ColumnElement[int] = literal_column(clock)
    number = connection.scalar(select(sql.count()).select_from(site)) or 0
    step = max(1, -(-number // sites))
    largest = _largest(connection) if step > 1 else set()
    query = select(site.c.id, site.c.site_key, (site.c.next_due_at - now).label("rests"))
    rows = connection.execute(query.where(_chosen(site.c.id, step, largest)).order_by(site.c.id)).all()
    seeds = _seeds(connection, step, largest)
    times = _times(connection, seeds)
    texts = _robots(connection, step, largest)
    left = tuple(
        SiteLeft(
            sized(row.site_key, [one.size for one in seeds[row.id]], times.get(row.id), texts.get(row.id, [])),
            sum(one.behind for one in seeds[row.id]),
            sum(one.size.state != SeedState.DONE for one in seeds[row.id]),
            max(0, row.rests) / 1000,
        )
        for row in rows
        if row.id in seeds
    )
    return CrawlLeft(left, step, _living(connection, now), *_ended(connection, now, step))


def _chosen(identity: ColumnElement[int], step: int, largest: Collection[int]) -> ColumnElement[bool]:
    return or_(identity % step == 0, identity.in_(largest)) if step > 1 else identity > 0


def _largest(connection: Connection) -> set[int]:
    query = select(seed.c.site_id).where(seed.c.state == SeedState.ACTIVE.value)
    return set(connection.scalars(query.order_by((seed.c.listed - seed.c.requests).desc()).limit(_LARGEST)))


def _seeds(connection: Connection, step: int, largest: Collection[int]) -> Mapping[int, list[_Seed]]:
    found: dict[int, list[_Seed]] = defaultdict(list)
    columns = [seed.c[name] for name in SeedSize._fields]
    final = sum((seed.c[name] for name in _FINAL), literal(0))
    query = select(seed.c.id, *columns, final).where(_chosen(seed.c.site_id, step, largest))
    for identity, *size, results in connection.execute(query.order_by(seed.c.id)):
        found[size[0]].append(_Seed(identity, SeedSize._make(size), results))
    return found


def _times(connection: Connection, seeds: Mapping[int, list[_Seed]]) -> dict[int, tuple[float, float]]:
    """Return the means of response times and of their squares, by site, of the newest pages.

    They are summed up by seed: to look up the site of each page would take MariaDB three times as long.
    """
    newest = connection.scalar(select(sql.max(page.c.id))) or 0
    elapsed = page.c.elapsed_ms
    query = (
        select(page.c.seed_id, sql.count(), sql.sum(elapsed), sql.sum(elapsed * elapsed))
        .where(page.c.id > newest - _NEWEST, page.c.status > 0)
        .group_by(page.c.seed_id)
    )
    by_seed = {row[0]: tuple(map(float, row[1:])) for row in connection.execute(query)}
    times: dict[int, tuple[float, float]] = {}
    for site_id, some in seeds.items():
        answered = [by_seed[one.id] for one in some if one.id in by_seed]
        if answered:
            number, total, squares = map(sum, zip(*answered, strict=True))
            times[site_id] = total / number, squares / number
    return times


def _robots(connection: Connection, step: int, largest: Collection[int]) -> Mapping[int, list[bytes]]:
    texts: dict[int, list[bytes]] = defaultdict(list)
    query = select(robots.c.site_id, robots.c.body).where(
        _chosen(robots.c.site_id, step, largest), robots.c.status == 200
    )
    for row in connection.execute(query):
        texts[row.site_id].append(row.body)
    return texts


def _ended(connection: Connection, now: ColumnElement[int], step: int) -> tuple[int, float]:
    """Return about how many seeds have ended of late, and the seconds since the first of these has."""
    query = select(sql.count(), sql.min(seed.c.ended_at), now.label("now"))
    lately = seed.c.ended_at >= now - int(1000 * _LATELY)
    row = connection.execute(query.where(lately, _chosen(seed.c.site_id, step, ()))).one()
    return (step * row[0], (row.now - row[1]) / 1000) if row[0] else (0, 0.0)


def _living(connection: Connection, now: ColumnElement[int]) -> int:
    query = select(machine.c.heartbeat_at, now.label("now")).where(machine.c.state.in_(LIVING))
    return sum(not is_over(row.heartbeat_at, row.now, LEASE) for row in connection.execute(query))
