"""Rows of a database as pages: read by reflection, from the tables and columns that are named, and never written.

The connection itself is opened for reading only, where the database has such: SQLite by its mode, PostgreSQL and
MySQL by the transaction. Each query is made from reflected columns and bound values: no text of a request becomes SQL.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple
from urllib.parse import unquote
from uuid import UUID

from sqlalchemy import (
    Column,
    ColumnElement,
    Engine,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    and_,
    cast,
    literal,
    or_,
    select,
    type_coerce,
)
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.types import NullType

from scrawler.errors import ScrawlerError
from scrawler.features.serving.engines import engine_for
from scrawler.features.serving.scanner import RowPage
from scrawler.features.serving.tables import PublishedDatabase, PublishedTable, TablesError
from scrawler.features.serving.values import bytes_of, is_broken, millis, plain, read_as, segment, shown
from scrawler.units import counted

_ROWS = 500  # that are read at a time
_FOUND = 100  # rows of an answer to a search
_NOT_ITS_TYPE = (ValueError, TypeError, ArithmeticError, LookupError)


class RowError(ScrawlerError):
    """The database does not answer."""


class FoundRow(NamedTuple):
    """A row, with its table and its path."""

    table: PublishedTable
    path: str
    values: Mapping[str, Any]


class _Reflected(NamedTuple):
    """A published table and its columns, as the database has them."""

    told: PublishedTable
    table: Table
    key: tuple[Column[Any], ...]
    columns: tuple[Column[Any], ...]
    lastmod: Column[Any] | None


class _Columns:
    """Columns that are read together.

    An SQLite file may hold anything in any of them: there they are read as they are, and what is not of its column's
    type stays so.
    """

    def __init__(self, columns: Sequence[Column[Any]], engine: Engine) -> None:
        as_they_are = engine.dialect.name == "sqlite"
        self.wanted = [type_coerce(one, NullType()) if as_they_are else one for one in columns]
        types = (one.type.dialect_impl(engine.dialect) for one in columns) if as_they_are else ()
        self._readers = [kind.result_processor(engine.dialect, None) for kind in types]

    def values(self, row: Sequence[Any]) -> list[Any]:
        """Return the values of a row, each of its column's type, if it can be."""
        return [_read(*one) for one in zip(self._readers, row, strict=True)] if self._readers else list(row)


def _read(reader: Callable[[Any], Any] | None, value: Any) -> Any:
    if reader is None:
        return value
    try:
        return reader(value)
    except _NOT_ITS_TYPE:
        return value


class Rows:
    """The published rows of a database; used by many threads."""

    def __init__(self, published: PublishedDatabase, made_by: Mapping[str, str] | None = None) -> None:
        """Look at the tables. `made_by` has the digests of templates, by name. Raises TablesError."""
        self._made_by = made_by or {}
        self._left_out = 0  # rows
        self._undated = 0
        try:
            self._engine = engine_for(published.url)
            metadata = MetaData()
            metadata.reflect(self._engine, only=[one.name for one in published.tables], views=True)
            self._tables = {one.prefix: _reflected(one, metadata) for one in published.tables}
        except (SQLAlchemyError, ArgumentError, NoSuchModuleError, ImportError) as error:
            raise TablesError(f"cannot read the database: {_one_line(error)}") from error

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    def pages(self) -> Iterator[RowPage]:
        """Yield all rows that are published, some in memory at a time. Raises RowError."""
        self._left_out = 0
        self._undated = 0
        for one in self._tables.values():
            yield from self._pages(one)

    def problems(self) -> str:
        """Say in words which rows the last reading of all has found not to be as they should."""
        said = []
        if self._left_out:
            said.append(f"{counted(self._left_out, 'row')} left out, whose keys can stand in no path")
        if self._undated:
            said.append(f"{counted(self._undated, 'row')} whose date cannot be read: that of the scan stands for it")
        return "; ".join(said)

    def _pages(self, one: _Reflected) -> Iterator[RowPage]:
        made_by = self._made_by.get(one.told.template, "")
        keys = _Columns(one.key, self._engine)
        columns = _Columns(one.columns if one.lastmod is None else (one.lastmod,), self._engine)
        there = [column.is_not(None) for column in one.key]
        last: Sequence[Any] | None = None
        left = one.told.most
        while left > 0:
            query = select(*keys.wanted, *columns.wanted).where(*there).order_by(*one.key).limit(min(_ROWS, left))
            if last is not None:
                query = query.where(_behind(keys.wanted, last))
            rows = self._run(query)
            for row in rows:
                key, values = keys.values(row[: len(one.key)]), columns.values(row[len(one.key) :])
                made = self._page(one, key, values, made_by)
                if made is not None:
                    yield made
            left -= len(rows)
            if len(rows) < min(_ROWS, left + len(rows)):
                return
            last = rows[-1][: len(one.key)]

    def _page(self, one: _Reflected, key: Sequence[Any], values: Sequence[Any], made_by: str) -> RowPage | None:
        path = _path(one, key)
        if not path:
            self._left_out += 1
            return None
        at = 0 if one.lastmod is None else millis(values[0])
        self._undated += one.lastmod is not None and not at and bool(values[0])
        digest = hashlib.sha256(repr((made_by, [plain(value) for value in values])).encode()).hexdigest()
        return RowPage(path, at, digest)

    def find(self, path: str) -> FoundRow | None:
        """Return the row that a path names. Raises RowError."""
        for prefix, one in self._tables.items():
            if path.startswith(f"{prefix}/"):
                told = path[len(prefix) + 1 :].split("/")
                key = _key(one.key, told)
                if key is None:
                    continue
                columns = _Columns(one.columns, self._engine)
                query = select(*columns.wanted).where(
                    *(self._compared(column, value) == value for column, value in zip(one.key, key, strict=True))
                )
                rows = self._run(query.limit(1))
                if rows:
                    return _found(one, path, columns.values(rows[0]))
        return None

    def search(self, term: str) -> list[FoundRow]:
        """Return rows in which a term stands, 100 at most. Raises RowError."""
        found: list[FoundRow] = []
        for one in self._tables.values():
            columns = [one.table.c[name] for name in one.told.search]
            if not columns:
                continue
            has = or_(*(column.icontains(term, autoescape=True) for column in columns))
            keys, read = _Columns(one.key, self._engine), _Columns(one.columns, self._engine)
            query = select(*keys.wanted, *read.wanted).where(has).order_by(*one.key).limit(_FOUND - len(found))
            for row in self._run(query):
                if path := _path(one, keys.values(row[: len(one.key)])):
                    found.append(_found(one, path, read.values(row[len(one.key) :])))
            if len(found) >= _FOUND:
                break
        return found

    def _compared(self, column: Column[Any], value: Any) -> ColumnElement[Any]:
        """Return what a value of a key is compared with: in an SQLite file a date, for example, is a text as well."""
        if self._engine.dialect.name == "sqlite" and isinstance(value, str):
            return type_coerce(column, String())
        return column

    def _run(self, query: Any) -> Sequence[Any]:
        try:
            with self._engine.connect() as connection:
                return connection.execute(query).all()
        except SQLAlchemyError as error:
            raise RowError(_one_line(error)) from error


def _reflected(told: PublishedTable, metadata: MetaData) -> _Reflected:
    table = metadata.tables[told.name]
    wanted = {*told.columns, *told.key, *([told.lastmod] if told.lastmod else [])}
    if missing := sorted(name for name in wanted if name not in table.c):
        raise TablesError(f"table {told.name} has no column {', '.join(missing)}")
    key = tuple(table.c[name] for name in told.key) or tuple(table.primary_key.columns)
    if not key:
        raise TablesError(
            f"table {told.name} has no primary key: name the columns that tell rows apart, as key = [...]"
        )
    columns = tuple(table.c[name] for name in told.columns)
    return _Reflected(told, table, key, columns, table.c[told.lastmod] if told.lastmod else None)


def _behind(key: Sequence[ColumnElement[Any]], last: Sequence[Any]) -> ColumnElement[bool]:
    """Return the condition that a row stands behind another one, by its key."""
    parts = []
    bound = [cast(literal(bytes_of(value), LargeBinary()), Text()) if is_broken(value) else value for value in last]
    for index, column in enumerate(key):
        same = (one == value for one, value in zip(key[:index], bound[:index], strict=True))
        parts.append(and_(*same, column > bound[index]))
    return or_(*parts)


def _path(one: _Reflected, key: Sequence[Any]) -> str:
    """Return the path of a row; empty where its key cannot stand in one that leads to it again."""
    segments = list(map(segment, key))
    usable = all(segments) and _key(one.key, segments) is not None
    return "/".join((one.told.prefix, *segments)) if usable else ""


def _found(one: _Reflected, path: str, values: Sequence[Any]) -> FoundRow:
    return FoundRow(one.told, path, dict(zip(one.told.columns, map(shown, values), strict=True)))


def _key(columns: Sequence[Column[Any]], told: Sequence[str]) -> list[Any] | None:
    """Return the values of a key as the segments of a path tell them; None where they cannot be one."""
    if len(told) != len(columns):
        return None
    values = []
    for column, part in zip(columns, told, strict=True):
        try:
            text = unquote(part, errors="strict")
        except ValueError:
            return None
        kind = _kind_of(column)
        value = None if kind is None else read_as(kind, text)
        if value is None:
            return None
        values.append(value)
    return values


def _kind_of(column: Column[Any]) -> Any:
    """Return how values of a key are read out of a path; None: they are bytes, and are in none."""
    try:
        kind = column.type.python_type
    except NotImplementedError:
        return str
    if kind is bytes:
        return None
    return kind if kind in (int, Decimal, UUID) else str


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:300]
