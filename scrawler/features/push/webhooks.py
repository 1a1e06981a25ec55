"""Webhooks: how far each has come with the changes that visits have found, and who sends them.

A message is noted before it is sent, by the id up to which it goes: so each try, also one after a kill, sends the same
changes under the same id. One process sends at a time, by a short lease that another one takes over when it is gone.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

from sqlalchemy import Connection, select, update
from sqlalchemy import func as sql

from scrawler.features.push.store.tables import webhook
from scrawler.features.revisit.store.tables import url_change
from scrawler.model.terms import Millis
from scrawler.store.claims.overview import LIVING
from scrawler.store.claims.processes import runs
from scrawler.store.engines.engine import Database, database_time
from scrawler.store.engines.rows import AnyRow, inserting_new
from scrawler.store.schema.tables import machine

LEASE: Millis = 90_000  # for which others leave a webhook alone whose sender says nothing
_LONGEST_ERROR = 500  # characters


class Hook(NamedTuple):
    """A webhook as it stands."""

    url_hash: bytes
    url: str
    cursor_change: int
    batch_to: int
    message_id: str
    tries: int
    next_at: Millis
    delivered: int
    messages: int
    delivered_at: Millis
    error: str
    error_at: Millis
    holder: str
    held_until: Millis


class Waiting(NamedTuple):
    """A webhook, and how many changes wait for it."""

    hook: Hook
    waiting: int


_HOOK = [webhook.c[name] for name in Hook._fields]


class Webhooks:
    """The webhooks of a crawl; used by one thread."""

    def __init__(self, database: Database) -> None:
        """Work on `database`."""
        self._database = database

    def now(self) -> Millis:
        """Return the database's time."""
        return self._database.now()

    def add(self, url_hash: bytes, url: str) -> None:
        """Let a webhook get what is found from now on; one that is known goes on where it was."""

        def work(connection: Connection) -> None:
            row = {"url_hash": url_hash, "url": url, "cursor_change": newest_change(connection)}
            connection.execute(inserting_new(webhook, self._database.dialect), row)

        self._database.retrying(work)

    def take(self, url_hash: bytes, holder: str) -> Hook | None:
        """Take a webhook for some time, or keep it; None while another process has it."""

        def work(connection: Connection) -> Hook | None:
            now = database_time(connection, self._database.clock)
            mine = webhook.c.url_hash == url_hash
            row = connection.execute(select(*_HOOK).where(mine).with_for_update()).first()
            if row is None or not _is_free(row, holder, now):
                return None
            values = {"holder": holder, "held_until": now + LEASE}
            connection.execute(update(webhook).where(mine).values(values))
            return _hook(row)._replace(holder=holder, held_until=now + LEASE)

        return self._database.retrying(work)

    def change(self, hook: Hook, values: Mapping[str, Any]) -> bool:
        """Note how a webhook stands; False where another process has taken it over meanwhile: nothing is noted."""
        error = values.get("error")
        if error is not None:
            values = {**values, "error": error[:_LONGEST_ERROR]}
        mine = webhook.c.url_hash == hook.url_hash, webhook.c.holder == hook.holder
        stands = webhook.c.cursor_change == hook.cursor_change, webhook.c.batch_to == hook.batch_to
        change = update(webhook).where(*mine, *stands).values(values)
        return self._database.retrying(lambda connection: connection.execute(change).rowcount) > 0

    def release(self, url_hash: bytes, holder: str) -> None:
        """Let others take a webhook at once."""
        mine = webhook.c.url_hash == url_hash, webhook.c.holder == holder
        free = update(webhook).where(*mine).values(holder="", held_until=0)
        self._database.retrying(lambda connection: connection.execute(free))

    def all(self) -> list[Waiting]:
        """Return all webhooks, with what waits for each."""

        def work(connection: Connection) -> list[Waiting]:
            hooks = [_hook(row) for row in connection.execute(select(*_HOOK).order_by(webhook.c.url))]
            return [Waiting(hook, _waiting(connection, hook.cursor_change)) for hook in hooks]

        return self._database.reading(work)


class SettledChanges:
    """Tells up to which id no change can come any more between those that are there.

    Machines on servers get ids before they commit. So what is missing before a row may yet come, until each machine
    that lived when that was seen has committed once more, or is gone.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._has_gaps = database.dialect != "sqlite"  # which has one writer at a time
        self._gap = 0  # the first id that is missing
        self._waits_for: Mapping[int, int] = {}  # machines, with the checkpoints that they had then

    def after(self, cursor: int, most: int) -> list[int]:
        """Return the ids behind a cursor in their order, so many at most; none of theirs can come between them."""
        return self._database.reading(partial(self._after, cursor=cursor, most=most))

    def _after(self, connection: Connection, cursor: int, most: int) -> list[int]:
        checkpoints = _checkpoints(connection) if self._has_gaps else {}  # before the rows: they have all of these
        query = select(url_change.c.id).where(url_change.c.id > cursor).order_by(url_change.c.id).limit(most)
        ids = list(connection.execute(query).scalars())
        if not self._has_gaps:
            return ids
        settled, before = [], cursor
        for number in ids:
            if number > before + 1 and not self._is_over(before + 1, checkpoints):
                break
            settled.append(number)
            before = number
        return settled

    def _is_over(self, gap: int, checkpoints: Mapping[int, int]) -> bool:
        """Tell whether nothing can come any more into a gap that begins with an id."""
        if gap > self._gap:
            self._gap, self._waits_for = gap, checkpoints
        return gap < self._gap or all(checkpoints.get(one) != number for one, number in self._waits_for.items())


def newest_change(connection: Connection) -> int:
    """Return the id of the change that was found last; 0: none was."""
    return int(connection.scalar(select(sql.max(url_change.c.id))) or 0)


def _waiting(connection: Connection, cursor: int) -> int:
    behind = select(sql.count()).select_from(url_change).where(url_change.c.id > cursor)
    return int(connection.scalar(behind) or 0)


def _checkpoints(connection: Connection) -> dict[int, int]:
    living = select(machine.c.id, machine.c.checkpoints).where(machine.c.state.in_(LIVING))
    return {row[0]: row[1] for row in connection.execute(living)}


def _is_free(row: AnyRow, holder: str, now: Millis) -> bool:
    return row.holder in ("", holder) or row.held_until <= now or runs(row.holder) is False


def _hook(row: AnyRow) -> Hook:
    hook = Hook._make(row)
    return hook._replace(url_hash=bytes(hook.url_hash))
