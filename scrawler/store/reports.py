"""Reports: sums over pages, seeds, links and what was refused, of one seed or of the whole crawl.

The databases add up; of what they return, which a hostile web can make long, only the top is read. A report of the
whole crawl goes through the table page three times, through seed three times and through candidate once or twice.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, String, and_, case, literal, select, union_all
from sqlalchemy import func as sql
from sqlalchemy import literal_column as number

from scrawler.model import Result
from scrawler.store.engine import Database
from scrawler.store.rows import AnyRow
from scrawler.store.tables import (
    SEED_COUNTS,
    candidate,
    pattern,
    rejection,
    relation,
    robots,
    run,
    seed,
    site,
    sitemap_url,
)
from scrawler.store.tables import page as page_table

DEEPEST = 100  # depths from here on are one
SIZES = (1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000)  # upper bounds of bytes, exclusive
TIMES = (10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000)  # upper bounds of milliseconds, exclusive
PARTIES = (1, 2, 10, 100, 1_000, 10_000, 100_000)  # upper bounds of pages of a site, exclusive
_TYPES_READ = 2_000
_VERDICTS_READ = 5_000  # seeds held in memory at a time
_SAMPLES_READ = 5_000
_TOP = 10

_page = page_table.c


class PageSum(NamedTuple):
    """Pages that have these in common, and their sums."""

    result: str
    status: int
    depth: int
    flags: int
    pages: int
    bytes: int
    revisits: int
    retried: int
    first_at: int
    last_at: int


class KindSum(NamedTuple):
    """Fetched pages of a kind of content, in classes of size and response time (indexes of SIZES, TIMES)."""

    kind: str
    size: int
    time: int
    pages: int
    bytes: int


class TypeSum(NamedTuple):
    """Fetched pages of a media type."""

    content_type: str
    pages: int
    bytes: int
    longest: int


class Sample(NamedTuple):
    """A refused link."""

    reason: str
    url: str
    evidence: str


class Capped(NamedTuple):
    """A pattern of URLs that brought nothing new."""

    pattern: str
    fetched: int
    exact: int
    near: int
    refused: int
    evidence: str


class Reports:
    """Sums of one crawl; `seed_id` None is the whole crawl."""

    def __init__(self, database: Database) -> None:
        """Read from `database`."""
        self._database = database

    def pages(self, seed_id: int | None) -> list[PageSum]:
        """Return pages by result, status, depth and flags."""
        depth = case((_page.depth < DEEPEST, _page.depth), else_=DEEPEST)
        keys = (_page.result, _page.status, depth, _page.flags)
        query = select(
            *keys,
            sql.count(),
            sql.sum(_page.length),
            sql.sum(_page.revisit),
            sql.count(case((_page.attempts > 1, 1))),
            sql.min(_page.fetched_at),
            sql.max(_page.fetched_at),
        ).group_by(*keys)
        rows = self._database.rows(_of_seed(query, _page.seed_id, seed_id))
        return [PageSum(*row[:4], *map(int, row[4:])) for row in rows]

    def kinds(self, seed_id: int | None) -> list[KindSum]:
        """Return fetched pages by kind of content, size and response time."""
        keys = (_kind(), _class(_page.length, SIZES), _class(_page.elapsed_ms, TIMES))
        query = select(*keys, sql.count(), sql.sum(_page.length)).where(_page.result == Result.FETCHED.value)
        rows = self._database.rows(_of_seed(query, _page.seed_id, seed_id).group_by(*keys))
        return [KindSum._make((*row[:4], int(row[4]))) for row in rows]

    def types(self, seed_id: int | None) -> list[TypeSum]:
        """Return fetched pages by media type, the most frequent first."""
        query = (
            select(_page.content_type, sql.count().label("pages"), sql.sum(_page.length), sql.max(_page.length))
            .where(_page.result == Result.FETCHED.value)
            .group_by(_page.content_type)
            .order_by(number("pages").desc(), _page.content_type)
            .limit(_TYPES_READ)
        )
        rows = self._database.rows(_of_seed(query, _page.seed_id, seed_id))
        return [TypeSum(row[0], row[1], int(row[2]), row[3]) for row in rows]

    def counts(self, seed_id: int | None) -> dict[str, int]:
        """Return the sums of the seeds' counts, and `elapsed_ms`."""
        columns = [*(seed.c[column.name] for column in SEED_COUNTS), seed.c.elapsed_ms]
        query = _of_seed(select(*(sql.coalesce(sql.sum(column), 0) for column in columns)), seed.c.id, seed_id)
        return {column.name: int(value) for column, value in zip(columns, self._database.rows(query)[0], strict=True)}

    def ends(self) -> dict[str, int]:
        """Return seeds by end reason, by state where they have none."""
        reason = sql.coalesce(seed.c.end_reason, seed.c.state)
        query = select(reason, sql.count()).group_by(reason).order_by(number("2").desc())
        return {row[0]: row[1] for row in self._database.rows(query)}

    def verdicts(self, seed_id: int | None) -> Counter[str]:
        """Return the links of all pages by verdict."""
        total: Counter[str] = Counter()
        query = _of_seed(select(seed.c.id, seed.c.verdicts), seed.c.id, seed_id)
        query = query.where(seed.c.verdicts.is_not(None)).order_by(seed.c.id).limit(_VERDICTS_READ)
        after = 0
        while rows := self._database.rows(query.where(seed.c.id > after)):
            for row in rows:
                total.update(json.loads(row.verdicts))
            after = rows[-1].id
        return total

    def site_sizes(self) -> dict[int, int]:
        """Return sites by class of pages (index of PARTIES)."""
        sizes = select(sql.sum(seed.c.pages).label("pages")).group_by(seed.c.site_id).subquery()
        key = _class(sizes.c.pages, PARTIES)
        return {row[0]: row[1] for row in self._database.rows(select(key, sql.count()).group_by(key))}

    def largest_sites(self) -> list[tuple[str, int, int]]:
        """Return site key, pages and bytes of the largest sites."""
        pages = sql.sum(seed.c.pages).label("pages")
        top = (
            select(seed.c.site_id, pages, sql.sum(seed.c.bytes).label("bytes"))
            .group_by(seed.c.site_id)
            .order_by(pages.desc(), seed.c.site_id)
            .limit(_TOP)
            .subquery()
        )
        query = select(site.c.site_key, top.c.pages, top.c.bytes).join(top, top.c.site_id == site.c.id)
        rows = self._database.rows(query.order_by(top.c.pages.desc(), site.c.id))
        return [(row[0], int(row[1]), int(row[2])) for row in rows]

    def candidates(self, seed_id: int | None) -> tuple[int, int]:
        """Return how many distinct URLs are candidates, and how many of these became seeds."""
        if seed_id is None:
            query = select(candidate.c.promoted, sql.count(candidate.c.url_hash.distinct()))
        else:
            query = select(candidate.c.promoted, sql.count()).where(candidate.c.seed_id == seed_id)
        found = {row[0]: row[1] for row in self._database.rows(query.group_by(candidate.c.promoted))}
        return sum(found.values()), found.get(1, 0)

    def top_candidates(self, seed_id: int) -> list[tuple[str, int]]:
        """Return the candidates that a seed found most often, and how often."""
        query = select(candidate.c.url, candidate.c.count).where(candidate.c.seed_id == seed_id)
        rows = self._database.rows(query.order_by(candidate.c.count.desc(), candidate.c.url_hash).limit(_TOP))
        return [(row[0], row[1]) for row in rows]

    def links_to_seeds(self) -> tuple[int, int]:
        """Return how many links to seeds' own URLs were found, and from how many seeds' parties."""
        # Outer joins, each with one value of `promoted`, make both databases look each seed up in the index.
        halves = (
            select(candidate.c.count.label("times"), candidate.c.seed_id)
            .select_from(seed)
            .outerjoin(candidate, and_(candidate.c.promoted == promoted, candidate.c.url_hash == seed.c.url_hash))
            for promoted in (0, 1)
        )
        found = union_all(*halves).subquery()
        row = self._database.rows(select(sql.sum(found.c.times), sql.count(found.c.seed_id.distinct())))[0]
        return int(row[0] or 0), row[1]

    def links_to_site(self, site_key: str) -> Iterator[tuple[str, int, int]]:
        """Yield URL, times found, and finding seed of candidates whose URL has `site_key` in it; reads them all."""
        key = candidate.c.seed_id, candidate.c.url_hash
        query = select(candidate.c.url, candidate.c.count, *key).where(
            candidate.c.url.contains(site_key, autoescape=True)
        )
        query = query.order_by(*key).limit(_SAMPLES_READ)
        after: AnyRow | None = None
        while True:
            above: ColumnElement[bool] = literal(True)
            if after is not None:
                same = and_(candidate.c.seed_id == after.seed_id, candidate.c.url_hash > after.url_hash)
                above = (candidate.c.seed_id > after.seed_id) | same
            rows = self._database.rows(query.where(above))
            yield from ((row.url, row[1], row.seed_id) for row in rows)
            if len(rows) < _SAMPLES_READ:
                return
            after = rows[-1]

    def samples(self, seed_id: int | None) -> list[Sample]:
        """Return refused links that were kept, of the first seeds that have some."""
        columns = [rejection.c[name] for name in Sample._fields]
        query = _of_seed(select(*columns), rejection.c.seed_id, seed_id).order_by(*rejection.primary_key)
        return [Sample(*row) for row in self._database.rows(query.limit(_SAMPLES_READ))]

    def capped(self, seed_id: int | None) -> list[Capped]:
        """Return the patterns that were capped, those that refused most first."""
        columns = [pattern.c[name] for name in Capped._fields]
        query = _of_seed(select(*columns), pattern.c.seed_id, seed_id).where(pattern.c.evidence != "")
        rows = self._database.rows(query.order_by(pattern.c.refused.desc(), *pattern.primary_key).limit(_TOP))
        return [Capped(*row) for row in rows]

    def relations(self, seed_id: int | None) -> dict[str, int]:
        """Return how many pages name another URL that stands for them, by kind."""
        query = _of_seed(select(relation.c.kind, sql.count()), relation.c.seed_id, seed_id)
        return {row[0]: row[1] for row in self._database.rows(query.group_by(relation.c.kind))}

    def sitemap_urls(self, seed_id: int | None) -> int:
        """Return how many URLs stand in sitemaps."""
        query = _of_seed(select(sql.count(sitemap_url.c.seed_id)), sitemap_url.c.seed_id, seed_id)
        return int(self._database.rows(query)[0][0])

    def robots(self, site_id: int | None) -> dict[int, int]:
        """Return origins by the HTTP status of their robots.txt, 0 for none."""
        query = select(robots.c.status, sql.count()).group_by(robots.c.status).order_by(robots.c.status)
        return {row[0]: row[1] for row in self._database.rows(_of_seed(query, robots.c.site_id, site_id))}

    def runs(self) -> list[tuple[Any, ...]]:
        """Return the last runs of machines: start, end, outcome, pages, bytes, errors."""
        columns = run.c.started_at, run.c.ended_at, run.c.outcome, run.c.pages, run.c.bytes, run.c.errors
        rows = self._database.rows(select(*columns).order_by(run.c.id.desc()).limit(_TOP))
        return [tuple(row) for row in reversed(rows)]


def _of_seed(query: Any, column: ColumnElement[int], seed_id: int | None) -> Any:
    return query if seed_id is None else query.where(column == seed_id)


def _class(value: ColumnElement[int], bounds: tuple[int, ...]) -> ColumnElement[int]:
    """Return the index of the first bound above a value."""
    return case(*((value < bound, number(str(n))) for n, bound in enumerate(bounds)), else_=number(str(len(bounds))))


def _kind() -> ColumnElement[str]:
    """Return the kind of a page's content: html, image, audio, video, code, pdf, text, unknown or other."""
    start: ColumnElement[str] = sql.substr(_page.content_type, 1, 6, type_=String())
    return case(
        (_page.content_type.in_(("text/html", "application/xhtml+xml")), number("'html'")),
        (start == "image/", number("'image'")),
        (start == "audio/", number("'audio'")),
        (start == "video/", number("'video'")),
        (_page.content_type.in_(("text/css", "text/javascript", "application/javascript")), number("'code'")),
        (_page.content_type == "application/pdf", number("'pdf'")),
        (sql.substr(_page.content_type, 1, 5) == "text/", number("'text'")),
        (_page.content_type == "", number("'unknown'")),
        else_=number("'other'"),
    )
