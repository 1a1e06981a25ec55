"""Seed files read entry by entry, in bounded memory: txt, CSV and JSONL give the same entries."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from scrawler.errors import InputError
from scrawler.feature import hooked
from scrawler.seeds.exporter import ExportRow, UrlKind
from scrawler.seeds.files import Format
from scrawler.seeds.json_text import json_text
from scrawler.store.engines.bulk import LONGEST_TEXT

CheckColumns = Callable[
    [Mapping[str, Any]], str
]  # says what is wrong with the columns of a seed's line; empty: nothing

LINE_LIMIT = 1 << 20  # bytes; a longer line is invalid, whatever the format
LONGEST_COLUMNS = LONGEST_TEXT  # characters of the JSON of all further columns of a seed
RECORD_LINES = 100  # lines of a CSV record at most, for cells may hold line ends
URL_COLUMN = "url"
COLUMNS_COLUMN = "columns"  # in which an export has the further columns of a seed

DEEPEST = 50  # levels of lists and objects in the further columns of a seed, or in an item
_EXPORTED = frozenset(ExportRow._fields)
_KINDS = frozenset(kind.value for kind in UrlKind)
_LATE_COMMENT = re.compile(r"\s#")


class Entry(NamedTuple):
    """One line that claims to hold a URL, or, where `problem` says why, does not even do that."""

    line: int  # counted from 1
    text: str
    problem: str = ""
    columns: str = ""  # JSON object of what else the line says of the seed; empty: nothing


def read_entries(stream: io.BufferedReader, written: Format, name: str) -> Iterator[Entry]:
    """Read the entries of a seed file; blank lines and, in txt, lines that start with "#" are none.

    Raises InputError, which has its `name`, for a CSV file without a column `url`.
    """
    if written is Format.CSV:
        return _read_csv(_read_lines(stream, blank=True), name)
    lines = _read_lines(stream, blank=False)
    return _read_txt(lines) if written is Format.TXT else _read_jsonl(lines)


def _read_lines(stream: io.BufferedReader, *, blank: bool) -> Iterator[Entry]:
    """Read lines as text, without their end, those without text only where `blank` wants them.

    A line over the limit is read in pieces and dropped, with a problem.
    """
    number = 0
    while raw := stream.readline(LINE_LIMIT + 1):
        number += 1
        if not blank and raw.isspace() and len(raw) <= LINE_LIMIT:
            continue
        if len(raw) > LINE_LIMIT and not raw.endswith(b"\n"):
            yield Entry(number, raw[:100].decode("utf-8", "replace"), f"line longer than {LINE_LIMIT} bytes")
            while raw and not raw.endswith(b"\n"):
                raw = stream.readline(LINE_LIMIT)
            continue
        try:
            text = raw.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError:
            yield Entry(number, raw.strip().decode("utf-8", "replace"), "not UTF-8 text")
            continue
        yield Entry(number, text.rstrip("\r\n"))


def _read_txt(lines: Iterator[Entry]) -> Iterator[Entry]:
    for entry in lines:
        text = entry.text.strip()
        if entry.problem:
            yield entry
        elif _LATE_COMMENT.search(text):
            yield Entry(entry.line, text, "white space and # in a line: a comment needs a line of its own")
        elif text and not text.startswith("#"):
            yield Entry(entry.line, text)


def _read_jsonl(lines: Iterator[Entry]) -> Iterator[Entry]:
    for entry in lines:
        if entry.problem:
            yield entry
        elif entry.text.strip():
            yield _json_entry(entry)


def _json_entry(entry: Entry) -> Entry:
    try:
        row = json.loads(entry.text)
    except (ValueError, RecursionError):
        return Entry(entry.line, entry.text, "no JSON object")
    url = row.pop(URL_COLUMN, None) if isinstance(row, dict) else None
    if not isinstance(url, str):
        return Entry(entry.line, entry.text, f"no JSON object with a text {URL_COLUMN!r}")
    return _with_columns(entry.line, url, row)


def _with_columns(line: int, url: str, row: dict[str, Any]) -> Entry:
    """Return the entry of a seed with what else its line says; of a line of an export, what that line says of it."""
    kind = row.get("kind")
    if isinstance(kind, str) and kind in _KINDS and row.keys() <= _EXPORTED:
        row = _exported_columns(row.get(COLUMNS_COLUMN))
    if not row:
        return Entry(line, url)
    if not is_flat(row):
        return Entry(line, url, f"its further columns are nested deeper than {DEEPEST} levels")
    for wrong_column in _column_checks():
        if problem := wrong_column(row):
            return Entry(line, url, problem)
    columns = json_text(row).encode("utf-8", "backslashreplace").decode()
    if len(columns) > LONGEST_COLUMNS:
        return Entry(line, url, f"its further columns have {len(columns):,} characters, more than {LONGEST_COLUMNS:,}")
    return Entry(line, url, "", columns)


@lru_cache(maxsize=1)
def _column_checks() -> tuple[CheckColumns, ...]:
    """Return what features check in the columns of a line; these are many, and features are few."""
    return tuple(hooked("columns"))


def is_flat(value: object, levels: int = DEEPEST) -> bool:
    """Tell whether a value of JSON has at most so many levels, so that it can be read again wherever it is."""
    if not isinstance(value, dict | list | tuple):
        return True
    inside = value.values() if isinstance(value, dict) else value
    return levels > 0 and all(is_flat(one, levels - 1) for one in inside)


def _exported_columns(stored: object) -> dict[str, Any]:
    if isinstance(stored, str) and stored:
        try:
            stored = json.loads(stored)
        except (ValueError, RecursionError):
            stored = {COLUMNS_COLUMN: stored}
    return stored if isinstance(stored, dict) else {}


class _LongRecordError(Exception):
    """A record goes on for longer than any does: a quote is not closed."""


class _CsvLines:
    """Feeds a csv.reader the lines of a record, which it keeps until it is known what they are."""

    def __init__(self, lines: Iterator[Entry]) -> None:
        self._lines = lines
        self._again: deque[Entry] = deque()
        self._record: list[Entry] = []
        self._usable = 0
        self._characters = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        """Return the next usable line. Raises _LongRecordError for one that no record of a seed file has."""
        while True:
            entry = self._again.popleft() if self._again else next(self._lines)
            self._record.append(entry)
            if not entry.problem:
                break
        self._usable += 1
        self._characters += len(entry.text)
        if self._usable > RECORD_LINES or (self._usable > 1 and self._characters > LINE_LIMIT):
            raise _LongRecordError(f"none ends within {self._usable - 1} lines")
        return entry.text + "\n"

    def take(self) -> list[Entry]:
        """Return the lines of a record that is whole, and those among them that are unusable."""
        taken = self._record
        self._record = []
        self._usable = 0
        self._characters = 0
        return taken

    def give_up(self, problem: str) -> list[Entry]:
        """Return the first line as invalid, with the unusable ones before it; the others are read again."""
        taken = self.take()
        first = next((at for at, entry in enumerate(taken) if not entry.problem), len(taken))
        self._again.extendleft(reversed(taken[first + 1 :]))
        return [*taken[:first], *(entry._replace(problem=problem) for entry in taken[first : first + 1])]


def _read_csv(lines: Iterator[Entry], name: str) -> Iterator[Entry]:
    """Read records. One that cannot be read costs its first line: a stray quote swallows no lines after it."""
    source = _CsvLines(lines)
    rows = csv.reader(source, strict=True)
    column: int | None = None
    names: list[str] = []
    while True:
        try:
            row = next(rows, None)
        except (csv.Error, _LongRecordError) as error:  # the reader goes on with the next line
            yield from source.give_up(f"no CSV record: {error}")
            continue
        if row and column is not None and "\n" in _cell(row, column):
            yield from source.give_up("no CSV record: a URL of several lines")
            continue
        taken = source.take()
        yield from (entry for entry in taken if entry.problem)
        if row is None:
            return
        if not any(row):
            continue
        if column is None:
            column = _url_column(row, name)
            names = _names(row)
        elif column < len(row):
            further = {names[at]: value for at, value in enumerate(row[: len(names)]) if value and at != column}
            yield _with_columns(taken[-1].line, _cell(row, column), further)
        else:
            yield Entry(taken[-1].line, ",".join(row), f"no column {URL_COLUMN!r}")


def _cell(row: list[str], column: int) -> str:
    return row[column].strip() if column < len(row) else ""


def _names(header: list[str]) -> list[str]:
    """Return the names of the columns, each once: what has none, or that of an earlier one, goes by its number."""
    names: list[str] = []
    for number, written in enumerate(header, 1):
        name = written.strip()
        names.append(name if name and name not in names else f"column {number}")
    return names


def _url_column(header: list[str], file: str) -> int:
    names = [name.strip().lower() for name in header]
    if URL_COLUMN not in names:
        hint = "; a comma separates columns" if any(mark in names[0] for mark in ";\t|") else ""
        raise InputError(f"{file}: no column {URL_COLUMN!r} in its first line, only: {', '.join(names)[:200]}{hint}")
    return names.index(URL_COLUMN)
