"""Tables of items, which page processors fill: one for a name, `items_NAME`, in the database of the crawl.

No table of the crawl itself begins so. Columns are made as items bring them; rows are inserted in the transaction that
says how far the processors have come, so that each item is there once, whatever is killed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Double,
    Float,
    Integer,
    MetaData,
    Table,
    Text,
    func,
    inspect,
    select,
)
from sqlalchemy.schema import CreateColumn
from sqlalchemy.types import NullType, TypeEngine, UserDefinedType

from scrawler.store.engines.engine import Database
from scrawler.store.engines.rows import without_nul

PREFIX = "items_"
_BEING_MADE = ".new"  # no table of items has such a name


class _Untyped(UserDefinedType[Any]):
    """No type: SQLite keeps what it is given, where a type of numbers would make 1234 of the text "01234"."""

    cache_ok = True

    def get_col_spec(self, **_options: Any) -> str:
        """Return what is written behind the name of a column."""
        return ""


class _MysqlLongText(Text):
    """MySQL's type of that name; to import its own loads the whole dialect (see `tables.py`)."""

    __visit_name__ = "LONGTEXT"


_LONG_TEXT: TypeEngine[str] = Text().with_variant(_MysqlLongText(), "mysql")


class ValueKind(Enum):
    """What a column of items holds."""

    NUMBER = "whole numbers"
    REAL = "numbers"
    TEXT = "texts"

    def joined(self, other: ValueKind) -> ValueKind:
        """Return what a column holds that has values of both kinds: texts, unless all are numbers."""
        if self is other:
            return self
        return ValueKind.TEXT if ValueKind.TEXT in (self, other) else ValueKind.REAL


_TYPES: dict[ValueKind, TypeEngine[Any]] = {
    ValueKind.NUMBER: BigInteger().with_variant(_Untyped(), "sqlite"),
    ValueKind.REAL: Double().with_variant(_Untyped(), "sqlite"),
    ValueKind.TEXT: _LONG_TEXT,
}


class ItemTable:
    """The table of one name; `keys` are the columns that every row has, which are its key."""

    def __init__(self, database: Database, name: str, keys: Sequence[str]) -> None:
        """Look at nothing yet."""
        self._database = database
        self._keys = keys
        self.name = PREFIX + name

    def rows(self) -> int | None:
        """Return how many rows it has; None where it is not there. Raises StoreError."""

        def work(connection: Connection) -> int | None:
            if not inspect(connection).has_table(self.name):
                return None
            return int(connection.execute(select(func.count()).select_from(self._table({}))).scalar_one())

        return self._database.reading(work)

    def columns(self) -> dict[str, ValueKind]:
        """Return the columns that items have brought so far. Raises StoreError."""

        def work(connection: Connection) -> dict[str, ValueKind]:
            return self._kinds(connection) if inspect(connection).has_table(self.name) else {}

        return {name: kind for name, kind in self._database.reading(work).items() if name not in self._keys}

    def drop(self) -> None:
        """Remove it with all that it holds. Raises StoreError."""

        def work(connection: Connection) -> None:
            self._table({}).drop(connection, checkfirst=True)

        self._database.retrying(work)

    def make(self, columns: Mapping[str, ValueKind]) -> None:
        """Make it, or those of these columns that it does not have, or that held less. Raises StoreError."""

        def work(connection: Connection) -> None:
            table = self._table(columns)
            if not inspect(connection).has_table(self.name):
                table.create(connection)
                return
            there = self._kinds(connection)
            if any(kind is not there.get(name, kind) for name, kind in columns.items()):
                self._forget_types(connection)
            for name, kind in columns.items():
                if name not in there:
                    _change(connection, table, f"ADD COLUMN {_written(connection, table.c[name])}")
                elif there[name] is not kind:
                    _widen(connection, table, table.c[name])

        self._database.retrying(work)

    def insert(
        self, connection: Connection, columns: Mapping[str, ValueKind], rows: Sequence[Mapping[str, Any]]
    ) -> None:
        """Insert rows, each with all these columns and the keys, in the transaction of somebody else."""
        if rows and self._database.dialect == "postgresql":
            rows = [{name: without_nul(value) for name, value in row.items()} for row in rows]
        if rows:
            connection.execute(self._table(columns).insert(), list(rows))

    def _kinds(self, connection: Connection) -> dict[str, ValueKind]:
        """Return what each column holds: where it has no type, the values tell, which are all of a kind."""
        kinds: dict[str, ValueKind] = {}
        for column in inspect(connection).get_columns(self.name):
            name, stored = column["name"], column["type"]
            if isinstance(stored, NullType):
                stored = _type_of_values(connection, self._table({name: ValueKind.NUMBER}).c[name])
            kinds[name] = _kind_of(stored)
        return kinds

    def _forget_types(self, connection: Connection) -> None:
        """Make a table anew that has columns of numbers by their types, as an earlier version made them for SQLite.

        These would make numbers of all texts that look like one.
        """
        if connection.dialect.name != "sqlite":
            return
        found = inspect(connection).get_columns(self.name)
        if all(isinstance(one["type"], NullType | Text) or one["name"] in self._keys for one in found):
            return
        columns = {one["name"]: one["type"] for one in found if one["name"] not in self._keys}
        untyped = dict.fromkeys(columns, ValueKind.NUMBER)  # which has no type here
        texts = {name: ValueKind.TEXT for name, kind in columns.items() if isinstance(kind, Text)}
        made = self._table(untyped | texts, self.name + _BEING_MADE)
        made.create(connection)
        quote = connection.dialect.identifier_preparer
        names = ", ".join(quote.format_column(column) for column in made.columns)
        old, new = quote.quote_identifier(self.name), quote.quote_identifier(made.name)
        connection.exec_driver_sql(f"INSERT INTO {new} ({names}) SELECT {names} FROM {old}")
        connection.exec_driver_sql(f"DROP TABLE {old}")
        connection.exec_driver_sql(f"ALTER TABLE {new} RENAME TO {old}")

    def _table(self, columns: Mapping[str, ValueKind], name: str = "") -> Table:
        keys: list[Column[Any]] = [
            Column(name, BigInteger(), primary_key=True, autoincrement=False) for name in self._keys
        ]
        others = [Column(name, _TYPES[kind]) for name, kind in columns.items()]
        return Table(
            name or self.name,
            MetaData(),
            *keys,
            *others,
            mysql_engine="InnoDB",
            mysql_charset="utf8mb4",
            mysql_collate="utf8mb4_bin",
        )


def _written(connection: Connection, column: Column[Any]) -> str:
    return str(CreateColumn(column).compile(dialect=connection.dialect))


def _change(connection: Connection, table: Table, what: str) -> None:
    quoted = connection.dialect.identifier_preparer.format_table(table)
    connection.exec_driver_sql(f"ALTER TABLE {quoted} {what}")


def _widen(connection: Connection, table: Table, column: Column[Any]) -> None:
    """Let a column hold more kinds of values, and turn those that it has into them."""
    name = connection.dialect.identifier_preparer.format_column(column)
    if connection.dialect.name == "mysql":
        _change(connection, table, f"MODIFY COLUMN {_written(connection, column)}")
    elif connection.dialect.name == "sqlite":
        kind = "TEXT" if isinstance(column.type, Text) else "REAL"
        quoted = connection.dialect.identifier_preparer.format_table(table)
        connection.exec_driver_sql(f"UPDATE {quoted} SET {name} = CAST({name} AS {kind})")
    else:
        kind = column.type.compile(dialect=connection.dialect)
        _change(connection, table, f"ALTER COLUMN {name} TYPE {kind} USING CAST({name} AS {kind})")


def _type_of_values(connection: Connection, column: Column[Any]) -> TypeEngine[Any]:
    first = connection.execute(select(func.typeof(column)).where(column.is_not(None)).limit(1)).scalar()
    return {"real": Double(), "text": Text()}.get(first or "", BigInteger())


def _kind_of(stored: TypeEngine[Any]) -> ValueKind:
    if isinstance(stored, Integer):
        return ValueKind.NUMBER
    return ValueKind.REAL if isinstance(stored, Float) else ValueKind.TEXT
