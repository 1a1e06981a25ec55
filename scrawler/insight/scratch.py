"""A database for one command, in a temporary file: what it notes may be more than memory holds."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from scrawler.errors import ScrawlerError


def scratch(*statements: str) -> sqlite3.Connection:
    """Open a database that nobody else sees, and that is gone when it is closed, with the tables of the statements."""
    connection = sqlite3.connect("", isolation_level=None)
    for statement in ("PRAGMA journal_mode = OFF", "PRAGMA synchronous = OFF", *statements, "BEGIN"):
        connection.execute(statement)
    return connection


@contextmanager
def telling_of_the_file() -> Iterator[None]:
    """Map errors of the temporary file, which may not find room."""
    try:
        yield
    except sqlite3.Error as error:
        raise ScrawlerError(
            f"the temporary file of this command: {error}; TMPDIR names a folder with more room"
        ) from error
