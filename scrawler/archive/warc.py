"""The WARC writer: exchanges go in from many threads, files of whole records come out.

A file begins with a warcinfo record; then, for each exchange, its metadata record if it has one, its request record and
right behind it its response (or revisit) record, each in a gzip member of its own. So the end of a response record is
the end of its exchange: what lies beyond the last record that the database knows was never committed. Probes of
addresses are asked for without being archived, so that each response or revisit record is that of a page or of a
robots.txt.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import threading
import time
from collections.abc import Mapping
from errno import EIO
from pathlib import Path
from typing import NamedTuple

from scrawler.archive.archive import ClosedFile, UnrecordableError
from scrawler.archive.gzipping import Compress, gzip_member, is_packed, stored_member
from scrawler.archive.locks import PrefixLock, take_lock
from scrawler.archive.record import Exchange, RecordRef, records_of, warcinfo
from scrawler.compiled import mypyc_attr
from scrawler.errors import ArchiveError
from scrawler.model.terms import Millis

HELD_BYTES = 65_536  # so many bytes of whole exchanges wait in memory for the next flush, or to be written together

_DAY: Millis = 24 * 3600 * 1000
_PREFIX = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class _Begun(NamedTuple):
    """A file that was written to: `there` tells it from another one of its name."""

    name: str
    there: os.stat_result
    size: int  # the file has so many bytes at least


@mypyc_attr(allow_interpreted_subclasses=True)  # parts of other packages may build on it
class WarcWriter:
    """Writes WARC files `{prefix}-{YYYYMMDDhhmmssmmm}-{serial}.warc.gz` into one folder; any thread may write.

    `max_file_bytes` is exceeded only by a file of a single exchange. `info` goes into every warcinfo record. With
    `block_digests`, each record has a digest of its block, for a second SHA-1 of each payload. With `fsync`, `flush`
    returns when the data would survive a power cut; without, when it would survive a kill. Nothing is created before
    the first record; from then on the writer holds the lock of its prefix, until it is closed.
    Up to `held_bytes` of whole exchanges wait for the next `flush`, or for company: a call to the kernel for each of
    them would cost 13 us a page more.
    Raises ArchiveError when the folder or the disk refuses, or another writer has the prefix; the writer can be used
    again once they do not.
    """

    def __init__(
        self,
        folder: Path,
        prefix: str,
        *,
        info: Mapping[str, str],
        max_file_bytes: int = 1_000_000_000,
        fsync: bool = False,
        block_digests: bool = False,
        held_bytes: int = HELD_BYTES,
        compress: Compress = gzip_member,
        private: bool = False,
    ) -> None:
        if not _PREFIX.fullmatch(prefix):
            raise ValueError(f"not a file name prefix: {prefix!r}")
        self._folder = folder
        self._prefix = prefix
        self._info = dict(info)
        self._max_file_bytes = max_file_bytes
        self._fsync = fsync
        self._block_digests = block_digests
        self._held_bytes = held_bytes
        self._compress = compress
        self._private = private
        self._lock = threading.Lock()
        self._own: PrefixLock | None = None
        self._file: io.FileIO | None = None
        self._name = ""
        self._size = 0
        self._records = 0
        self._begun: Millis = 0  # when the file at hand was
        self._there = os.stat_result([0] * 10)
        self._unproved: list[_Begun] = []  # files that were closed since the last flush
        self._held: list[bytes] = []  # members of the last exchanges: the file ends where they begin
        self._held_exchanges = 0
        self._written = 0
        self._serial = 0
        self._closed_files: list[ClosedFile] = []
        self._closed = False

    def write(self, exchange: Exchange) -> RecordRef:
        """Append an exchange; return where its response or revisit record is. Raises UnrecordableError as well."""
        try:
            members = self._members(exchange)
        except Exception as error:
            raise UnrecordableError from error
        with self._lock:
            end = self._append(members)
            name = self._name
        length = len(members[-1])
        return RecordRef(name, end - length, length, exchange.payload_digest, exchange.revisit_of is not None)

    def _members(self, exchange: Exchange) -> list[bytes]:
        """Return the records of an exchange, each compressed; that of its answer is the last."""
        records = records_of(exchange, self._block_digests)
        compress = self._compress
        if exchange.revisit_of is None and is_packed(exchange.response_head, exchange.body):
            return [*map(compress, records[:-1]), stored_member(records[-1])]
        return [compress(record) for record in records]

    def flush(self) -> None:
        """Return when all that was written is as safe as asked for; to be called before a commit.

        Raises ArchiveError also where a file, or the folder, was removed or replaced meanwhile.
        """
        with self._lock:
            self._write_out()
            self._prove()
            if self._file is None or not self._fsync:
                return
            handle, name = os.dup(self._file.fileno()), self._name
        try:
            os.fsync(handle)  # without the lock: others go on writing
        except OSError as error:
            raise self._error(name, error) from error
        finally:
            os.close(handle)

    def _prove(self) -> None:
        """See that all files written to since the last flush are in the folder: other programs may have removed them.

        The kernel goes on to write to a file that has no name any more, and says nothing.
        """
        begun = self._unproved if self._file is None else [*self._unproved, self._at_hand()]
        for file in begun:
            try:
                now = os.stat(self._folder / file.name)
                if not os.path.samestat(now, file.there):
                    raise OSError(EIO, "another program has put another file in its place")
                if now.st_size < file.size:
                    raise OSError(EIO, "another program has cut it")
            except OSError as error:
                raise self._error(file.name, error) from error
        self._unproved.clear()

    def _at_hand(self) -> _Begun:
        return _Begun(self._name, self._there, self._written)

    def close(self) -> None:
        """Close the current file for good; calling it again does nothing."""
        with self._lock, contextlib.ExitStack() as last:
            self._closed = True
            if self._own is not None:
                last.callback(self._own.release)
            last.callback(self._let_go)
            self._write_out()

    def end_day(self, now: Millis | None = None) -> None:
        """Close the current file if it was begun on another day (UTC), so that each day of a long crawl has its own."""
        today = (_now_ms() if now is None else now) // _DAY
        with self._lock:
            if self._file is not None and self._records and self._begun // _DAY != today:
                self._close_file()

    def closed_files(self) -> list[ClosedFile]:
        """Return all files closed so far, oldest first."""
        with self._lock:
            return self._closed_files.copy()

    def _append(self, members: list[bytes]) -> int:
        """Take all of an exchange or nothing, for a new file if it is time; return where the file ends now."""
        if self._closed:
            raise ValueError("write to a closed archive")
        length = sum(len(member) for member in members)
        if self._file is not None and self._size + length > self._max_file_bytes:
            self._close_file()
        if self._file is None:
            self._write_out()
            self._open_file()
        if self._size == 0:
            members = [self._compress(warcinfo(self._name, self._info, _now_ms())), *members]
            length += len(members[0])
        size = self._size + length
        is_time = size - self._written > self._held_bytes
        self._held += members
        self._held_exchanges += 1
        if is_time:
            self._write_out(last=len(members))
        self._size = size
        self._records += 1
        return self._size

    def _write_out(self, last: int = 0) -> None:
        """Hand what is held to the kernel; where it refuses, all stays held but the `last` members, of one exchange."""
        if not self._held:
            return
        try:
            data = b"".join(self._held)
            written = self._written + len(data)
            if self._file is None:
                raise OSError(EIO, "an earlier record is torn")
            rest = memoryview(data)
            while rest:
                rest = rest[self._file.write(rest) :]
        except (OSError, MemoryError) as error:
            if last:
                del self._held[-last:]
                self._held_exchanges -= 1
            self._undo()
            if isinstance(error, MemoryError):
                raise
            raise self._error(self._name, error) from error
        self._written = written
        self._held.clear()
        self._held_exchanges = 0

    def _undo(self) -> None:
        """Take back what was written in part; a file that would be left empty goes."""
        file = self._file
        if file is None:
            return
        try:
            file.truncate(self._written)
            file.seek(self._written)
            if self._written or self._held:
                return
            os.unlink(file.name)
        except OSError:  # the torn record cannot be cut off, and nothing may follow it
            self._note_closed()
        self._file = None
        with contextlib.suppress(OSError):
            file.close()

    def _next_name(self) -> str:
        seconds, millis = divmod(_now_ms(), 1000)
        stamp = time.strftime("%Y%m%d%H%M%S", time.gmtime(seconds))
        serial, self._serial = self._serial, self._serial + 1
        return f"{self._prefix}-{stamp}{millis:03d}-{serial:05d}.warc.gz"

    def _open_file(self) -> None:
        self._name = self._next_name()
        self._size = self._records = self._written = 0
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._take_prefix()
            while (self._folder / self._name).exists():  # an earlier writer has begun a file in the same millisecond
                self._name = self._next_name()
            self._file = io.FileIO(self._folder / self._name, "x", opener=_opened_privately if self._private else None)
            self._begun = _now_ms()
            self._there = os.fstat(self._file.fileno())
            if self._fsync:
                _sync_folder(self._folder)
        except OSError as error:
            raise self._error(self._name, error) from error

    def _take_prefix(self) -> None:
        if self._own is None:
            self._own = take_lock(self._folder, self._prefix)
        if self._own is None:
            raise ArchiveError(
                f"another program writes {self._prefix} files to {self._folder}: give this crawl another name or folder"
            )

    def _note_closed(self) -> None:
        self._unproved.append(self._at_hand())
        self._closed_files.append(ClosedFile(self._name, self._records - self._held_exchanges, self._written))

    def _close_file(self) -> None:
        self._write_out()
        self._let_go()

    def _let_go(self) -> None:
        file, self._file = self._file, None
        if file is None:
            return
        self._note_closed()
        try:
            with file:
                if self._fsync:
                    os.fsync(file.fileno())
        except OSError as error:
            raise self._error(self._name, error) from error

    def _error(self, name: str, error: OSError) -> ArchiveError:
        return ArchiveError(f"cannot write {self._folder / name}: {error.strerror or error}")


def _opened_privately(name: str, flags: int) -> int:
    """Make a file that nobody else may read, for it holds secrets."""
    return os.open(name, flags, 0o600)


def _now_ms() -> Millis:
    return time.time_ns() // 1_000_000


def _sync_folder(folder: Path) -> None:
    """Make the name of a new file survive a power cut, where a folder can be opened at all."""
    if hasattr(os, "O_DIRECTORY"):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
