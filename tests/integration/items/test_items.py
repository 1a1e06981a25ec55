"""Items: what is one, which columns they get in a file or a table, and what is told of one that cannot be kept."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

import scrawler
from scrawler.features.items.item_tables import ItemTable, ValueKind
from tests.integration.api.conftest import make
from tests.integration.api.quotes import QUOTES, items_of
from tests.integration.api.site import Site

_WHAT = [
    {"text": "a", "n": 1, "list": ["x"], "mixed": 1, "real": 1},
    {"text": None, "n": 2, "list": [], "mixed": "\ud800 ä", "real": 0.5, "new %s": {"deep": [1]}},
    {"text": "c", "n": 2**70, "list": [], "mixed": None, "real": None},
]


def _what(page: scrawler.Page) -> dict[str, Any]:
    return _WHAT[int(page.url[-1])]


def test_parquet_has_the_columns_that_items_bring(crawled: Path, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    file = tmp_path / "items.parquet"
    with make(crawled) as crawl:
        crawl.process(_what, items=file, again=True)
        table = parquet.read_table(file)
        assert [(field.name, str(field.type)) for field in table.schema] == [
            *[("text", "string"), ("n", "string"), ("list", "list<element: string>"), ("mixed", "string")],
            *[("real", "double"), ("_page", "int64"), ("new %s", "string")],
        ]
        assert table.column("mixed").to_pylist() == ["1", "\\ud800 ä", None]
        assert table.column("list").to_pylist() == [["x"], [], []]
        assert table.column("new %s").to_pylist() == [None, '{"deep": [1]}', None]
        file.unlink()
        crawl.process(_what, items=file)
        assert parquet.read_table(file) == table, "made anew of what is beside it"
        with pytest.raises(scrawler.SettingsError, match="is there, and not the file that these"):
            crawl.process(lambda page: None, items=file)


def test_a_table_has_the_columns_that_items_bring(crawled: Path, database_url: str, tmp_path: Path) -> None:
    told: list[str] = []
    with Site(QUOTES) as site, make(tmp_path, db=database_url, say=told.append) as crawl:
        crawl.add([site.root + "/0"])
        crawl.run(processors=[_what], items="table:what")
        table = ItemTable(crawl.database, "what", ())
        rows = list(crawl.database.rows(text("SELECT * FROM items_what ORDER BY _page").columns()))
        assert [row.text for row in rows] == ["a", None, "c"]
        assert [(str(row.mixed), row.real, row.list, row._mapping["new %s"]) for row in rows] == [
            ("1", 1, '["x"]', None),
            ("\\ud800 ä", 0.5, "[]", '{"deep": [1]}'),
            ("None", None, "[]", None),
        ]
        assert list(table.columns())[2:] == ["text", "n", "list", "mixed", "real", "new %s"]
        (done,) = crawl.processed()
        assert (done.items_file, done.items, done.errors) == ("table:what", 3, 0)
    assert not told


@pytest.mark.parametrize(("first", "kind"), [(12345, ValueKind.NUMBER), (0.5, ValueKind.REAL)])
def test_texts_that_come_after_numbers_stay_as_they_are(
    database_url: str, tmp_path: Path, first: float, kind: ValueKind
) -> None:
    with make(tmp_path, db=database_url) as crawl:
        table = ItemTable(crawl.database, "zips", ("_page",))
        for number, value in enumerate((None, first, "01234", "1.10", "1e3", str(2**63))):
            columns = {"zip": ValueKind.TEXT if isinstance(value, str) else kind}
            table.make(columns)
            with crawl.database.begin() as connection:
                table.insert(connection, columns, [{"_page": number, "zip": value}])
        rows = list(crawl.database.rows(text("SELECT zip FROM items_zips ORDER BY _page").columns()))
        assert [row.zip for row in rows] == [None, str(first), "01234", "1.10", "1e3", str(2**63)]
        assert table.columns() == {"zip": ValueKind.TEXT}
        table.drop()


def test_a_line_of_an_item_is_as_people_read_it_and_ends_nowhere_else(crawled: Path, tmp_path: Path) -> None:
    said = {"text": "漢字 ä", "ends": "a\u2028b\x85c", "half": "\ud800"}
    file = tmp_path / "said.jsonl"
    with make(crawled) as crawl:
        crawl.process(lambda page: said, items=file)
    lines = file.read_text("utf-8").splitlines()
    assert len(lines) == 3
    assert all("漢字 ä" in line for line in lines)
    assert all(json.loads(line).items() >= said.items() for line in lines)


def test_an_item_too_deep_to_be_read_again_is_an_error_of_its_page(crawled: Path, tmp_path: Path) -> None:
    def deep(page: scrawler.Page) -> list[dict[str, Any]]:
        value: Any = "x"
        for _ in range(600 if page.url.endswith("/1") else 40):
            value = [value]
        return [{"value": value}]

    told: list[str] = []
    with make(crawled, say=told.append) as crawl:
        for name in ("deep.jsonl", "deep.csv", "deep.parquet"):
            done = crawl.process(deep, items=tmp_path / name, again=True)
            assert (done.items, done.errors) == (2, 1), name
    assert "nested deeper than 50 levels" in told[0]


def test_columns_of_a_table_widen(database_url: str, tmp_path: Path) -> None:
    with make(tmp_path, db=database_url) as crawl:
        table = ItemTable(crawl.database, "wide", ("_page", "_number"))
        for number, kind in enumerate((ValueKind.NUMBER, ValueKind.REAL, ValueKind.TEXT)):
            columns = {"a %s": kind, f"b{number}": ValueKind.TEXT}
            row = {
                "_page": number,
                "_number": 0,
                "a %s": "x" if number == 2 else number + number / 2,
                f"b{number}": None,
            }
            table.make(columns)
            with crawl.database.begin() as connection:
                table.insert(connection, columns, [row])
        rows = list(crawl.database.rows(text("SELECT * FROM items_wide ORDER BY _page").columns()))
        assert [str(row._mapping["a %s"]).removesuffix(".0") for row in rows] == ["0", "1.5", "x"]
        assert table.rows() == 3
        table.drop()
        assert table.rows() is None


_UNUSABLE = ["", "a" * 61, "a\0", " a", "_number", 5, "A", "\U0001f600"]


def test_a_table_refuses_what_no_database_takes(crawled: Path) -> None:
    def odd(page: scrawler.Page) -> Iterator[dict[Any, Any]]:
        place = int(page.url[-1])
        if place == 0:
            yield {"a": 1}
        elif place == 1:
            yield {"a": float("nan")}
        else:
            yield {"b": "x" * 1_000_000 + "\0"}
            yield {"percent %s :x": True, "é`\"'": 2.5}

    with make(crawled) as crawl:
        done = crawl.process(odd, items="table:odd", again=True)
        assert (done.items, done.errors) == (3, 1)
        assert len(items_of(crawled, "table:odd")[-1]) == 6
        for name in _UNUSABLE:
            done = crawl.process(lambda page, name=name: [{"a": 1, name: 2}], items="table:odder", again=True)
            assert (done.items, done.errors) == (0, 3), name
        crawl.process(odd, items="table:odd")
        with pytest.raises(scrawler.SettingsError, match="items_odd is there, and not the one"):
            crawl.process(_what, items="table:odd", again=True)
        with pytest.raises(scrawler.SettingsError, match="a table of items is named by a small letter"):
            crawl.process(_what, items="table:seed; drop", again=True)
        assert crawl.process(odd, items="table:odd", again=True).items == 3


class _Silent:
    def __str__(self) -> str:
        raise SystemExit("says nothing")


class _Closed(Mapping[str, Any]):
    def __getitem__(self, name: str) -> Any:
        raise RuntimeError("closed")

    def __iter__(self) -> Iterator[str]:
        return iter(["name"])

    def __len__(self) -> int:
        return 1


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_an_item_that_raises_when_it_is_written_is_an_error_of_its_page(
    crawled: Path, tmp_path: Path, suffix: str
) -> None:
    def fails(page: scrawler.Page) -> Mapping[str, Any]:
        if page.url.endswith("/0"):
            return {"url": page.url}
        return {"url": _Silent()} if page.url.endswith("/1") else _Closed()

    told: list[str] = []
    with make(crawled, say=told.append) as crawl:
        done = crawl.process(fails, items=tmp_path / f"items.{suffix}", again=True)
    assert (done.pages, done.items, done.errors) == (3, 1, 2)
    assert "an item cannot be written: " in told[0]
    assert "an item cannot be written: RuntimeError: closed" in told[1]
