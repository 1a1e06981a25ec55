"""Tables as files: CSV, JSON lines, or Parquet, written row by row in bounded memory."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from importlib import import_module
from typing import IO, Any, NamedTuple, Protocol

from scrawler.dates import iso_date
from scrawler.errors import SettingsError
from scrawler.seeds.csv_text import csv_cell
from scrawler.seeds.files import Format
from scrawler.seeds.json_text import UNSAFE, escaped_mark, json_line
from scrawler.seeds.outputs import open_bytes, open_output

_GROUP = 20_000  # rows of a row group of Parquet, which are in memory at a time
_GROUP_TEXT = 16 << 20  # characters of texts after which a row group is written, though it has fewer rows


class Kind(Enum):
    """What a column holds."""

    TEXT = "string"
    NUMBER = "int64"
    REAL = "double"
    JSON = "json"  # a JSON object as text, which stands in JSON lines as an object
    TIME = "timestamp"  # UTC milliseconds in the rows; ISO 8601 where it is written as text


class Column(NamedTuple):
    """A column of a table; a row may have None in any."""

    name: str
    kind: Kind = Kind.TEXT


Row = tuple[Any, ...]


class TableWriter(Protocol):
    """Writes rows that have the columns' values in their order."""

    def write(self, rows: Sequence[Row]) -> None:
        """Write some rows."""


@contextmanager
def open_table(name: str, written: Format, columns: Sequence[Column]) -> Iterator[TableWriter]:
    """Open a file for a table, which appears under its name only when complete; "-" is standard output.

    Raises ScrawlerError when it cannot be written, SettingsError where what writes Parquet is not installed.
    """
    if written is Format.PARQUET:
        types = arrow()
        with open_bytes(name) as raw:
            parquet = _Parquet(types, raw, columns)
            try:
                yield parquet
                parquet.close()
            except BaseException:
                parquet.abandon()
                raise
        return
    with open_output(name) as out:
        yield text_writer(out, written, columns)


def text_writer(out: IO[str], written: Format, columns: Sequence[Column]) -> TableWriter:
    """Return what writes rows as text: of a plain text file the first column alone."""
    if written is Format.CSV:
        return _Csv(out, columns)
    return _JsonLines(out, columns) if written is Format.JSONL else _FirstColumn(out)


class _FirstColumn:
    def __init__(self, out: IO[str]) -> None:
        self._out = out

    def write(self, rows: Sequence[Row]) -> None:
        self._out.write("".join([f"{_plain(str(row[0]))}\n" for row in rows]))


def _plain(text: str) -> str:
    """Return a text as one line that controls no terminal: URLs are that, unless somebody else wrote the database."""
    return text if text.isprintable() else UNSAFE.sub(escaped_mark, text)


class _Dated:
    """Makes texts of the times in rows."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self._times = [at for at, column in enumerate(columns) if column.kind is Kind.TIME]

    def of(self, row: Row) -> Row:
        if all(row[at] is None for at in self._times):
            return row
        values = list(row)
        for at in self._times:
            values[at] = None if values[at] is None else iso_date(values[at])
        return tuple(values)


class _Csv:
    def __init__(self, out: IO[str], columns: Sequence[Column]) -> None:
        self._table = csv.writer(out, lineterminator="\n")
        self._dated = _Dated(columns)
        self._table.writerow([column.name for column in columns])

    def write(self, rows: Sequence[Row]) -> None:
        self._table.writerows(map(csv_cell, self._dated.of(row)) for row in rows)


class _JsonLines:
    """Writes objects without what does not apply."""

    def __init__(self, out: IO[str], columns: Sequence[Column]) -> None:
        self._out = out
        self._names = [column.name for column in columns]
        self._objects = [column.name for column in columns if column.kind is Kind.JSON]
        self._dated = _Dated(columns)

    def write(self, rows: Sequence[Row]) -> None:
        self._out.write("".join(map(self._line, map(self._dated.of, rows))))

    def _line(self, row: Row) -> str:
        found = {name: value for name, value in zip(self._names, row, strict=True) if value is not None}
        for name in self._objects:
            if name in found:
                found[name] = json.loads(found[name])
        return json_line(found) + "\n"


class _Parquet:
    def __init__(self, arrow: Any, raw: IO[bytes], columns: Sequence[Column]) -> None:
        self._arrow = arrow
        times = arrow.timestamp("ms", tz="UTC")
        kinds = {kind: arrow.type_for_alias(kind.value) for kind in (Kind.TEXT, Kind.NUMBER, Kind.REAL)}
        kinds |= {Kind.TIME: times, Kind.JSON: kinds[Kind.TEXT]}
        self._schema = arrow.schema([(column.name, kinds[column.kind]) for column in columns])
        self._out = import_module("pyarrow.parquet").ParquetWriter(raw, self._schema, compression="zstd")
        self._rows: list[Row] = []
        self._characters = 0

    def write(self, rows: Sequence[Row]) -> None:
        for row in rows:
            self._rows.append(tuple(map(storable, row)))
            self._characters += sum(len(value) for value in row if isinstance(value, str))
            if len(self._rows) >= _GROUP or self._characters >= _GROUP_TEXT:
                self._write_group()

    def close(self) -> None:
        if self._rows:
            self._write_group()
        self._out.close()

    def abandon(self) -> None:
        """Let go of a file that is not to be complete."""
        self._out.is_open = False  # else it writes its end when it is freed, to a file that is closed by then

    def _write_group(self) -> None:
        columns = zip(*self._rows, strict=True)
        arrays = [self._arrow.array(values, kind) for values, kind in zip(columns, self._schema.types, strict=True)]
        self._out.write_table(self._arrow.Table.from_arrays(arrays, schema=self._schema), row_group_size=_GROUP)
        self._rows, self._characters = [], 0


def storable(value: Any) -> Any:
    """Return a text without what UTF-8 cannot hold, as files of text have it; all else as it is."""
    if isinstance(value, str) and not value.isascii():
        return value.encode("utf-8", "backslashreplace").decode()
    return value


def arrow() -> Any:
    """Import what writes Parquet. Raises SettingsError where it is not installed."""
    try:
        return import_module("pyarrow")
    except ImportError as error:
        raise SettingsError(
            "Parquet is written by pyarrow, which is not installed: pip install 'seed-scrawler[corpus]'"
        ) from error
