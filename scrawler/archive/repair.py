"""Mends the WARC files that a killed process left: a torn end goes, whole records stay and are told of."""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple

from scrawler.archive.gzipping import GZIP
from scrawler.errors import ArchiveError

_READ = 1 << 16
_INFLATE = 1 << 20  # so that a member of any size takes little memory
_MEMBER_START = b"\x1f\x8b\x08"
_RECORD = re.compile(rb"WARC/1\.1\r\nWARC-Type: (\w+)")
_NO_SPANS: Mapping[str, int] = {}


class Span(NamedTuple):
    """A gzip member of a file."""

    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class Repaired:
    """What was found and done in one file.

    `unknown` are whole response and revisit records beyond the known end: they become orphan rows, or `cut_back`
    removes them. `lost` is more than 0 where the file ends before its known end, as after a power cut.
    """

    file: str
    cut: int  # bytes, off the end
    lost: int  # bytes
    unknown: tuple[Span, ...]


def repair(folder: Path, prefix: str, known_ends: Mapping[str, int] = _NO_SPANS) -> list[Repaired]:
    """Cut torn ends off the files of one prefix; return what was found amiss.

    `known_ends` gives, by file name, the end (offset + length) of the last committed record: only the rest is read.
    No writer may be at work on these files. A file without a single whole exchange is removed. Raises ArchiveError
    where the folder or the disk refuses, or a file is damaged elsewhere than at its end.
    """
    pattern = re.compile(re.escape(prefix) + r"-\d{17}-\d{5,}\.warc\.gz")
    names = sorted(path.name for path in folder.glob("*.warc.gz") if pattern.fullmatch(path.name))
    done = (_repair_file(folder / name, known_ends.get(name, 0)) for name in names)
    return [repaired for repaired in done if repaired.cut or repaired.lost or repaired.unknown]


def cut_back(path: Path, size: int) -> int:
    """Shorten a file to `size` bytes, or remove it when that is 0; return how many bytes went."""
    try:
        excess = path.stat().st_size - size
        if size == 0:
            path.unlink()
        elif excess > 0:
            with path.open("r+b") as file:
                file.truncate(size)
    except OSError as error:
        raise ArchiveError(f"cannot repair {path}: {error.strerror or error}") from error
    return excess


def _repair_file(path: Path, known_end: int) -> Repaired:
    try:
        with path.open("rb") as file:
            lost = max(0, known_end - os.fstat(file.fileno()).st_size)
            start = 0 if lost else known_end
            members = list(_members(file, start))
    except OSError as error:
        raise ArchiveError(f"cannot read {path}: {error.strerror or error}") from error
    answers = [span for span, kind in members if kind in (b"response", b"revisit")]
    end = sum(answers[-1]) if answers else start  # a request whose answer is torn goes with it
    return Repaired(path.name, cut_back(path, end), lost, () if lost else tuple(answers))


def _members(file: BinaryIO, start: int) -> Iterator[tuple[Span, bytes]]:
    """Yield each whole gzip member from `start` on with its WARC-Type; end at a torn one."""
    offset = file.seek(start)
    data = file.read(_READ)
    while data:
        inflate = zlib.decompressobj(GZIP)
        head = b""
        try:
            while not inflate.eof:
                data = data or file.read(_READ)
                out = inflate.decompress(data, _INFLATE)
                if not (data or out):
                    return
                head = head or out[:64]
                data = inflate.unconsumed_tail
        except zlib.error as error:
            _refuse_if_records_follow(file, offset, error)
            return
        data = inflate.unused_data
        end = file.tell() - len(data)
        kind = _RECORD.match(head)
        yield Span(offset, end - offset), kind[1] if kind else b""
        offset = end
        data = data or file.read(_READ)


def _refuse_if_records_follow(file: BinaryIO, offset: int, error: zlib.error) -> None:
    """Tell an end that was never written (zeros after a power cut) from damage with good records behind it."""
    file.seek(offset + 1)
    tail = b""
    while chunk := file.read(_READ):
        tail = tail[-_READ:] + chunk
        at = tail.find(_MEMBER_START)
        while at >= 0:
            if _begins_record(tail[at:]):
                name = getattr(file, "name", "")
                raise ArchiveError(
                    f"{name} is damaged at byte {offset} with whole records behind it; restore it or move it away"
                ) from error
            at = tail.find(_MEMBER_START, at + 1)


def _begins_record(data: bytes) -> bool:
    try:
        return _RECORD.match(zlib.decompressobj(GZIP).decompress(data, 64)) is not None
    except zlib.error:
        return False
