"""What seeds have brought so far, as numbers by which some are chosen; read in the order of their ids, or hashes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from sqlalchemy import Connection, select
from sqlalchemy import func as sql

from scrawler.model.seeds import SeedState
from scrawler.store.engines.engine import Database, plain_rows
from scrawler.store.engines.hash_ranges import HashRanges, read_by_hash
from scrawler.store.engines.rows import AnySelect, bytes_literals, sliced
from scrawler.store.reading.candidates import PROMOTED, Candidates, fewer_than_looked_up, those_of_seeds
from scrawler.store.schema.tables import page, seed, url_state

_READ = 5_000  # seeds of one query
# A bare column would choose the index on states, and sort all that it has.
_THOSE = sql.coalesce(seed.c.state, "") == SeedState.DONE.value, seed.c.skipped == 0


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
        """Yield seeds with how many other seeds' parties link to their URL, and how often, by ranges of hashes."""
        fewer = self._database.dialect == "sqlite" and self._database.reading(fewer_than_looked_up)

        def read(connection: Connection, ranges: HashRanges) -> list[SeedScore]:
            columns = select(seed.c.id, seed.c.url, seed.c.url_hash)
            rows = plain_rows(connection, columns.where(*_THOSE, *ranges.hold(seed.c.url_hash)))
            hashes = sorted(bytes(row[2]) for row in rows)
            sums = _sums_of(connection, ranges) if fewer else _looked_up(connection, hashes)
            found = {bytes(one[0]): (int(one[1]), int(one[2])) for one in sums}
            return [SeedScore(row[0], row[1], *found.get(bytes(row[2]), (0, 0))) for row in rows]

        for scores in read_by_hash(self._database, _READ, seed.c.url_hash, read):
            yield from scores

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

    def _read(self, query: AnySelect) -> Iterator[Sequence[Sequence[Any]]]:
        query = query.where(*_THOSE).order_by(seed.c.id).limit(_READ)
        after = 0
        while rows := self._database.plain_rows(query.where(seed.c.id > after)):
            yield rows
            after = rows[-1][0]


def _sums_of(connection: Connection, ranges: HashRanges) -> Iterator[Sequence[Any]]:
    """Yield the hashes of seeds, of a range, to which parties link: by how many seeds', and how often."""
    rows = those_of_seeds(ranges).subquery()
    query = select(rows.c.url_hash, sql.count(), sql.sum(rows.c.times)).group_by(rows.c.url_hash)
    yield from plain_rows(connection, query)


def _looked_up(connection: Connection, hashes: Sequence[bytes]) -> Iterator[Sequence[Any]]:
    """Yield what `_sums_of` does, of these hashes, each of which is looked up."""
    for part in sliced(hashes):
        yield from connection.exec_driver_sql(
            f"SELECT url_hash, COUNT(*), SUM(count) FROM candidate WHERE promoted IN {PROMOTED} AND url_hash IN"
            f" ({bytes_literals(connection, part)}) GROUP BY url_hash"
        )
