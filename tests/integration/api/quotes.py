"""A site of quotes, a processor of its pages, and what became of their items."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import scrawler
from tests.integration.api.site import Answer

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


def lines_of(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def items_of(folder: Path, place: str) -> list[dict[str, Any]]:
    if place.startswith("table:"):
        with closing(sqlite3.connect(folder / "crawl.db")) as connection:
            connection.row_factory = sqlite3.Row
            return [dict(row) for row in connection.execute(f"SELECT * FROM items_{place.removeprefix('table:')}")]
    if place.endswith(".parquet"):
        rows: list[dict[str, Any]] = pytest.importorskip("pyarrow.parquet").read_table(folder / place).to_pylist()
        return rows
    return lines_of(folder / place)
