"""Gzip members of WARC files, one a record, read one after the other in little memory, whatever their size.

Whatever may stand under the name of a file is opened without waiting: a pipe would keep its reader for ever.
"""

from __future__ import annotations

import os
import stat
import zlib
from collections.abc import Iterator
from errno import EINVAL
from io import FileIO
from pathlib import Path
from typing import NamedTuple, Protocol

from scrawler.archive.gzipping import GZIP

MEMBER_START = b"\x1f\x8b\x08"
_READ = 1 << 16
_INFLATE = 1 << 20  # bytes that are unpacked at a time: a member of any size takes little memory


_OVERLAP = len(MEMBER_START) - 1  # so many bytes at the end of a piece may begin a member
_RECORD_START = b"WARC/1."
_NOT_WAITING = getattr(os, "O_NONBLOCK", 0)


class Readable(Protocol):
    """A file of this host, or of another place."""

    def read_at(self, length: int, offset: int) -> bytes:
        """Return bytes from an offset on, fewer at the end of the file."""

    def seek(self, offset: int) -> int:
        """Go on reading at an offset; return it."""

    def read(self, length: int) -> bytes:
        """Return the next bytes, none at the end."""

    def tell(self) -> int:
        """Return where it is read on."""

    @property
    def size(self) -> int:
        """Bytes in the file, which may be growing."""


class LocalFile(FileIO):
    """A file of this host, which can be read in more than one place."""

    def read_at(self, length: int, offset: int) -> bytes:
        """Return bytes from an offset on, fewer at the end of the file."""
        return os.pread(self.fileno(), length, offset)

    @property
    def size(self) -> int:
        """Bytes in the file, which may be growing."""
        return os.fstat(self.fileno()).st_size


def open_file(path: Path) -> LocalFile:
    """Open a regular file to read it; raises OSError, also for anything else of its name."""
    file = LocalFile(path, opener=lambda name, flags: os.open(name, flags | _NOT_WAITING))
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(EINVAL, "is no file, but a pipe or a device")
    return file


class Span(NamedTuple):
    """A gzip member of a file."""

    offset: int
    length: int


def members(file: Readable, start: int, end: int, head_bytes: int) -> Iterator[tuple[Span, bytes]]:
    """Yield each whole gzip member between two offsets with its first bytes; stop at the first that is not whole.

    A member is whole that has its end, and the checksum of what is in it.
    """
    offset = file.seek(start)
    data = file.read(min(_READ, end - offset))
    while data:
        inflate = zlib.decompressobj(GZIP)
        head = b""
        try:
            while not inflate.eof:
                data = data or file.read(min(_READ, end - file.tell()))
                out = inflate.decompress(data, _INFLATE)
                if not (data or out):
                    return
                head += out[: head_bytes - len(head)]
                data = inflate.unconsumed_tail
        except zlib.error:
            return
        data = inflate.unused_data
        after = file.tell() - len(data)
        yield Span(offset, after - offset), head
        offset = after
        data = data or file.read(min(_READ, end - offset))


def next_record(file: Readable, start: int, end: int) -> int:
    """Return where the next whole record begins between two offsets, or the second of them where none does."""
    at = start
    while at < end:
        data = file.read_at(min(_READ + _OVERLAP, end - at), at)
        found = data.find(MEMBER_START)
        while found >= 0:
            if _is_record(file, at + found, end):
                return at + found
            found = data.find(MEMBER_START, found + 1)
        if len(data) <= _OVERLAP:
            return end
        at += len(data) - _OVERLAP
    return end


def _is_record(file: Readable, start: int, end: int) -> bool:
    found = next(members(file, start, end, len(_RECORD_START)), None)
    return found is not None and found[1] == _RECORD_START


def is_torn(file: Readable, beginning: bytes) -> bool:
    """Tell whether a file has but a part of its first member, and that begins with `beginning` as far as it goes."""
    data = file.read_at(_READ, 0)
    if len(data) == _READ or data[: len(MEMBER_START)] != MEMBER_START[: len(data)]:
        return False
    inflate = zlib.decompressobj(GZIP)
    try:
        there = inflate.decompress(data)[: len(beginning)]
    except zlib.error:
        return False
    return not inflate.eof and beginning.startswith(there)
