"""Plain SQL on the database of a crawl, past all code of the crawler."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
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
        except (sqlite3.OperationalError, pymysql.err.OperationalError, psycopg.OperationalError) as error:
            raise DatabaseAwayError(str(error)) from error

    def one(self, query: str) -> Any:
        """Return the first field of the first row."""
        return self.rows(query)[0][0]

    def dump(self, folder: Path) -> None:
        """Write the rows of each table of a server to a file, for it may soon be gone; an SQLite file stays."""
        if self._is_sqlite:
            return
        folder.mkdir()
        tables = "SHOW TABLES" if self._is_mysql else "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
        for (table,) in self.rows(tables):
            lines = (f"{row!r}\n" for row in self.rows(f"SELECT * FROM {table}"))
            (folder / f"{table}.txt").write_text("".join(lines))

    def writable(self) -> bool:
        """Whether a writer finds the database unlocked before long; a server's is never locked as a whole."""
        if not self._is_sqlite:
            return True
        with closing(sqlite3.connect(self._url.removeprefix("sqlite:///"), timeout=2)) as connection:
            try:
                connection.execute("BEGIN IMMEDIATE")
                connection.rollback()
            except sqlite3.OperationalError:
                return False
        return True

    @property
    def _is_sqlite(self) -> bool:
        return self._url.startswith("sqlite:///")

    @property
    def _is_mysql(self) -> bool:
        return self._url.startswith("mysql")

    def _connect(self) -> Any:
        if self._is_sqlite:
            path = self._url.removeprefix("sqlite:///")
            return sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=10)
        if not self._is_mysql:
            options = "-c statement_timeout=60000"
            return psycopg.connect(self._url.replace("+psycopg", ""), connect_timeout=5, options=options)
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
