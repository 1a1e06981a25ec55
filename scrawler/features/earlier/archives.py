"""Reads the archives of earlier crawls: which pages are there, and what their servers answered."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import closing, suppress

from scrawler.archive.members import open_file
from scrawler.archive.reading import RecordReader, StoredAnswer, UnwholeRecordError
from scrawler.assembly.copies import CrawlArchives
from scrawler.errors import StoreError
from scrawler.features.earlier.known import EarlierVisit
from scrawler.model.rows import PageRow
from scrawler.store.reading.archived import ArchivedPage


class EarlierArchives(CrawlArchives):
    """Reads what earlier crawls have archived, where it lies on this host; used by many threads."""

    def present(self, crawl: int, pages: Sequence[ArchivedPage]) -> list[ArchivedPage]:
        """Leave pages out whose records cannot be where they were written: a file is not there, or it is too short."""
        ends = {name: self._end(crawl, name) for name in {one.warc_file for one in pages}}
        return [one for one in pages if one.warc_offset + one.warc_length <= ends[one.warc_file]]

    def _end(self, crawl: int, warc_file: str) -> int:
        """Return how far a file reaches, as far as this host can say."""
        path = self.path(crawl, warc_file)
        try:
            with open_file(path) as file:
                return file.size
        except FileNotFoundError:
            return 0 if self._is_to_be_here(crawl, warc_file) else sys.maxsize
        except OSError:
            return 0

    def own_has(self, url: str, digest: bytes) -> bool:
        """Tell whether the first of the crawls has a record that should hold a payload; nobody looks at that."""
        return bool(self._crawls[0].originals(url, digest))

    def head(self, reader: RecordReader, crawl: int, page: ArchivedPage | PageRow) -> StoredAnswer | None:
        """Return the heads of the record of a page; None where that cannot be read."""
        with suppress(UnwholeRecordError, OSError):
            found = reader.head(self.path(crawl, page.warc_file), page.warc_offset, page.warc_length)
            return found if found.record.says(page.url, page.digest, page.revisit) else None
        return None

    def read(self, url: str, visit: EarlierVisit) -> StoredAnswer | None:
        """Return what the server of a page has answered, whole; None where that is gone, damaged, or cannot be read."""
        with closing(RecordReader()) as reader, suppress(UnwholeRecordError, OSError, StoreError):
            path = self.path(visit.crawl, visit.warc_file)
            own = reader.answer(path, visit.warc_offset, visit.warc_length, self._largest)
            if not own.record.says(url, visit.digest, visit.revisit):
                return None
            if not visit.revisit:
                return own
            for crawl, page in self._originals(own.refers_to, visit.digest, visit.crawl):
                body = self._body(reader, crawl, page)
                if body is not None:
                    return own._replace(body=body)
        return None
