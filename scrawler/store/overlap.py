"""How much several crawls have fetched that one of them would have sufficed for (Cho and Garcia-Molina, 2002)."""

from __future__ import annotations

from sqlalchemy import Connection, select

from scrawler.model.results import Result
from scrawler.store.engine import Database
from scrawler.store.tables import page

_PAGES = 10_000  # rows that one query reads


class Overlap:
    """Counts the pages of databases that are added one after the other; holds a hash of each URL."""

    def __init__(self) -> None:
        self.of_each: list[int] = []  # pages of each database
        self._different: set[bytes] = set()

    def add(self, database: Database) -> None:
        """Take in the pages that a crawl has fetched."""
        after = pages = 0

        def some(connection: Connection) -> list[tuple[int, bytes]]:
            query = select(page.c.id, page.c.url_hash).where(page.c.id > after, page.c.result == Result.FETCHED.value)
            rows = connection.execute(query.order_by(page.c.id).limit(_PAGES))
            return [(row[0], bytes(row[1])) for row in rows]

        while rows := database.reading(some):
            self._different.update(url_hash for _, url_hash in rows)
            after = rows[-1][0]
            pages += len(rows)
        self.of_each.append(pages)

    @property
    def pages(self) -> int:
        """All pages, each as often as it was fetched."""
        return sum(self.of_each)

    @property
    def different(self) -> int:
        """Different URLs among them."""
        return len(self._different)

    @property
    def share(self) -> float:
        """The overlap: pages that were fetched again, by the number of different ones; 0: none was."""
        return (self.pages - self.different) / self.different if self.different else 0.0
