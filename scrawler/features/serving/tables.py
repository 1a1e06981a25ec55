"""Which tables and columns of a database are published: read from a TOML file, and checked.

What is not named there is not read, whatever the database holds.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from scrawler.errors import ScrawlerError
from scrawler.regular import read_regular

_PREFIX = re.compile(r"[A-Za-z0-9_~-][A-Za-z0-9._~-]*(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*")
_KEYS = {"name", "columns", "key", "lastmod", "template", "prefix", "search", "most"}
_MOST_ROWS = 1_000_000


class TablesError(ScrawlerError):
    """The file that says what of a database is published is wrong, or the database has no such thing."""


class PublishedTable(NamedTuple):
    """A table of which rows are published as pages."""

    name: str
    columns: tuple[str, ...]  # that templates see
    key: tuple[str, ...]  # that the path names; empty: the primary key
    lastmod: str  # the column that says when a row has changed; empty: that follows from its values
    template: str  # file in the folder of templates; empty: a plain one
    prefix: str  # of the paths
    search: tuple[str, ...]  # columns in which terms are looked for
    most: int  # rows


class PublishedDatabase(NamedTuple):
    """A database, and what of it is published."""

    url: str
    tables: tuple[PublishedTable, ...]


def read_tables(path: Path) -> PublishedDatabase:
    """Read such a file. Raises TablesError."""
    try:
        told = tomllib.loads(read_regular(path).decode("utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:  # a number may have endless digits
        raise TablesError(f"cannot read what of the database is published: {path}: {error}") from error
    try:
        return _read(told)
    except TablesError as error:
        raise TablesError(f"{path}: {error}") from error


def _read(told: Mapping[str, Any]) -> PublishedDatabase:
    unknown = set(told) - {"url", "url_env", "table"}
    if unknown:
        raise TablesError(f"unknown: {', '.join(sorted(unknown))}; there are url, url_env and [[table]]")
    url = told.get("url", "")
    if name := told.get("url_env"):
        url = os.environ.get(str(name), "")
        if not url:
            raise TablesError(f"the environment variable {name}, which url_env names, is not set")
    if not isinstance(url, str) or not url:
        raise TablesError("say where the database is, by url or url_env")
    tables = told.get("table")
    if not isinstance(tables, list) or not tables:
        raise TablesError("name the tables that are published, each in a [[table]]")
    made = tuple(map(_table, tables))
    prefixes = [one.prefix for one in made]
    if len(set(prefixes)) < len(prefixes):
        raise TablesError("two tables have the same prefix")
    return PublishedDatabase(url, made)


def _table(told: object) -> PublishedTable:
    if not isinstance(told, dict) or not isinstance(told.get("name"), str):
        raise TablesError("a [[table]] needs a name")
    name = told["name"]
    if unknown := set(told) - _KEYS:
        raise TablesError(f"table {name}: unknown: {', '.join(sorted(unknown))}; there are {', '.join(sorted(_KEYS))}")
    columns = _names(told, "columns")
    if not columns:
        raise TablesError(f"table {name}: name the columns that are published, as columns = [...]")
    search = _names(told, "search")
    if hidden := set(search) - set(columns):
        raise TablesError(f"table {name}: search names {', '.join(sorted(hidden))}, which columns does not")
    prefix = told.get("prefix", name)
    if not isinstance(prefix, str) or not _PREFIX.fullmatch(prefix):
        raise TablesError(f"table {name}: prefix {prefix!r} is no path: write letters, digits, - and _, with / between")
    most = told.get("most", _MOST_ROWS)
    if not isinstance(most, int) or most < 1:
        raise TablesError(f"table {name}: most is a number of rows")
    texts = {key: told.get(key, "") for key in ("lastmod", "template")}
    if not all(isinstance(text, str) for text in texts.values()):
        raise TablesError(f"table {name}: lastmod and template are texts")
    return PublishedTable(name, columns, _names(told, "key"), texts["lastmod"], texts["template"], prefix, search, most)


def _names(told: Mapping[str, Any], key: str) -> tuple[str, ...]:
    names = told.get(key, [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise TablesError(f"table {told['name']}: {key} is a list of names of columns")
    return tuple(names)
