"""Items in a table of the crawl's database, `--items table:NAME`."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from scrawler.errors import ScrawlerError, SettingsError
from scrawler.features.items.files import PAGE_KEY, Item, ItemError, keyed, made_by_users
from scrawler.features.items.item_tables import ItemTable, ValueKind
from scrawler.seeds.json_text import json_line
from scrawler.store.engines.engine import Database

TABLE = "table:"
NUMBER_KEY = "_number"  # of an item among those of its page, from 0
_NAME = re.compile(r"table:([a-z][a-z0-9_]{0,49})\Z")
_MOST_COLUMNS = 190  # of which each takes up to 41 of the 8,126 bytes that a row has on InnoDB
_LONGEST_NAME = 60  # bytes; databases take 63 or 64
_LARGEST = 1 << 63

_Row = dict[str, Any]


def is_table(place: str) -> bool:
    """Tell whether items are to go to a table."""
    return place.startswith(TABLE)


class TableItems:
    """Items that become rows in the transaction which says that their pages are processed."""

    def __init__(self, place: str, database: Database) -> None:
        """Change nothing. Raises SettingsError for a name that no table can have."""
        found = _NAME.match(place)
        if found is None:
            raise SettingsError(
                f"{place}: a table of items is named by a small letter, and small letters, digits and _ behind it,"
                " 50 characters at most: table:quotes"
            )
        self._place = place
        self._table = ItemTable(database, found[1], (PAGE_KEY, NUMBER_KEY))
        self._columns: dict[str, ValueKind] = {}
        self._spellings: dict[str, str] = {}  # databases do not tell A from a in names of columns
        self._made = False  # whether all columns are in the database
        self.size = 0  # rows

    def check(self, kept: int | None) -> None:
        """Check that it has the `kept` rows which were committed; None: that there is no such table.

        Raises SettingsError where it is there and none of these processors'; ScrawlerError where it has lost items.
        """
        rows = self._table.rows()
        if kept is None and rows is not None:
            raise SettingsError(
                f"the table {self._table.name} is there, and not the one that these processors go on with: name another"
            )
        if kept and (rows or 0) < kept:
            raise ScrawlerError(f"the table {self._table.name} has lost items: {rows or 0:,} are left of {kept:,}")

    def begin(self, kept: int) -> None:
        """Go on with the rows that are there, or, where none are to be kept, with an empty table. Raises StoreError."""
        if not kept:
            self._table.drop()
        self._columns = self._table.columns()
        self._spellings = {name.casefold(): name for name in self._columns}
        self.size = kept

    def prepared(self, page_id: int, items: Sequence[Item]) -> list[_Row]:
        """Return the rows of the items of a page; nothing is written yet. Raises ItemError."""
        with made_by_users():
            columns, spellings = dict(self._columns), dict(self._spellings)
            rows: list[_Row] = []
            for number, item in enumerate(keyed(items, page_id)):
                row: _Row = {PAGE_KEY: page_id, NUMBER_KEY: number}
                for name, value in item.items():
                    if name != PAGE_KEY and value is not None:
                        _take_column(columns, spellings, name, value)
                        row[name] = value
                rows.append(row)
            for row in rows:
                for name, kind in columns.items():
                    row[name] = _of_column(row.get(name), kind)
        self._made = self._made and columns == self._columns
        self._columns, self._spellings = columns, spellings
        return rows

    def write(self, prepared: Sequence[_Row], fsync: bool) -> None:
        """Make what columns are missing; the rows follow in the transaction. Raises StoreError."""
        if prepared and not self._made:
            self._table.make(self._columns)
            self._made = True
        self.size += len(prepared)

    def within(self, prepared: Sequence[_Row]) -> Callable[[Any], None] | None:
        """Return what inserts the rows, in the transaction that it is given."""
        if not prepared:
            return None
        columns = self._columns
        whole = [
            {**row, **{name: _of_column(row.get(name), kind) for name, kind in columns.items()}} for row in prepared
        ]
        return partial(self._table.insert, columns=dict(self._columns), rows=whole)

    def publish(self, kept: int) -> None:
        """Do nothing: what is committed can be read."""

    def close(self) -> None:
        """Do nothing: the database is somebody else's."""


def _take_column(columns: dict[str, ValueKind], spellings: dict[str, str], name: object, value: object) -> None:
    """Make room for a value: in a new column, or in one that from now on holds more kinds of values."""
    if not isinstance(name, str) or not _is_name(name):
        raise ItemError(f"{name!r} cannot name a column of a table")
    if (known := spellings.setdefault(name.casefold(), name)) != name:
        raise ItemError(f"the columns {known} and {name} of a table would be the same")
    if name not in columns and len(columns) == _MOST_COLUMNS:
        raise ItemError(f"{name} would be one more than {_MOST_COLUMNS} columns")
    kind = _kind(value)
    columns[name] = columns.get(name, kind).joined(kind)


def _kind(value: object) -> ValueKind:
    if isinstance(value, int) and -_LARGEST <= value < _LARGEST:
        return ValueKind.NUMBER
    return ValueKind.REAL if isinstance(value, float) else ValueKind.TEXT


def _is_name(name: str) -> bool:
    """Tell whether all databases take such a name for a column."""
    plain = name.isprintable() and name == name.strip() and all(ord(one) < 0xD800 for one in name)
    return plain and 0 < len(name.encode()) <= _LONGEST_NAME and name.casefold() not in (PAGE_KEY, NUMBER_KEY)


def _stored(value: Any, kind: ValueKind) -> object:
    if kind is ValueKind.TEXT:
        text = value if isinstance(value, str) else json_line(value)
        return text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00")
    if kind is ValueKind.NUMBER:
        return int(value)
    if not math.isfinite(value):
        raise ItemError(f"{value} is no number that a database holds")
    return float(value)


def _of_column(value: Any, kind: ValueKind) -> object:
    """Return a value whose column may have changed since it was prepared."""
    return None if value is None else _stored(value, kind)
