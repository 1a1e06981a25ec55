"""What servers publish of their URLs: kept beside what visits have found, and what makes URLs due."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, bindparam, select, update

from scrawler.features.revisit.kinds import PublishedRow
from scrawler.features.revisit.store.tables import published_url
from scrawler.model.terms import Millis
from scrawler.model.visits import LISTED
from scrawler.store.engines.rows import sliced
from scrawler.store.schema.tables import seed, url_state

_MISSING = 2  # answers of 404 or 410 after which a URL that was deleted need not be asked for again


def make_due(connection: Connection, rows: Sequence[PublishedRow], now: Millis) -> None:
    """Keep what is newer than what was known of URLs; those that were visited before it are due now.

    The rows are in the table if nothing was known of their URLs; of others the newest counts.
    """
    newer = [row for row in rows if row.changed_at]
    for seed_id in sorted({row.seed_id for row in newer}):
        mine = [row for row in newer if row.seed_id == seed_id]
        stale = _older(connection, seed_id, mine)
        if stale:
            _update(connection, stale)
        due = _visited_before(connection, seed_id, mine)
        if due:
            theirs = url_state.c.seed_id == seed_id, url_state.c.url_hash.in_(bindparam("due", expanding=True))
            for part in sliced(due):
                connection.execute(update(url_state).where(*theirs).values(due_at=now), {"due": list(part)})
            connection.execute(update(seed).where(seed.c.id == seed_id).values(due_at=0))


def _older(connection: Connection, seed_id: int, rows: list[PublishedRow]) -> list[PublishedRow]:
    """Return the rows that are newer than what the table has of their URLs."""
    known: dict[bytes, Millis] = {}
    for part in sliced([row.url_hash for row in rows]):
        columns = published_url.c.url_hash, published_url.c.changed_at
        query = select(*columns).where(published_url.c.seed_id == seed_id, published_url.c.url_hash.in_(part))
        known |= {bytes(row[0]): row[1] for row in connection.execute(query)}
    return [row for row in rows if known.get(row.url_hash, 0) < row.changed_at]


def _update(connection: Connection, rows: list[PublishedRow]) -> None:
    theirs = published_url.c.seed_id == bindparam("of_seed"), published_url.c.url_hash == bindparam("of_url")
    statement = update(published_url).where(*theirs)
    values = [
        {"of_seed": row.seed_id, "of_url": row.url_hash, "changed_at": row.changed_at, "gone": row.gone,
         "source": row.source}
        for row in rows
    ]  # fmt: skip
    connection.execute(
        statement.values(changed_at=bindparam("changed_at"), gone=bindparam("gone"), source=bindparam("source")), values
    )


def _visited_before(connection: Connection, seed_id: int, rows: list[PublishedRow]) -> list[bytes]:
    """Return the URLs that were visited before their last change, and are not listed to be visited again."""
    told = {row.url_hash: row for row in rows}
    due: list[bytes] = []
    columns = url_state.c.url_hash, url_state.c.visited_at, url_state.c.missing
    for part in sliced(list(told)):
        query = select(*columns).where(url_state.c.seed_id == seed_id, url_state.c.url_hash.in_(part))
        for row in connection.execute(query.where(url_state.c.due_at != LISTED)):
            one = told[bytes(row.url_hash)]
            if row.visited_at < one.changed_at and not (one.gone and row.missing >= _MISSING):
                due.append(one.url_hash)
    return due
