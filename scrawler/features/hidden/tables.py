"""The tables of forms that are asked, and of their queries."""

from __future__ import annotations

from sqlalchemy import Index, Table

from scrawler.store.schema.columns import (
    CHUNK,
    CLUSTERED,
    HASH,
    bytes_column,
    metadata,
    number,
    small,
    text_column,
    word,
)

search = Table(
    "search",
    metadata,
    number("seed_id", key=True),
    small("queries", "asked of the search forms of its site", default=0),
    number("results", "links that the answers have shown", default=0),
    number("found", "URLs that these have listed first", default=0),
    word("ended", 16, "why no more is asked: budget, repeats, no-terms, failing, refused; empty: goes on", default=""),
    bytes_column("data", CHUNK, "forms and terms of its pages, compressed JSON"),
    **CLUSTERED,
)

search_query = Table(
    "search_query",
    metadata,
    number("seed_id", key=True),
    bytes_column("url_hash", HASH, "of the URL that asks, which stands in the seed's list", key=True),
    small("number", "1: the first query of the seed"),
    text_column("term", "that was asked for"),
    text_column("form", "action and field of the form"),
    small("answers", "pages of results", default=0),
    number("results", "links to results on these", default=0),
    number("found", "URLs that these have listed first", default=0),
    Index("search_query_url_hash", "url_hash"),
    **CLUSTERED,
)
