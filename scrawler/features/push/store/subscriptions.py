"""Subscriptions of WebSub: what was asked of hubs, and what they have said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, insert, select, update

from scrawler.features.push.store.tables import subscription
from scrawler.model.terms import Millis, url_hash
from scrawler.store.engines.engine import Database, database_time
from scrawler.store.engines.rows import AnyRow

ASKED, ACTIVE, DENIED, LEAVING, LEFT, FAILED = "asked", "active", "denied", "leaving", "left", "failed"
_DUE = 100  # subscriptions that are looked at together


class Subscription(NamedTuple):
    """A row of the table."""

    id: int
    site_id: int
    topic: str
    hub: str
    callback: str
    token: str
    secret: str
    state: str
    asked_at: Millis
    lease_until: Millis
    next_at: Millis
    failures: int
    detail: str
    deliveries: int
    forged: int


class Subscriptions:
    """Keeps subscriptions; any thread may use it."""

    def __init__(self, database: Database) -> None:
        """Work on `database`."""
        self._database = database

    def want(self, site_id: int, topic: str, hub: str, callback: str, token: str, secret: str) -> None:
        """Note that a topic is wanted: the listener asks its hub. One that is there is asked for anew."""

        def work(connection: Connection) -> None:
            now = database_time(connection, self._database.clock)
            values = {
                **{"site_id": site_id, "topic": topic, "topic_hash": url_hash(topic), "hub": hub, "token": token},
                **{"callback": callback, "secret": secret, "state": ASKED, "asked_at": 0, "next_at": now},
                **{"lease_until": 0, "failures": 0, "detail": ""},
            }
            mine = subscription.c.topic_hash == url_hash(topic)
            if not connection.execute(update(subscription).where(mine).values(values)).rowcount:
                connection.execute(insert(subscription).values(values))

        self._database.retrying(work)

    def leave(self, topic: str) -> bool:
        """Note that a topic is wanted no more; False where there is no subscription."""
        mine = subscription.c.topic_hash == url_hash(topic), subscription.c.state.not_in((LEFT, LEAVING))

        def work(connection: Connection) -> bool:
            now = database_time(connection, self._database.clock)
            values = {"state": LEAVING, "next_at": now, "failures": 0, "detail": ""}
            return connection.execute(update(subscription).where(*mine).values(values)).rowcount > 0

        return self._database.retrying(work)

    def all(self) -> list[Subscription]:
        """Return all of them, in the order in which they came."""
        return [_of(row) for row in self._database.rows(select(subscription).order_by(subscription.c.id))]

    def by_token(self, token: str) -> Subscription | None:
        """Return the subscription that the callback with a token is of."""
        rows = self._database.rows(select(subscription).where(subscription.c.token == token))
        return _of(rows[0]) if rows else None

    def due(self) -> Sequence[Subscription]:
        """Return those of which the hub is to be asked now."""

        def work(connection: Connection) -> Sequence[AnyRow]:
            now = database_time(connection, self._database.clock)
            query = select(subscription).where(subscription.c.next_at.between(1, now))
            return connection.execute(query.order_by(subscription.c.next_at).limit(_DUE)).all()

        return [_of(row) for row in self._database.reading(work)]

    def change(
        self, one: Subscription, values: Mapping[str, Any], *, after: Mapping[str, Millis] | None = None
    ) -> bool:
        """Change a subscription that is still in the state that is known; `after` are times from now on.

        Returns whether it was.
        """

        def work(connection: Connection) -> bool:
            now = database_time(connection, self._database.clock)
            times = {name: now + wait for name, wait in (after or {}).items()}
            mine = subscription.c.id == one.id, subscription.c.state == one.state, subscription.c.token == one.token
            return connection.execute(update(subscription).where(*mine).values({**values, **times})).rowcount > 0

        return self._database.retrying(work)

    def count(self, one: Subscription, *, forged: bool) -> None:
        """Count a message."""
        column = subscription.c.forged if forged else subscription.c.deliveries

        def work(connection: Connection) -> None:
            connection.execute(update(subscription).where(subscription.c.id == one.id).values({column: column + 1}))

        self._database.retrying(work)


def _of(row: AnyRow) -> Subscription:
    return Subscription(**{name: getattr(row, name) for name in Subscription._fields})
