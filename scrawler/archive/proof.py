"""What a WARC file holds, compared with what is known of it: which records are there, and which are not.

Nothing is changed. That a gzip member unpacks whole, by its checksum, proves the bytes of a record; its header tells
its URL and the digest of its payload.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from scrawler.archive.members import MEMBER_START, Readable, Span, is_torn, members, next_record, open_file
from scrawler.archive.record import base32
from scrawler.errors import UnreadableError

_HEADER = 1 << 17  # bytes in which a record's header ends: a URL has at most 16,000 characters
_FIRST_RECORD = b"WARC/1.1\r\nWARC-Type: warcinfo\r\n"  # how the writer begins each file
_VERSION = b"WARC/1."
_FIELD = re.compile(rb"\r\nWARC-(Type|Target-URI|Payload-Digest|Filename): ([^\r\n]*)")
_FIELDS = (b"Type", b"Target-URI", b"Payload-Digest", b"Filename")  # header fields, in the order of Record
_ANSWERS = ("response", "revisit")


class Record(NamedTuple):
    """A whole record, as its header has it; `digest` is that of the payload, as text."""

    span: Span
    kind: str  # WARC-Type; empty: a gzip member that is no record
    url: str
    digest: str
    filename: str  # of the file that begins with this record

    @property
    def is_answer(self) -> bool:
        """Whether it is a response or a revisit, and so has a row."""
        return self.kind in _ANSWERS

    def says(self, url: str, digest: bytes, revisit: int) -> bool:
        """Tell whether it is the record of a page row."""
        kind = "revisit" if revisit else "response"
        return (self.kind, self.url, self.digest) == (kind, url, f"sha1:{base32(digest)}")


class WarcFile:
    """One file, read only; use it as opened by `open_warc`, or with a file of another place."""

    def __init__(self, file: Readable) -> None:
        self._file = file

    @property
    def size(self) -> int:
        """Bytes in the file, which may be growing."""
        return self._file.size

    def begins_record(self, offset: int, length: int) -> bool:
        """Tell whether there may be a record: all of its bytes are in the file, and begin as one does."""
        start = self._file.read_at(len(MEMBER_START), offset)
        return start == MEMBER_START and offset + length <= self.size

    def record(self, offset: int, length: int) -> Record | None:
        """Return the record that takes just these bytes, None if there is none."""
        found = next(self.records(offset, min(offset + length, self.size)), None)
        return found if found is not None and found.span.length == length else None

    def records(self, start: int, end: int) -> Iterator[Record]:
        """Yield the whole records between two offsets; stop at the first that is not whole."""
        for span, head in members(self._file, start, end, _HEADER):
            yield record_of(span, head.partition(b"\r\n\r\n")[0])

    def next_record(self, start: int, end: int) -> int:
        """Return where the next whole record begins between two offsets, or the second of them where none does."""
        return next_record(self._file, start, end)

    def was_begun_as(self, name: str) -> bool:
        """Tell whether the file was begun under this name: its first record says so, or is torn and all that there is.

        A copy, or a file that got another name, says what it was called at first.
        """
        first = next(self.records(0, self.size), None)
        if first is None:
            return is_torn(self._file, _FIRST_RECORD)
        return (first.kind, first.filename) == ("warcinfo", name)


@contextmanager
def open_warc(path: Path) -> Iterator[WarcFile | None]:
    """Open a file to see what it holds; None where there is none. Raises UnreadableError where it cannot be read."""
    try:
        file = open_file(path)
    except (FileNotFoundError, NotADirectoryError):
        yield None
        return
    except OSError as error:
        raise UnreadableError(f"cannot read {path}: {error.strerror or error}") from error
    with file:
        try:
            yield WarcFile(file)
        except OSError as error:
            raise UnreadableError(f"cannot read {path}: {error.strerror or error}") from error


def record_of(span: Span, header: bytes) -> Record:
    """Return what a record's header says; `span` is where it stands."""
    fields = dict(_FIELD.findall(header)) if header.startswith(_VERSION) else {}
    texts = (fields.get(name, b"").decode("utf-8", "replace") for name in _FIELDS)
    return Record(span, *texts)
