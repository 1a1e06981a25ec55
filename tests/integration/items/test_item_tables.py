"""Tables of items: as an earlier version made them, and with as many columns as a database takes."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Any

from sqlalchemy import text
from sqlalchemy.engine import make_url

from scrawler.features.items.item_tables import ItemTable, ValueKind
from scrawler.features.items.table import _MOST_COLUMNS
from scrawler.store.engines.engine import Database, open_database

KEYS = ("_page", "_number")


def insert(database: Database, table: ItemTable, columns: dict[str, ValueKind], *rows: dict[str, Any]) -> None:
    table.make(columns)
    database.retrying(lambda connection: table.insert(connection, columns, rows))


def rows(database: Database, table: ItemTable) -> list[dict[str, Any]]:
    found = database.reading(lambda one: one.execute(text(f"SELECT * FROM {table.name} ORDER BY 1, 2")).all())
    return [dict(row._mapping) for row in found]


def test_texts_that_look_like_numbers_stay_texts_in_a_table_of_an_earlier_version(sqlite_url: str) -> None:
    with closing(open_database(sqlite_url)) as database:
        with closing(sqlite3.connect(make_url(sqlite_url).database or "")) as earlier:
            earlier.execute(
                "CREATE TABLE items_old (_page BIGINT NOT NULL, _number BIGINT NOT NULL, code BIGINT, price DOUBLE,"
                " name TEXT, later, PRIMARY KEY (_page, _number))"
            )
            earlier.execute("INSERT INTO items_old VALUES (1, 0, 7, 1.5, '007', 3)")
            earlier.commit()
        table = ItemTable(database, "old", KEYS)
        kinds = table.columns()
        assert list(kinds.values()) == [ValueKind.NUMBER, ValueKind.REAL, ValueKind.TEXT, ValueKind.NUMBER]
        first = {"_page": 1, "_number": 0, "code": "7", "price": 1.5, "name": "007", "later": 3}
        second = {"_page": 2, "_number": 0, "code": "01234", "price": 2.5, "name": "008", "later": 4}
        insert(database, table, kinds | {"code": ValueKind.TEXT}, second)
        assert rows(database, table) == [first, second]
        assert table.columns() == kinds | {"code": ValueKind.TEXT}
        third = second | {"_page": 3, "price": "1.50", "later": "00"}
        insert(database, table, dict.fromkeys(kinds, ValueKind.TEXT), third)
        assert rows(database, table)[2] == third


def test_a_row_of_the_most_columns_has_room_whatever_is_in_them(database: Database) -> None:
    table = ItemTable(database, "wide", KEYS)
    names = [f"{'column of a long name ' * 2}{number:03}" for number in range(_MOST_COLUMNS)]
    columns = dict.fromkeys(names, ValueKind.TEXT)
    first = dict.fromkeys(names[:3], ValueKind.NUMBER)
    insert(database, table, first, {"_page": 0, "_number": 0, **dict.fromkeys(first, 1)})
    lengths = (40, 41, 255, 256, 9_000)  # bytes that InnoDB keeps in the row, and that it keeps elsewhere
    for page, length in enumerate(lengths, 1):
        insert(database, table, columns, {"_page": page, "_number": 0, **dict.fromkeys(names, "x" * length)})
    found = rows(database, table)
    assert [len(row[names[-1]]) for row in found[1:]] == list(lengths)
    assert (found[0][names[0]], found[0][names[-1]]) == ("1", None)
    numbers = ItemTable(database, "numbers", KEYS)
    kinds = dict.fromkeys(names, ValueKind.REAL)
    insert(database, numbers, kinds, {"_page": 1, "_number": 0, **dict.fromkeys(names, 1.5)})
    assert rows(database, numbers)[0][names[-1]] == 1.5
