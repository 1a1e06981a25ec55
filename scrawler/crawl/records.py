"""Keeps WARC files and database in step: mends what a machine left, and indexes what is closed.

A file is finished when its CDXJ stands beside it. Then its response and revisit records are those of its page rows
(those of robots.txt files, which have a table of their own, among them) and of its orphan rows, none of both, and the
CDXJ has a line for each page row. The CDXJ is made last and put in place
whole: what is cut short, at any point, is done again and gives the same.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Protocol

from scrawler.archive import locks
from scrawler.archive.archive import ClosedFile
from scrawler.archive.cdxj import UNFINISHED, write_cdxj
from scrawler.archive.repair import cut_tail, discard, records_between
from scrawler.errors import ArchiveError, DamagedError
from scrawler.model import CdxRow

WARC = ".warc.gz"
_FILE = re.compile(rf"(?P<prefix>.+)-\d{{17}}-\d{{5,}}(?:\.warc\.gz|\.cdxj\.\w+{UNFINISHED})")


class PageRows(Protocol):
    """The part of the store that knows which records are committed."""

    def of_file(self, warc_file: str) -> Iterator[CdxRow]:
        """The page rows whose records are in a file, by offset."""

    def places(self, warc_file: str) -> Iterator[tuple[int, int]]:
        """Offset and length of these records, by offset."""

    def committed(self, warc_file: str) -> tuple[int, int]:
        """How many these are, and where the last of them ends (0 without any)."""


class OrphanRows(Protocol):
    """The part of the store that keeps the records that were never committed."""

    def replace(self, warc_file: str, places: Iterable[tuple[int, int]]) -> int:
        """Make these (offset, length) the orphans of a file; returns how many these are."""


@dataclass(frozen=True, slots=True)
class Mended:
    """What was done to files: counts of response and revisit records, and prefixes left to the process that has them.

    What was cut off or became an orphan was fetched, but never committed: it is fetched again, or was by another
    machine. `lost` counts committed records that a file no longer holds, as after a power cut.
    """

    files: int = 0
    cut: int = 0
    orphans: int = 0
    lost: int = 0
    in_use: tuple[str, ...] = ()

    def __add__(self, other: Mended) -> Mended:
        return Mended(
            self.files + other.files,
            self.cut + other.cut,
            self.orphans + other.orphans,
            self.lost + other.lost,
            self.in_use + other.in_use,
        )


class Records:
    """The WARC files of one folder, as the page rows know them."""

    def __init__(self, folder: Path, pages: PageRows, orphans: OrphanRows) -> None:
        self._folder, self._pages, self._orphans = folder, pages, orphans

    def finish_gone(self, prefixes: Iterable[str]) -> Mended:
        """Finish the files of machines that are gone, which may have been killed at any point.

        What lies behind the last committed record is cut off, and a file without any goes. A process that still has
        its files, because it is only frozen or is mending them now, keeps them. Raises ArchiveError, StoreError.
        """
        unfinished = self._unfinished()
        done = Mended()
        for prefix in prefixes:
            if prefix in unfinished:
                done += self._locked(prefix, unfinished[prefix], self._mend)
        return done

    def unfinished(self, prefixes: Iterable[str]) -> list[str]:
        """Return those of the prefixes that have something to finish. Raises ArchiveError."""
        found = self._unfinished()
        return [prefix for prefix in prefixes if prefix in found]

    def finish_own(self, prefix: str, closed: Iterable[ClosedFile]) -> Mended:
        """Finish the files of a writer that was closed in order, when nothing of it will be committed any more.

        Only files with records that were not committed, because another machine had taken the site over, are read.
        Raises ArchiveError, StoreError.
        """
        files = {file.name: file for file in closed}

        def finish(name: str) -> Mended:
            return Mended(files=1) if self.index_whole(files[name]) else self._mend(name)

        return self._locked(prefix, list(files), finish) if files else Mended()

    def index_whole(self, file: ClosedFile) -> bool:
        """Index a file of which all records are committed; returns whether they are.

        To be called by the process that has the files. Raises ArchiveError, StoreError.
        """
        path = self._folder / file.name
        if self._pages.committed(file.name) != (file.records, file.end):
            return False
        if not path.exists() or path.stat().st_size != file.end:
            return False
        write_cdxj(_index_of(path), self._pages.of_file(file.name))
        return True

    def mend_again(self, name: str) -> None:
        """Finish a file once more, after rows of records that it does not hold any more were taken back.

        Of one that is gone, the index goes as well. One that a process still has is left to it, and where damage has
        whole records behind it, the file stays as it is. Raises ArchiveError, StoreError.
        """
        path, match = self._folder / name, _FILE.fullmatch(name)
        if match is None or not _index_of(path).exists():
            return
        lock = locks.take_lock(self._folder, match["prefix"])
        if lock is None:
            return
        try:
            if not path.exists() or not self._is_mended(name):
                discard(_index_of(path))
        finally:
            lock.release()

    def _is_mended(self, name: str) -> bool:
        """Mend a file, or at least index what is left; tell whether anything is."""
        try:
            self._mend(name)
        except DamagedError:
            write_cdxj(_index_of(self._folder / name), self._pages.of_file(name))
        return (self._folder / name).exists()

    def index_again(self, names: Iterable[str]) -> None:
        """Write the indexes of finished files anew, where committed records may have become orphans.

        Files that are elsewhere, or still a process's own, are passed by. Raises ArchiveError, StoreError.
        """
        for name in names:
            path, match = self._folder / name, _FILE.fullmatch(name)
            if match is None or not path.exists() or not _index_of(path).exists():
                continue
            lock = locks.take_lock(self._folder, match["prefix"])
            if lock is not None:
                try:
                    write_cdxj(_index_of(path), self._pages.of_file(name))
                finally:
                    lock.release()

    def _unfinished(self) -> dict[str, list[str]]:
        """Return by prefix the files without an index, unfinished indexes, and nothing for a lock left behind."""
        try:
            names = set(os.listdir(self._folder))
        except (FileNotFoundError, NotADirectoryError):
            return {}  # nothing was ever archived there
        except OSError as error:
            raise ArchiveError(f"cannot read {self._folder}: {error.strerror or error}") from error
        found: dict[str, list[str]] = defaultdict(list)
        for name in sorted(names):
            if name.endswith(locks.SUFFIX):
                found[name.removesuffix(locks.SUFFIX)]
            elif (match := _FILE.fullmatch(name)) and _index_of(Path(name)).name not in names:
                found[match["prefix"]].append(name)
        return found

    def _locked(self, prefix: str, names: Iterable[str], finish: Callable[[str], Mended]) -> Mended:
        """Finish files under the lock of their prefix; others may have done so before we had it."""
        lock = locks.take_lock(self._folder, prefix)
        if lock is None:
            return Mended(in_use=(prefix,))
        done = Mended()
        try:
            for name in names:
                path = self._folder / name
                if name.endswith(UNFINISHED):
                    discard(path)
                elif path.exists() and not _index_of(path).exists():
                    done += finish(name)
        finally:
            lock.release()
        return done

    def _mend(self, name: str) -> Mended:
        path = self._folder / name
        number, end = self._pages.committed(name)
        tail = cut_tail(path, end)
        if not tail.end:
            self._orphans.replace(name, ())
            return Mended(files=1, cut=tail.records, lost=number)
        there = takewhile(lambda place: sum(place) <= tail.end, self._pages.places(name))
        orphans = self._orphans.replace(name, records_between(path, there, tail.end))
        rows = takewhile(lambda row: row.offset + row.length <= tail.end, self._pages.of_file(name))
        listed = write_cdxj(_index_of(path), rows)
        return Mended(files=1, cut=tail.records, orphans=orphans, lost=number - listed)


def prefix_of(warc_file: str) -> str | None:
    """Return the prefix of the writer that made a file, None where it was another archive's."""
    match = _FILE.fullmatch(warc_file)
    return match["prefix"] if match else None


def is_finished(path: Path) -> bool:
    """Tell whether all records of a WARC file are accounted for, by rows or as orphans."""
    return _index_of(path).exists()


def _index_of(path: Path) -> Path:
    return path.with_name(path.name.removesuffix(WARC) + ".cdxj")
