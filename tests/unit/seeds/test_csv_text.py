"""CSV that is exported, or made of items, holds no formula; and nothing that is shown controls a terminal."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from scrawler.cli.lines import for_terminal
from scrawler.cli.tables import print_pairs
from scrawler.features.items.files import ItemsFile
from scrawler.seeds.files import Format
from scrawler.seeds.json_text import json_line
from scrawler.seeds.table_files import Column, Kind, text_writer

FORMULA = "=HYPERLINK(1)"
COLUMNS = (Column("url"), Column("pages", Kind.NUMBER), Column("title"))


def test_a_table_quotes_formulas() -> None:
    out = io.StringIO()
    text_writer(out, Format.CSV, COLUMNS).write(
        [("http://x.org/", -3, FORMULA), ("http://x.org/1", None, "@\x1b\u202e")]
    )
    assert list(csv.reader(io.StringIO(out.getvalue()))) == [
        ["url", "pages", "title"],
        ["http://x.org/", "-3", f"'{FORMULA}"],
        ["http://x.org/1", "", "'@\\u001b\\u202e"],
    ]


def test_items_quote_formulas_in_names_and_values(tmp_path: Path) -> None:
    path = tmp_path / "items.csv"
    for number in range(2):  # it goes on with the columns that it has
        file = ItemsFile(path)
        file.begin(path.stat().st_size)
        item = {"+name": FORMULA, "tags": ["a"], "number": -number}
        file.write(file.prepared(number, [item]), fsync=False)
        file.close()
    header, *rows = csv.reader(path.read_text().splitlines())
    assert "'+name" in header
    for number, row in enumerate(rows):
        cells = dict(zip(header, row, strict=True))
        assert (cells["'+name"], cells["tags"], cells["number"]) == (f"'{FORMULA}", '["a"]', str(-number))


BIDI = ("\u061c", "\u200e", "\u200f", "\u202a", "\u202e", "\u2066", "\u2069")


@pytest.mark.parametrize("control", [*BIDI, "\x1b", "\x9b", "\x7f"])
def test_what_controls_a_terminal_is_shown_as_an_escape(control: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert control not in for_terminal(f"a{control}b\tc\n")
    assert for_terminal("a\tb\n") == "a\tb\n"
    assert control not in json_line({"title": control})
    print_pairs(f"crawl {control}", {f"seeds {control}": f"{control} 3"})
    assert control not in capsys.readouterr().out
