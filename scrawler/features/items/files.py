"""Where items go that page processors make of pages: here to files of JSON lines or CSV, each item once.

Items are appended, and the database is told how long the file is then. What was written behind that length, by a
process that was killed before it could say so, is cut off by the next one, which makes those items again.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from scrawler.errors import ScrawlerError, SettingsError, is_interrupt, message_of
from scrawler.flocks import try_lock
from scrawler.seeds.csv_text import csv_cell
from scrawler.seeds.files import Format, mapped
from scrawler.seeds.formats import DEEPEST, is_flat
from scrawler.seeds.json_text import json_line

PAGE_KEY = "_page"  # the id of the page of which an item was made: the same whenever it is made again

Item = Mapping[str, Any]
_FORMATS = {".jsonl": Format.JSONL, ".ndjson": Format.JSONL, ".csv": Format.CSV}
_SHOWN = 200  # characters of names that a message has at most: they may be a page's


class ItemError(Exception):
    """An item cannot be written; the text says why."""


def format_of(path: Path) -> Format:
    """Tell by the name of a file how items are written to it, line by line. Raises SettingsError."""
    written = _FORMATS.get(path.suffix.lower())
    if written is None:
        raise SettingsError(f"{path}: items are written as .jsonl, .csv or .parquet, or to table:NAME")
    return written


class ItemsOutput(Protocol):
    """Where the items of a run go; used by one thread, and closed by it.

    A batch is `prepared` page by page, then `write` is called with all that this has returned, and then `size` is
    committed, in a transaction to which `within` may add.
    """

    size: int  # bytes of a file, or rows of a table: what was written so far

    def check(self, kept: int | None) -> None:
        """Check that so much is there, which was committed; None: that nothing is. Raises ScrawlerError."""

    def begin(self, kept: int) -> None:
        """Go on behind that; what follows it was never committed. Raises ScrawlerError."""

    def prepared(self, page_id: int, items: Sequence[Item]) -> list[Any]:
        """Return the items of a page as they will be written. Raises ItemError."""

    def write(self, prepared: list[Any], fsync: bool) -> None:
        """Write what was prepared. Raises ScrawlerError."""

    def within(self, prepared: list[Any]) -> Callable[[Any], None] | None:
        """Return what is to be done on the connection of the transaction, if anything."""

    def publish(self, kept: int) -> None:
        """Let others read what was committed, where they cannot yet. Raises ScrawlerError."""

    def close(self) -> None:
        """Let go of it; calling it again does nothing."""


def keyed(items: Sequence[Item], page_id: int) -> list[dict[str, Any]]:
    """Return the items of a page with the page's id. Raises ItemError for one too deep to be read again."""
    found = [{**item, PAGE_KEY: page_id} for item in items]
    if not all(map(is_flat, found)):
        raise ItemError(f"an item is nested deeper than {DEEPEST} levels")
    return found


@contextmanager
def made_by_users() -> Iterator[None]:
    """Raise ItemError for whatever is raised: items are other people's code, when they are turned into text as well."""
    try:
        yield
    except ItemError:
        raise
    except BaseException as error:
        if is_interrupt(error):
            raise
        raise ItemError(f"an item cannot be written: {type(error).__name__}: {message_of(error)}") from error


class ItemsFile:
    """A file to which items are appended, after `begin`; its lock keeps a second process out."""

    def __init__(self, path: Path) -> None:
        """Open the file, and change nothing in it.

        Raises SettingsError where its name says nothing of its format, ScrawlerError where it cannot be written, or
        another program writes it.
        """
        self._csv = format_of(path) is Format.CSV
        self.path = path
        self._columns: list[str] | None = None
        self.size = 0
        with mapped(ScrawlerError, "cannot be written", path):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = open(path, "ab+", buffering=0)  # noqa: SIM115
        if not self._lock():
            self._file.close()
            raise ScrawlerError(f"{self.path} is being written by another program")

    def _lock(self) -> bool:
        try:
            return try_lock(self._file.fileno())
        except OSError:  # it cannot be locked where it is: the database alone tells two programs apart
            return True

    def check(self, kept: int | None) -> None:
        """Check that it has the `kept` bytes which were committed; None: that it is a new file.

        Raises SettingsError where it is there and none of these processors'; ScrawlerError where it has lost items.
        """
        size = os.fstat(self._file.fileno()).st_size
        if kept is None and size:
            raise SettingsError(
                f"{self.path} is there, and not the file that these processors go on with: name another one"
            )
        if kept is not None and size < kept:
            raise ScrawlerError(f"{self.path} has lost items: it has {size:,} bytes, where {kept:,} were written")

    def begin(self, kept: int) -> None:
        """Go on behind the first `kept` bytes, and cut off what follows them. Raises ScrawlerError."""
        with mapped(ScrawlerError, "cannot be written", self.path):
            self._file.truncate(kept)
        self.size = kept
        if self._csv and self.size:
            self._columns = self._header()

    def _header(self) -> list[str]:
        with open(self.path, encoding="utf-8", newline="") as text:
            return next(csv.reader(text))

    def prepared(self, page_id: int, items: Sequence[Item]) -> list[str]:
        """Return how the items of a page are written; nothing is written yet. Raises ItemError."""
        with made_by_users():
            found = keyed(items, page_id)
            return [self._as_csv(found)] if self._csv else [json_line(item) + "\n" for item in found]

    def write(self, prepared: list[str], fsync: bool) -> None:
        """Append what was prepared. Raises ScrawlerError."""
        data = memoryview("".join(prepared).encode("utf-8", "backslashreplace"))
        with mapped(ScrawlerError, "cannot be written", self.path):
            while data:
                data = data[self._file.write(data) :]
            if fsync:
                os.fsync(self._file.fileno())
        self.size = os.fstat(self._file.fileno()).st_size

    def within(self, prepared: list[str]) -> Callable[[Any], None] | None:
        """Return nothing: what is written is in the file."""
        return None

    def publish(self, kept: int) -> None:
        """Do nothing: what is written can be read."""

    def close(self) -> None:
        """Let go of the file; calling it again does nothing."""
        self._file.close()

    def _as_csv(self, items: Sequence[Item]) -> str:
        out = io.StringIO()
        table = csv.writer(out, lineterminator="\n")
        columns = self._columns
        for item in items:
            if columns is None:
                columns = list(map(_name, item))
                table.writerow(columns)
            cells = {_name(name): csv_cell(value) for name, value in item.items()}
            if unknown := [name for name in cells if name not in columns]:
                names = ", ".join(unknown)[:_SHOWN]
                raise ItemError(f"the first item had no {names}, and CSV has one set of columns")
            table.writerow([cells.get(name) for name in columns])
        self._columns = columns
        return out.getvalue()


def is_being_written(path: Path) -> bool:
    """Tell whether a process has the lock of a file of items; not where there is none, or it cannot be locked."""
    try:
        with open(path, "rb") as file:
            return not try_lock(file.fileno())
    except OSError:
        return False


def _name(name: object) -> str:
    """Return the name of a column as it stands in the file, which may come from the web as any value does."""
    return str(csv_cell(str(name)))
