"""Rows of pages as visits bring them."""

from __future__ import annotations

from typing import Any

from scrawler.model.results import Result
from scrawler.model.rows import PageRow
from scrawler.model.terms import url_hash


def row_at(url: str, **fields: Any) -> PageRow:
    """Return the row of a page that was fetched, with other fields as given."""
    row = PageRow(
        seed_id=1, url_hash=url_hash(url), url=url, depth=1, lane_seed=1, position=1, result=Result.FETCHED.value,
        status=200, content_type="text/html", length=100, digest=b"1" * 20, attempts=1, fetched_at=10**12,
        elapsed_ms=10, warc_file="a.warc.gz", warc_offset=0, warc_length=100, revisit=0, detail="", flags=0,
        simhash=0, visit=0, referrer=b"",
    )  # fmt: skip
    return row._replace(**fields)
