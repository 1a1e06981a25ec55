"""Suspects: URLs that were being read when machines died, and how far each of these deaths is theirs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial

from sqlalchemy import select

from scrawler.model.suspects import CONDEMNED, SuspectRow
from scrawler.store.engines.bulk import BulkInsert
from scrawler.store.engines.engine import Database
from scrawler.store.schema.tables import suspect


class Suspects:
    """The table suspect."""

    def __init__(self, database: Database) -> None:
        """Work on `database`."""
        self._database = database
        self._rows = BulkInsert.replacing(suspect, SuspectRow._fields, database.compiler)

    def note(self, rows: Sequence[SuspectRow]) -> None:
        """Note who is to blame for a machine's death; noted again, it is still one death."""
        if rows:
            self._database.retrying(partial(self._rows.run, rows=sorted(rows)))

    def condemned(self, site_id: int) -> dict[str, str]:
        """Return the URLs of a site that are not asked for again, with the reasons in words."""
        query = select(suspect.c.url, suspect.c.blame, suspect.c.detail)
        query = query.where(suspect.c.site_id == site_id).order_by(suspect.c.machine_id)
        blame: Counter[str] = Counter()
        details: dict[str, str] = {}
        for row in self._database.rows(query):
            blame[row.url] += row.blame
            details.setdefault(row.url, row.detail)
        return {url: details[url] for url, total in blame.items() if total >= CONDEMNED}
