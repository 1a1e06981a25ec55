"""What is known of URLs that are visited again, and of their seeds and sites."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import select

from scrawler.features.revisit.kinds import PublisherRow
from scrawler.features.revisit.store.demand import Demands
from scrawler.features.revisit.store.tables import published_url, publisher
from scrawler.model.seeds import SeedCounts
from scrawler.model.terms import Millis, url_hash
from scrawler.model.visits import UrlState
from scrawler.store.claims.seeds import columns_of
from scrawler.store.engines.engine import Database
from scrawler.store.engines.rows import sliced
from scrawler.store.lists.frontier import state_of
from scrawler.store.schema.tables import SEED_COUNTS, seed, seed_round, url_state

_STATE = [url_state.c[name] for name in UrlState._fields]


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

    def states(self, seed_id: int, urls: Iterable[str]) -> list[UrlState]:
        """Return what is known of those of the URLs that were visited for a seed."""
        found: list[UrlState] = []
        for part in sliced(map(url_hash, urls)):
            query = select(*_STATE).where(url_state.c.seed_id == seed_id, url_state.c.url_hash.in_(part))
            found += (state_of(row) for row in self._database.rows(query))
        return found

    def published(self, seed_id: int, hashes: Iterable[bytes]) -> dict[bytes, Millis]:
        """Return when those of the URLs last changed that lists of ResourceSync name, by hash."""
        found: dict[bytes, Millis] = {}
        columns = published_url.c.url_hash, published_url.c.changed_at
        for part in sliced(hashes):
            query = select(*columns).where(published_url.c.seed_id == seed_id, published_url.c.url_hash.in_(part))
            found |= {bytes(row[0]): row[1] for row in self._database.rows(query)}
        return found

    def publisher(self, seed_id: int) -> PublisherRow | None:
        """Return what the change lists of a seed's site are worth, None if it has none."""
        columns = [publisher.c[name] for name in PublisherRow._fields]
        rows = self._database.rows(select(*columns).where(publisher.c.seed_id == seed_id))
        return PublisherRow(*rows[0]) if rows else None
