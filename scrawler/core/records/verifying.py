"""Compares WARC files with rows both ways: each row's record is where it says, each record has a row or is an orphan.

All of a file is unpacked, one record after the other, in little memory. Where something is no record, it goes on at
the next whole record, known or not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import StrEnum
from itertools import takewhile
from typing import NamedTuple, Protocol

from scrawler.archive.proof import Record, WarcFile
from scrawler.core.records.holding import all_known
from scrawler.model.records import CdxRow


class Problem(StrEnum):
    """What is found."""

    GONE = "gone"  # a row's record is not there
    OTHER = "another record"  # what stands there has another URL, digest or type than the row
    DAMAGED = "damaged"  # between whole records, and without a row: a request, or what was found in an answer
    UNKNOWN = "no row"  # a record of an answer with neither row nor orphan, or one that other programs write
    NO_RECORD = "no record"  # a gzip member, or bytes behind all that is known, that are no record
    UNREADABLE = "cannot be read"  # all of a file
    VAIN = "payload gone"  # a row's record is whole, and refers to one of an earlier crawl that is gone or damaged


LOST = (Problem.GONE, Problem.OTHER, Problem.DAMAGED)
_WITHOUT_ROW = ("warcinfo", "request", "metadata", "conversion")  # records of ours that have none


class Finding(NamedTuple):
    """A span in a file where file and rows say different things."""

    file: str
    offset: int
    length: int
    problem: Problem
    url: str


class Accepted:
    """Passes by what a user has accepted as gone of a file: a number of records, none where nothing was.

    Where more is gone, nothing is passed by: which records were accepted is not known.
    """

    def __init__(self, records: int) -> None:
        """Pass by so many records; so many findings are held at most, and bytes that are no records."""
        self._records = records
        self._held: list[Finding] = []
        self.lost = 0  # records

    @property
    def suffices(self) -> bool:
        """Whether no more is gone than was accepted, as far as is known."""
        return self.lost <= self._records

    def told(self, finding: Finding) -> list[Finding]:
        """Return what is to be told, now that this was found as well."""
        self.lost += finding.problem in LOST
        if finding.problem is Problem.UNKNOWN:
            return [finding]
        self._held.append(finding)
        if self._records and self.suffices:
            return []
        told, self._held = self._held, []
        return told


class PageRows(Protocol):
    """The part of the store that knows which records are committed."""

    def of_file(self, warc_file: str) -> Iterator[CdxRow]:
        """The page rows whose records are in a file, by offset."""


class OrphanRows(Protocol):
    """The part of the store that keeps the records that no row refers to."""

    def of_file(self, warc_file: str) -> Iterator[tuple[int, int]]:
        """Their offset and length, by offset."""


class FileVerifier:
    """Verifies one file; `read` is told how far it has come, in bytes. Rows from `committed` on are not looked at."""

    def __init__(
        self,
        name: str,
        file: WarcFile | None,
        committed: int,
        pages: PageRows,
        orphans: OrphanRows,
        read: Callable[[int], None],
    ) -> None:
        self._name = name
        self._file = file
        self._read = read
        known_rows = takewhile(lambda row: row.offset < committed, pages.of_file(name))  # others come while it is read
        self._known = all_known(known_rows, orphans.of_file(name))
        self._next = next(self._known, None)
        self.whole = 0  # records of answers that are as the database says

    def findings(self, end: int) -> Iterator[Finding]:
        """Yield what is not as it should be, by offset; records are read up to `end`."""
        at = 0
        while self._file is not None and at < end:
            for record in self._file.records(at, end):
                yield from self._gone_before(record.span.offset)
                yield from self._compare(record)
                at = sum(record.span)
                self._read(at)
            if at < end:
                damaged, at = at, self._file.next_record(at + 1, end)
                yield from self._damage(damaged, at, at == end)
        yield from self._gone_before(None)

    def _damage(self, start: int, end: int, at_end: bool) -> Iterator[Finding]:
        """Yield what is wrong with a span without a record: rows tell what was there, or that all of it is known."""
        known = self._next is not None and self._next.offset < end
        covered = self._next.end if self._next is not None and self._next.offset <= start else start
        yield from self._gone_before(end)
        if at_end and covered < end:
            yield Finding(self._name, start, end - start, Problem.NO_RECORD, "")
        elif not known:
            yield Finding(self._name, start, end - start, Problem.DAMAGED, "")

    def _gone_before(self, offset: int | None) -> Iterator[Finding]:
        """Pass by what is known before an offset (None: all of it), where no record was found."""
        while self._next is not None and (offset is None or self._next.offset < offset):
            known, self._next = self._next, next(self._known, None)
            if known.row is not None:
                yield Finding(self._name, known.offset, known.length, Problem.GONE, known.row.url)

    def _is_of_another_file(self, record: Record) -> bool:
        return record.kind == "warcinfo" and record.filename != self._name

    def _compare(self, record: Record) -> Iterator[Finding]:
        """Compare a record with what is known of its span."""
        offset, length = record.span
        known = self._next
        if known is None or known.offset != offset:
            if not record.kind:
                yield Finding(self._name, offset, length, Problem.NO_RECORD, "")
            elif record.kind not in _WITHOUT_ROW or self._is_of_another_file(record):
                yield Finding(self._name, offset, length, Problem.UNKNOWN, record.url)
            return
        self._next = next(self._known, None)
        row = known.row
        if row is not None and not (length == known.length and record.says(row.url, row.digest, row.revisit)):
            yield Finding(self._name, offset, known.length, Problem.OTHER, row.url)
        else:
            self.whole += record.is_answer
