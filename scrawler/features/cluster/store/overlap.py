"""What crawls have come to together, by the measures of Cho and Garcia-Molina ("Parallel Crawlers", 2002)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from sqlalchemy import Connection, select

from scrawler.model.results import Result
from scrawler.store.engines.engine import Database
from scrawler.store.schema.tables import machine, page

_PAGES = 10_000  # rows that one query reads


class _Done(NamedTuple):
    """What a machine has committed: pages, bytes, and URLs sent to the sites of others."""

    pages: int
    size: int
    sent: int


class Overlap:
    """Counts the pages of databases that are added one after the other; holds a hash of each URL."""

    def __init__(self) -> None:
        self.of_each: list[int] = []  # pages of each database
        self._different: set[bytes] = set()
        self._machines: list[_Done] = []

    def add(self, database: Database) -> None:
        """Take in the pages that a crawl has fetched, each as it was first visited, and its machines."""
        after = pages = 0

        def some(connection: Connection) -> list[tuple[int, bytes]]:
            fetched = page.c.result == Result.FETCHED.value, page.c.visit == 0
            query = select(page.c.id, page.c.url_hash).where(page.c.id > after, *fetched)
            rows = connection.execute(query.order_by(page.c.id).limit(_PAGES))
            return [(row[0], bytes(row[1])) for row in rows]

        while rows := database.reading(some):
            self._different.update(url_hash for _, url_hash in rows)
            after = rows[-1][0]
            pages += len(rows)
        self.of_each.append(pages)
        done = select(machine.c.pages, machine.c.bytes, machine.c.sent)
        self._machines += [_Done(*map(int, row)) for row in database.rows(done)]

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

    def coverage(self, expected: Iterable[bytes]) -> float:
        """Return what share of some URLs, given by their hashes, was fetched; 1 of none."""
        wanted = set(expected)
        return len(wanted & self._different) / len(wanted) if wanted else 1.0

    @property
    def sent(self) -> int:
        """URLs that were sent to the sites of others."""
        return sum(one.sent for one in self._machines)

    @property
    def sent_a_page(self) -> float:
        """The communication overhead: URLs sent, by the number of pages."""
        return self.sent / self.pages if self.pages else 0.0

    @property
    def machines(self) -> int:
        """Machines that have committed a page; one that was started again counts as another one."""
        return sum(one.pages > 0 for one in self._machines)

    @property
    def busiest_pages(self) -> float:
        """What the machine with the most pages has, by the mean of all that have any; 1: all have the same."""
        return _busiest([one.pages for one in self._machines if one.pages])

    @property
    def busiest_bytes(self) -> float:
        """The same of bytes."""
        return _busiest([one.size for one in self._machines if one.pages])


def _busiest(values: list[int]) -> float:
    return max(values) * len(values) / sum(values) if any(values) else 0.0
