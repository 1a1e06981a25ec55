"""Rows of an SQLite file that are not as their columns say: they stop no scan, and are counted."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import pytest

from scrawler.features.serving.catalogue import Catalogue
from scrawler.features.serving.rows import Rows
from scrawler.features.serving.scanner import Scanner
from scrawler.features.serving.tables import read_tables
from scrawler.features.serving.templates import Templates
from scrawler.features.serving.values import millis, read_as, segment
from tests.tables import each

ODD = """
CREATE TABLE p (id INTEGER PRIMARY KEY, title TEXT, at REAL, made DATETIME, price NUMERIC);
INSERT INTO p VALUES (1, 'a', 1700000000, '2024-01-01 00:00:00', 1.5), (2, 'b', 9e999, 'yesterday', 'dear'),
  (3, CAST(x'ff61' AS TEXT), -9e999, x'00ff', 2), (4, 'd', CAST(x'80' AS TEXT), 5, NULL), (5, 'e', NULL, NULL, 0),
  (6, 'f', 1e300, NULL, 0);
CREATE TABLE k (k BLOB PRIMARY KEY, t TEXT);
INSERT INTO k VALUES (x'0102', 'bytes'), ('text', 'text');
CREATE TABLE n (k NUMERIC(10, 2) PRIMARY KEY, t TEXT);
INSERT INTO n VALUES (1.5, 'x'), (9e999, 'infinite'), ('word', 'none');
CREATE TABLE w (k TEXT PRIMARY KEY, t TEXT);
"""
TABLES = """
url = "sqlite:///{path}"
[[table]]
name = "p"
columns = ["id", "title", "made", "price"]
lastmod = "at"
[[table]]
name = "k"
columns = ["t"]
[[table]]
name = "n"
columns = ["t"]
[[table]]
name = "w"
columns = ["t"]
"""


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[tuple[Path, Rows]]:
    path = tmp_path / "shop.db"
    fill(path, ODD)
    (tmp_path / "shop.toml").write_text(TABLES.format(path=path))
    with closing(Rows(read_tables(tmp_path / "shop.toml"))) as rows:
        yield path, rows


def fill(path: Path, script: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(script)


def test_odd_rows_are_left_out_or_undated_and_counted(shop: tuple[Path, Rows], tmp_path: Path) -> None:
    _, rows = shop
    dates = {one.path: one.changed_at for one in rows.pages()}
    assert dates == {"p/1": 1_700_000_000_000, **dict.fromkeys(["p/2", "p/3", "p/4", "p/5", "p/6", "n/1.50"], 0)}
    said = rows.problems()
    assert said == (
        "4 rows left out, whose keys can stand in no path;"
        " 4 rows whose date cannot be read: that of the scan stands for it"
    )
    scanner = Scanner(Catalogue(tmp_path / "state.db"), None, rows)
    assert [scanner.scan(threading.Event()), scanner.scan(threading.Event())] == [7, 0]
    assert scanner.problems() == said


def test_what_is_listed_is_found_and_nothing_else(shop: tuple[Path, Rows]) -> None:
    _, rows = shop
    for path in [one.path for one in rows.pages()]:
        row = rows.find(path)
        assert row is not None
        assert Templates(None).page(row)
    row = rows.find("p/1")
    assert row is not None
    assert row.values["made"] == datetime(2024, 1, 1)
    for path in ("k/text", "k/%01%02", "k/b%27%27", "n/sNaN", "n/NaN", "n/Infinity", "n/word", "w/%FF"):
        assert rows.find(path) is None


def test_keys_that_are_not_utf_8_do_not_end_the_reading(shop: tuple[Path, Rows]) -> None:
    path, rows = shop
    keys = ", ".join(f"(CAST(x'61ff{number:04x}' AS TEXT), 'x')" for number in range(1, 1_100))
    fill(path, f"INSERT INTO w VALUES ('a', 'first'), ('b', 'last'), (NULL, 'none'), {keys}")
    assert [one.path for one in rows.pages() if one.path.startswith("w/")] == ["w/a", "w/b"]
    assert "1,103 rows left out" in rows.problems()


def test_another_file_of_that_name_is_read(shop: tuple[Path, Rows]) -> None:
    path, rows = shop
    assert rows.find("p/7") is None
    fill(path.with_name("new.db"), ODD + "INSERT INTO p (id, title) VALUES (7, 'new');")
    path.with_name("new.db").replace(path)
    assert rows.find("p/7") is not None


@each(
    "value", [float("inf"), float("-inf"), float("nan"), 1e300, 10**400, Decimal("sNaN"), Decimal("Infinity"), -5, "x"]
)
def test_what_is_no_date(value: object) -> None:
    assert millis(value) == 0


def test_what_is_no_part_of_a_path() -> None:
    for value in (
        None,
        b"x",
        float("inf"),
        Decimal("NaN"),
        Decimal("sNaN"),
        "",
        ".",
        "..",
        "a\0b",
        "x\udcff",
        "x" * 513,
    ):
        assert segment(value) == ""
    assert [segment(value) for value in (1, "a b/ü", 1.5, Decimal("1.50"))] == ["1", "a%20b%2F%C3%BC", "1.5", "1.50"]
    for text in ("sNaN", "NaN", "Infinity", "1e5", "x", ""):
        assert read_as(Decimal, text) is None
