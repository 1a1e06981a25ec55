"""Finds WARC files of this host that do not hold any more what page rows say: removed, cut or overwritten.

A look at a file costs two queries and two reads, whatever its size: it is there, as long as its rows say, and its first
and last record begin as records do. Which records are gone is read only where that is not so.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Protocol

from scrawler.archive.proof import open_warc
from scrawler.core.records.holding import holds_row
from scrawler.core.records.records import WARC, place_of, prefix_of
from scrawler.errors import ArchiveError, UnreadableError
from scrawler.model.records import UNCOUNTED, CdxRow, Loss, LossKind

_PLACES = 500  # asked for at a time


def never() -> bool:
    """Say that nobody wants an end."""
    return False


def unsaid(line: str) -> None:
    """Let a line be said to nobody."""


class PageRows(Protocol):
    """The part of the store that knows which records are committed."""

    def files(self, prefix: str) -> Iterator[str]:
        """The files of a writer that hold records of pages."""

    def of_file(self, warc_file: str) -> Iterator[CdxRow]:
        """The page rows whose records are in a file, by offset."""

    def spans(self, warc_file: str) -> Iterator[tuple[int, int]]:
        """Offset and length of these records, by offset."""

    def committed(self, warc_file: str) -> tuple[int, int]:
        """How many these are, and where the last of them ends (0 without any)."""

    def ends(self, warc_file: str) -> tuple[tuple[int, int], tuple[int, int]] | None:
        """The spans of the first and the last of them, None without any."""


class LossRows(Protocol):
    """The part of the store that keeps what was found."""

    def all(self) -> dict[str, Loss]:
        """All losses by file."""

    def note(self, found: Loss) -> None:
        """Note what is gone of a file."""

    def clear(self, warc_files: Iterable[str]) -> None:
        """Forget the losses of files."""

    def uncounted(self) -> list[str]:
        """The files of which it is not known how many revisits elsewhere refer to what they held."""

    def count(self, warc_file: str, revisits: int) -> None:
        """Note how many that are."""

    def vain_revisits(self, stopping: Callable[[], bool]) -> VainRevisits:
        """Give what finds these."""


class VainRevisits(Protocol):
    """The part of the store that finds revisits of payloads which are gone."""

    def taken(self, warc_file: str, offsets: Collection[int]) -> list[int]:
        """The rows of those that refer to payloads at these spans; none comes twice."""


class OwnFiles:
    """Where the WARC files of this host's machines are: in the folder in use now, else where they were written.

    `written_to` has the folder of each machine by the prefix of its files. Of other hosts' files nothing is known.
    """

    def __init__(self, folder: Path, written_to: Mapping[str, Path]) -> None:
        self._folder = folder
        self._written_to = written_to

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
        if (prefix_of(warc_file) or "") not in self._written_to:
            return None
        return place_of(warc_file, self._folder, self._written_to)


class LossFinder:
    """Compares files with rows; `look` notes what it finds in the database.

    `mend` finishes a file once more of which nothing is missing now: it came back, or its rows were taken back. A file
    that is not here, but `is_copied`, is not missing; that may raise UnreadableError.
    """

    def __init__(
        self,
        files: OwnFiles,
        pages: PageRows,
        losses: LossRows,
        mend: Callable[[str], None],
        is_copied: Callable[[str], bool] = lambda name: False,
    ) -> None:
        self._files = files
        self._pages = pages
        self._losses = losses
        self._mend = mend
        self._is_copied = is_copied

    def look(self, stopping: Callable[[], bool] = never, say: Callable[[str], None] = unsaid) -> None:
        """Look at all files of this host; note what is gone, forget what is there again.

        Once `stopping`, it ends: what was not looked at stays as it is known. A file that cannot be read is passed by,
        which `say` is told. Raises ArchiveError where not even the folder can be read.
        """
        known = self._losses.all()
        found, seen, unreadable = set[str](), set[str](), list[str]()
        for name, path in self.committed_files():
            if stopping():
                return
            seen.add(name)
            try:
                if self._note(known.get(name), self._look_at(name, path), stopping):
                    found.add(name)
            except UnreadableError as error:
                unreadable.append(str(error))
                found.add(name)  # no more can be told of it
        for name, loss in known.items():
            if self._is_over(loss, seen, found):
                self._mend(name)
                self._losses.clear([name])
        if unreadable:
            more = f" (and {len(unreadable) - 1:,} more)" if len(unreadable) > 1 else ""
            say(f"{unreadable[0]}{more}; it is not known whether the records in it are there")

    def count_revisits(self, stopping: Callable[[], bool] = never) -> None:
        """Count the revisits that refer to what is gone, where that is not known; once `stopping`, it ends."""
        vain = self._losses.vain_revisits(stopping)
        for name in self._losses.uncounted():
            if self._files.path(name) is None:
                continue
            number = 0
            with suppress(UnreadableError):  # what it held is as unknown as it was
                offsets = (row.offset for row in self.lost_rows(name))
                while part := list(islice(offsets, _PLACES)):
                    if stopping():
                        return
                    number += len(vain.taken(name, part))
                if not stopping():
                    self._losses.count(name, number)

    def _note(self, before: Loss | None, loss: Loss | None, stopping: Callable[[], bool]) -> bool:
        """Note what is gone of a file, if that is not known; tell whether anything is."""
        if loss is None:
            return False
        if before is None or before.kind is not loss.kind or before.records < loss.records:
            records = 0
            for _ in self.lost_rows(loss.warc_file):  # some begin as they should, and are torn
                records += 1
                if stopping():
                    return True
            self._losses.note(loss._replace(records=records))
        return True

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
        """Tell whether nothing of a known loss is left: all was fetched again, or is there again.

        What only reading all of a file told, a look cannot deny.
        """
        name = loss.warc_file
        if name not in seen:
            return self._files.path(name) is not None and self._pages.ends(name) is None
        return name not in found and (loss.kind is not LossKind.DAMAGED or loss.records == 0)

    def _look_at(self, name: str, path: Path) -> Loss | None:
        ends = self._pages.ends(name)  # before the file is looked at, which may grow: what is committed is in it
        if ends is None:
            return None
        with open_warc(path) as file:
            if file is None and self._is_copied(name):
                return None
            if file is None:
                return Loss(name, LossKind.MISSING, self._pages.committed(name)[0], UNCOUNTED)
            if all(file.begins_record(*span) for span in ends):
                return None
            gone = sum(not file.begins_record(*span) for span in self._pages.spans(name))
            kind = LossKind.CUT if file.size < sum(ends[1]) else LossKind.DAMAGED
            return Loss(name, kind, gone, UNCOUNTED) if gone else None

    def lost_rows(self, name: str) -> Iterator[CdxRow]:
        """Yield the page rows whose records are not in a file, which is read as far as there are rows."""
        path = self._files.path(name)
        if path is None:
            return
        with open_warc(path) as file:
            for row in self._pages.of_file(name):
                if file is None or not holds_row(file, row):
                    yield row
