"""Records read back: the answer that stands at a place of a WARC file, checked, in bounded memory."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from io import FileIO
from pathlib import Path
from typing import NamedTuple, cast

from isal import isal_zlib
from isal.igzip_lib import IsalError

from scrawler.archive.gzipping import GZIP
from scrawler.archive.members import Span, members, next_record, open_file
from scrawler.archive.proof import Record, record_of
from scrawler.dates import read_date
from scrawler.model.terms import Millis

_INFLATE_ERROR = cast("type[Exception]", IsalError)  # its type stubs take the class for an instance
_HEAD_END = re.compile(rb"\r?\n\r?\n")  # of an HTTP head: some servers send bare line feeds
_HEADER_END = b"\r\n\r\n"
_METADATA = 4 << 20  # bytes of a metadata record that are read: those of ours have little more than 1 MiB
_REQUEST = 1 << 20  # bytes in which the record of a request is found: it is a head, and packed
_RENDERED = 64 << 20  # bytes of a rendered document that are read: those of ours have half of that at most
_MEMBER = b"\x1f\x8b\x08"  # begins a gzip member
_RECORD_ID = re.compile(rb"\r\nWARC-Record-ID: ([^\r\n]*)")
_REFERS_TO_ID = re.compile(rb"\r\nWARC-Refers-To: ([^\r\n]*)")
_HEAD_PACKED = 2048  # bytes of a packed record in which its heads stand as a rule
_HEADS = 1 << 18  # bytes that the heads of a record may take, unpacked
_BLOCK_LENGTH = re.compile(rb"\r\nContent-Length: (\d{1,18})(?:\r\n|\Z)")
_PACKING = 1 << 10  # bytes that what cannot be packed takes more, beside a thousandth
_RECORD_END = 4  # bytes behind the block of a record
_REFERS_TO_DATE = re.compile(rb"\r\nWARC-Refers-To-Date: ([^\r\n]*)")
_REFERS_TO = re.compile(rb"\r\nWARC-Refers-To-Target-URI: ([^\r\n]*)")


class UnwholeRecordError(Exception):
    """No whole record is where one is looked for; the text says what is there."""


class LargeRecordError(UnwholeRecordError):
    """What stands there is larger than a page may be."""


class StoredAnswer(NamedTuple):
    """A response or revisit record as it stands in its file."""

    record: Record
    raw: bytes  # all of it, unpacked
    head: bytes  # status line and header fields as archived, with the blank line
    body: bytes  # as transferred, less the transfer coding; empty in a revisit
    refers_to: str  # URL of the page whose record has the same payload; empty: the payload is here


class RecordReader:
    """Reads records of WARC files, and keeps the file open of which the last one was; used by one thread."""

    def __init__(self) -> None:
        self._path: Path | None = None
        self._file: FileIO | None = None

    def answer(self, path: Path, offset: int, length: int, limit: int) -> StoredAnswer:
        """Return the record that takes these bytes of a file, as `stored_answer` does. Raises OSError as well."""
        check_length(length, limit)
        return stored_answer(self.bytes_at(path, offset, length), offset, limit)

    def head(self, path: Path, offset: int, length: int) -> StoredAnswer:
        """Return the record that begins at an offset of a file, as far as its heads go: little of a page is read.

        Whether the rest of it is whole nobody has looked. Raises UnwholeRecordError, OSError.
        """
        file = self._opened(path).fileno()
        for most in (_HEAD_PACKED, _HEADS):
            found = stored_head(os.pread(file, max(0, min(most, length)), offset), offset, length)
            if found is not None:
                return found
        raise UnwholeRecordError("what stands there is cut")

    def bytes_at(self, path: Path, offset: int, length: int) -> bytes:
        """Return bytes of a file, fewer at its end: room is taken for what is there. Raises OSError."""
        file = self._opened(path).fileno()
        left = os.fstat(file).st_size - offset
        return os.pread(file, max(0, min(length, left)), offset)

    def close(self) -> None:
        """Let go of the file; calling it again does nothing."""
        file, self._file, self._path = self._file, None, None
        if file is not None:
            file.close()

    def _opened(self, path: Path) -> FileIO:
        if self._file is None or path != self._path:
            self.close()
            self._file = open_file(path)
            self._path = path
        return self._file


def check_length(length: int, limit: int) -> None:
    """Raise UnwholeRecordError where no packed record of `limit` bytes can take so many: they are not even read."""
    if length <= 0:
        raise UnwholeRecordError("nothing stands there")
    if length > limit + limit // 1_000 + _PACKING:
        raise LargeRecordError(f"it takes {length:,} bytes, more than a page may have")


def stored_answer(data: bytes, offset: int, limit: int) -> StoredAnswer:
    """Return the record that these bytes are, which stand at an offset of their file. Raises UnwholeRecordError.

    `limit` is how many bytes it may have, unpacked: what was archived has no more, but a file may be another one.
    """
    raw = _unpacked(data, limit)
    header, found, block = raw.partition(_HEADER_END)
    record = record_of(Span(offset, len(data)), header)
    if not (found and record.is_answer):
        raise UnwholeRecordError("what stands there is no record of an answer")
    block = block[: len(block) - _RECORD_END]
    said = _BLOCK_LENGTH.search(header)
    if said is None or int(said[1]) != len(block):
        raise UnwholeRecordError("what stands there is not as long as it says")
    end = _HEAD_END.search(block)
    at = end.end() if end else len(block)
    return StoredAnswer(record, raw, block[:at], block[at:], _referred(record, header))


def stored_head(data: bytes, offset: int, length: int) -> StoredAnswer | None:
    """Return the heads of the record that begins with these bytes, which takes `length` of them at an offset.

    None where they do not stand in `data`, or are longer than those of ours. Raises UnwholeRecordError.
    """
    try:
        raw = isal_zlib.decompressobj(GZIP).decompress(data, _HEADS)
    except _INFLATE_ERROR as error:
        raise UnwholeRecordError("what stands there is damaged") from error
    header, found, block = raw.partition(_HEADER_END)
    end = _HEAD_END.search(block)
    if not (found and end):
        return None
    record = record_of(Span(offset, length), header)
    if not record.is_answer:
        raise UnwholeRecordError("what stands there is no record of an answer")
    return StoredAnswer(record, raw, block[: end.end()], b"", _referred(record, header))


def _referred(record: Record, header: bytes) -> str:
    target = _REFERS_TO.search(header) if record.kind == "revisit" else None
    return target[1].decode("utf-8", "replace") if target else ""


def rendered_before(data: bytes, answer: StoredAnswer) -> bytes | None:
    """Return the document that a browser made of a page, whose record stands before those of its request and answer.

    `data` is what stands in the file before the answer, or the end of that. None: it is not there, or not all of it.
    """
    own = _RECORD_ID.search(answer.raw)
    end, raw = len(data), b""
    for _ in ("request", "conversion"):
        end, raw = _last_member(data, end)
        if not raw:
            return None
    header, _, block = raw.partition(_HEADER_END)
    refers = _REFERS_TO_ID.search(header)
    if own is None or refers is None or refers[1] != own[1] or b"\r\nWARC-Type: conversion" not in header:
        return None
    return block[: len(block) - _RECORD_END]


def metadata_before(data: bytes, url: str, is_longest: bool) -> bytes | None:
    """Return the fields of the metadata record of an exchange whose answer follows `data`; empty where it has none.

    None: where that record would be is before `data`; none can be so far away if `data` `is_longest`. Raises
    UnwholeRecordError where something else than the request of a URL stands there.
    """
    end, passed = len(data), 0
    while True:
        end, raw = _last_member(data, end)
        if not raw and passed:
            return b"" if is_longest else None
        if not raw and len(data) >= _REQUEST:
            raise UnwholeRecordError("what stands before it is damaged")
        if not raw:
            return None
        header, _, block = raw.partition(_HEADER_END)
        record = record_of(Span(end, len(raw)), header)
        if record.kind == "metadata" and record.url == url:
            return block[: len(block) - _RECORD_END]
        if record.kind not in ("request", "conversion") or record.url != url:
            if not passed:
                raise UnwholeRecordError("what stands there is not the request of the page")
            return b""
        passed += 1


def _last_member(data: bytes, end: int) -> tuple[int, bytes]:
    """Return where the gzip member begins that ends at `end`, and what is in it; nothing if it begins before `data`.

    What only looks like the beginning of one, within another, is found out when it is unpacked.
    """
    at = data.rfind(_MEMBER, 0, end)
    while at >= 0:
        try:
            return at, _unpacked(data[at:end], _RENDERED)
        except UnwholeRecordError:
            at = data.rfind(_MEMBER, 0, at)
    return 0, b""


def _unpacked(data: bytes, limit: int) -> bytes:
    """Unpack one gzip member, whose checksum proves it."""
    inflate = isal_zlib.decompressobj(GZIP)
    try:
        raw = inflate.decompress(data, limit + 1)
    except _INFLATE_ERROR as error:
        raise UnwholeRecordError("what stands there is damaged") from error
    if len(raw) > limit:
        raise LargeRecordError(f"what stands there is larger than {limit:,} bytes, more than a page may have")
    if not inflate.eof or inflate.unused_data:
        raise UnwholeRecordError("what stands there is cut, or not the record of the page")
    return raw


def metadata_records(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the URL and the fields of each metadata record of a WARC file, and pass by what is damaged. Raises OSError.

    A record of more than 4 MiB is none of those that this program writes.
    """
    with open_file(path) as file:
        size = os.fstat(file.fileno()).st_size
        at = 0
        while at < size:
            for span, start in members(file, at, size, _METADATA):
                at = span.offset + span.length
                header, _, fields = start.partition(_HEADER_END)
                record = record_of(span, header)
                if record.kind == "metadata":
                    yield record.url, fields
            at = next_record(file, at + 1, size) if at < size else size


def original_of(answer: StoredAnswer) -> tuple[str, Millis] | None:
    """Return URL and time of the record to which a revisit refers for its payload; None where it does not say both."""
    date = _REFERS_TO_DATE.search(answer.raw)
    at = read_date(date[1].decode("ascii", "replace")) if date else None
    return (answer.refers_to, at) if answer.refers_to and at is not None else None
