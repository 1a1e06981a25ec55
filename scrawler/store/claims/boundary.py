"""The boundary of a crawl as it is now: the names of the seeds that users gave, read from the database."""

from __future__ import annotations

import threading

from sqlalchemy import Connection, select

from scrawler.model.scope import Boundary, Scope
from scrawler.store.engines.engine import Database
from scrawler.store.schema.tables import crawl, seed
from scrawler.urls.boundary import BoundaryRule, boundary_name, not_within

_SEEDS = 10_000  # seeds held in memory at a time


class CrawlBoundary:
    """Tells the rule of what may enter.

    What was promoted, or entered by a redirect, does not widen it. Its names are kept in memory, and read again after
    seeds have come.
    """

    def __init__(self, database: Database, boundary: Boundary, scope: Scope) -> None:
        """Work on `database`."""
        self._database = database
        self.scope = scope
        self.boundary = boundary  # the machine changes it while it runs, as users do
        self._rule = BoundaryRule()
        self._revision = -1  # the crawl's revision when the names were read
        self._lock = threading.Lock()

    def rule(self) -> BoundaryRule:
        """Return the rule that holds now."""
        boundary = not_within(self.boundary, self.scope)
        if boundary is Boundary.ANY:
            return BoundaryRule()
        revision = self._database.reading(_revision)
        with self._lock:
            if (self._rule.boundary, self._revision) != (boundary, revision):
                self._rule = BoundaryRule(boundary, self._names(boundary))
                self._revision = revision
            return self._rule

    def refusal(self, url: str) -> str:
        """Return in words why a URL may not enter, an empty text if it may."""
        return self.rule().refusal(url)

    def _names(self, boundary: Boundary) -> frozenset[str]:
        names: set[str] = set()
        given = select(seed.c.id, seed.c.url).where(seed.c.hops == 0).order_by(seed.c.id).limit(_SEEDS)
        after = 0
        while rows := self._database.plain_rows(given.where(seed.c.id > after)):
            names.update(boundary_name(url, boundary) for _, url in rows)
            after = rows[-1][0]
        return frozenset(names)


def _revision(connection: Connection) -> int:
    """Return the revision of the crawl, 0 where a database has none yet."""
    return connection.scalar(select(crawl.c.revision)) or 0
