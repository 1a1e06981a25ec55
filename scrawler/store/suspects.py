"""Suspects: URLs that were being read when a process died, and how often."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from sqlalchemy import select

from scrawler.model import CONDEMNED, SuspectRow
from scrawler.store.bulk import BulkInsert
from scrawler.store.engine import Database
from scrawler.store.tables import suspect


class Suspects:
    """The table suspect."""

    def __init__(self, database: Database) -> None:
        """Work on `database`."""
        self._database = database
        self._rows = BulkInsert.adding(suspect, SuspectRow._fields, database.compiler, "deaths")

    def add(self, rows: Sequence[SuspectRow]) -> None:
        """Add the deaths of some URLs to those that are known of."""
        if rows:
            self._database.retrying(partial(self._rows.run, rows=sorted(rows)))

    def condemned(self, site_id: int) -> dict[str, str]:
        """Return the URLs of a site that are not asked for again, with the reasons in words."""
        query = select(suspect.c.url, suspect.c.detail)
        query = query.where(suspect.c.site_id == site_id, suspect.c.deaths >= CONDEMNED)
        return {row.url: row.detail for row in self._database.rows(query)}
