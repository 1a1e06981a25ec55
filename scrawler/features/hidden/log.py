"""What search forms were asked, as people want to know it: which query led to a URL, and what all of them brought."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, select, true
from sqlalchemy import func as sql

from scrawler.features.hidden.rows import SearchQueryRow, SearchRow
from scrawler.features.hidden.tables import search, search_query
from scrawler.store.engines.engine import Database
from scrawler.store.schema.tables import page, seed

_LONGEST_WAY = 20  # pages between a URL and the query that led to it
_SHOWN = 20  # queries of a report
_QUERY = [search_query.c[name] for name in SearchQueryRow._fields]


class LedTo(NamedTuple):
    """The query that led to a URL, and over how many pages of results and links; 0: the URL is the query itself."""

    query: SearchQueryRow
    steps: int


class SearchSums(NamedTuple):
    """What the search forms of a seed, or of all, were asked and have brought."""

    queries: int
    results: int
    found: int
    ends: dict[str, int]  # why no more is asked, empty where it goes on -> seeds


class SearchLog:
    """Reads what search forms were asked."""

    def __init__(self, database: Database) -> None:
        """Read from `database`."""
        self._database = database

    def of_seed(self, seed_id: int) -> tuple[SearchRow, list[SearchQueryRow]] | None:
        """Return what a party's search forms were asked, in order, and what is known of them; None: nothing yet."""
        columns = [search.c[name] for name in SearchRow._fields]
        rows = self._database.rows(select(*columns).where(search.c.seed_id == seed_id))
        if not rows:
            return None
        asked = select(*_QUERY).where(search_query.c.seed_id == seed_id).order_by(search_query.c.number)
        queries = [SearchQueryRow(row[0], bytes(row[1]), *row[2:]) for row in self._database.rows(asked)]
        return SearchRow._make(rows[0])._replace(data=bytes(rows[0].data)), queries

    def led_to(self, hashes: Collection[bytes]) -> LedTo | None:
        """Return the query that led to a page with one of these hashes, by the pages that listed each other first."""
        if not self._database.rows(select(search_query.c.number).limit(1)):
            return None
        known, seen = sorted(hashes), set[bytes]()
        for steps in range(_LONGEST_WAY):
            rows = self._database.rows(select(*_QUERY).where(search_query.c.url_hash.in_(known)).limit(1))
            if rows:
                return LedTo(SearchQueryRow._make(rows[0]), steps)
            seen.update(known)
            before = select(page.c.referrer).where(page.c.url_hash.in_(known)).limit(len(known))
            known = sorted({bytes(row[0]) for row in self._database.rows(before)} - seen - {b""})
            if not known:
                return None
        return None

    def sums(self, seed_id: int | None) -> SearchSums:
        """Add up what was asked for a seed, or for all."""
        mine = _of(search.c.seed_id, seed_id)
        numbers = select(sql.sum(search.c.queries), sql.sum(search.c.results), sql.sum(search.c.found)).where(mine)
        queries, results, found = (int(one or 0) for one in self._database.rows(numbers)[0])
        ends = select(search.c.ended, sql.count()).where(mine, search.c.queries > 0).group_by(search.c.ended)
        return SearchSums(queries, results, found, {row[0]: row[1] for row in self._database.rows(ends)})

    def best(self, seed_id: int | None) -> list[tuple[Any, ...]]:
        """Return the queries that found most: seed, form, term, pages of the answer, results, new URLs."""
        columns = [seed.c.url, *(search_query.c[name] for name in ("form", "term", "answers", "results", "found"))]
        query = select(*columns).join(seed, seed.c.id == search_query.c.seed_id)
        query = query.where(_of(search_query.c.seed_id, seed_id))
        order = search_query.c.found.desc(), search_query.c.seed_id, search_query.c.number
        return [tuple(row) for row in self._database.rows(query.order_by(*order).limit(_SHOWN))]


def _of(column: ColumnElement[int], seed_id: int | None) -> ColumnElement[bool]:
    return true() if seed_id is None else column == seed_id
