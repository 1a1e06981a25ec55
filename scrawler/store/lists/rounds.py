"""The rounds of seeds, and what was counted in each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from sqlalchemy import func as sql
from sqlalchemy import select

from scrawler.model.seeds import SeedCounts
from scrawler.model.terms import Millis
from scrawler.store.engines.engine import Database
from scrawler.store.engines.rows import AnySelect, sliced
from scrawler.store.schema.tables import SEED_COUNTS, seed, seed_round

_READ = 1_000  # seeds held in memory at a time
_COUNTS = [column.name for column in SEED_COUNTS]


class RoundView(NamedTuple):
    """A round of a seed; its counts are those of this round alone."""

    seed: str
    number: int
    began_at: Millis | None
    ended_at: Millis | None  # None: it goes on
    end_reason: str | None
    elapsed_ms: int
    counts: SeedCounts


class Rounds:
    """Reads rounds."""

    def __init__(self, database: Database) -> None:
        """Read from `database`."""
        self._database = database

    def begun_since(self, since: Millis, seed_id: int | None = None) -> tuple[int, int]:
        """Return how many rounds began since a time, and how many of them have ended: of one seed or all."""
        total, ended = [], []
        for table, at in ((seed_round, seed_round.c.began_at), (seed, seed.c.round_at)):
            query = select(sql.count(), sql.count(table.c.ended_at)).where(at >= since)
            column = seed_round.c.seed_id if table is seed_round else seed.c.id
            query = query if seed_id is None else query.where(column == seed_id)
            row = self._database.plain_rows(query)[0]
            total.append(row[0])
            ended.append(row[1])
        return sum(total), sum(ended)

    def of_seeds(self, seed_id: int | None = None) -> Iterator[RoundView]:
        """Yield the rounds of a seed, or of all, seed by seed from the first on."""
        after = 0
        while seeds := self._database.plain_rows(_seeds(seed_id, after)):
            over = select(
                seed_round.c.seed_id, seed_round.c.round, seed_round.c.began_at, seed_round.c.ended_at,
                seed_round.c.end_reason, seed_round.c.elapsed_ms, *(seed_round.c[name] for name in _COUNTS),
            )  # fmt: skip
            by_seed: dict[int, list[tuple[Any, ...]]] = {}
            for part in sliced([row[0] for row in seeds]):
                rows = over.where(seed_round.c.seed_id.in_(part)).order_by(seed_round.c.seed_id, seed_round.c.round)
                for row in self._database.plain_rows(rows):
                    by_seed.setdefault(row[0], []).append(row)
            for identity, url, *last in seeds:
                yield from _rounds(url, [*by_seed.get(identity, []), (identity, *last)])
            after = seeds[-1][0]


def _seeds(seed_id: int | None, after: int) -> AnySelect:
    counts = (seed.c[name] for name in _COUNTS)
    columns = seed.c.round, seed.c.round_at, seed.c.ended_at, seed.c.end_reason, seed.c.elapsed_ms
    query = select(seed.c.id, seed.c.url, *columns, *counts).where(seed.c.id > after)
    query = query if seed_id is None else query.where(seed.c.id == seed_id)
    return query.order_by(seed.c.id).limit(_READ)


def _rounds(url: str, rows: list[tuple[Any, ...]]) -> Iterator[RoundView]:
    """Make rounds of what was counted at the end of each, and by now."""
    before = (0,) * (1 + len(_COUNTS))
    for _, number, began_at, ended_at, reason, *sums in rows:
        elapsed, *counts = (now - then for now, then in zip(sums, before, strict=True))
        yield RoundView(url, number, began_at or None, ended_at, reason or None, elapsed, SeedCounts(*counts))
        before = tuple(sums)
