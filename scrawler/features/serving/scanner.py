"""Holds what there is against the catalogue: what is new, changed or gone becomes a change.

A file is read only if its size, its date or its inode is another one than before; one that was changed within two
seconds of when it was read last is read again, for its date may be the same after one more change.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from itertools import islice
from typing import NamedTuple, Protocol

from scrawler.features.serving.catalogue import Catalogue, CatalogueWriter, Found, Resource
from scrawler.features.serving.folder import FileInFolder, Folder, FolderError, stamp_of, type_of

_BATCH = 250  # resources of a transaction
_BLOCK = 1 << 20
_DOUBTFUL_NS = 2_000_000_000  # a change so soon before a digest may have a twin right after it
KEEP_CHANGES = 50_000


class RowPage(NamedTuple):
    """A row that is published as a page: its path, its date in UTC milliseconds (0: it has none), and its values."""

    path: str
    changed_at: int
    digest: str


class RowSource(Protocol):
    """Where rows come from."""

    def pages(self) -> Iterable[RowPage]:
        """Yield all rows that are published."""

    def problems(self) -> str:
        """Say in words which rows the last reading of all has found not to be as they should."""


class Scanner:
    """Scans a folder, and rows, in one thread."""

    def __init__(
        self,
        catalogue: Catalogue,
        folder: Folder | None,
        rows: RowSource | None = None,
        *,
        keep: int = KEEP_CHANGES,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        """Scan into `catalogue`; `keep` changes are kept at least."""
        self._catalogue = catalogue
        self._folder = folder
        self._rows = rows
        self._keep = keep
        self._clock = clock
        self._files = 0  # that the scan has seen

    def scan(self, stop: threading.Event) -> int | None:
        """Scan all once; return how many resources are new or changed, None if `stop` has cut it short.

        Raises ScrawlerError: what can be, cannot be read, or the state cannot be kept.
        """
        try:
            with self._catalogue.mapped():
                return self._scan(stop)
        except OSError as error:
            raise FolderError(f"cannot read {error.filename or 'what is published'}: {error.strerror}") from error

    def problems(self) -> str:
        """Say in words what the last scan has found not to be as it should; empty: nothing."""
        return "" if self._rows is None else self._rows.problems()

    def _scan(self, stop: threading.Event) -> int | None:
        with closing(self._catalogue.writer()) as writer:
            began_at = self._clock() // 1_000_000
            before = self._catalogue.state().scanned_at
            scan, first = writer.begin()
            changed = 0
            for batch in _batches(self._all()):
                if stop.is_set():
                    return None
                seen, found = self._judge(writer, batch, before)
                changed += writer.write(scan, first, seen, found)
            self._look_for_loss(first)
            writer.finish(scan, began_at, self._keep)
            return changed

    def _look_for_loss(self, first: bool) -> None:
        """Raise FolderError where what was not seen may still be there: it would be told to be gone."""
        folder = self._folder
        if folder is None:
            return
        if folder.unreadable:
            raise FolderError(f"cannot read {folder.path / folder.unreadable[0]}: nothing is told to be gone meanwhile")
        if not first and not self._files and self._catalogue.resource_pages() and self._rows is None:
            raise FolderError(f"{folder.path} is empty: is it mounted? Nothing is told to be gone meanwhile")

    def _all(self) -> Iterator[FileInFolder | RowPage]:
        self._files = 0
        if self._folder is not None:
            for file in self._folder.files():
                self._files += 1
                yield file
        if self._rows is not None:
            yield from self._rows.pages()

    def _judge(
        self, writer: CatalogueWriter, batch: list[FileInFolder | RowPage], before: int
    ) -> tuple[list[str], list[Found]]:
        """Return the paths that are as they were, and what is new or changed."""
        known = writer.known([one.path for one in batch])
        seen: list[str] = []
        found: list[Found] = []
        for one in batch:
            was = known.get(one.path)
            new = self._row(one, was, before) if isinstance(one, RowPage) else self._file(one, was, before)
            if new is None:
                seen.append(one.path)
            else:
                found.append(new)
        return seen, found

    def _row(self, one: RowPage, was: Resource | None, before: int) -> Found | None:
        if was is not None and was.digest == one.digest:
            return None
        changed_at = self._when(one.changed_at, before)
        return Found(one.path, 0, one.changed_at, 0, one.digest, "text/html", changed_at)

    def _file(self, one: FileInFolder, was: Resource | None, before: int) -> Found | None:
        if was is not None and _is_same(one, was):
            return None
        assert self._folder is not None
        descriptor = self._folder.open(one.path)
        if descriptor is None:  # gone since it was listed: it is left out until the next scan
            return None
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(file.fileno())
            digest, size = hashlib.sha256(), 0
            while block := file.read(_BLOCK):
                digest.update(block)
                size += len(block)
        changed_at = self._when(status.st_mtime_ns // 1_000_000, before)
        kind = type_of(one.path)[0]
        return Found(one.path, size, stamp_of(status), status.st_ino, digest.hexdigest(), kind, changed_at)

    def _when(self, said: int, since: int) -> int:
        """Return when something has changed: as it says itself, if that is possible.

        What the last scan did not find so, which began at `since` (0: there was none), has become so later, whatever
        its date is; and what lies in the future has not come yet.
        """
        now = self._clock() // 1_000_000
        return said if since <= said <= now and said > 0 else now


def _is_same(one: FileInFolder, was: Resource) -> bool:
    """Tell whether a file need not be read: it looks as it did when it was read, long enough after its date."""
    looks_so = (was.size, was.stamp, was.inode) == (one.size, one.mtime_ns, one.inode)
    return looks_so and was.checked_at * 1_000_000 - one.mtime_ns > _DOUBTFUL_NS


def _batches(all_of: Iterator[FileInFolder | RowPage]) -> Iterator[list[FileInFolder | RowPage]]:
    while batch := list(islice(all_of, _BATCH)):
        yield batch
