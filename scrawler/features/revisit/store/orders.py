"""Orders of rounds: one at a time stands in the row of the crawl, until machines have begun it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Connection, select, update
from sqlalchemy import func as sql

from scrawler.features.revisit.declaration import FEATURE
from scrawler.model.terms import Millis
from scrawler.store.engines.engine import Database, database_time
from scrawler.store.engines.faults import read_json
from scrawler.store.schema.tables import crawl, seed
from scrawler.store.upkeep.features import need


class Order(NamedTuple):
    """A round that was ordered; it stands in the row of the crawl until all its seeds have begun it."""

    at: Millis
    before: Millis  # URLs that were visited later are left out
    seeds: tuple[int, ...] | None  # None: all

    def text(self) -> str:
        """Return it as the database keeps it."""
        return json.dumps({"at": self.at, "before": self.before, "seeds": self.seeds})

    @classmethod
    def of(cls, text: str) -> Order:
        """Read what `text` has written."""
        values = read_json(text)
        seeds = values["seeds"]
        return cls(values["at"], values["before"], None if seeds is None else tuple(seeds))


class Begun(NamedTuple):
    """How many seeds begin a round with how many URLs, and how many are left: machines have their sites in work."""

    seeds: int = 0
    urls: int = 0
    in_work: int = 0

    def plus(self, other: Begun) -> Begun:
        """Add up."""
        return Begun._make(map(sum, zip(self, other, strict=True)))


class Orders:
    """Reads the order of a crawl, and forgets it."""

    def __init__(self, database: Database) -> None:
        """Work on `database`."""
        self._database = database

    def is_given(self) -> bool:
        """Tell whether a round was ordered that some seeds have yet to begin."""
        return self.given() is not None

    def given(self) -> Order | None:
        """Return the order that was not carried out to its end, if there is one."""
        text = self._database.reading(lambda connection: connection.scalar(select(crawl.c.again)))
        return Order.of(text) if text else None

    def forget(self, order: Order) -> None:
        """Forget an order whose seeds have all begun its round; a newer one stays."""

        def work(connection: Connection) -> None:
            text = connection.scalar(select(crawl.c.again))
            if text and Order.of(text).at == order.at:
                connection.execute(update(crawl).values(again=None))

        self._database.retrying(work)


def order_round(database: Database, older_than: Millis = 0, seeds: Sequence[int] | None = None) -> bool:
    """Note that a round of ended seeds is wanted, None: of all, of URLs that were visited at least so long ago.

    Machines begin it. False: one that was ordered before is not begun yet, and nothing is noted.
    """

    def work(connection: Connection) -> bool:
        if connection.scalar(select(crawl.c.again)):
            return False
        now = database_time(connection, database.clock)
        at = max(now, connection.scalar(select(sql.max(seed.c.ended_at))) or 0)  # the clock may have been set back
        made = Order(at, now - older_than, None if seeds is None else tuple(sorted(seeds)))
        connection.execute(update(crawl).values(again=made.text()))
        need(connection, FEATURE, database)
        return True

    return database.retrying(work)
