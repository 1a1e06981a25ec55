"""Cells and lines from the web, as spreadsheets and terminals get them."""

from __future__ import annotations

import json
import os
import string
import sys
import termios
import threading

import pytest

from scrawler.cli.tables import cells_wide, print_rows
from scrawler.model.results import Result
from scrawler.model.seeds import EndReason, SeedState
from scrawler.seeds.csv_text import csv_cell
from scrawler.seeds.json_text import json_line
from tests.tables import each
from tests.terminals import open_terminal, read_terminal


@each("start", [*"=+-@", " =", "\t=", "\n@", "\r+", "\uff1d", "\uff0b", "\uff0d", "\uff20"])
def test_text_that_a_spreadsheet_takes_for_a_formula_begins_with_a_quote(start: str) -> None:
    for rest in ("cmd|' /C calc'!A0", "", "1+1"):
        cell = str(csv_cell(start + rest))
        assert cell.startswith(("'", "\\u"))
        assert cell.endswith(rest)


@each("value", [0, -1, -1.5, None, "", "http://a.example/?q=-1", "https://ü.example/=1+1", "text/html"])
def test_numbers_urls_and_plain_text_stay(value: object) -> None:
    assert csv_cell(value) == value


def test_what_has_parts_is_json_in_a_cell() -> None:
    assert [csv_cell(value) for value in ({"external": 3}, (), ["a"])] == ['{"external": 3}', "[]", '["a"]']


def test_nothing_that_a_terminal_obeys_is_in_a_cell_or_in_json() -> None:
    hostile = "".join(map(chr, [*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x202E, 0x2066, 0xD800])) + "ü 漢 😀"
    for written in (str(csv_cell(hostile)), json_line({"detail": hostile})):
        assert all(character.isprintable() for character in written)
        assert "ü 漢 😀" in written
    assert json.loads(json_line({"detail": hostile})) == {"detail": hostile}


def test_json_is_not_changed_otherwise() -> None:
    plain = {"url": "http://ü.example/漢", "count": -1, "text": string.printable}
    assert json_line(plain) == json.dumps(plain, ensure_ascii=False)


def test_csv_is_written_by_cell(capsys: pytest.CaptureFixture[str]) -> None:
    print_rows(
        [{"detail": "=HYPERLINK(1)", "length": -5, "url": "http://a.example/,x"}], ("detail", "length", "url"), "csv"
    )
    assert capsys.readouterr().out == 'detail,length,url\n\'=HYPERLINK(1),-5,"http://a.example/,x"\n'


@each("word", [*SeedState, *EndReason, *Result, "seed", "candidate", "page"])
def test_no_word_that_an_export_writes_looks_like_a_formula(word: str) -> None:
    assert csv_cell(str(word)) == word


def test_columns_are_as_wide_as_a_terminal_shows_them(capsys: pytest.CaptureFixture[str]) -> None:
    texts = ["日本語のページ", "e\u0301te\u0301", "العربية", "plain", "漢" * 200]
    print_rows([{"detail": text, "length": 1} for text in texts], ("detail", "length"), None)
    heads, *rows = capsys.readouterr().out.splitlines()
    assert cells_wide("日本語") == 6
    assert cells_wide("e\u0301") == 1
    *short, whole = rows
    assert {cells_wide(row.removesuffix("1")) for row in short} == {cells_wide(heads.removesuffix("length"))} == {102}
    assert whole == "漢" * 200 + "  1"  # what is no terminal gets all


@pytest.mark.parametrize("columns", [30, 60, 80, 400, 0])
def test_a_line_of_a_table_is_no_wider_than_the_terminal(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    long = "http://site.example/" + "docs/" * 30 + "page.html"
    rows = [{"url": long, "pages": 1_234_567, "detail": "no route to host"}] * 1002 + [
        {"url": "漢" * 200, "pages": 1, "detail": "e\u0301" * 100},
        {"url": "http://a.example/", "pages": 10**20, "detail": ""},
    ]
    lines = _on_a_terminal(rows, columns, monkeypatch)
    assert max(map(cells_wide, lines)) <= (columns or 250)
    assert all("1234567" in line for line in lines[1:1000])
    assert ("no route to host" in lines[1]) == (columns != 30)
    begin, _, end = lines[1].split("  ")[0].partition("…")
    assert long.startswith(begin)
    assert long.endswith(end)
    assert len(begin) > 7
    assert (long in lines[1]) == (columns == 400)


def _on_a_terminal(rows: list[dict[str, object]], columns: int, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    ours, theirs = open_terminal()
    termios.tcsetwinsize(theirs, (25, columns))
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(read_terminal(ours)))
    reader.start()
    with open(theirs, "w", encoding="utf-8") as terminal:
        monkeypatch.setattr(sys, "stdout", terminal)
        print_rows(rows, tuple(rows[0]), None)
        monkeypatch.undo()
    reader.join()
    os.close(ours)
    return read[0].decode().splitlines()
