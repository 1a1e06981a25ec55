"""What is left in outboxes goes the way of the database, into the inboxes of its sites.

Machines that send to each other leave it there when they are gone, or find nobody to send it to.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from sqlalchemy import ColumnElement, Connection, delete, insert, select

from scrawler.store.claims.overview import LIVING
from scrawler.store.commit.inboxes import Inboxes
from scrawler.store.engines.engine import Database
from scrawler.store.engines.rows import sliced
from scrawler.store.schema.tables import inbox, machine, outbox

_AT_A_TIME = 1_000  # rows that one transaction moves
_TAKE_BACK_EVERY = 5.0  # seconds between two looks at what machines that are gone have left to be sent
_SENT = ("key_hash", "url", "depth", "hops", "seed_id", "referrer")  # columns of inbox and outbox


class InboxesWithLeftovers(Inboxes):
    """The inboxes of a crawl whose machines may be gone, and may have left something to be sent."""

    _take_back_at = 0.0

    def open_parties(self, limit: int) -> int:
        """Let parties begin, or go on, also for what was left to be sent."""
        now = time.monotonic()
        if now >= self._take_back_at:
            take_back(self._database)
            self._take_back_at = now + _TAKE_BACK_EVERY
        return super().open_parties(limit)


def take_back(database: Database) -> None:
    """Put what machines have left in their outboxes that do not live any more into the inboxes of its sites."""
    gone = select(machine.c.id).where(machine.c.state.not_in(LIVING))
    if not database.rows(select(outbox.c.machine_id).where(outbox.c.machine_id.in_(gone)).limit(1)):
        return
    while move_to_inboxes(database, [outbox.c.machine_id.in_(gone)]):
        pass


def move_to_inboxes(database: Database, which: Sequence[ColumnElement[bool]]) -> int:
    """Move rows of outboxes to the inboxes of their sites, as many as one transaction should; return how many."""
    query = select(outbox).where(*which).order_by(outbox.c.id).limit(_AT_A_TIME).with_for_update()

    def work(connection: Connection) -> int:
        rows = connection.execute(query).all()
        if not rows:
            return 0
        values: list[Mapping[str, object]] = [{name: getattr(row, name) for name in _SENT} for row in rows]
        connection.execute(insert(inbox), values)
        for part in sliced([row.id for row in rows]):
            connection.execute(delete(outbox).where(outbox.c.id.in_(part)))
        return len(rows)

    return database.retrying(work)
