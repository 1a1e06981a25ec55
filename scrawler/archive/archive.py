"""The archive interface: exchanges go in, spans of records come out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from scrawler.archive.record import Exchange, RecordRef


class UnrecordableError(Exception):
    """No record can be made of an exchange, a fault of this program which is the cause of this; nothing was written."""


class ClosedFile(NamedTuple):
    """A file that gets no more records: `records` responses and revisits, the last of which ends at `end`."""

    name: str
    records: int
    end: int


class Archive(Protocol):
    """Keeps exchanges with the web; all methods may be called by any thread. All raise ArchiveError.

    It is made once for a run of a machine, with a folder, a `prefix` of its own for its files' names, and the keywords
    `info` (text by name, about this program), `max_file_bytes`, `fsync` and `block_digests` (whether records have a
    digest of all of their bytes, beside that of the payload). Pages are only committed after a `flush`.
    What a killed machine wrote after that is cut off or noted as orphans in WARC files named and locked as those of
    `WarcWriter`; what becomes of it in other files is up to the archive.
    """

    def write(self, exchange: Exchange) -> RecordRef:
        """Keep an exchange; return where. An empty file name says that it was not kept, which page rows may have.

        Digest and revisit must be told in any case, for traps are recognised by them. Raises UnrecordableError as well.
        """

    def flush(self) -> None:
        """Return once all that was written would survive a kill, and with `fsync` a power cut."""

    def closed_files(self) -> Sequence[ClosedFile]:
        """Return the WARC files in the folder that are full or closed, to be indexed; none for other archives."""

    def close(self) -> None:
        """Let go of everything; calling it again does nothing."""
