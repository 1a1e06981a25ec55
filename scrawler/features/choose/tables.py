"""The table of seeds that were promoted."""

from __future__ import annotations

from sqlalchemy import Table

from scrawler.store.schema.columns import metadata, number, row_id, text_column

promotion = Table(
    "promotion",
    metadata,
    row_id(),
    number("promoted_at"),
    text_column("what", "JSON: what was promoted, as it was asked for"),
    number("after_seed", "seed.id of the newest seed before it: its own come later", default=0),
    number("undone_at", "0: it holds", default=0),
)
