"""Tell apart three accounts of one crawl: the independent walk, SCrawler's page rows, the server's access log."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from experiments.docsweb.server import LogEntry
from experiments.docsweb.walk import Visit

_SHOWN = 10
_NOT_ASKED = ("robots-denied", "robots-unavailable")


@dataclass(frozen=True, slots=True)
class Finding:
    """One kind of difference, and where it shows; no examples: no difference."""

    what: str
    examples: list[str]

    def lines(self) -> Iterator[str]:
        """Yield the finding as text, at most 10 examples of it."""
        yield f"{len(self.examples):6} {self.what}"
        for example in self.examples[:_SHOWN]:
            yield f"         {example}"


def page_statuses(database: Path) -> dict[str, int]:
    """Read the URLs that SCrawler asked for, and their HTTP status, from its SQLite database."""
    uri = f"file:{database}?mode=ro"
    with closing(sqlite3.connect(uri, uri=True)) as connection:
        marks = ", ".join("?" * len(_NOT_ASKED))
        rows = connection.execute(f"SELECT url, status FROM page WHERE result NOT IN ({marks})", _NOT_ASKED).fetchall()
    return {str(url): int(status) for url, status in rows}


def compare(visits: Iterable[Visit], pages: dict[str, int], log: Iterable[LogEntry]) -> list[Finding]:
    """Compare the accounts; `log` holds the crawl's requests only."""
    walked = {visit.url: visit.status for visit in visits}
    asked = Counter(entry.url for entry in log if not entry.is_robots)
    statuses = [
        f"{url}: {walked[url]} to the walk, {pages[url]} to SCrawler"
        for url in sorted(walked.keys() & pages.keys())
        if walked[url] != pages[url]
    ]
    return [
        Finding("URLs that the walk asked for and SCrawler has no row of", sorted(walked.keys() - pages.keys())),
        Finding("URLs that SCrawler has a row of and the walk did not ask for", sorted(pages.keys() - walked.keys())),
        Finding("URLs with different status", statuses),
        Finding("URLs that the server was asked for more than once", sorted(url for url, n in asked.items() if n > 1)),
        Finding("URLs with a row that the server was never asked for", sorted(pages.keys() - asked.keys())),
        Finding("URLs that the server was asked for without a row", sorted(asked.keys() - pages.keys())),
    ]
