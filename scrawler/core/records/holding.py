"""Whether a WARC file holds what the database knows of it: rows, and orphans, which are known by their spans alone."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, Protocol

from scrawler.archive.proof import WarcFile, open_warc
from scrawler.model.records import CdxRow


class Known(NamedTuple):
    """What the database knows of a span: a row, or None for an orphan."""

    offset: int
    length: int
    row: CdxRow | None

    @property
    def end(self) -> int:
        """Where it ends."""
        return self.offset + self.length


class PageRows(Protocol):
    """The part of the store that knows which records are committed."""

    def of_file(self, warc_file: str) -> Iterator[CdxRow]:
        """The page rows whose records are in a file, by offset."""

    def last(self, warc_file: str) -> CdxRow | None:
        """The last of them, None without any."""


class OrphanRows(Protocol):
    """The part of the store that keeps the records that no row refers to."""

    def of_file(self, warc_file: str) -> Iterator[tuple[int, int]]:
        """Their offset and length, by offset."""

    def last(self, warc_file: str) -> tuple[int, int] | None:
        """The span of the last of them, None without any."""


def all_known(rows: Iterable[CdxRow], orphans: Iterable[tuple[int, int]]) -> Iterator[Known]:
    """Yield all that is known of a file, by offset."""
    of_rows = (Known(row.offset, row.length, row) for row in rows)
    of_orphans = (Known(offset, length, None) for offset, length in orphans)
    return heapq.merge(of_rows, of_orphans, key=lambda known: known.offset)


def last_known(name: str, pages: PageRows, orphans: OrphanRows) -> Known | None:
    """Return the last that is known of a file."""
    row, span = pages.last(name), orphans.last(name)
    known = all_known([row] if row else [], [span] if span else [])
    return max(known, key=lambda one: one.offset, default=None)


def holds_row(file: WarcFile, row: CdxRow) -> bool:
    """Tell whether the record of a row is where it says."""
    return holds(file, Known(row.offset, row.length, row))


def holds(file: WarcFile, known: Known) -> bool:
    """Tell whether a whole record is at a span of the file; that of a row must say the same as the row."""
    if not file.begins_record(known.offset, known.length):
        return False
    record = file.record(known.offset, known.length)
    row = known.row
    return record is not None and (row is None or record.says(row.url, row.digest, row.revisit))


def own_end(path: Path, known: Iterable[Known]) -> int:
    """Return where the last record ends of what is known, by offset, that a file holds; 0 where it holds none.

    Raises UnreadableError.
    """
    with open_warc(path) as file:
        if file is None:
            return 0
        return max((one.end for one in known if holds(file, one)), default=0)


def was_begun(path: Path) -> bool:
    """Tell whether a file is one that the writer of its name began. Raises UnreadableError."""
    with open_warc(path) as file:
        return file is not None and file.was_begun_as(path.name)
