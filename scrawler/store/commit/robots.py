"""Copies of robots.txt files, kept for those who take a site up again."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import bindparam, select

from scrawler.model.robots import RobotsRow
from scrawler.model.terms import Millis
from scrawler.store.engines.engine import Database
from scrawler.store.schema.tables import robots

_ROWS_READ = 64
_BYTES_READ = 8 << 20  # packed bytes that are read; origins beyond them are asked anew

_COPIES = (
    select(*(robots.c[name] for name in RobotsRow._fields))
    .where(robots.c.site_id == bindparam("site"), robots.c.fetched_at >= bindparam("since"))
    .order_by(robots.c.origin_hash)
    .limit(_ROWS_READ)
)


class RobotsCopies:
    """Reads the table robots; checkpoints write it."""

    def __init__(self, database: Database) -> None:
        """Read from `database`."""
        self._database = database

    def of_site(self, site_id: int, since: Millis) -> Iterator[RobotsRow]:
        """Yield the copies of a site's origins that are not older than `since`."""
        asked = {"site": site_id, "since": since}
        rows = self._database.rows(_COPIES, asked)
        read = 0
        while rows:
            yield from map(RobotsRow._make, rows)
            read += sum(len(row.body) for row in rows)
            if len(rows) < _ROWS_READ or read >= _BYTES_READ:
                return
            rows = self._database.rows(_COPIES.where(robots.c.origin_hash > rows[-1].origin_hash), asked)
