"""The writer of rows of visits, which is loaded with the first of them."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from scrawler.features.revisit.kinds import CELLS, PUBLISHED, PUBLISHER, SITE_RATES, URL_CHANGE, URL_STATE
from scrawler.store.commit.batches import Batch
from scrawler.store.engines.engine import Database

if TYPE_CHECKING:
    from scrawler.features.revisit.store.rows import VisitRows


class LateRows:
    """Lets `VisitRows` write, where there is anything to write."""

    kinds = (URL_STATE, URL_CHANGE, SITE_RATES, CELLS, PUBLISHED, PUBLISHER)

    def __init__(self, database: Database, machine_id: int, keep: int | None) -> None:
        """See `VisitRows`."""
        self._database = database
        self._machine_id = machine_id
        self._keep = keep

    @cached_property
    def _rows(self) -> VisitRows:
        from scrawler.features.revisit.store.rows import VisitRows

        return VisitRows(self._database, self._machine_id, self._keep)

    def write(self, batch: Batch) -> None:
        """Write what a batch has of these kinds."""
        if any(kind in self.kinds for rows in batch.of_features() for kind, _ in rows):
            self._rows.write(batch)
