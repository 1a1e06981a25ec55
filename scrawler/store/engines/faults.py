"""Maps what SQLAlchemy and the drivers raise to StoreError and StoreBusyError, once, at this edge."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from typing import Any, TypeVar

from sqlalchemy.exc import DBAPIError

from scrawler.errors import StoreBusyError, StoreError

_SQLITE_BUSY = {5, 6}  # SQLITE_BUSY, SQLITE_LOCKED
Word = TypeVar("Word", bound=Enum)

_WORDS = {  # what words are, by the enum that has them
    "Scope": "scope of a crawl",
    "MachineState": "state of a machine",
    "Command": "order to a machine",
    "SeedState": "state of a seed",
    "EndReason": "end of a seed",
    "Result": "result of a page",
}
_CORRUPT = 11  # SQLITE_CORRUPT
_SQLITE_ADVICE = {
    8: "is read-only",  # SQLITE_READONLY
    _CORRUPT: "is damaged",
    13: "cannot grow: the disk is full",  # SQLITE_FULL
    14: "cannot be opened (does its folder exist, and may you write there?)",  # SQLITE_CANTOPEN
    26: "is not an SQLite database",  # SQLITE_NOTADB
}
_MYSQL_BUSY = {1205, 1213}  # lock wait timeout, deadlock
# What the server has not enough of just now, and may have at the next try: it cannot delete or write a file, its disk
# or a table is full, no memory, no thread, no room for locks or transactions, the user has too many connections; or
# what another one did meanwhile: a row or a table was changed, the commit failed, a statement took too long.
_MYSQL_PASSING = {1011, 1020, 1021, 1026, 1037, 1038, 1041, 1114, 1135, 1180, 1206, 1226, 1412, 1615, 1637, 1969, 3024}
_MYSQL_OWN = 1000  # smaller numbers are errors of the server's own files, mostly of temporary tables
# The server has too many connections, shuts down, has cut or lost this one, or let it go after it was idle.
_MYSQL_AWAY = {1040, 1053, 1152, 1158, 1159, 1160, 1161, 1203, 1317, 1927, 2002, 2003, 2006, 2013, 2014, 2055, 4031}
_MYSQL_ADVICE = {
    1044: "refuses this user",
    1045: "refuses this user and password",
    1049: "does not exist on the server; create it first (CREATE DATABASE ... CHARACTER SET utf8mb4)",
    1290: "is read-only",  # the server runs with --read-only
}

# PostgreSQL has letters and digits: classes, by their first two characters, and single states. Not enough resources (a
# full disk, no memory, too many connections), errors of the server's own files; a serialization failure or a deadlock,
# a lock that was not had in time, a statement that was cancelled, an outcome that is not known.
_POSTGRESQL_PASSING = ("53", "58", "40001", "40P01", "40003", "55P03", "55006", "57014")
# Connection lost, server shut down, crashed or starting, too many connections; sessions that were idle for too long.
_POSTGRESQL_AWAY = ("08", "57P", "53300", "25P03", "25P04")
_POSTGRESQL_ADVICE = {
    "25006": "is read-only",
    "42501": "refuses this user, who must own it, or may CREATE in its schema, or was not granted its tables",
}
# What a server says before there is a session has no state, and its words may be in another language: what is not found
# here is taken for a server that is away.
_POSTGRESQL_REFUSALS = (
    (
        re.compile(r"database \"[^\"]*\" does not exist"),
        "does not exist on the server; create it first (CREATE DATABASE ... OWNER ... ENCODING 'UTF8'"
        " TEMPLATE template0)",
    ),
    (
        re.compile(
            r"password authentication failed|no password supplied|no pg_hba.conf entry|role \"[^\"]*\" does not exist|"
            r"is not permitted to log in|authentication failed for user|permission denied for database"
        ),
        "refuses this user and password",
    ),
)


@contextmanager
def mapped(where: str) -> Iterator[None]:
    """Raise driver errors of the block as StoreError; `where` names the database, without its password."""
    try:
        yield
    except DBAPIError as error:
        raise _store_error(error, where) from error
    except sqlite3.Error as error:  # rows are read from the driver itself; PyMySQL has all of them by then
        raise _sqlite_error(error, where) from error
    except UnicodeDecodeError as error:  # the driver cannot even say what is wrong with a file, or a text is none
        raise StoreError(f"database {where} {_SQLITE_ADVICE[_CORRUPT]} ({error})") from error


def _store_error(error: DBAPIError, where: str) -> StoreError:
    cause = error.orig
    if isinstance(cause, sqlite3.Error):
        return _sqlite_error(cause, where)
    if type(cause).__module__.startswith("psycopg"):  # which need not be there
        return _postgresql_error(error, cause, where)
    said = _said(cause if cause is not None and cause.args else error)
    code = cause.args[0] if cause is not None and cause.args else 0
    if code in _MYSQL_BUSY or code in _MYSQL_PASSING or 0 < code < _MYSQL_OWN:
        return StoreBusyError(f"database {where} is busy ({said})")
    if code in _MYSQL_AWAY or error.connection_invalidated:
        return StoreBusyError(f"database {where} cannot be reached ({said})")
    return StoreError(f"database {where} {_MYSQL_ADVICE.get(code, 'refuses')} ({said})")


def _sqlite_error(error: sqlite3.Error, where: str) -> StoreError:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in _SQLITE_BUSY:
        return StoreBusyError(f"database {where} is locked by another program ({_said(error)})")
    return StoreError(f"database {where} {_SQLITE_ADVICE.get(code, 'refuses')} ({_said(error)})")


def _postgresql_error(error: DBAPIError, cause: BaseException | None, where: str) -> StoreError:
    state = getattr(cause, "sqlstate", None) or ""
    said = _said(cause if cause is not None else error)
    if state.startswith(_POSTGRESQL_AWAY) or (error.connection_invalidated and not state):
        return StoreBusyError(f"database {where} cannot be reached ({said})")
    if state.startswith(_POSTGRESQL_PASSING):
        return StoreBusyError(f"database {where} is busy ({said})")
    if not state and any(kind.__name__ == "OperationalError" for kind in type(cause).__mro__):
        refusal = next((advice for words, advice in _POSTGRESQL_REFUSALS if words.search(said)), None)
        if refusal is None:
            return StoreBusyError(f"database {where} cannot be reached ({said})")
        return StoreError(f"database {where} {refusal} ({said})")
    return StoreError(f"database {where} {_POSTGRESQL_ADVICE.get(state, 'refuses')} ({said})")


def _said(error: BaseException) -> str:
    return " ".join(str(error.args[-1] if error.args else error).split())


def read_json(text: str | bytes) -> Any:
    """Read JSON that a row holds. Raises StoreError for what is none any more."""
    try:
        return json.loads(text)
    except RecursionError as error:
        raise StoreError(f"the database {_SQLITE_ADVICE[_CORRUPT]}: the JSON in a row is nested too deep") from error
    except (ValueError, TypeError) as error:  # a part of it is no text as well, or it has a number of endless digits
        raise StoreError(
            f"the database {_SQLITE_ADVICE[_CORRUPT]}: what stands in a row is no JSON ({error})"
        ) from error


def read_word(kind: type[Word], text: str) -> Word:
    """Read a word that a row holds. Raises StoreError for one that no version of this program has written."""
    try:
        return kind(text)
    except ValueError as error:
        what = _WORDS.get(kind.__name__, "word that is known")
        raise StoreError(
            f"the database {_SQLITE_ADVICE[_CORRUPT]}: {str(text)[:70]!r} in a row is no {what}"
        ) from error


def read_numbers(text: str) -> dict[str, int]:
    """Read a JSON object of numbers that a row holds, as the verdicts of a seed. Raises StoreError for what is none."""
    found = read_object(text)
    if not all(isinstance(number, int) for number in found.values()):
        raise StoreError(f"the database {_SQLITE_ADVICE[_CORRUPT]}: what should be numbers in a row are none")
    return found


def read_object(text: str | bytes) -> dict[str, Any]:
    """Read a JSON object that a row holds. Raises StoreError for what is none."""
    found = read_json(text)
    if not isinstance(found, dict):
        raise StoreError(f"the database {_SQLITE_ADVICE[_CORRUPT]}: what stands in a row is no JSON object")
    return found
