"""Mends the WARC files that a machine left: what lies behind the last known record goes, or is set aside.

Whoever calls this holds the lock of the files' prefix. Known records themselves are never read: between two of them
there is normally one request record, so that a file of 1 GB is gone through in seconds. Where something between them
is damaged, it goes on at the next whole record.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from scrawler.archive.members import Readable, Span, members, next_record, open_file
from scrawler.errors import ArchiveError

DAMAGED = ".damaged"  # the end of the name of what is kept of a file though nobody can account for it
_COPYING = ".tmp"
_READ = 1 << 16
_HEAD = 64  # so many bytes of a record tell its type
_RECORD = re.compile(rb"WARC/1\.1\r\nWARC-Type: (\w+)")
_ANSWERS = (b"response", b"revisit")


@dataclass(frozen=True, slots=True)
class Tail:
    """What was cut off a file: it has `end` bytes now; `records` whole response and revisit records went.

    `end` is 0 where the file was removed.
    """

    end: int
    records: int
    bytes: int


def cut_tail(path: Path, known_end: int) -> Tail:
    """Cut off all that lies behind `known_end`, the end of the last known record; remove the file if that is 0.

    To be called where that record is there. Raises ArchiveError where the folder or the disk refuses.
    """
    with _refusals(path, "repair"):
        with open_file(path) as file:
            size = os.fstat(file.fileno()).st_size
            if size == known_end > 0:
                return Tail(size, 0, 0)
            records = sum(kind in _ANSWERS for _, kind in _members(file, known_end, size))
        if known_end:
            os.truncate(path, known_end)
        else:
            path.unlink()
    return Tail(known_end, records, size - known_end)


def set_aside(path: Path, start: int) -> Path | None:
    """Cut a file off at `start`, and keep what stood there under another name; return that, None where nothing did.

    All of the file gets the other name where `start` is 0. Zeros alone, which a power cut leaves, are nothing. Cut
    short at any point, it is done again. Raises ArchiveError where the folder or the disk refuses.
    """
    with _refusals(path, "repair"):
        if path.stat().st_size == start > 0:
            return None
        kept = _free_name(path) if _holds_something(path, start) else None
        if kept is not None and start:
            _copy(path, start, kept)
        if start:
            os.truncate(path, start)
        elif kept is not None:
            path.rename(kept)
        else:
            path.unlink()
    return kept


def _holds_something(path: Path, start: int) -> bool:
    with open_file(path) as file:
        file.seek(start)
        return any(data.strip(b"\0") for data in iter(lambda: file.read(_READ), b""))


def _free_name(path: Path) -> Path:
    """Return a name beside that of a file which no other one has."""
    kept = path.with_name(path.name + DAMAGED)
    number = 2
    while kept.exists():
        kept = path.with_name(f"{path.name}{DAMAGED}.{number}")
        number += 1
    return kept


def _copy(path: Path, start: int, kept: Path) -> None:
    """Copy the end of a file into one that has its name, and is on disk, only once it is whole."""
    unfinished = path.with_name(path.name + DAMAGED + _COPYING)  # one that an earlier try has left is overwritten
    try:
        with open_file(path) as file, unfinished.open("wb") as out:
            os.fchmod(out.fileno(), stat.S_IMODE(path.stat().st_mode))  # it may hold secrets
            file.seek(start)
            shutil.copyfileobj(file, out, _READ)
            out.flush()
            os.fsync(out.fileno())  # the copy has to last: what it was made of is cut off next
        unfinished.rename(kept)
    except OSError:
        unfinished.unlink(missing_ok=True)
        raise


def discard(path: Path) -> None:
    """Remove a file that a killed process left unfinished. Raises ArchiveError."""
    with _refusals(path, "remove"):
        path.unlink(missing_ok=True)


def records_between(
    path: Path, known: Iterable[tuple[int, int]], end: int, damaged: Callable[[Span], None]
) -> Iterator[Span]:
    """Yield the whole response and revisit records before `end` that are not known.

    `known` are offset and length of the known ones, by offset; `damaged` is told of each place between them where no
    record is. Raises ArchiveError where the file cannot be read.
    """
    with _refusals(path, "read"), open_file(path) as file:
        at = 0
        for offset, length in chain(known, [(end, 0)]):
            if at < offset:
                yield from _answers(file, at, offset, damaged)
            at = offset + length


@contextmanager
def _refusals(path: Path, what: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ArchiveError(f"cannot {what} {path}: {error.strerror or error}") from error


def _answers(file: Readable, start: int, end: int, damaged: Callable[[Span], None]) -> Iterator[Span]:
    at = start
    while at < end:
        for span, kind in _members(file, at, end):
            at = sum(span)
            if kind in _ANSWERS:
                yield span
        if at < end:
            next_at = next_record(file, at + 1, end)
            damaged(Span(at, next_at - at))
            at = next_at


def _members(file: Readable, start: int, end: int) -> Iterator[tuple[Span, bytes]]:
    """Yield each whole gzip member between two offsets with its WARC-Type; stop at the first that is not whole."""
    for span, head in members(file, start, end, _HEAD):
        kind = _RECORD.match(head)
        yield span, kind[1] if kind else b""
