"""A machine that archives pages and commits some of them, so that its files have to be finished."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path

from scrawler.archive.record import Exchange, RecordRef, RevisitOf, digest
from scrawler.archive.warc import WarcWriter
from scrawler.core.records.records import Records
from scrawler.model.claims import ClaimedSite
from scrawler.model.rows import PageRow
from scrawler.store.engines.engine import Database
from scrawler.store.lists.orphans import Orphans
from scrawler.store.reading.pages import Pages
from tests.integration.store.crawling import Worker, add, page, seed_delta, site_delta

HOSTS = ("a.org", "b.org")


def add_hosts(database: Database) -> None:
    """Give the crawl a seed on each host."""
    add(database, *(f"http://{host}/" for host in HOSTS))


def records_of(database: Database, folder: Path) -> Records:
    return Records(folder, Pages(database), Orphans(database))


def place(row: PageRow) -> tuple[str, int, int]:
    return row.warc_file, row.warc_offset, row.warc_length


@dataclass
class Fetching:
    """A machine that archives pages of two sites into files of some 10 KB, and commits what a test wants."""

    database: Database
    folder: Path
    sites: dict[str, ClaimedSite] = field(init=False)
    pending: dict[str, list[PageRow]] = field(default_factory=lambda: {host: [] for host in HOSTS})

    def __post_init__(self) -> None:
        self.worker = Worker.of(self.database)
        self.sites = {site.key: site for site in self.worker.claim()}
        self.prefix = f"crawl-m{self.worker.id}"
        self.writer = WarcWriter(self.folder, self.prefix, info={}, max_file_bytes=10_000, held_bytes=0)
        self.random = random.Random(self.worker.id)
        self.number = 0

    def fetch(self, *hosts: str, revisit_of: PageRow | None = None) -> PageRow:
        """Archive a page of each host; return the row of the last."""
        for host in hosts:
            self.number += 1
            url = f"http://{host}/{self.number}"
            body = self.random.randbytes(self.random.choice((300, 900, 2_000)))
            earlier = RevisitOf(revisit_of.url, revisit_of.fetched_at) if revisit_of else None
            head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
            date = 1_790_000_000_000 + self.number
            asked = f"GET /{self.number} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()
            exchange = Exchange(url, "", date, asked, head, body, digest(body), "", earlier)
            if self.number % 2 == 0:
                exchange.metadata = f"outlink: {url} L a/@href\r\n".encode()
            ref = self.writer.write(exchange)
            self.pending[host].append(self._row(host, url, date, ref))
        return self.pending[hosts[-1]][-1]

    def _row(self, host: str, url: str, date: int, ref: RecordRef) -> PageRow:
        return page(
            self.sites[host].seeds[0].id, url, position=self.number, fetched_at=date, digest=ref.digest,
            warc_file=ref.file, warc_offset=ref.offset, warc_length=ref.length, revisit=int(ref.revisit),
        )  # fmt: skip

    def commit(self, *hosts: str) -> None:
        """Commit what waits of these hosts, in one transaction."""
        deltas = []
        for host in hosts:
            site, rows = self.sites[host], tuple(self.pending[host])
            self.pending[host] = []
            deltas.append(site_delta(site, seed_delta(site.seeds[0].id, pages=rows)))
        assert not self.worker.commit(*deltas)

    def vanish(self) -> None:
        """End as a killed process does: the kernel closes its files."""
        assert self.writer._file
        self.writer._file.close()
        assert self.writer._own
        assert self.writer._own._file
        self.writer._own._file.close()


def names(folder: Path, ending: str = ".warc.gz") -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name.endswith(ending))


Places = set[tuple[str, int, int]]


def fetch_in_turn(fetching: Fetching) -> tuple[Places, int]:
    """Fill several files with pages of both hosts, of which those of b.org are committed at the end.

    Returns the places of uncommitted records with committed ones behind them, and how many have none.
    """
    fetching.fetch(*["a.org"] * 3, *["b.org"] * 2)
    fetching.commit("a.org", "b.org")
    waiting = []
    for _ in range(25):
        waiting.append(place(fetching.fetch("a.org")))
        seen = fetching.fetch("b.org")
    fetching.fetch("b.org", revisit_of=seen)
    last = {row.warc_file: row.warc_offset for row in fetching.pending["b.org"]}
    fetching.commit("b.org")
    orphans = {one for one in waiting if one[1] < last[one[0]]}
    assert len(names(fetching.folder)) > 3
    assert 10 < len(orphans) < len(waiting)
    return orphans, len(waiting) - len(orphans)
