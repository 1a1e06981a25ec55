"""Rows of a database as pages: read by reflection, from the tables and columns that are named, and never written.

The connection itself is opened for reading only, where the database has such: SQLite by its mode, PostgreSQL and
MySQL by the transaction. Each query is made from reflected columns and bound values: no text of a request becomes SQL.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, unquote
from uuid import UUID

from sqlalchemy import Column, ColumnElement, Engine, MetaData, Table, and_, create_engine, event, or_, select
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError

from scrawler.dates import read_date
from scrawler.serving.scanner import RowPage
from scrawler.serving.tables import PublishedDatabase, PublishedTable, TablesError

_ROWS = 500  # that are read at a time
_FOUND = 100  # rows of an answer to a search
_LONGEST_KEY = 512
_POOL = 4


class RowError(Exception):
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


class Rows:
    """The published rows of a database; used by many threads."""

    def __init__(self, published: PublishedDatabase, made_by: Mapping[str, str] | None = None) -> None:
        """Look at the tables. `made_by` has the digests of templates, by name. Raises TablesError."""
        self._made_by = made_by or {}
        try:
            self._engine = _engine(published.url)
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
        for one in self._tables.values():
            yield from self._pages(one)

    def _pages(self, one: _Reflected) -> Iterator[RowPage]:
        made_by = self._made_by.get(one.told.template, "")
        wanted = one.columns if one.lastmod is None else (one.lastmod,)
        last: Sequence[Any] | None = None
        left = one.told.most
        while left > 0:
            query = select(*one.key, *wanted).order_by(*one.key).limit(min(_ROWS, left))
            if last is not None:
                query = query.where(_behind(one.key, last))
            rows = self._run(query)
            for row in rows:
                values = row[len(one.key) :]
                digest = hashlib.sha256(repr((made_by, [_plain(value) for value in values])).encode()).hexdigest()
                at = 0 if one.lastmod is None else _millis(values[0])
                path = _path(one, row[: len(one.key)])
                if path:
                    yield RowPage(path, at, digest)
            left -= len(rows)
            if len(rows) < min(_ROWS, left + len(rows)):
                return
            last = rows[-1][: len(one.key)]

    def find(self, path: str) -> FoundRow | None:
        """Return the row that a path names. Raises RowError."""
        for prefix, one in self._tables.items():
            if path.startswith(f"{prefix}/"):
                told = path[len(prefix) + 1 :].split("/")
                key = _key(one.key, told)
                if key is None:
                    continue
                query = select(*one.columns).where(
                    *(column == value for column, value in zip(one.key, key, strict=True))
                )
                rows = self._run(query.limit(1))
                if rows:
                    return FoundRow(one.told, path, dict(zip(one.told.columns, rows[0], strict=True)))
        return None

    def search(self, term: str) -> list[FoundRow]:
        """Return rows in which a term stands, 100 at most. Raises RowError."""
        found: list[FoundRow] = []
        for one in self._tables.values():
            columns = [one.table.c[name] for name in one.told.search]
            if not columns:
                continue
            has = or_(*(column.icontains(term, autoescape=True) for column in columns))
            query = select(*one.key, *one.columns).where(has).order_by(*one.key).limit(_FOUND - len(found))
            for row in self._run(query):
                key, values = row[: len(one.key)], row[len(one.key) :]
                if path := _path(one, key):
                    found.append(FoundRow(one.told, path, dict(zip(one.told.columns, values, strict=True))))
            if len(found) >= _FOUND:
                break
        return found

    def _run(self, query: Any) -> Sequence[Any]:
        try:
            with self._engine.connect() as connection:
                return connection.execute(query).all()
        except SQLAlchemyError as error:
            raise RowError(_one_line(error)) from error


def _engine(told: str) -> Engine:
    url = make_url(told)
    if url.get_backend_name() == "sqlite":
        return _sqlite_engine(url.database)
    if url.get_backend_name() == "postgresql":
        return create_engine(
            url, pool_size=_POOL, max_overflow=0, pool_pre_ping=True, execution_options={"postgresql_readonly": True}
        )
    engine = create_engine(url, pool_size=_POOL, max_overflow=0, pool_pre_ping=True)

    def read_only(connection: Any, _record: object) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SET SESSION TRANSACTION READ ONLY")

    if url.get_backend_name() in ("mysql", "mariadb"):
        event.listen(engine, "connect", read_only)
    return engine


def _sqlite_engine(path: str | None) -> Engine:
    import sqlite3

    if not path or not Path(path).is_file():
        raise TablesError(f"there is no database {path}")
    where = f"file:{quote(str(Path(path).absolute()))}?mode=ro"
    return create_engine(
        "sqlite://", creator=lambda: sqlite3.connect(where, uri=True, check_same_thread=False), pool_size=_POOL
    )


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


def _behind(key: Sequence[Column[Any]], last: Sequence[Any]) -> ColumnElement[bool]:
    """Return the condition that a row stands behind another one, by its key."""
    parts = []
    for index, column in enumerate(key):
        same = (one == value for one, value in zip(key[:index], last[:index], strict=True))
        parts.append(and_(*same, column > last[index]))
    return or_(*parts)


def _path(one: _Reflected, key: Sequence[Any]) -> str:
    """Return the path of a row; empty where its key cannot stand in one."""
    if any(value is None or _is_no_segment(str(value)) for value in key):
        return ""
    return "/".join((one.told.prefix, *(quote(str(value), safe="-._~") for value in key)))


def _is_no_segment(text: str) -> bool:
    return text in ("", ".", "..") or len(text) > _LONGEST_KEY


def _key(columns: Sequence[Column[Any]], told: Sequence[str]) -> list[Any] | None:
    """Return the values of a key as the segments of a path tell them; None where they cannot be one."""
    if len(told) != len(columns):
        return None
    values = []
    for column, segment in zip(columns, told, strict=True):
        try:
            text = unquote(segment, errors="strict")
            kind = _kind_of(column)
            value = kind(text)
        except (ValueError, ArithmeticError):
            return None
        if "\0" in text or str(value) != text or _is_no_segment(text):  # one row has one path
            return None
        if isinstance(value, int) and abs(value) >= 1 << 63:
            return None
        values.append(value)
    return values


def _kind_of(column: Column[Any]) -> Any:
    try:
        kind = column.type.python_type
    except NotImplementedError:
        return str
    return kind if kind in (int, Decimal, UUID) else str


def _plain(value: Any) -> Any:
    return value.hex() if isinstance(value, bytes) else str(value)


def _millis(value: Any) -> int:
    """Return a date of a row as UTC milliseconds; what names no zone is UTC, a number seconds or milliseconds."""
    if isinstance(value, datetime):
        moment = value if value.tzinfo else value.replace(tzinfo=UTC)
        return int(moment.timestamp() * 1000)
    if isinstance(value, date):
        return int(datetime(value.year, value.month, value.day, tzinfo=UTC).timestamp() * 1000)
    if isinstance(value, str):
        return read_date(value) or 0
    if isinstance(value, int | float | Decimal):
        return int(value if value > 100_000_000_000 else value * 1000)
    return 0


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:300]
