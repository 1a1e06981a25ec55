"""Lists of pages for people and programs: rows with the URLs that they refer to, chosen and put in order."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, ScalarSelect, case, false, or_, select

from scrawler.model.results import Result
from scrawler.model.rows import PageRow
from scrawler.store.engines.engine import Database
from scrawler.store.engines.rows import AnySelect, sliced
from scrawler.store.schema.tables import page, relation, seed, seed_round

_READ = 1_000  # rows held in memory at a time
_LOOKED_AT = 100_000  # rows that are read in the search for a few
SORTED_BY = {
    "url": page.c.url,
    "depth": page.c.depth,
    "result": page.c.result,
    "status": page.c.status,
    "type": page.c.content_type,
    "size": page.c.length,
    "time": page.c.elapsed_ms,
    "date": page.c.fetched_at,
    "attempts": page.c.attempts,
}


class PageView(NamedTuple):
    """A page row, and the URLs that belong to it; an empty one where there is none."""

    page: PageRow
    seed: str  # as imported, for which it was fetched
    referrer: str  # the page that listed it first
    canonical: str  # the other URL that it says stands for it


class Last(Enum):
    """Which row of a URL that was visited several times is wanted."""

    NO = "any"
    OF_ALL = "of-all"  # the last one, if it is one of those that are wanted
    OF_THESE = "of-these"  # the last one with one of the results that are wanted
    STANDING = "standing"  # the last one, if it is one of those that are wanted, or found that one not modified since


@dataclass(frozen=True, slots=True)
class PageFilter:
    """Which pages are wanted, all where nothing is said, and in which order; by default in that of their commits."""

    seed_id: int | None = None
    results: tuple[str, ...] = ()
    statuses: tuple[tuple[int, int], ...] = ()  # the lowest and the highest of each range
    types: tuple[str, ...] = ()  # media types, or what they begin with: "image/"
    sort: str = ""  # a key of SORTED_BY
    descending: bool = False
    by_result: bool = False  # first in the order of `results`, and by `sort` among those of one
    url_hashes: tuple[bytes, ...] = ()  # of URLs; some hundreds at most
    last: Last = Last.NO  # of several visits to a URL only the last one

    def conditions(self) -> list[ColumnElement[bool]]:
        """Return what a row must fulfil."""
        conditions: list[ColumnElement[bool]] = []
        if self.seed_id is not None:
            conditions.append(page.c.seed_id == self.seed_id)
        if self.results:
            conditions.append(page.c.result.in_(self.results))
        if self.statuses:
            conditions.append(or_(false(), *(page.c.status.between(low, high) for low, high in self.statuses)))
        if self.url_hashes:
            conditions.append(page.c.url_hash.in_(self.url_hashes))
        if self.types:
            conditions.append(or_(false(), *map(_of_type, self.types)))
        if self.last is not Last.NO:
            conditions.append(~_visited_later(self.last, self.results))
        return conditions


ALL_PAGES = PageFilter()


class PageLists:
    """The page rows of a crawl, with the URLs to which they refer."""

    def __init__(self, database: Database) -> None:
        """Read from `database`."""
        self._database = database

    def all(self, wanted: PageFilter = ALL_PAGES) -> Iterator[PageView]:
        """Yield the pages that are wanted, some in memory at a time; to sort them takes 8 bytes for each."""
        if wanted.sort:
            yield from self._sorted(wanted)
            return
        query = _views().where(*wanted.conditions()).order_by(page.c.id).limit(_READ)
        after = 0
        while rows := self._database.plain_rows(query.where(page.c.id > after)):
            yield from map(_view, rows)
            after = rows[-1][-1]

    def has_rounds(self, seed_id: int | None = None) -> bool:
        """Tell whether this seed, or any, was visited again, so that a URL may have several rows."""
        of_seed = () if seed_id is None else (seed_round.c.seed_id == seed_id,)
        return bool(self._database.plain_rows(select(seed_round.c.seed_id).where(*of_seed).limit(1)))

    def ids_from(self, first_id: int, results: Collection[str], most: int, seed_id: int | None = None) -> list[int]:
        """Return ids of rows with one of the results, `most` at most, among the _LOOKED_AT rows from `first_id` on."""
        near = select(page.c.id, page.c.result).where(page.c.id >= first_id).order_by(page.c.id).limit(_LOOKED_AT)
        rows = (near if seed_id is None else near.where(page.c.seed_id == seed_id)).subquery().c
        found = select(rows.id).where(rows.result.in_(results)).order_by(rows.id).limit(most)
        return [row[0] for row in self._database.plain_rows(found)]

    def with_ids(self, ids: Collection[int]) -> list[PageView]:
        """Return the pages whose rows have these ids, in the order of their commits."""
        return list(map(_view, self._database.plain_rows(_views().where(page.c.id.in_(ids)).order_by(page.c.id))))

    def _sorted(self, wanted: PageFilter) -> Iterator[PageView]:
        column = SORTED_BY[wanted.sort]
        order = column.desc() if wanted.descending else column
        first = [_place_of_result(wanted.results)] if wanted.by_result else []
        query = select(page.c.id).where(*wanted.conditions()).order_by(*first, order, page.c.id)

        def work(connection: Connection) -> array[int]:
            found = connection.execution_options(stream_results=True).execute(query)
            return array("q", found.scalars())

        for ids in sliced(self._database.streaming(work), _READ):
            rows = self._database.plain_rows(_views().where(page.c.id.in_(ids)))
            by_id = {row[-1]: row for row in rows}
            yield from (_view(by_id[one]) for one in ids if one in by_id)


def _views() -> AnySelect:
    columns = [*(page.c[name] for name in PageRow._fields), seed.c.url, _referrer(), _canonical(), page.c.id]
    query = select(*columns).join(seed, seed.c.id == page.c.seed_id)
    return query.prefix_with("STRAIGHT_JOIN", dialect="mysql")  # a small table seed would make it sort


def _view(row: tuple[Any, ...]) -> PageView:
    *of_page, of_seed, referrer, canonical, _ = row
    return PageView(PageRow(*of_page), of_seed, referrer or "", canonical or "")


def _visited_later(last: Last, results: tuple[str, ...]) -> ColumnElement[bool]:
    """Tell whether there is a row of a later visit to the same URL that counts."""
    later = page.alias("later")
    counts: dict[Last, list[ColumnElement[bool]]] = {
        Last.OF_THESE: [later.c.result.in_(results)],
        Last.STANDING: [later.c.result != Result.NOT_MODIFIED.value],
    }
    same = [later.c.url_hash == page.c.url_hash, later.c.seed_id == page.c.seed_id, later.c.visit > page.c.visit]
    return select(later.c.id).where(*same, *counts.get(last, [])).correlate(page).exists()


def _place_of_result(results: tuple[str, ...]) -> ColumnElement[int]:
    return case({word: number for number, word in enumerate(results)}, value=page.c.result)


def _of_type(kind: str) -> ColumnElement[bool]:
    return page.c.content_type.startswith(kind, autoescape=True) if kind.endswith("/") else page.c.content_type == kind


def _referrer() -> ScalarSelect[str]:
    """Return the URL of a page's referrer, one row of it: behind a cookie gate a URL has two."""
    finder = page.alias("finder")
    found = select(finder.c.url).where(page.c.referrer != b"", finder.c.url_hash == page.c.referrer).limit(1)
    return found.scalar_subquery()


def _canonical() -> ScalarSelect[str]:
    called = select(relation.c.target).where(relation.c.url_hash == page.c.url_hash, relation.c.kind == "canonical")
    return called.scalar_subquery()
