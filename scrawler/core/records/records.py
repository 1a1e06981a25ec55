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
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple, Protocol
from urllib.parse import quote

from scrawler.archive import locks
from scrawler.archive.archive import ClosedFile
from scrawler.archive.cdxj import UNFINISHED, write_cdxj
from scrawler.archive.members import Span
from scrawler.archive.repair import cut_tail, discard, records_between, set_aside
from scrawler.core.records.holding import Known, all_known, last_known, own_end, was_begun
from scrawler.errors import ArchiveError, UnreadableError
from scrawler.model.records import CdxRow

WARC = ".warc.gz"
_LONGEST_NAME = 200  # characters
_FILE = re.compile(rf"(?P<prefix>.+)-\d{{17}}-\d{{5,}}(?:\.warc\.gz|\.cdxj\.\w+{UNFINISHED})")


class PageRows(Protocol):
    """The part of the store that knows which records are committed."""

    def of_file(self, warc_file: str) -> Iterator[CdxRow]:
        """The page rows whose records are in a file, by offset."""

    def last(self, warc_file: str) -> CdxRow | None:
        """The last of them, None without any."""

    def committed(self, warc_file: str) -> tuple[int, int]:
        """How many these are, and where the last of them ends (0 without any)."""


class OrphanRows(Protocol):
    """The part of the store that keeps the records that no row refers to."""

    def of_file(self, warc_file: str) -> Iterator[tuple[int, int]]:
        """Their offset and length, by offset."""

    def last(self, warc_file: str) -> tuple[int, int] | None:
        """The span of the last of them, None without any."""

    def add(self, warc_file: str, spans: Iterable[tuple[int, int]]) -> int:
        """Make these (offset, length) orphans of a file; returns how many these are."""


class Damage(NamedTuple):
    """Places in a file, with whole records behind them, where none is and none is known."""

    file: str
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Mended:
    """What was done to files: counts of response and revisit records, and prefixes left to the process that has them.

    What was cut off or became an orphan was fetched, but never committed: it is fetched again, or was by another
    machine. `lost` counts committed records that a file no longer holds, as after a power cut. `kept` are files with
    what others held that nobody can account for: neither as records of the crawl nor as the tail of a killed machine.
    `damaged` files stay as they are; `unreadable` says of others why they were passed by.
    """

    files: int = 0
    cut: int = 0
    orphans: int = 0
    lost: int = 0
    in_use: tuple[str, ...] = ()
    kept: tuple[Path, ...] = ()
    damaged: tuple[Damage, ...] = ()
    unreadable: tuple[str, ...] = ()

    def __add__(self, other: Mended) -> Mended:
        return Mended(
            self.files + other.files,
            self.cut + other.cut,
            self.orphans + other.orphans,
            self.lost + other.lost,
            self.in_use + other.in_use,
            self.kept + other.kept,
            self.damaged + other.damaged,
            self.unreadable + other.unreadable,
        )

    def told(self) -> Iterator[str]:
        """Yield a line for each file that was kept, or passed by."""
        for path in self.kept:
            yield f"a WARC file held what the database knows nothing of, which is kept as {path}"
        yield from self.unreadable


class Records:
    """The WARC files of one folder, as the page rows know them."""

    def __init__(self, folder: Path, pages: PageRows, orphans: OrphanRows) -> None:
        self._folder = folder
        self._pages = pages
        self._orphans = orphans

    def finish_gone(self, prefixes: Iterable[str], in_order: Collection[str] = ()) -> Mended:
        """Finish the files of machines that are gone, which may have been killed at any point.

        What lies behind the last known record is cut off, and a file without any goes, which the machine had begun;
        where that record is not there, something else than a kill has befallen the file, and what it holds instead is
        kept. So is all that is not known in files of machines that ended `in_order`, with all that they had written
        committed. A process that still has its files, because it is only frozen or is mending them now, keeps them.
        Raises ArchiveError, StoreError.
        """
        unfinished = self._unfinished()
        done = Mended()
        for prefix in prefixes:
            if prefix in unfinished:
                mend = partial(self._mend, uncommitted=prefix not in in_order)
                done += self._locked(prefix, unfinished[prefix], mend)
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
            return Mended(files=1) if self.index_whole(files[name]) else self._mend(name, uncommitted=True)

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
        write_cdxj(index_of(path), self._pages.of_file(file.name))
        return True

    def mend_again(self, name: str) -> Mended:
        """Finish a file once more, after rows of records that it does not hold any more were taken back.

        Of one that is gone, the index goes as well. One that a process still has is left to it. What is damaged in
        between is known from then on, as orphans: nothing is expected there any more. Raises ArchiveError, StoreError.
        """
        path, match = self._folder / name, _FILE.fullmatch(name)
        if match is None or not index_of(path).exists():
            return Mended()
        lock = locks.take_lock(self._folder, match["prefix"])
        if lock is None:
            return Mended()
        try:
            done = self._finish(name, partial(self._mend, uncommitted=False)) if path.exists() else Mended()
            for damage in done.damaged:
                self._orphans.add(damage.file, damage.spans)
            if not path.exists():
                discard(index_of(path))
        finally:
            lock.release()
        return done

    def index_again(self, names: Iterable[str]) -> None:
        """Write the indexes of finished files anew, where committed records may have become orphans.

        Files that are elsewhere, or still a process's own, are passed by. Raises ArchiveError, StoreError.
        """
        for name in names:
            path, match = self._folder / name, _FILE.fullmatch(name)
            if match is None or not path.exists() or not index_of(path).exists():
                continue
            lock = locks.take_lock(self._folder, match["prefix"])
            if lock is not None:
                try:
                    write_cdxj(index_of(path), self._pages.of_file(name))
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
            elif (match := _FILE.fullmatch(name)) and index_of(Path(name)).name not in names:
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
                elif path.exists() and not index_of(path).exists():
                    done += self._finish(name, finish)
        finally:
            lock.release()
        return done

    @staticmethod
    def _finish(name: str, finish: Callable[[str], Mended]) -> Mended:
        """Finish a file, or pass it by where it cannot be read."""
        try:
            return finish(name)
        except UnreadableError as error:
            return Mended(unreadable=(f"{error}; it is left as it is",))

    def _mend(self, name: str, uncommitted: bool) -> Mended:
        path = self._folder / name
        number, _ = self._pages.committed(name)
        end, done = self._cut(path, uncommitted)
        if not end:
            return replace(done, lost=number)
        there = ((one.offset, one.length) for one in self._known(name) if one.end <= end)
        damaged: list[Span] = []
        orphans = self._orphans.add(name, records_between(path, there, end, damaged.append))
        rows = takewhile(lambda row: row.offset + row.length <= end, self._pages.of_file(name))
        listed = write_cdxj(index_of(path), rows)
        damage = (Damage(name, tuple(damaged)),) if damaged else ()
        return replace(done, orphans=orphans, lost=number - listed, damaged=damage)

    def _cut(self, path: Path, uncommitted: bool) -> tuple[int, Mended]:
        """Cut off what lies behind the last record of a file that is known and there; return where that ends.

        It is kept, unless it may be what a machine wrote and had not committed: then the record that is known as the
        last one is there, or without any the file is one that its machine began.
        """
        last = last_known(path.name, self._pages, self._orphans)
        end = last.end if last else 0
        is_own = own_end(path, [last]) > 0 if last else was_begun(path)
        if uncommitted and is_own:
            tail = cut_tail(path, end)
            return tail.end, Mended(files=1, cut=tail.records)
        if not is_own:
            end = own_end(path, self._known(path.name))
        kept = set_aside(path, end)
        return end, Mended(files=1, kept=(kept,) if kept else ())

    def _known(self, name: str) -> Iterator[Known]:
        return all_known(self._pages.of_file(name), self._orphans.of_file(name))


def prefix_of(warc_file: str) -> str | None:
    """Return the prefix of the writer that made a file, None where it was another archive's."""
    match = _FILE.fullmatch(warc_file)
    return match["prefix"] if match else None


def is_inside(warc_file: str) -> bool:
    """Tell whether a name leads to a file within a folder: a database may have any, and an archive has none other."""
    parts = warc_file.split("/")
    return "\0" not in warc_file and not {"", ".", ".."}.intersection(parts)


def place_of(warc_file: str, folder: Path, written_to: Mapping[str, Path]) -> Path:
    """Return where a file is, or should be: in the folder in use now, else where its machine wrote it, if known.

    `written_to` has the folder of each machine by the prefix of its files.
    """
    if not is_inside(warc_file):
        return folder / quote(warc_file, safe="")[:_LONGEST_NAME]  # where nothing is
    here = folder / warc_file
    if os.path.exists(here):  # False as well where the folder keeps us out
        return here
    there = written_to.get(prefix_of(warc_file) or "")
    return here if there is None else there / warc_file


def is_finished(path: Path) -> bool:
    """Tell whether all records of a WARC file are accounted for, by rows or as orphans."""
    return index_of(path).exists()


def index_of(path: Path) -> Path:
    """Return where the index of a WARC file is, once that is finished."""
    return path.with_name(path.name.removesuffix(WARC) + ".cdxj")
