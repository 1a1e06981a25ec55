"""Rows of URLs that are visited again: what visits have found, what was learned of it, and what servers publish."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING

from scrawler.model.rows import PublishedRow, PublisherRow
from scrawler.model.visits import UrlChange, UrlState
from scrawler.store.batches import Batch
from scrawler.store.bulk import BulkInsert
from scrawler.store.demand import Demands
from scrawler.store.engine import Database, database_time
from scrawler.store.published import make_due
from scrawler.store.sitemap_words import learn, pull_forward, states_before
from scrawler.store.tables import published_url, publisher, url_change, url_state

if TYPE_CHECKING:
    from scrawler.store.thinning import Thinning

_BY_URL = itemgetter(0, 1)


class VisitRows:
    """Writes these rows for one machine, each step by itself: a crawl of one round has none of them."""

    def __init__(self, database: Database, machine_id: int) -> None:
        self._database = database
        self._machine_id = machine_id
        self._thinning: Thinning | None = None
        compiler = database.compiler
        self._states = BulkInsert.replacing(url_state, UrlState._fields, compiler)
        self._changes = BulkInsert.inserting(url_change, UrlChange._fields, compiler)
        self._published = BulkInsert.ignoring(published_url, PublishedRow._fields, compiler)
        self._publishers = BulkInsert.replacing(publisher, PublisherRow._fields, compiler)
        self._demands = Demands(database)

    def thin(self, keep: int) -> None:
        """Keep the newest visits of each URL from now on, so many, and those that say something; see `thinning.py`."""
        from scrawler.store.thinning import Thinning  # few crawls take visits together

        self._thinning = Thinning(self._database, keep)

    def write_states(self, batch: Batch) -> None:
        """Write what visits have found of URLs, and learn of it how far a site's sitemaps are right."""
        if not any(one.states or one.changes for one in batch.seeds):
            return
        connection = batch.connection
        visited = [delta for delta in batch.sites if any(one.states for one in delta.seeds)]
        before = states_before(connection, visited)
        self._states.run(connection, sorted(batch.rows("states"), key=_BY_URL))
        self._changes.run(connection, list(batch.rows("changes")))
        if self._thinning is not None:
            self._thinning.thin(connection, batch.seeds)
        if before:
            learn(connection, visited, before)
        if any(one.sitemap_urls for delta in visited for one in delta.seeds):
            pull_forward(connection, visited, database_time(connection, self._database.clock))

    def write_demand(self, batch: Batch) -> None:
        """Write how often pages change, and what visits these ask for."""
        if learned := [one for one in batch.sites if one.demand or one.rates is not None]:
            self._demands.write(batch.connection, self._machine_id, learned)

    def write_published(self, batch: Batch) -> None:
        """Write what servers publish of their URLs; those that have changed since their last visit are due now."""
        connection = batch.connection
        if rows := sorted(batch.rows("published"), key=_BY_URL):
            self._published.run(connection, rows)
            make_due(connection, rows, database_time(connection, self._database.clock))
        if made := sorted(one.publisher for one in batch.seeds if one.publisher is not None):
            self._publishers.run(connection, made)
