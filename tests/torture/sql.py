"""Plain SQL on the database of a crawl, past all code of the crawler."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit

import pymysql


class DatabaseAwayError(Exception):
    """The database did not answer; it may soon."""


class PlainSql:
    """Reads rows; each call has a connection of its own, so that none outlives a server that is killed."""

    def __init__(self, url: str) -> None:
        self._url = url

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Return all rows of a query."""
        try:
            with closing(self._connect()) as connection, closing(connection.cursor()) as cursor:
                cursor.execute(query)
                return [tuple(row) for row in cursor.fetchall()]
        except (sqlite3.OperationalError, pymysql.err.OperationalError) as error:
            raise DatabaseAwayError(str(error)) from error

    def one(self, query: str) -> Any:
        """Return the first field of the first row."""
        return self.rows(query)[0][0]

    def has_table(self, name: str) -> bool:
        """Whether the schema has a table."""
        source = "sqlite_master" if self._is_sqlite else "information_schema.tables"
        field = "name" if self._is_sqlite else "table_schema = DATABASE() AND table_name"
        return bool(self.one(f"SELECT COUNT(*) FROM {source} WHERE {field} = '{name}'"))

    @property
    def _is_sqlite(self) -> bool:
        return self._url.startswith("sqlite:///")

    def _connect(self) -> Any:
        if self._is_sqlite:
            path = self._url.removeprefix("sqlite:///")
            return sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=10)
        parts = urlsplit(self._url)
        return pymysql.connect(
            host=parts.hostname or "",
            port=parts.port or 0,
            user=parts.username,
            password=parts.password or "",
            database=parts.path.lstrip("/"),
            charset="utf8mb4",
            connect_timeout=5,
            read_timeout=60,
        )
