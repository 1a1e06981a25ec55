"""Connections to PostgreSQL that do not wait forever: a server that says nothing for long is taken for lost.

libpq has time limits for connecting and for data that nobody acknowledges, but none for a server that is frozen, whose
kernel acknowledges all.
"""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg import errors

from scrawler.errors import StoreError

# What psycopg raises when it, or libpq, does not understand a parameter; nothing was sent to a server then.
MISREAD = (psycopg.ProgrammingError, ValueError, TypeError)


class _Impatient(psycopg.Connection[Any]):
    """A connection that is closed when an answer takes longer than `longest` seconds."""

    longest: float | None = None  # not while connecting, which has a time limit of its own

    # Not by psycopg's own types: who compiles this package may not have it, and mypyc refuses what mypy cannot follow.
    def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
        """Wait for what the server says."""
        if timeout is not None:  # psycopg's own
            return super().wait(gen, interval=interval, timeout=timeout)
        try:
            return super().wait(gen, interval=interval, timeout=self.longest)
        except errors._WaitTimeout as error:
            self.pgconn.finish()  # whatever it still says is no answer to what is asked next
            raise psycopg.OperationalError(f"no answer for {self.longest:g} s") from error


def connect(longest: float, **parameters: Any) -> psycopg.Connection[Any]:
    """Connect, with psycopg's parameters; an answer may take so many seconds at most.

    Raises:
        StoreError: the database cannot hold every text.
    """
    connection = _Impatient.connect(**parameters)
    said = connection.info
    encoding = said.parameter_status("server_encoding")
    if encoding != "UTF8":
        name = said.dbname
        connection.close()
        raise StoreError(
            f"the database {name} holds text as {encoding}, which has not all letters; create another"
            " one (CREATE DATABASE ... ENCODING 'UTF8' TEMPLATE template0)"
        )
    connection.longest = longest
    return connection
