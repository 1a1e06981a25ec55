"""What is known of seeds and sites whose URLs are visited again, as they are taken up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import select

from scrawler.features.revisit.store.demand import Demands
from scrawler.model.seeds import SeedCounts
from scrawler.store.engine import Database
from scrawler.store.seeds import columns_of
from scrawler.store.tables import SEED_COUNTS, seed, seed_round


class KnownVisits:
    """Reads it."""

    def __init__(self, database: Database) -> None:
        """Read from `database`."""
        self._database = database
        self._demands = Demands(database)

    def seed_columns(self, seed_id: int) -> Mapping[str, Any]:
        """Return what else the line of a seed says of it."""
        rows = self._database.rows(select(seed.c.columns).where(seed.c.id == seed_id))
        return columns_of(rows[0][0]) if rows else {}

    def learned(self, site_id: int) -> tuple[bytes, dict[int, int]]:
        """Return what visits have shown of a site's rates, and how many of its pages are in which cell."""
        return self._demands.learned(site_id)

    def counts_before(self, seed_id: int, number: int) -> tuple[SeedCounts, int] | None:
        """Return what a seed had counted when a round ended, and how long it had been in work, in milliseconds."""
        columns = (seed_round.c.elapsed_ms, *(seed_round.c[column.name] for column in SEED_COUNTS))
        query = select(*columns).where(seed_round.c.seed_id == seed_id, seed_round.c.round == number)
        rows = self._database.rows(query)
        return (SeedCounts(*rows[0][1:]), rows[0][0]) if rows else None
