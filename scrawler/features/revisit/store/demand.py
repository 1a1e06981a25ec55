"""How many URLs a budget of visits is divided among: numbers of cells, which are added up and not counted anew.

Each machine adds to rows of its own, in the transaction that makes visits durable: so no two wait for each other, and
what one takes away may have been added by another. Rows of a site that has a budget of its own are written under its
lock.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

from sqlalchemy import Connection, select, update
from sqlalchemy import func as sql

from scrawler.features.revisit.kinds import CellRow
from scrawler.features.revisit.store.tables import revisit_demand
from scrawler.store.engines.bulk import BulkInsert
from scrawler.store.engines.engine import Database
from scrawler.store.schema.tables import site

ALL_SITES = 0  # as `site_id`
BEFORE_ANY = 0  # as `machine_id`: before a machine ran, or of a site
_COLUMNS = ("site_id", "machine_id", "cell", "pages")


class Demands:
    """Adds to the numbers of cells, and adds them up."""

    def __init__(self, database: Database) -> None:
        """Work on `database`."""
        self._database = database

    @cached_property
    def _rows(self) -> BulkInsert:
        return BulkInsert.adding(revisit_demand, _COLUMNS, self._database.compiler, "pages")

    def of_all(self) -> dict[int, int]:
        """Return how many pages of all sites each cell has."""
        query = select(revisit_demand.c.cell, sql.sum(revisit_demand.c.pages))
        query = query.where(revisit_demand.c.site_id == ALL_SITES).group_by(revisit_demand.c.cell)
        return {row[0]: int(row[1]) for row in self._database.rows(query)}

    def learned(self, site_id: int) -> tuple[bytes, dict[int, int]]:
        """Return what is known of a site's rates, and how many of its pages each cell has, if that is counted."""
        cells = select(revisit_demand.c.cell, revisit_demand.c.pages)
        rows = self._database.rows(cells.where(revisit_demand.c.site_id == site_id))
        known = self._database.rows(select(site.c.rates).where(site.c.id == site_id))
        return bytes(known[0][0]) if known else b"", {row[0]: row[1] for row in rows}

    def write(self, connection: Connection, machine_id: int, moved: Iterable[CellRow]) -> None:
        """Add what visits to sites have moved."""
        of_all: Counter[int] = Counter()
        rows: list[tuple[Any, ...]] = []
        for one in moved:
            of_all[one.cell] += one.pages
            if one.own_budget and one.pages:
                rows.append((one.site_id, BEFORE_ANY, one.cell, one.pages))
        rows += [(ALL_SITES, machine_id, cell, number) for cell, number in of_all.items() if number]
        self._rows.run(connection, sorted(rows))

    def add(self, connection: Connection, site_id: int, cells: Mapping[int, int], own_budget: bool) -> None:
        """Add pages of a site that is locked, before a machine has it in work."""
        rows = [(ALL_SITES, BEFORE_ANY, cell, number) for cell, number in cells.items() if number]
        if own_budget:
            rows += _site_rows(site_id, cells)
        self._rows.run(connection, sorted(rows))


def keep_rates(connection: Connection, site_id: int, rates: bytes) -> None:
    """Keep what visits have shown of a site's rates."""
    connection.execute(update(site).where(site.c.id == site_id).values(rates=rates))


def _site_rows(site_id: int, cells: Mapping[int, int]) -> list[tuple[Any, ...]]:
    return [(site_id, BEFORE_ANY, cell, number) for cell, number in cells.items() if number]
