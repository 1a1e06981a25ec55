"""Bulk inserts and updates, the hot path of the store: many rows of one table for a few microseconds each.

SQLAlchemy writes the statement, once; the rows go to it through the driver, many rows a statement. sqlite3 gives
the interpreter lock away for each statement and then has to wait for it, up to 5 ms while other threads compute: a
row a statement, as `executemany` does it, would make the store the slowest part of a busy program. PyMySQL would
spend 10-14 µs of Python a page row on escaping, value by value; here whole columns are turned to hexadecimal
literals, 2 µs a row, which need no escaping: no text can end a literal of hexadecimal digits. PostgreSQL is given a
column as an array, so that a table has one statement, however many rows there are; they are written here, column by
column, for psycopg would spend 20 µs a page row on it, value by value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, lru_cache, partial
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Insert, String, Table, insert
from sqlalchemy.engine import Dialect

from scrawler.store.engines.rows import inserting_new, sliced, without_nul

if TYPE_CHECKING:
    from sqlalchemy.dialects.mysql import Insert as MysqlInsert
    from sqlalchemy.dialects.postgresql import Insert as PostgresqlInsert
    from sqlalchemy.dialects.sqlite import Insert as SqliteInsert

LONGEST_TEXT = 16_000  # so many characters fit a TEXT column of MySQL, whatever they are
_UPDATED = 500  # rows of one UPDATE on MySQL
_CASES = 16  # rows of one CASE, which MySQL goes through for each row and column: all in one took twice the time
_STATEMENT = 1_000_000  # characters of one multi-row statement of literals; servers take 16 MB by default
_ARRAYS = {int: "bigint[]", str: "text[]", bytes: "bytea[]"}
_ROWS = (256, 64, 16, 4, 1)  # rows of one multi-row statement of parameters: few texts, so that all stay prepared
_PREPARED = 4 * _ROWS[0]  # rows of which parameters are made at a time


class BulkInsert:
    """One INSERT statement for many rows; rows have the columns in the table's order, none of them NULL.

    It is written when it is first given rows: that takes half a millisecond, and few crawls need all that there are.
    """

    def __init__(self, statement: Callable[[], Insert], table: Table, columns: Sequence[str], dialect: Dialect) -> None:
        """Take what makes the statement for `columns`; use `inserting`, `ignoring`, `replacing` or `adding`."""
        order = [column.name for column in table.columns if column.name in columns]
        if order != list(columns):
            raise ValueError(f"columns {columns} of {table.name} are not in the order of the table")
        self._statement = statement
        self._table = table
        self._columns = columns
        self._dialect = dialect
        self._literals = dialect.name == "mysql"
        self._arrays = dialect.name == "postgresql"
        self._keys: list[int] = []  # places of the columns by which known rows are found, where these are changed
        self._added: int | None = None  # place of the column to which is added

    @cached_property
    def _limits(self) -> list[int | None]:
        return [_limit(self._table, name) for name in self._columns]

    @cached_property
    def _python(self) -> list[type]:
        return [self._table.c[name].type.dialect_impl(self._dialect).python_type for name in self._columns]

    @cached_property
    def _array_text(self) -> str:
        return _with_arrays(self._statement(), self._table, self._columns, self._dialect)

    @cached_property
    def _around(self) -> tuple[str, str]:
        """What stands before and after the values."""
        text = str(self._statement().compile(dialect=self._dialect, column_keys=list(self._columns)))
        head, _, tail = text.partition(self._marks)
        return head, tail

    @cached_property
    def _marks(self) -> str:
        return f"({', '.join(['%s' if self._literals else '?'] * len(self._columns))})"

    @cached_property
    def _texts(self) -> dict[int, str]:
        head, tail = self._around
        return {size: f"{head}{','.join([self._marks] * size)}{tail}" for size in _ROWS}

    @staticmethod
    def inserting(table: Table, columns: Sequence[str], dialect: Dialect) -> BulkInsert:
        """Give one that fails on a known key."""
        return _made(_inserting, table, tuple(columns), dialect)

    @staticmethod
    def ignoring(table: Table, columns: Sequence[str], dialect: Dialect) -> BulkInsert:
        """Give one that leaves out rows with a known key, and does not count them."""
        return _made(_ignoring, table, tuple(columns), dialect)

    @staticmethod
    def replacing(table: Table, columns: Sequence[str], dialect: Dialect) -> BulkInsert:
        """Give one that overwrites the row with the same primary key."""
        return _made(_replacing, table, tuple(columns), dialect)

    @staticmethod
    def adding(table: Table, columns: Sequence[str], dialect: Dialect, added: str) -> BulkInsert:
        """Give one that adds to the column `added` of the row with the same primary key and leaves its rest alone."""
        return _made(_adding, table, tuple(columns), dialect, added)

    @classmethod
    def upserting(
        cls, table: Table, columns: Sequence[str], dialect: Dialect, changed: list[str], *, added: bool
    ) -> BulkInsert:
        """Make one that writes the columns `changed` of the row with the same primary key, or adds to the first."""
        made = cls(partial(_upsert, table, dialect.name, changed, added), table, columns, dialect)
        made._keys = [columns.index(column.name) for column in table.primary_key]
        made._added = columns.index(changed[0]) if added else None
        return made

    def run(self, connection: Connection, rows: Sequence[tuple[Any, ...]]) -> int:
        """Insert `rows`; return how many the driver counted, exact for `inserting` and `ignoring`.

        Text that UTF-8 cannot hold (lone surrogates) is written with backslash escapes, text that is too long is cut.
        """
        if not rows:
            return 0
        if self._arrays:
            arrays = tuple(map(_array, self._storable(self._each_once(rows) if self._keys else rows), self._python))
            return connection.exec_driver_sql(self._array_text, arrays).rowcount
        if self._literals:
            return sum(connection.exec_driver_sql(text).rowcount for text in self._statements(self._storable(rows)))
        return sum(self._run_prepared(connection, part) for part in sliced(rows, _PREPARED))

    def _storable(self, rows: Sequence[tuple[Any, ...]]) -> list[Sequence[Any]]:
        """Return rows column by column, with texts that the database takes."""
        return [
            values if limit is None else _storable(values, limit, nul=not self._arrays)
            for values, limit in zip(zip(*rows, strict=True), self._limits, strict=True)
        ]

    def _run_prepared(self, connection: Connection, rows: Sequence[tuple[Any, ...]]) -> int:
        bound = map(_bound, self._storable(rows), self._python)
        return sum(
            connection.exec_driver_sql(self._texts[len(part)], tuple(chain.from_iterable(part))).rowcount
            for part in _by_size(list(zip(*bound, strict=True)))
        )

    def _each_once(self, rows: Sequence[tuple[Any, ...]]) -> Sequence[tuple[Any, ...]]:
        """Return the rows with each key once: PostgreSQL refuses to change a row twice in one statement."""
        key_of = itemgetter(*self._keys)
        by_key = {key_of(row): row for row in rows}
        if len(by_key) == len(rows):
            return rows
        place = self._added
        if place is not None:
            sums: Counter[Any] = Counter()
            for row in rows:
                sums[key_of(row)] += row[place]
            first = {key_of(row): row for row in reversed(rows)}  # of what is known only the sum is changed
            by_key = {key: (*row[:place], sums[key], *row[place + 1 :]) for key, row in first.items()}
        return [by_key[key] for key in dict.fromkeys(map(key_of, rows))]

    def _statements(self, columns: list[Sequence[Any]]) -> Iterator[str]:
        literal = [_literals(values, kind) for values, kind in zip(columns, self._python, strict=True)]
        row = "(" + ",".join("%d" if kind is int else "x'%s'" for kind in self._python) + ")"
        head, tail = self._around
        for part in _by_length(map(row.__mod__, zip(*literal, strict=True))):
            yield f"{head}{','.join(part)}{tail}"


@lru_cache(maxsize=256)  # there are fewer: some for each table and database
def _made(
    make: Callable[..., BulkInsert], table: Table, columns: tuple[str, ...], dialect: Dialect, *added: str
) -> BulkInsert:
    """Return what `make` makes, once: its statement takes long to write, and holds nothing of a database."""
    return make(table, columns, dialect, *added)


def _inserting(table: Table, columns: Sequence[str], dialect: Dialect) -> BulkInsert:
    return BulkInsert(partial(insert, table), table, columns, dialect)


def _ignoring(table: Table, columns: Sequence[str], dialect: Dialect) -> BulkInsert:
    return BulkInsert(partial(inserting_new, table, dialect.name), table, columns, dialect)


def _replacing(table: Table, columns: Sequence[str], dialect: Dialect) -> BulkInsert:
    keys = {column.name for column in table.primary_key}
    changed = [name for name in columns if name not in keys]
    return BulkInsert.upserting(table, columns, dialect, changed, added=False)


def _adding(table: Table, columns: Sequence[str], dialect: Dialect, added: str) -> BulkInsert:
    return BulkInsert.upserting(table, columns, dialect, [added], added=True)


def _upsert(table: Table, dialect: str, changed: Sequence[str], added: bool) -> Insert:
    if dialect == "mysql":
        ours = _mysql_insert(table)
        given = ours.inserted
        return ours.on_duplicate_key_update(
            {name: table.c[name] + given[name] if added else given[name] for name in changed}
        )
    theirs = _postgresql_insert(table) if dialect == "postgresql" else sqlite_insert(table)
    given = theirs.excluded
    return theirs.on_conflict_do_update(
        index_elements=[column.name for column in table.primary_key],
        set_={name: table.c[name] + given[name] if added else given[name] for name in changed},
    )


# A dialect is imported where its database is in use, which has loaded it: that of another one would be a twentieth of
# what a command needs to start.


def _mysql_insert(table: Table) -> MysqlInsert:
    from sqlalchemy.dialects import mysql

    return mysql.insert(table)


def sqlite_insert(table: Table) -> SqliteInsert:
    """Return an INSERT that can say what becomes of known keys."""
    from sqlalchemy.dialects import sqlite

    return sqlite.insert(table)


def _postgresql_insert(table: Table) -> PostgresqlInsert:
    from sqlalchemy.dialects import postgresql

    return postgresql.insert(table)


def _limit(table: Table, name: str) -> int | None:
    """Return how many characters fit the column, None for what is no text."""
    kind = table.c[name].type
    return (kind.length or LONGEST_TEXT) if isinstance(kind, String) else None


def _with_arrays(statement: Insert, table: Table, columns: Sequence[str], dialect: Dialect) -> str:
    """Return an INSERT for PostgreSQL of rows that are given as an array for each column."""
    text = str(statement.compile(dialect=dialect, column_keys=list(columns)))
    head, _, rest = text.partition(" VALUES ")
    tail = rest[rest.index(" ON CONFLICT") :] if " ON CONFLICT" in rest else ""
    return f"{head} SELECT * FROM {_unnested(table, columns, dialect)}{tail}"


def _unnested(table: Table, columns: Sequence[str], dialect: Dialect) -> str:
    kinds = (table.c[name].type.dialect_impl(dialect) for name in columns)
    return f"unnest({', '.join(f'%s::{_ARRAYS[kind.python_type]}' for kind in kinds)})"


def _array(values: Sequence[Any], kind: type) -> str:
    """Write an array of PostgreSQL: quoted, but for numbers, each element stands between commas."""
    if kind is int:
        return f"{{{','.join(map(str, map(int, values)))}}}"
    if kind is bytes:
        separator = '","\\\\x'
        return '{"\\\\x' + separator.join(map(bytes.hex, values)) + '"}'
    texts = "".join(values)
    if "\\" in texts or '"' in texts:
        values = [_escaped(value) for value in values]
    return '{"' + '","'.join(values) + '"}'


def _array_with_nulls(values: Sequence[str | int | None]) -> str:
    written = ("NULL" if value is None else f'"{_escaped(str(value))}"' for value in values)
    return f"{{{','.join(written)}}}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _storable(values: Sequence[str], limit: int, nul: bool = True) -> Sequence[str]:
    """Make texts such that a column takes them: cut, without lone surrogates and, unless `nul`, without NUL."""
    if not nul and any("\0" in value for value in values):
        values = [without_nul(value) for value in values]
    if max(map(len, values)) > limit:
        values = [value[:limit] for value in values]
    joined = "".join(values)
    if joined.isascii():
        return values
    try:
        joined.encode()
    except UnicodeEncodeError:
        return [value.encode("utf-8", "backslashreplace").decode()[:limit] for value in values]
    return values


def _bound(values: Iterable[Any], kind: type) -> Iterable[Any]:
    """Return the values of a column as sqlite3 binds them soonest: it looks for what adapts each one of bytes."""
    return map(bytearray, values) if kind is bytes else values


def _by_size(rows: list[tuple[Any, ...]]) -> Iterator[list[tuple[Any, ...]]]:
    """Cut `rows` into lists whose lengths are all among _ROWS."""
    start = 0
    for size in _ROWS:
        while start + size <= len(rows):
            yield rows[start : start + size]
            start += size


def _by_length(texts: Iterable[str]) -> Iterator[list[str]]:
    part: list[str] = []
    length = 0
    for text in texts:
        if part and length + len(text) > _STATEMENT:
            yield part
            part, length = [], 0
        part.append(text)
        length += len(text)
    if part:
        yield part


class BulkUpdate:
    """One UPDATE of many rows by id, each given once; rows are (id, value, value, ...), values may be None.

    PyMySQL would send a statement a row; on MySQL each column is set by CASEs of literals instead. A join with a
    derived table of the rows would make two tables on the server's disk, one of them for every long text.
    """

    def __init__(self, table: Table, columns: Sequence[str], dialect: Dialect) -> None:
        """Set `columns`, in this order."""
        self._literals = dialect.name == "mysql"
        self._arrays = dialect.name == "postgresql"
        self._columns = columns
        self._limits = [_limit(table, name) for name in columns]
        given = ", ".join(f"{name} = ?" for name in columns)
        self._text = f"UPDATE {table.name} SET {given} WHERE id = ?"
        # The plan that MySQL makes for a table that is still small would lock all rows that it scans.
        self._head = f"UPDATE {table.name} FORCE INDEX (PRIMARY) SET "
        if self._arrays:
            names = [f"_{name}" for name in ("id", *columns)]
            given = ", ".join(f"{name} = _{name}" for name in columns)
            rows = f"{_unnested(table, ('id', *columns), dialect)} AS given ({', '.join(names)})"
            self._text = f"UPDATE {table.name} SET {given} FROM {rows} WHERE id = _id"

    def run(self, connection: Connection, rows: Sequence[tuple[Any, ...]]) -> None:
        """Update the rows with these ids."""
        if not rows:
            return
        if self._arrays:
            ids, *values = zip(*sorted(rows, key=itemgetter(0)), strict=True)
            given = (_storable_or_none(*one) for one in zip(values, self._limits, strict=True))
            connection.exec_driver_sql(self._text, (_array(ids, int), *map(_array_with_nulls, given)))
            return
        if not self._literals:
            connection.exec_driver_sql(self._text, [(*row[1:], row[0]) for row in rows])
            return
        for part in sliced(sorted(rows, key=itemgetter(0)), _UPDATED):
            connection.exec_driver_sql(self._statement(part))

    def _statement(self, rows: list[tuple[Any, ...]]) -> str:
        ids, *columns = zip(*rows, strict=True)
        values = (_by_id(ids, given) for given in columns)
        settings = ", ".join(f"{name} = {value}" for name, value in zip(self._columns, values, strict=True))
        return f"{self._head}{settings} WHERE id IN ({', '.join(map(_literal, ids))})"


def _storable_or_none(values: Sequence[Any], limit: int | None) -> Sequence[Any]:
    if limit is None or not any(value and "\0" in value for value in values):
        return values
    return [value and without_nul(value)[:limit] for value in values]


def _by_id(ids: Sequence[int], values: Sequence[str | int | None]) -> str:
    """Write what each id's row gets; mostly many columns are the same in all rows. The ids come in order."""
    if len(set(values)) == 1:
        return _literal(values[0])
    if len(ids) > _CASES:
        parts = [slice(start, start + _CASES) for start in range(0, len(ids), _CASES)]
        ranges = " ".join(f"WHEN id <= {ids[part][-1]:d} THEN {_by_id(ids[part], values[part])}" for part in parts)
        return f"CASE {ranges} END"
    whens = " ".join(f"WHEN {one:d} THEN {_literal(value)}" for one, value in zip(ids, values, strict=True))
    return f"CASE id {whens} END"


def _literal(value: str | int | None) -> str:
    if value is None:
        return "NULL"
    return f"{value:d}" if isinstance(value, int) else f"x'{value.encode().hex()}'"


def _literals(values: Sequence[Any], kind: type) -> Iterator[Any]:
    """Return the values of a column as they stand in a statement: numbers, and all else as hexadecimal digits."""
    if kind is int:
        return map(int, values)
    return map(bytes.hex, map(str.encode, values) if kind is str else values)
