"""Page processors: once for each page that is committed, and each item once, whatever is killed."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

import scrawler
from scrawler.store.item_tables import ItemTable, ValueKind
from tests.integration.api.conftest import SETTINGS, make
from tests.integration.api.site import Answer, Site, chain, linking
from tests.limits import HANGS
from tests.proxy import Proxy

QUOTES = {
    f"/{number}": Answer(
        "".join(
            f'<div class=quote><q>quote {number}.{place}</q><b>author {place}</b><i>tag</i><i>"x, y"</i></div>'
            for place in range(2)
        ).encode()
        + (f'<a href="/{number + 1}">Next</a>'.encode() if number < 2 else b"")
    )
    for number in range(3)
}


def quotes(page: scrawler.Page) -> Iterator[dict[str, Any]]:
    for quote in page.dom.css("div.quote"):
        yield {
            "text": quote.css_first("q").text(),
            "author": quote.css_first("b").text(),
            "tags": [tag.text() for tag in quote.css("i")],
        }


def _lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a crawl of quotes, whose items went to a file."""
    folder = tmp_path_factory.mktemp("quotes")
    with Site(QUOTES) as site, make(folder) as crawl:
        crawl.add([site.root + "/0"])
        crawl.run(processors=[quotes], items=folder / "quotes.jsonl")
    return folder


def test_items_of_all_pages_are_written_while_it_crawls(crawled: Path) -> None:
    items = _lines(crawled / "quotes.jsonl")
    assert [item["text"] for item in items] == [f"quote {page}.{place}" for page in range(3) for place in range(2)]
    assert items[0]["tags"] == ["tag", '"x, y"']
    with make(crawled) as crawl:
        assert {item["_page"] for item in items} == {page.id for page in crawl.pages(result="fetched")}
        (done,) = crawl.processed()
        assert (done.pages, done.items, done.errors) == (3, 6, 0)
        assert done.name.endswith(".quotes")
        assert crawl.process(quotes, items=crawled / "quotes.jsonl").pages == 3, "there is nothing new"
    assert _lines(crawled / "quotes.jsonl") == items


def test_pages_can_be_processed_later_and_again(crawled: Path, tmp_path: Path) -> None:
    def title(page: scrawler.Page) -> dict[str, Any]:
        return {"url": page.url, "quotes": len(page.dom.css("q"))}

    file = tmp_path / "titles.csv"
    with make(crawled) as crawl:
        assert crawl.process(title, items=file).items == 3
        before = file.read_bytes()
        assert crawl.process(title, items=file, again=True).items == 3
        assert file.read_bytes() == before
        with pytest.raises(scrawler.SettingsError, match="is there, and not the file that these processors"):
            crawl.process(lambda page: None, items=file)
        with pytest.raises(scrawler.SettingsError, match=r"items are written as \.jsonl, \.csv or "):
            crawl.process(title, items=tmp_path / "titles.xlsx", again=True)
        with pytest.raises(scrawler.SettingsError, match="no page processors"):
            crawl.process()
        with pytest.raises(scrawler.SettingsError, match="two page processors are called"):
            crawl.process(lambda page: None, lambda page: {})
    rows = list(csv.DictReader(file.read_text().splitlines()))
    assert [row["quotes"] for row in rows] == ["2", "2", "2"]


def _stored(folder: Path, name: str) -> scrawler.store.processors.Processed:
    with make(folder) as crawl:
        return next(done for done in crawl.processed() if done.name.endswith(name))


def test_a_call_that_is_refused_changes_nothing(crawled: Path, tmp_path: Path) -> None:
    def refused(page: scrawler.Page) -> dict[str, Any]:
        return {"url": page.url}

    file, other = tmp_path / "items.jsonl", tmp_path / "other.jsonl"
    other.write_text("mine\n")
    (tmp_path / "folder.jsonl").mkdir()
    with make(crawled) as crawl:
        crawl.process(refused, items=file)
        whole, before = file.read_bytes(), _stored(crawled, ".refused")
        for items in (tmp_path / "items.jsnl", other, tmp_path / "folder.jsonl", crawled / "crawl.db"):
            with pytest.raises(scrawler.ScrawlerError):
                crawl.process(refused, items=items, again=True)
        with pytest.raises(scrawler.SettingsError, match="machines"):
            crawl.run(-1, processors=[refused], items=file, anew=True)
        assert _stored(crawled, ".refused") == before
        assert crawl.process(refused, items=file).items == 3
    assert file.read_bytes() == whole
    assert other.read_text() == "mine\n"


def test_processors_at_work_are_not_disturbed_with_another_file_either(crawled: Path, tmp_path: Path) -> None:
    def url(page: scrawler.Page) -> dict[str, Any]:
        for again in (False, True):
            with make(crawled) as other, pytest.raises(scrawler.ScrawlerError, match="are at work already"):
                other.process(url, items=tmp_path / "other.jsonl", again=again)
        return {"url": page.url}

    with make(crawled) as crawl:
        assert crawl.process(url, items=tmp_path / "items.jsonl").items == 3
    assert not (tmp_path / "other.jsonl").exists()


def test_processors_go_on_with_the_file_that_they_had_or_begin_anew(crawled: Path, tmp_path: Path) -> None:
    def late(page: scrawler.Page) -> dict[str, Any]:
        return {"url": page.url}

    told: list[str] = []
    first, second = tmp_path / "x.jsonl", tmp_path / "y.jsonl"
    with make(crawled, say=told.append) as crawl:
        crawl.process(late)
        with pytest.raises(
            scrawler.SettingsError, match=r"3 pages were processed already, without a file .* again=True"
        ):
            crawl.process(late, items=first)
        assert not first.exists()
        assert crawl.process(late, items=first, again=True).items == 3
        for other in (second, None):
            with pytest.raises(scrawler.SettingsError, match=f"processed already, into {first}: name that file, or "):
                crawl.process(late, items=other)
        assert not second.exists()
        assert not told
        crawl.process(late, items=first)
        (line,) = told
        assert line.startswith("nothing new to process; page processors ")
        assert line.endswith(f".late: 3 pages were processed already, into {first}")
        assert crawl.process(late, items=second, again=True).items == 3
    assert first.read_bytes() == second.read_bytes(), "what was left is still there"


def test_the_file_of_items_moves_with_the_folder_of_the_database(crawled: Path, tmp_path: Path) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    shutil.copytree(crawled, before)
    with make(before) as crawl:
        assert crawl.process(quotes, items=before / "quotes.jsonl", again=True).items == 6
    before.rename(after)
    with make(after) as crawl:
        assert crawl.process(quotes, items=after / "quotes.jsonl").items == 6


def _of_kind(kind: str) -> Callable[[scrawler.Page], dict[str, Any]]:
    def process(page: scrawler.Page) -> dict[str, Any]:
        return {"kind": kind}

    return process


class _Kind:
    def __init__(self, kind: str, name: str | None = None) -> None:
        self.kind = kind
        if name is not None:
            self.name = name

    def __call__(self, page: scrawler.Page) -> dict[str, Any]:
        return {"kind": self.kind}


def _with_kind(kind: str, page: scrawler.Page) -> dict[str, Any]:
    return {"kind": kind}


@pytest.mark.parametrize(
    ("pair", "name"),
    [
        ((_of_kind("a"), _of_kind("b")), "_of_kind.<locals>.process"),
        ((_Kind("a"), _Kind("b")), f"{__name__}._Kind"),
        ((partial(_with_kind, "a"), partial(_with_kind, "b")), f"{__name__}._with_kind"),
        ((_Kind("a", "same"), _Kind("b", "same")), "same"),
    ],
)
def test_two_processors_of_one_name_are_refused(
    crawled: Path, tmp_path: Path, pair: tuple[Any, ...], name: str
) -> None:
    file = tmp_path / "items.jsonl"
    with make(crawled) as crawl:
        with pytest.raises(scrawler.SettingsError, match=f"two page processors are called .*{re.escape(name)}: give"):
            crawl.process(*pair, items=file)
        assert not any(name in done.name for done in crawl.processed())
    assert not file.exists()


def test_a_processor_may_have_a_name_and_a_partial_goes_by_what_it_wraps(crawled: Path, tmp_path: Path) -> None:
    file = tmp_path / "items.jsonl"
    with make(crawled) as crawl:
        done = crawl.process(_Kind("a", "kind-a"), _Kind("b", "kind-b"), partial(_with_kind, "c"), items=file)
        assert done.name == f"kind-a,kind-b,{__name__}._with_kind"
    assert [item["kind"] for item in _lines(file)] == ["a", "b", "c"] * 3


def test_what_is_no_processor_is_refused(crawled: Path) -> None:
    with make(crawled) as crawl:
        for wrong, message in ((5, "and 5 cannot be called"), (_Kind("a", "a,b"), "without commas, not 'a,b'")):
            with pytest.raises(scrawler.SettingsError, match=message):
                crawl.process(wrong)  # type: ignore[arg-type]
        with pytest.raises(scrawler.SettingsError, match="are a list"):
            crawl.run(processors=quotes)  # type: ignore[arg-type]


def test_an_error_ends_the_items_of_its_page_alone_and_is_told_and_counted(crawled: Path, tmp_path: Path) -> None:
    def fails(page: scrawler.Page) -> Iterator[Any]:
        yield {"url": page.url}
        if page.url.endswith("/1"):
            raise LookupError("nothing there")
        if page.url.endswith("/2"):
            yield {"what JSON has not": object()}

    told: list[str] = []
    with make(crawled, say=told.append) as crawl:
        done = crawl.process(fails, items=tmp_path / "items.jsonl")
        assert (done.pages, done.items, done.errors) == (3, 1, 2)
        assert crawl.process(lambda page: ["no dict"], items=None).errors == 3
    assert len(_lines(tmp_path / "items.jsonl")) == 1
    assert "LookupError: nothing there" in told[0]
    assert "an item cannot be written" in told[1]
    assert "an item is a dict, not a str" in told[2]


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


def test_stop_ends_the_processing_of_what_is_there_and_the_next_call_goes_on(crawled: Path) -> None:
    seen: list[str] = []

    def stops(page: scrawler.Page) -> None:
        seen.append(page.url)
        crawl.stop()

    with make(crawled) as crawl:
        crawl.stop()
        assert crawl.process(stops).pages == 0, "a stop that comes too early is not lost"
        assert crawl.process(stops).pages == len(seen) == 3
        crawl.stop()
        assert crawl.process(stops, again=True).pages == 0


def test_a_database_that_is_away_is_no_error_of_a_page_and_who_stops_does_not_wait_for_it(
    tmp_path: Path, proxied_url: str, proxy: Proxy
) -> None:
    away: list[bool] = [True]

    def referrers(page: scrawler.Page) -> dict[str, str]:
        if away and page.url.endswith("/1"):
            away.clear()
            proxy.refuse()
            crawl.stop()
        return {"referrer": page.referrer}

    with Site(QUOTES) as site, make(tmp_path, db=proxied_url, database_patience=2 * HANGS, stop_timeout=0.1) as crawl:
        crawl.add([site.root + "/0"])
        crawl.run()
        with pytest.raises(scrawler.StoreAwayError, match="stopped without it: all checkpoints are kept"):
            crawl.process(referrers, items=tmp_path / "items.jsonl")
        proxy.accept()
        done = crawl.process(referrers, items=tmp_path / "items.jsonl")
        assert (done.pages, done.items, done.errors) == (3, 3, 0)
    assert [item["referrer"] for item in _lines(tmp_path / "items.jsonl")] == ["", f"{site.root}/0", f"{site.root}/1"]


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
        assert len(_items(crawled, "table:odd")[-1]) == 6
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


def test_what_a_killed_process_wrote_is_cut_off_and_made_again(crawled: Path, tmp_path: Path) -> None:
    def slow(page: scrawler.Page) -> dict[str, Any]:
        return {"url": page.url}

    file = tmp_path / "items.jsonl"
    with make(crawled) as crawl:
        crawl.process(slow, items=file)
        whole = file.read_bytes()
        file.write_bytes(whole + b'{"url": "half of a li')
        assert crawl.process(slow, items=file).items == 3
        assert file.read_bytes() == whole
        file.write_bytes(whole[:10])
        with pytest.raises(scrawler.ScrawlerError, match="has lost items"):
            crawl.process(slow, items=file)


def test_two_programs_do_not_work_with_the_same_processors(crawled: Path) -> None:
    def nested(page: scrawler.Page) -> dict[str, Any]:
        with make(crawled) as other:
            other.process(nested_name)
        return {"url": page.url}

    def nested_name(page: scrawler.Page) -> None:
        return None

    nested_name.__qualname__ = nested.__qualname__
    with make(crawled) as crawl, pytest.raises(scrawler.StoreError, match="another program works with"):
        crawl.process(nested)


def test_who_works_with_a_file_of_items_is_not_disturbed_by_another_program(crawled: Path, tmp_path: Path) -> None:
    def url(page: scrawler.Page) -> dict[str, Any]:
        with make(crawled) as other, pytest.raises(scrawler.ScrawlerError, match="written by another program"):
            other.process(url, items=tmp_path / "items.jsonl")
        return {"url": page.url}

    with make(crawled) as crawl:
        assert crawl.process(url, items=tmp_path / "items.jsonl").items == 3


def test_a_file_of_items_may_be_where_files_cannot_be_locked(
    crawled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scrawler.flocks.fcntl", None)
    with make(crawled) as crawl:
        assert crawl.process(lambda page: {"url": page.url}, items=tmp_path / "items.jsonl").items == 3


_SCRIPT = """
import os, sys, scrawler
seen = open("seen.txt", "a")
def parse(page):
    seen.write(page.url + "\\n")
    seen.flush()
    if len(open("seen.txt").readlines()) == int(sys.argv[1]):
        os.kill(os.getpid(), 9)
    yield {{"url": page.url, "what": "x" * 100}}
    yield {{"url": page.url, "what": "y"}}
with scrawler.Crawl("crawl.db", **{settings!r}) as crawl:
    crawl.add(["{root}/"])
    crawl.run(processors=[parse], items=sys.argv[2])
"""


def _items(folder: Path, place: str) -> list[dict[str, Any]]:
    if place.startswith("table:"):
        with closing(sqlite3.connect(folder / "crawl.db")) as connection:
            connection.row_factory = sqlite3.Row
            return [dict(row) for row in connection.execute(f"SELECT * FROM items_{place.removeprefix('table:')}")]
    if place.endswith(".parquet"):
        rows: list[dict[str, Any]] = pytest.importorskip("pyarrow.parquet").read_table(folder / place).to_pylist()
        return rows
    return _lines(folder / place)


@pytest.mark.parametrize(
    "place", ["items.jsonl", pytest.param("items.parquet", marks=pytest.mark.heavy), "table:found"]
)
def test_each_item_is_written_once_across_kills(tmp_path: Path, place: str) -> None:
    numbers = range(130)  # some batches
    home = linking("home", *(f"/{number}" for number in numbers))
    with Site({"/": home} | {f"/{number}": linking(f"page {number}") for number in numbers}) as site:
        (tmp_path / "script.py").write_text(_SCRIPT.format(settings=SETTINGS | {"traps": False}, root=site.root))
        for kill_at, code in ((20, -9), (110, -9), (0, 0)):
            command = [sys.executable, "script.py", str(kill_at), place]
            done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=HANGS)
            assert done.returncode == code, done.stderr
    pages = sorted(f"{site.root}/{number}" for number in ("", *numbers))
    items = _items(tmp_path, place)
    assert sorted(item["url"] for item in items) == sorted(pages * 2)
    assert len({(item["_page"], item["what"]) for item in items}) == 262
    seen = (tmp_path / "seen.txt").read_text().split()
    assert sorted(set(seen)) == pages, "each page at least once"
    assert len(seen) > 131, "some twice, of the batches that were killed"


PLUGIN = """
def make(settings):
    return lambda page: {"url": page.url, "agent": settings.user_agent}
"""


def test_the_command_line_runs_processors_of_packages(tmp_path: Path) -> None:
    packages = tmp_path / "packages"
    metadata = packages / "urls_of_pages-1.0.dist-info"
    metadata.mkdir(parents=True)
    (packages / "urls_of_pages.py").write_text(PLUGIN)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: urls-of-pages\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[scrawler.page_processors]\nurls = urls_of_pages:make\n")
    environment = os.environ | {"PYTHONPATH": str(packages)}
    with Site(chain(2)) as site:
        (tmp_path / "seeds.txt").write_text(site.root + "/0\n")
        flags = "--allow-private --delay 0 --patience 0 --user-agent T/1(+http://x/) --page-processors urls"
        for words in (("import", "seeds.txt"), ("run", *flags.split(), "--items", "out.csv")):
            command = [sys.executable, "-m", "scrawler", *words]
            done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=HANGS)
            assert done.returncode == 0, done.stderr
        assert "page processors urls: 2 pages, 2 items, 0 errors" in done.stderr
        before = (tmp_path / "out.csv").read_text()
        for file, again, code, told in (
            ("new.csv", (), 2, f"processed already, into {tmp_path / 'out.csv'}: name that file, or"),
            ("new.csv", ("--anew",), 0, "page processors urls: 2 pages, 2 items, 0 errors"),
            ("new.csv", (), 0, "nothing new to process; page processors urls: 2 pages were processed already, into"),
        ):
            command = [sys.executable, "-m", "scrawler", "run", *flags.split(), "--items", file, *again]
            done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=HANGS)
            assert (done.returncode, told in done.stderr) == (code, True), done.stderr
    assert (tmp_path / "new.csv").read_text() == before
    rows = list(csv.DictReader((tmp_path / "out.csv").read_text().splitlines()))
    assert {row["url"] for row in rows} == {site.root + "/0", site.root + "/1"}
    assert {row["agent"] for row in rows} == {"T/1(+http://x/)"}
