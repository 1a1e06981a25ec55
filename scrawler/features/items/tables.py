"""The table of how far processors of pages are."""

from __future__ import annotations

from sqlalchemy import Table

from scrawler.store.schema.columns import CLUSTERED, LONG_TEXT, metadata, number, tally, text_column, word

processor = Table(
    "processor",
    metadata,
    word("name", 255, "of page processors that work together, with commas between them", key=True),
    number("cursor_page", "they have had all rows of page up to this id ..."),
    text_column("gaps", "... but for these, JSON: [first, last] of ids that were not committed yet", kind=LONG_TEXT),
    tally("pages", "given to them"),
    tally("items", "that they made"),
    tally("errors", "pages at which one of them failed: their items were left out"),
    text_column("items_file", "path of the file with the items, or table:NAME of this database; empty: none"),
    tally("items_bytes", "of that file which are committed (a killed process wrote what follows); rows of that table"),
    tally("version", "counts commits, and who begins: what an earlier process still commits is refused"),
    **CLUSTERED,
)
