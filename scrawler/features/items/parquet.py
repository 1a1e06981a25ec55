"""Items as a Parquet file, which cannot be appended to: it is made of lines of JSON, anew at the end of each run.

The lines stay beside it, as `items.parquet.jsonl`. They are what is kept across a kill; the file of Parquet has all of
them that were committed, and appears under its name only when it is complete.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import reduce
from importlib import import_module
from pathlib import Path
from typing import Any

from scrawler.errors import ScrawlerError, SettingsError
from scrawler.features.items.files import PAGE_KEY, ItemsFile
from scrawler.seeds.files import mapped
from scrawler.seeds.json_text import json_line
from scrawler.seeds.outputs import open_bytes
from scrawler.seeds.table_files import arrow, storable

BESIDE = ".jsonl"  # behind the name of the Parquet file: that of its lines
_GROUP = 20_000  # rows of a row group, which are in memory at a time
_GROUP_BYTES = 16 << 20  # bytes of lines after which a row group is written, though it has fewer rows
_MOST_COLUMNS = 1_000
_NOTHING, _TEXT, _LIST = "null", "string", "list of "
_NUMBERS = {"int64", "double"}
_LARGEST = 1 << 63


class ParquetItems(ItemsFile):
    """A Parquet file of items: lines are appended beside it, and `publish` makes the file of them."""

    def __init__(self, path: Path) -> None:
        """Open the lines, and change nothing in them. Raises as ItemsFile does, and where pyarrow is not installed."""
        arrow()
        self._target = path
        self._has_grown = False
        super().__init__(beside(path))

    def check(self, kept: int | None) -> None:
        """Check it as ItemsFile does; a new file must not be there either."""
        super().check(kept)
        if kept is None and self._target.exists():
            raise SettingsError(
                f"{self._target} is there, and not the file that these processors go on with: name another one"
            )

    def begin(self, kept: int) -> None:
        """Go on behind the first `kept` bytes of the lines. Raises ScrawlerError."""
        super().begin(kept)
        self._has_grown = self._has_grown or not kept

    def write(self, prepared: list[str], fsync: bool) -> None:
        """Append lines. Raises ScrawlerError."""
        self._has_grown = True
        super().write(prepared, fsync)

    def publish(self, kept: int) -> None:
        """Make the Parquet file of the first `kept` bytes of the lines, unless it has them. Raises ScrawlerError."""
        with mapped(ScrawlerError, "cannot be written", self._target):
            lines = self.path.stat()
            is_new = self._target.exists() and self._target.stat().st_mtime_ns >= lines.st_mtime_ns
        if is_new and not self._has_grown:
            return
        columns = self._columns_of(kept)
        types = import_module("pyarrow")
        schema = types.schema([(name, _type_of(types, kind)) for name, kind in columns.items()])
        with open_bytes(str(self._target)) as raw:
            writer = import_module("pyarrow.parquet").ParquetWriter(raw, schema, compression="zstd")
            try:
                for rows in self._groups(kept):
                    arrays = [
                        types.array([_value(row.get(name), kind) for row in rows], field.type)
                        for (name, kind), field in zip(columns.items(), schema, strict=True)
                    ]
                    writer.write_table(types.Table.from_arrays(arrays, schema=schema), row_group_size=_GROUP)
                writer.close()
            except BaseException:
                writer.is_open = False  # else it writes its end when it is freed, to a file that is closed by then
                raise
        self._has_grown = False

    def _columns_of(self, kept: int) -> dict[str, str]:
        """Return what each column holds, in the order in which items brought them."""
        columns = {} if kept else {PAGE_KEY: "int64"}  # a file without columns is none to some readers
        for _, row in self._rows(kept):
            for name, value in row.items():
                columns[name] = _joined(columns.get(name, _NOTHING), _kind(value))
            if len(columns) > _MOST_COLUMNS:
                raise ScrawlerError(f"{self._target}: items have more than {_MOST_COLUMNS:,} names; see {self.path}")
        return columns

    def _rows(self, kept: int) -> Iterator[tuple[int, dict[str, Any]]]:
        """Read the first `kept` bytes of the lines: of each its length, in bytes, and its item."""
        with mapped(ScrawlerError, "cannot be read", self.path), open(self.path, "rb") as lines:
            while lines.tell() < kept:
                line = lines.readline()
                yield len(line), json.loads(line)

    def _groups(self, kept: int) -> Iterator[list[dict[str, Any]]]:
        rows: list[dict[str, Any]] = []
        length = 0
        for bytes_of_row, row in self._rows(kept):
            rows.append(row)
            length += bytes_of_row
            if len(rows) == _GROUP or length >= _GROUP_BYTES:
                yield rows
                rows, length = [], 0
        if rows:
            yield rows


def beside(path: Path) -> Path:
    """Return where the lines of a Parquet file are."""
    return path.with_name(path.name + BESIDE)


def _kind(value: object) -> str:
    """Return what a value is to Parquet: what JSON alone can hold is text."""
    if value is None:
        return _NOTHING
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int64" if -_LARGEST <= value < _LARGEST else _TEXT
    if isinstance(value, float):
        return "double"
    if isinstance(value, list):
        kind = reduce(_joined, map(_kind, value), _NOTHING)
        return _LIST + kind if not kind.startswith(_LIST) else _TEXT
    return _TEXT


def _joined(one: str, other: str) -> str:
    """Return what a column holds that has values of both kinds."""
    if one == other or other == _NOTHING:
        return one
    if one == _NOTHING:
        return other
    if {one, other} == _NUMBERS:
        return "double"
    if one.startswith(_LIST) and other.startswith(_LIST):
        return _LIST + _joined(one.removeprefix(_LIST), other.removeprefix(_LIST))
    return _TEXT


def _type_of(types: Any, kind: str) -> Any:
    if kind.startswith(_LIST):
        return types.list_(_type_of(types, kind.removeprefix(_LIST)))
    return types.type_for_alias(_TEXT if kind == _NOTHING else kind)


def _value(value: Any, kind: str) -> Any:
    """Return a value as its column holds it."""
    if value is None:
        return None
    if kind.startswith(_LIST):
        return [_value(one, kind.removeprefix(_LIST)) for one in value]
    if kind == _TEXT:
        return storable(value if isinstance(value, str) else json_line(value))
    return float(value) if kind == "double" else value
