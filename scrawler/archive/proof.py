"""What a WARC file holds, compared with what is known of it: which records are there, and which are not.

Nothing is changed. That a gzip member unpacks whole, by its checksum, proves the bytes of a record; its header tells
its URL and the digest of its payload.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from typing import NamedTuple

from scrawler.archive.members import MEMBER_START, Span, members
from scrawler.archive.record import base32
from scrawler.errors import UnreadableError

_HEADER = 1 << 17  # bytes; a URL has at most 16,000 characters
_TYPE = re.compile(rb"WARC/1\.[01]\r\nWARC-Type: (\w+)\r\n")
_FIELD = re.compile(rb"\r\nWARC-(Target-URI|Payload-Digest): ([^\r\n]*)")
_ANSWERS = ("response", "revisit")


class Record(NamedTuple):
    """A whole record, as its header has it; `digest` is that of the payload, as text."""

    span: Span
    kind: str  # WARC-Type
    url: str
    digest: str

    @property
    def is_answer(self) -> bool:
        """Whether it is a response or a revisit, and so has a row."""
        return self.kind in _ANSWERS

    def says(self, url: str, digest: bytes, revisit: int) -> bool:
        """Tell whether it is the record of a page row."""
        kind = "revisit" if revisit else "response"
        return (self.kind, self.url, self.digest) == (kind, url, f"sha1:{base32(digest)}")


class WarcFile:
    """One file, read only; use it as opened by `open_warc`."""

    def __init__(self, file: FileIO) -> None:
        self._file = file

    @property
    def size(self) -> int:
        """Bytes in the file, which may be growing."""
        return os.fstat(self._file.fileno()).st_size

    def begins_record(self, offset: int, length: int) -> bool:
        """Tell whether there may be a record: all of its bytes are in the file, and begin as one does."""
        start = os.pread(self._file.fileno(), len(MEMBER_START), offset)
        return start == MEMBER_START and offset + length <= self.size

    def record(self, offset: int, length: int) -> Record | None:
        """Return the record that takes just these bytes, None if there is none."""
        found = next(self.records(offset, min(offset + length, self.size)), None)
        return found if found is not None and found.span.length == length else None

    def records(self, start: int, end: int) -> Iterator[Record]:
        """Yield the whole records between two offsets; stop at the first that is not whole."""
        for span, head in members(self._file, start, end, _HEADER):
            yield _record(span, head.partition(b"\r\n\r\n")[0])


@contextmanager
def open_warc(path: Path) -> Iterator[WarcFile | None]:
    """Open a file to see what it holds; None where there is none. Raises UnreadableError where it cannot be read."""
    try:
        file = FileIO(path)
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


def _record(span: Span, header: bytes) -> Record:
    kind = _TYPE.match(header + b"\r\n")
    fields = dict(_FIELD.findall(header))
    url, digest = (fields.get(name, b"").decode("utf-8", "replace") for name in (b"Target-URI", b"Payload-Digest"))
    return Record(span, kind[1].decode() if kind else "", url, digest)
