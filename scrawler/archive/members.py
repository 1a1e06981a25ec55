"""Gzip members of WARC files, one a record, read one after the other in little memory, whatever their size."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from io import FileIO
from typing import NamedTuple

from scrawler.archive.gzipping import GZIP

MEMBER_START = b"\x1f\x8b\x08"
_READ = 1 << 16
_INFLATE = 1 << 20  # so that a member of any size takes little memory


class Span(NamedTuple):
    """A gzip member of a file."""

    offset: int
    length: int


def members(file: FileIO, start: int, end: int, head_bytes: int) -> Iterator[tuple[Span, bytes]]:
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
