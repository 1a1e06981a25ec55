"""Finds WARC files of this host that do not hold any more what page rows say: removed, cut or overwritten.

A look at a file costs two queries and two reads, whatever its size: it is there, as long as its rows say, and its first
and last record begin as records do. Which records are gone is read only where that is not so.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Protocol

from scrawler.archive.proof import WarcFile, open_warc
from scrawler.crawl.records import WARC, prefix_of
from scrawler.errors import ArchiveError
from scrawler.model import CdxRow, Loss, LossKind


class PageRows(Protocol):
    """The part of the store that knows which records are committed."""

    def files(self, prefix: str) -> Iterator[str]:
        """The files of a writer that hold records of pages."""

    def of_file(self, warc_file: str) -> Iterator[CdxRow]:
        """The page rows whose records are in a file, by offset."""

    def places(self, warc_file: str) -> Iterator[tuple[int, int]]:
        """Offset and length of these records, by offset."""

    def committed(self, warc_file: str) -> tuple[int, int]:
        """How many these are, and where the last of them ends (0 without any)."""

    def ends(self, warc_file: str) -> tuple[tuple[int, int], tuple[int, int]] | None:
        """The places of the first and the last of them, None without any."""


class LossRows(Protocol):
    """The part of the store that keeps what was found."""

    def all(self) -> dict[str, Loss]:
        """All losses by file."""

    def note(self, found: Loss) -> None:
        """Note what is gone of a file."""

    def clear(self, warc_files: Iterable[str]) -> None:
        """Forget the losses of files."""

    def revisits_of(self, lost: Iterable[CdxRow], warc_files: Collection[str]) -> int:
        """Count the records elsewhere that refer to payloads of these alone."""


class OwnFiles:
    """Where the WARC files of this host's machines are: in the folder in use now, else where they were written.

    `written_to` has the folder of each machine by the prefix of its files. Of other hosts' files nothing is known.
    """

    def __init__(self, folder: Path, written_to: Mapping[str, Path]) -> None:
        self._folder, self._written_to = folder, written_to

    @property
    def prefixes(self) -> Iterable[str]:
        """What the names of these machines' files begin with."""
        return self._written_to

    def names(self) -> set[str]:
        """Return the names of all files of these machines in the folder in use now. Raises ArchiveError."""
        try:
            names = os.listdir(self._folder)
        except FileNotFoundError:
            return set()
        except OSError as error:
            raise ArchiveError(f"cannot read {self._folder}: {error.strerror or error}") from error
        return {name for name in names if name.endswith(WARC) and self.path(name) is not None}

    def path(self, warc_file: str) -> Path | None:
        """Return where a file is, or should be; None where that cannot be told from here."""
        there = self._written_to.get(prefix_of(warc_file) or "")
        if there is None:
            return None
        now = self._folder / warc_file
        return now if now.exists() else there / warc_file


class LossFinder:
    """Compares files with rows; `look` notes what it finds in the database.

    `mend` finishes a file once more of which nothing is missing now: it came back, or its rows were taken back.
    """

    def __init__(self, files: OwnFiles, pages: PageRows, losses: LossRows, mend: Callable[[str], None]) -> None:
        self._files, self._pages, self._losses, self._mend = files, pages, losses, mend

    def look(self) -> None:
        """Look at all files of this host; note what is gone, forget what is there again. Raises ArchiveError."""
        known = self._losses.all()
        found: dict[str, Loss] = {}
        seen: set[str] = set()
        for name, path in self.committed_files():
            seen.add(name)
            if (loss := self._look_at(name, path)) is not None:
                found[name] = loss
        for name, loss in known.items():
            if self._is_over(loss, seen, found):
                self._mend(name)
                self._losses.clear([name])
        lossy = {*known, *found}
        for name, loss in found.items():
            before = known.get(name)
            if before is None or before.kind is not loss.kind or before.records < loss.records:
                records = sum(1 for _ in self.lost_rows(name))  # some begin as they should, and are torn
                revisits = self._losses.revisits_of(self.lost_rows(name), lossy)
                self._losses.note(loss._replace(records=records, revisits=revisits))

    def committed_files(self) -> Iterator[tuple[str, Path]]:
        """Yield all files of this host that hold records of pages, and where they are, or should be.

        Those of other archives than ours, which may have a file a page, are their own matter.
        """
        for prefix in self._files.prefixes:
            for name in self._pages.files(prefix):
                path = self._files.path(name)
                if path is None:
                    break
                yield name, path

    def _is_over(self, loss: Loss, seen: Collection[str], found: Collection[str]) -> bool:
        """Tell whether nothing of a known loss is left. What only reading all of a file told, a look cannot deny."""
        name = loss.warc_file
        if name not in seen:
            return self._files.path(name) is not None and self._pages.ends(name) is None
        return name not in found and loss.kind is not LossKind.DAMAGED

    def _look_at(self, name: str, path: Path) -> Loss | None:
        ends = self._pages.ends(name)  # before the file is looked at, which may grow: what is committed is in it
        if ends is None:
            return None
        with open_warc(path) as file:
            if file is None:
                return Loss(name, LossKind.MISSING, self._pages.committed(name)[0], 0)
            if all(file.begins_record(*place) for place in ends):
                return None
            gone = sum(not file.begins_record(*place) for place in self._pages.places(name))
            kind = LossKind.CUT if file.size < sum(ends[1]) else LossKind.DAMAGED
            return Loss(name, kind, gone, 0) if gone else None

    def lost_rows(self, name: str) -> Iterator[CdxRow]:
        """Yield the page rows whose records are not in a file, which is read as far as there are rows."""
        path = self._files.path(name)
        if path is None:
            return
        with open_warc(path) as file:
            for row in self._pages.of_file(name):
                if file is None or not _holds(file, row):
                    yield row

    def is_there(self, place: tuple[str, int, int]) -> bool:
        """Tell whether there is a record at a place, as it seems; of other hosts' files nothing else is known."""
        name, offset, length = place
        path = self._files.path(name)
        if path is None:
            return True
        with open_warc(path) as file:
            return file is not None and file.begins_record(offset, length)


def _holds(file: WarcFile, row: CdxRow) -> bool:
    if not file.begins_record(row.offset, row.length):
        return False
    record = file.record(row.offset, row.length)
    return record is not None and record.says(row.url, row.digest, row.revisit)
