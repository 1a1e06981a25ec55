"""Reads the older copies of payloads, to which the revisit records of this crawl refer: its own, and earlier crawls'.

A payload that came over the wire is dropped only where its copy was read, whole, just before. What lies on another
host, or elsewhere alone (`archive_to`), is not read here.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from enum import Enum
from math import inf
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import NamedTuple

from scrawler.archive.reading import RecordReader, StoredAnswer, UnwholeRecordError
from scrawler.archive.record import digest as digest_of
from scrawler.core.records.losses import unsaid
from scrawler.core.records.records import place_of, prefix_of
from scrawler.errors import StoreError
from scrawler.model.terms import Millis
from scrawler.model.visits import KnownVisit
from scrawler.settings import Settings, largest_record
from scrawler.store.reading.archived import ArchivedCrawl, ArchivedPage

_AHEAD = 1_000  # pages that are looked up together
_MOST_FORESEEN = 10_000  # pages that were looked up, and not asked for
_AWAY = 60.0  # seconds after which a database is asked again that could not be


class CopyState(Enum):
    """What there is of the record to which another one refers for its payload."""

    WHOLE = "whole"
    GONE = "gone"  # it should be on this host, and is damaged, or not there
    ELSEWHERE = "elsewhere"  # on another host, or copied away: nobody has looked
    UNKNOWN = "unknown"  # no database knows it, or none could be asked


class Copy(NamedTuple):
    """One of the records that should hold a payload; without a page, there is none."""

    state: CopyState
    crawl: int = 0  # its number
    page: ArchivedPage | None = None


class CrawlArchives:
    """Reads the records of crawls that lie on this host; used by many threads."""

    def __init__(
        self, crawls: Sequence[ArchivedCrawl], settings: Settings, say: Callable[[str], None] = unsaid
    ) -> None:
        """Read what `crawls` have archived, the newest first; `say` is told once that a copy cannot be read.

        Crawls may be added as long as nothing is read.
        """
        self._crawls = crawls
        self._pages_dir = settings.pages_dir
        self._largest = largest_record(settings)  # the database may claim any length
        self._away_until = -inf  # no database is asked before: one could not be
        self._foreseen: dict[str, list[ArchivedPage]] = {}  # by URL: what the first of the crawls has of it
        self._folders: dict[int, dict[str, Path]] = {}
        self._say = say
        self._asking = Lock()

    @property
    def away(self) -> bool:
        """Whether a database could not be asked a while ago: to wait for it with each page would hold the crawl up."""
        return monotonic() < self._away_until

    def expect(self, url: str, others: Mapping[str, KnownVisit]) -> None:
        """Look a URL up in the first of the crawls, with others that will be asked for soon, unless it was foreseen.

        One query for many pages costs little more than one for a page.
        """
        if url in self._foreseen or self.away:
            return
        soon = [one.payload_url for one in list(others.values()) if one.payload_url]
        soon = [one for one in soon if one not in self._foreseen][:_AHEAD]
        with self._asking:
            if len(self._foreseen) > _MOST_FORESEEN:
                self._foreseen.clear()
            with self._noting_away():
                self._foreseen.update(self._crawls[0].originals_of({url, *soon}))

    @contextmanager
    def _noting_away(self) -> Iterator[None]:
        try:
            yield
        except StoreError:
            self._away_until = monotonic() + _AWAY

    def path(self, crawl: int, warc_file: str) -> Path:
        """Return where a file of a crawl is: in the folder of this one, else where its machine wrote it."""
        if crawl not in self._folders:
            self._folders[crawl] = self._crawls[crawl].folders(socket.gethostname())
        return place_of(warc_file, self._pages_dir, self._folders[crawl])

    def _is_to_be_here(self, crawl: int, warc_file: str) -> bool:
        """Tell whether a file was written on this host, and is nowhere else."""
        written_here = (prefix_of(warc_file) or "") in self._folders.get(crawl, {})
        return written_here and not self._crawls[crawl].is_copied()

    def holds(self, url: str, digest: bytes, body: bytes) -> bool:
        """Tell whether a record of a URL holds this very payload: it was read just now."""
        return self.held_since(url, digest, body) is not None

    def held_since(self, url: str, digest: bytes, body: bytes) -> Millis | None:
        """Return the time of a record of a URL that holds this very payload, as it was read just now; None: none."""
        with closing(RecordReader()) as reader, suppress(OSError, StoreError):
            for crawl, page in self._originals(url, digest):
                if page.length == len(body) and self._body(reader, crawl, page) == body:
                    return page.fetched_at
                self._tell(crawl, page)
        return None

    def is_gone(self, url: str, digest: bytes) -> bool:
        """Tell whether the records of a URL that hold a payload should be on this host, and none can be read."""
        with closing(RecordReader()) as reader:
            gone = self.look(reader, url, digest)
        if gone.state is CopyState.GONE and gone.page is not None:
            self._tell(gone.crawl, gone.page)
        return gone.state is CopyState.GONE

    def look(self, reader: RecordReader, url: str, digest: bytes) -> Copy:
        """Return what there is of the records of a URL that hold a payload: one that can be read, if any can."""
        found = Copy(CopyState.UNKNOWN)
        with suppress(OSError, StoreError):
            for crawl, page in self._originals(url, digest):
                if self._body(reader, crawl, page) is not None:
                    return Copy(CopyState.WHOLE, crawl, page)
                is_here = self.path(crawl, page.warc_file).exists() or self._is_to_be_here(crawl, page.warc_file)
                if found.state is not CopyState.ELSEWHERE:
                    found = Copy(CopyState.GONE if is_here else CopyState.ELSEWHERE, crawl, page)
        return found

    def _tell(self, crawl: int, page: ArchivedPage) -> None:
        say, self._say = self._say, unsaid
        say(
            f"the copy of {page.url} in {self.path(crawl, page.warc_file)} cannot be read: what comes of such pages is"
            " archived anew; `scrawler verify` looks for more"
        )

    def _body(self, reader: RecordReader, crawl: int, page: ArchivedPage) -> bytes | None:
        """Return the payload that the record of a page holds; None where that is not there, or is another one."""
        with suppress(UnwholeRecordError, OSError):
            stored = self._stored(reader, crawl, page)
            if stored.record.says(page.url, page.digest, page.revisit) and digest_of(stored.body) == page.digest:
                return stored.body
        return None

    def _originals(self, url: str, digest: bytes, first: int = 0) -> Iterator[tuple[int, ArchivedPage]]:
        """Yield the pages whose own records hold a payload, with the numbers of their crawls, from one crawl on."""
        for crawl in range(first, len(self._crawls)):
            foreseen = self._foreseen.pop(url, None) if crawl == 0 else None
            if foreseen is not None:
                yield from ((crawl, page) for page in foreseen if page.digest == digest)
                continue
            if self.away:
                return
            found: list[ArchivedPage] = []
            with self._noting_away():
                found = self._crawls[crawl].originals(url, digest)
            yield from ((crawl, page) for page in found)

    def _stored(self, reader: RecordReader, crawl: int, page: ArchivedPage) -> StoredAnswer:
        path = self.path(crawl, page.warc_file)
        return reader.answer(path, page.warc_offset, page.warc_length, self._largest)
