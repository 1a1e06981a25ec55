"""Seed files read entry by entry, in bounded memory: txt, CSV and JSONL give the same entries."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from typing import NamedTuple

from scrawler.errors import InputError
from scrawler.seeds.files import Format

LINE_LIMIT = 1 << 20  # bytes; a longer line is invalid, whatever the format
URL_COLUMN = "url"

_LATE_COMMENT = re.compile(r"\s#")


class Entry(NamedTuple):
    """One line that claims to hold a URL, or, where `problem` says why, does not even do that."""

    line: int  # counted from 1
    text: str
    problem: str = ""


def read_entries(stream: io.BufferedReader, written: Format) -> Iterator[Entry]:
    """Read the entries of a seed file; blank lines and, in txt, lines that start with "#" are none.

    Raises InputError for a CSV file without a column `url`.
    """
    readers = {Format.TXT: _read_txt, Format.CSV: _read_csv, Format.JSONL: _read_jsonl}
    return readers[written](_read_lines(stream))


def _read_lines(stream: io.BufferedReader) -> Iterator[Entry]:
    """Read lines as text, without their end; a line over the limit is read in pieces and dropped, with a problem."""
    number = 0
    while raw := stream.readline(LINE_LIMIT + 1):
        number += 1
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
    url = row.get(URL_COLUMN) if isinstance(row, dict) else None
    if not isinstance(url, str):
        return Entry(entry.line, entry.text, f"no JSON object with a text {URL_COLUMN!r}")
    return Entry(entry.line, url)


class _CsvLines:
    """Feeds a csv.reader, sets unusable lines aside, and knows the line it is at."""

    def __init__(self, lines: Iterator[Entry]) -> None:
        self._lines = lines
        self._unusable: list[Entry] = []
        self.line = 0

    def __iter__(self) -> Iterator[str]:
        for entry in self._lines:
            self.line = entry.line
            if entry.problem:
                self._unusable.append(entry)
            else:
                yield entry.text + "\n"

    def take_unusable(self) -> list[Entry]:
        """Return the lines set aside since the last call."""
        taken, self._unusable = self._unusable, []
        return taken


def _read_csv(lines: Iterator[Entry]) -> Iterator[Entry]:
    source = _CsvLines(lines)
    rows = csv.reader(source, strict=True)
    column: int | None = None
    while True:
        first = source.line + 1
        try:
            row = next(rows, None)
        except csv.Error as error:  # the reader goes on with the next line
            row = []
            yield Entry(first, "", f"no CSV record in lines {first} to {source.line}: {error}")
        yield from source.take_unusable()
        if row is None:
            return
        if not any(row):
            continue
        if column is None:
            column = _url_column(row)
        elif column < len(row):
            yield Entry(source.line, row[column].strip())
        else:
            yield Entry(source.line, ",".join(row), f"no column {URL_COLUMN!r}")


def _url_column(header: list[str]) -> int:
    names = [name.strip().lower() for name in header]
    if URL_COLUMN not in names:
        raise InputError(f"no column {URL_COLUMN!r} in the first line of the CSV file, only: {', '.join(names)[:200]}")
    return names.index(URL_COLUMN)
