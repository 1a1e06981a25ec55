"""Writes rows of URLs that are visited again: what visits have found, what was learned of it, what servers publish."""

from __future__ import annotations

from operator import itemgetter

from scrawler.features.revisit.declaration import FEATURE
from scrawler.features.revisit.kinds import (
    CELLS,
    PUBLISHED,
    PUBLISHER,
    SITE_RATES,
    URL_CHANGE,
    URL_STATE,
    PublishedRow,
    PublisherRow,
    UrlChange,
)
from scrawler.features.revisit.store.demand import Demands, keep_rates
from scrawler.features.revisit.store.published import make_due
from scrawler.features.revisit.store.sitemap_words import learn, pull_forward, states_before
from scrawler.features.revisit.store.tables import published_url, publisher, url_change
from scrawler.features.revisit.store.thinning import Thinning
from scrawler.model.row_kinds import rows_of_kind
from scrawler.model.visits import UrlState
from scrawler.store.commit.batches import Batch
from scrawler.store.engines.bulk import BulkInsert
from scrawler.store.engines.engine import Database, database_time
from scrawler.store.schema.tables import url_state
from scrawler.store.upkeep.features import need

_BY_URL = itemgetter(0, 1)


class VisitRows:
    """Writes these rows for one machine."""

    def __init__(self, database: Database, machine_id: int, keep: int | None = None) -> None:
        """With `keep` so many of the newest visits of each URL are kept, and those that say something."""
        self._database = database
        self._machine_id = machine_id
        self._thinning = None if keep is None else Thinning(database, keep)
        compiler = database.compiler
        self._states = BulkInsert.replacing(url_state, UrlState._fields, compiler)
        self._changes = BulkInsert.inserting(url_change, UrlChange._fields, compiler)
        self._published = BulkInsert.ignoring(published_url, PublishedRow._fields, compiler)
        self._publishers = BulkInsert.replacing(publisher, PublisherRow._fields, compiler)
        self._demands = Demands(database)
        self._is_noted = False  # that the database needs the feature

    def write(self, batch: Batch) -> None:
        """Write what a batch has of them; the database needs the feature from then on."""
        self._is_noted = self._is_noted or need(batch.connection, FEATURE, self._database)
        self._write_states(batch)
        self._write_demand(batch)
        self._write_published(batch)

    def _write_states(self, batch: Batch) -> None:
        """Write what visits have found of URLs, and learn of it how far a site's sitemaps are right."""
        states, changes = batch.rows_of_kind(URL_STATE), batch.rows_of_kind(URL_CHANGE)
        if not (states or changes):
            return
        connection = batch.connection
        visited = [one for one in batch.sites if any(rows_of_kind(seed.rows, URL_STATE) for seed in one.seeds)]
        before = states_before(connection, visited)
        self._states.run(connection, sorted(states, key=_BY_URL))
        self._changes.run(connection, changes)
        if self._thinning is not None:
            self._thinning.thin(connection, batch.seeds)
        if before:
            learn(connection, visited, before)
        if any(one.sitemap_urls for delta in visited for one in delta.seeds):
            pull_forward(connection, visited, database_time(connection, self._database.clock))

    def _write_demand(self, batch: Batch) -> None:
        """Write how often pages change, and what visits these ask for."""
        for one in sorted(batch.rows_of_kind(SITE_RATES)):
            keep_rates(batch.connection, one.site_id, one.rates)
        self._demands.write(batch.connection, self._machine_id, batch.rows_of_kind(CELLS))

    def _write_published(self, batch: Batch) -> None:
        """Write what servers publish of their URLs; those that have changed since their last visit are due now."""
        connection = batch.connection
        if rows := sorted(batch.rows_of_kind(PUBLISHED), key=_BY_URL):
            self._published.run(connection, rows)
            make_due(connection, rows, database_time(connection, self._database.clock))
        if made := sorted(batch.rows_of_kind(PUBLISHER)):
            self._publishers.run(connection, made)
