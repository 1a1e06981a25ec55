"""Mends the WARC files that a machine left: what lies behind the last committed record goes, the rest is told of.

Whoever calls this holds the lock of the files' prefix. Committed records themselves are never read: between two of
them there is normally one request record, so that a file of 1 GB is gone through in seconds.
"""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import FileIO
from itertools import chain
from pathlib import Path

from scrawler.archive.gzipping import GZIP
from scrawler.archive.members import MEMBER_START, Span, members
from scrawler.errors import ArchiveError, DamagedError

_READ = 1 << 16
_HEAD = 64  # bytes of a record that tell its type
_RECORD = re.compile(rb"WARC/1\.1\r\nWARC-Type: (\w+)")
_ANSWERS = (b"response", b"revisit")


@dataclass(frozen=True, slots=True)
class Tail:
    """What was cut off a file: it has `end` bytes now; `records` whole response and revisit records went.

    `end` is 0 where the file was removed, and less than the known end where the file was shorter than that, as
    after a power cut.
    """

    end: int
    records: int
    bytes: int


def cut_tail(path: Path, known_end: int) -> Tail:
    """Cut off all that lies behind `known_end`, the end of the last committed record; remove the file if that is 0.

    A file that is shorter is cut behind its last whole exchange. Raises ArchiveError where the folder or the disk
    refuses, or a file that is too short is damaged elsewhere than at its end.
    """
    with _refusals(path, "repair"):
        with FileIO(path) as file:
            size = os.fstat(file.fileno()).st_size
            if size == known_end > 0:
                return Tail(size, 0, 0)
            if size < known_end:
                known_end = _whole_end(file, size)
            records = sum(kind in _ANSWERS for _, kind in _members(file, known_end, size))
        if known_end:
            os.truncate(path, known_end)
        else:
            path.unlink()
    return Tail(known_end, records, size - known_end)


def discard(path: Path) -> None:
    """Remove a file that a killed process left unfinished. Raises ArchiveError."""
    with _refusals(path, "remove"):
        path.unlink(missing_ok=True)


def records_between(path: Path, committed: Iterable[tuple[int, int]], end: int) -> Iterator[Span]:
    """Yield the whole response and revisit records before `end` that are not committed.

    `committed` are offset and length of the committed ones, by offset. Raises ArchiveError where what lies between
    them cannot be read.
    """
    with _refusals(path, "read"), FileIO(path) as file:
        at = 0
        for offset, length in chain(committed, [(end, 0)]):
            if at < offset:
                yield from _answers(file, at, offset)
            at = offset + length


@contextmanager
def _refusals(path: Path, what: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ArchiveError(f"cannot {what} {path}: {error.strerror or error}") from error


def _answers(file: FileIO, start: int, end: int) -> Iterator[Span]:
    at = start
    for span, kind in _members(file, start, end):
        at = span.offset + span.length
        if kind in _ANSWERS:
            yield span
    if at != end:
        raise _damaged(file, at)


def _whole_end(file: FileIO, size: int) -> int:
    """Return where the last whole exchange ends."""
    at = end = 0
    for span, kind in _members(file, 0, size):
        at = span.offset + span.length
        if kind in _ANSWERS:  # a request whose answer is torn goes with it
            end = at
    if _records_follow(file, at):
        raise _damaged(file, at)
    return end


def _members(file: FileIO, start: int, end: int) -> Iterator[tuple[Span, bytes]]:
    """Yield each whole gzip member between two offsets with its WARC-Type; stop at the first that is not whole."""
    for span, head in members(file, start, end, _HEAD):
        kind = _RECORD.match(head)
        yield span, kind[1] if kind else b""


def _records_follow(file: FileIO, offset: int) -> bool:
    """Tell an end that was never written (zeros after a power cut) from damage with good records behind it."""
    file.seek(offset + 1)
    tail = b""
    while chunk := file.read(_READ):
        tail = tail[-_READ:] + chunk
        at = tail.find(MEMBER_START)
        while at >= 0:
            if _begins_record(tail[at:]):
                return True
            at = tail.find(MEMBER_START, at + 1)
    return False


def _begins_record(data: bytes) -> bool:
    try:
        return _RECORD.match(zlib.decompressobj(GZIP).decompress(data, _HEAD)) is not None
    except zlib.error:
        return False


def _damaged(file: FileIO, offset: int) -> DamagedError:
    return DamagedError(
        f"{file.name!s} is damaged at byte {offset} with whole records behind it; restore it or move it away"
    )
