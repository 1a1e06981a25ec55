"""Reports: sums over seeds, links and what was refused, of one seed or of the whole crawl; of pages see page_sums.py.

The databases add up; of what they return, which a hostile web can make long, only the top is read. A report of the
whole crawl goes through the table seed three times, and through the indexes of candidate once or twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, and_, literal, select, union_all
from sqlalchemy import func as sql
from sqlalchemy import literal_column as number

from scrawler.model.results import Result
from scrawler.store.claims.seeds import Seeds
from scrawler.store.engines.engine import Database
from scrawler.store.engines.faults import read_json
from scrawler.store.engines.rows import AnyRow, AnySelect
from scrawler.store.engines.sqlite_sums import asked, names_in, site_sums_of, verdict_sums_of
from scrawler.store.reading.candidates import fewer_than_looked_up, those_of_seeds
from scrawler.store.schema.tables import (
    SEED_COUNTS,
    candidate,
    page,
    pattern,
    rejection,
    relation,
    robots,
    run,
    seed,
    site,
    sitemap_url,
)
from scrawler.store.sums.page_classes import class_of

PARTIES = (1, 2, 10, 100, 1_000, 10_000, 100_000)  # upper bounds of the pages of a site, exclusive
_VERDICTS_READ = 50_000  # seeds held in memory at a time; the more, the more of them have the same verdicts
_SAMPLES_READ = 5_000
_TOP = 10
_PAGES_OF_PARKED = 2  # a seed with more pages than that is no parked domain
COUNTS = (*(column.name for column in SEED_COUNTS), "elapsed_ms")


class SiteSums(NamedTuple):
    """Sites by class of pages (index of PARTIES), the largest ones, and the slowest ones of which pages came."""

    sizes: dict[int, int]
    largest: list[tuple[str, int, int]]  # site key, pages, bytes
    slowest: list[SlowSite]


class SlowSite(NamedTuple):
    """A site whose requests took long, politeness aside; times in milliseconds."""

    site_key: str
    a_request: int  # time in work in which politeness did not hold it up, for each request
    requests: int
    pages: int
    in_work: int
    wait: int
    slowest_answer: int


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

    def counts(self, seed_id: int | None, names: Sequence[str] = COUNTS) -> dict[str, int]:
        """Return sums of the seeds' counts; each of them takes its time."""
        columns = [seed.c[name] for name in names]
        query = _of_seed(select(*(sql.coalesce(sql.sum(column), 0) for column in columns)), seed.c.id, seed_id)
        return {column.name: int(value) for column, value in zip(columns, self._database.rows(query)[0], strict=True)}

    def ends(self) -> dict[str, int]:
        """Return seeds by end reason, by state where they have none; the most frequent first."""
        query = select(seed.c.state, seed.c.end_reason, sql.count()).group_by(seed.c.state, seed.c.end_reason)
        found: Counter[str] = Counter()
        for state, reason, seeds in self._database.rows(query):
            found[state if reason is None else reason] += seeds
        return dict(sorted(found.items(), key=lambda end: (-end[1], end[0])))

    def deaths(self) -> dict[str, int]:
        """Return how many seeds have died of what, the most frequent first."""
        return Seeds(self._database).deaths()

    def parked(self, hosts: int, most: int) -> list[tuple[int, str, str]]:
        """Return groups of at least so many hosts whose seeds show one and the same page: hosts, address, an example.

        The largest groups come first, up to `most`. A seed that went on from that page to many others is none of them.
        """
        shown = sql.count(seed.c.site_id.distinct())
        query = (
            select(shown, sql.max(site.c.address), sql.min(page.c.url))
            .join(seed, seed.c.id == page.c.seed_id)
            .join(site, site.c.id == seed.c.site_id)
            .where(page.c.depth == 0, page.c.visit == 0, page.c.result == Result.FETCHED.value, page.c.digest != b"")
            .where(seed.c.pages <= _PAGES_OF_PARKED)
            .group_by(page.c.digest)
            .having(shown >= hosts)
            .order_by(shown.desc(), sql.min(page.c.url))
            .limit(most)
        )
        return [(int(count), address, url) for count, address, url in self._database.rows(query)]

    def verdicts(self, seed_id: int | None) -> Counter[str]:
        """Return the links of all pages by verdict."""
        total: Counter[str] = Counter()
        summed = select(verdict_sums_of(seed.c.verdicts)).where(seed.c.verdicts.is_not(None))
        if said := self._asked(_of_seed(summed, seed.c.id, seed_id)):
            return Counter(dict(zip(names_in(said[0]), said[1], strict=True)))
        query = _of_seed(select(seed.c.id, seed.c.verdicts), seed.c.id, seed_id)
        query = query.where(seed.c.verdicts.is_not(None)).order_by(seed.c.id).limit(_VERDICTS_READ)
        after = 0
        while rows := self._database.plain_rows(query.where(seed.c.id > after)):
            texts = Counter(map(itemgetter(1), rows))  # small sites have the same: each is read once
            for verdicts, seeds in zip(read_json(f"[{','.join(texts)}]"), texts.values(), strict=True):
                for verdict, links in verdicts.items():
                    total[verdict] += links * seeds
            after = rows[-1][0]
        return total

    def _asked(self, query: AnySelect) -> Any:
        return self._database.reading(lambda connection: asked(connection, query))

    def sites(self) -> SiteSums:
        """Return how large the sites are, and how slow; the seeds are grouped once for all answers."""
        busy = seed.c.elapsed_ms - seed.c.wait_ms
        said = self._asked(select(site_sums_of(seed.c.site_id, seed.c.pages, seed.c.requests, busy)))
        if not said:
            return self._sites_by_sql()
        sizes, largest, slowest = said
        ids = [row[0] for row in largest]
        bytes_of = select(site.c.id, site.c.site_key, sql.sum(seed.c.bytes)).join(seed, seed.c.site_id == site.c.id)
        rows = self._database.rows(bytes_of.where(site.c.id.in_(ids)).group_by(site.c.id))
        known = {number: (key, int(size)) for number, key, size in rows}
        return SiteSums(
            {number: sites for number, sites in enumerate(sizes) if sites},
            [(known[number][0], pages, known[number][1]) for number, pages in largest if number in known],
            self._slow_sites([row[0] for row in slowest]),
        )

    def _sites_by_sql(self) -> SiteSums:
        sums = (
            sql.sum(seed.c.pages).label("pages"),
            sql.sum(seed.c.requests).label("requests"),
            sql.sum(seed.c.elapsed_ms - seed.c.wait_ms).label("busy"),
        )
        of_site = (
            # For the bare column SQLite would go through its index, and look up each row.
            select((seed.c.site_id + 0).label("id"), *sums).group_by(number("1"))
        ).cte("of_site")
        top = select(of_site).order_by(of_site.c.pages.desc(), of_site.c.id).limit(_TOP).subquery()
        size_of = select(sql.sum(seed.c.bytes)).where(seed.c.site_id == top.c.id).scalar_subquery()  # by the index
        largest = select(number("'site'").label("of"), top.c.id, top.c.pages, size_of)
        took = of_site.c.busy / of_site.c.requests
        answering = select(of_site.c.id).where(of_site.c.pages > 0, of_site.c.requests > 0, of_site.c.busy > 0)
        slow = answering.order_by(took.desc(), of_site.c.id).limit(_TOP).subquery()
        slowest = select(number("'slow'"), slow.c.id, number("0"), number("0"))
        size: ColumnElement[int] = class_of(of_site.c.pages, PARTIES)
        sizes: AnySelect = select(number("'size'"), size, sql.count(), number("0")).group_by(size)
        rows = self._database.rows(select(union_all(largest, slowest, sizes).subquery()))
        found = [tuple(map(int, row[1:])) for row in rows if row[0] == "site"]
        slow_ids = [int(row[1]) for row in rows if row[0] == "slow"]
        names = select(site.c.id, site.c.site_key).where(site.c.id.in_([row[0] for row in found]))
        keys = {row.id: row.site_key for row in self._database.rows(names)}
        found.sort(key=lambda one: (-one[1], one[0]))
        return SiteSums(
            {int(row[1]): int(row[2]) for row in rows if row[0] == "size"},
            [(keys[number], pages, size) for number, pages, size in found if number in keys],
            self._slow_sites(slow_ids),
        )

    def _slow_sites(self, ids: Sequence[int]) -> list[SlowSite]:
        counts = [sql.sum(seed.c[name]) for name in ("requests", "pages", "elapsed_ms", "wait_ms")]
        same = seed.c.site_id == site.c.id
        query = select(site.c.site_key, site.c.slowest_ms, *counts).join(seed, same).where(site.c.id.in_(ids))
        found = []
        for key, slowest, *sums in self._database.rows(query.group_by(site.c.id)):
            requests, pages, in_work, wait = map(int, sums)
            found.append(SlowSite(key, (in_work - wait) // requests, requests, pages, in_work, wait, slowest))
        return sorted(found, key=lambda one: (-one.a_request, one.site_key))

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
        columns = (candidate.c.count.label("times"), candidate.c.seed_id)
        same = candidate.c.url_hash == seed.c.url_hash
        if self._database.dialect == "sqlite":
            each_seed = select(*columns).select_from(seed).outerjoin(candidate, same)
            fewer = self._database.reading(fewer_than_looked_up)
            found = (those_of_seeds() if fewer else each_seed).subquery()
        else:
            # Nearly all candidates that are promoted are seeds now: these are read, and looked up. Of the others hardly
            # any is one: by an outer join, with one value of `promoted`, databases look each seed up in the index.
            promoted = select(*columns).select_from(candidate).join(seed, same).where(candidate.c.promoted > 0)
            others = select(*columns).select_from(seed).outerjoin(candidate, and_(candidate.c.promoted == 0, same))
            found = union_all(promoted, others).subquery()
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
