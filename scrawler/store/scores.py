"""What seeds have brought so far, as numbers by which some are chosen; read in the order of their ids, or hashes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from sqlalchemy import func as sql
from sqlalchemy import select

from scrawler.model.seeds import SeedState
from scrawler.store.candidates import Candidates
from scrawler.store.engine import Database
from scrawler.store.rows import AnySelect, bytes_literals, sliced
from scrawler.store.tables import page, seed, url_state
from scrawler.tuples.classes import NamedTuple

_READ = 5_000  # seeds of one query


class SeedScore(NamedTuple):
    """A seed with two numbers, such as its pages that were new, and its requests."""

    id: int
    url: str
    part: int
    whole: int


class Scores:
    """Reads what seeds have brought. Skipped seeds are left out, and those that are not done."""

    def __init__(self, database: Database) -> None:
        """Read from `database`."""
        self._database = database

    def yields(self) -> Iterator[SeedScore]:
        """Yield seeds with their pages that were neither known nor near copies, and their requests, over all rounds."""
        new = seed.c.pages - seed.c.revisits - seed.c.near_duplicates
        for rows in self._read(select(seed.c.id, seed.c.url, new, seed.c.requests)):
            yield from (SeedScore(row[0], row[1], max(row[2], 0), row[3]) for row in rows if row[3])

    def changes(self) -> Iterator[SeedScore]:
        """Yield seeds with the changes that visits after the first have found, and the number of these visits."""
        for rows in self._read(select(seed.c.id, seed.c.url)):
            sums = select(url_state.c.seed_id, sql.sum(url_state.c.changes), sql.sum(url_state.c.visit))
            within = url_state.c.seed_id.between(rows[0][0], rows[-1][0])
            found = self._database.plain_rows(sums.where(within).group_by(url_state.c.seed_id))
            by_seed = {row[0]: (int(row[1]), int(row[2])) for row in found}
            for seed_id, url in rows:
                changes, visits = by_seed.get(seed_id, (0, 0))
                if visits:
                    yield SeedScore(seed_id, url, changes, visits)

    def links(self) -> Iterator[SeedScore]:
        """Yield seeds with how many other seeds' parties link to their URL, and how often."""
        for rows in self._read(select(seed.c.id, seed.c.url, seed.c.url_hash)):
            found: dict[bytes, tuple[int, int]] = {}
            for part in sliced(sorted(bytes(row[2]) for row in rows)):
                for url_hash, seeds, times in self._links_to(part):
                    found[bytes(url_hash)] = int(seeds), int(times)
            for seed_id, url, url_hash in rows:
                yield SeedScore(seed_id, url, *found.get(bytes(url_hash), (0, 0)))

    def urls(self) -> Iterator[SeedScore]:
        """Yield seeds with nothing but their URLs."""
        for rows in self._read(select(seed.c.id, seed.c.url)):
            yield from (SeedScore(row[0], row[1], 0, 0) for row in rows)

    def unseen(self) -> Iterator[SeedScore]:
        """Yield candidate seeds that nobody has asked for, with how many seeds' parties link to them, and how often."""
        views = Candidates(self._database).merged()
        while some := list(islice(views, _READ)):
            asked = self._asked(sorted(view.url_hash for view in some))
            yield from (SeedScore(0, one.url, one.seeds, one.times) for one in some if one.url_hash not in asked)

    def _asked(self, hashes: Sequence[bytes]) -> set[bytes]:
        """Return which of the URLs, by hash, the crawl has asked for: links of their own site lead to them as well."""
        found: set[bytes] = set()
        for part in sliced(hashes):
            rows = self._database.rows(select(page.c.url_hash).where(page.c.url_hash.in_(part)))
            found.update(bytes(row.url_hash) for row in rows)
        return found

    def _links_to(self, hashes: Sequence[bytes]) -> Sequence[Sequence[Any]]:
        def work(connection: Any) -> Sequence[Sequence[Any]]:
            query = (
                "SELECT url_hash, COUNT(*), SUM(count) FROM candidate WHERE promoted IN (0, 1, 2, 3) AND url_hash IN"
                f" ({bytes_literals(connection, hashes)}) GROUP BY url_hash"
            )
            return list(connection.exec_driver_sql(query))

        return self._database.reading(work)

    def _read(self, query: AnySelect) -> Iterator[Sequence[Sequence[Any]]]:
        # A bare column would choose the index on states, and sort all that it has.
        done = sql.coalesce(seed.c.state, "") == SeedState.DONE.value
        query = query.where(done, seed.c.skipped == 0).order_by(seed.c.id).limit(_READ)
        after = 0
        while rows := self._database.plain_rows(query.where(seed.c.id > after)):
            yield rows
            after = rows[-1][0]
