"""Sums that SQLite makes by functions of ours, in one pass: where their part in C (`_sums.c`) is compiled.

A report of millions of rows costs SQLite most where it groups them. These functions are given each row, and find its
group in memory. They answer NULL where they cannot: the sum is then made by SQL, as where there is no part in C.
"""

from __future__ import annotations

import json
import sqlite3
import sys
from contextlib import closing, suppress
from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, Connection, String
from sqlalchemy import func as sql

from scrawler.compiled import compiled_part
from scrawler.store.engines.rows import AnySelect


@cache
def attached() -> bool:
    """Let each connection to SQLite that is opened from now on have the functions; tell whether it has."""
    part = compiled_part("scrawler.store._sums")
    # Python's module of SQLite is a file, or a part of Python; the functions must be of the library that it uses.
    if part is None or not part.attach(getattr(sys.modules["_sqlite3"], "__file__", None)):
        return False
    with closing(sqlite3.connect(":memory:")) as connection, suppress(sqlite3.Error):
        return bool(connection.execute("SELECT scrawler_verdict_sums('{}')").fetchone()[0])
    return False  # it was another one of two


def page_sums_of(*arguments: ColumnElement[Any]) -> ColumnElement[str]:
    """Return the sums of pages, of the arguments that `_sums.c` says."""
    return sql.scrawler_page_sums(*arguments, type_=String())


def site_sums_of(*arguments: ColumnElement[Any]) -> ColumnElement[str]:
    """Return the sums of sites, of each seed's site_id, pages, requests, and milliseconds in work."""
    return sql.scrawler_site_sums(*arguments, type_=String())


def verdict_sums_of(verdicts: ColumnElement[Any]) -> ColumnElement[str]:
    """Return the sums of the numbers in JSON objects, by name."""
    return sql.scrawler_verdict_sums(verdicts, type_=String())


def asked(connection: Connection, query: AnySelect) -> Any:
    """Return what the function in a query says; None where it cannot, or where there are no functions."""
    if connection.dialect.name != "sqlite" or not attached():
        return None
    said = connection.scalar(query)
    return None if said is None else json.loads(said)


def names_in(texts: list[str]) -> list[str]:
    """Return the names that the functions give as bytes, in hexadecimal digits."""
    return [bytes.fromhex(text).decode() for text in texts]
