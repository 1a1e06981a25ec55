"""What a visit says of its URL, for the visits after it."""

from __future__ import annotations

from scrawler.core.party.flights import PageFlight
from scrawler.fetch.downloader import Response
from scrawler.model.results import Result
from scrawler.model.rows import PageRow
from scrawler.revisit.due import RevisitPolicy
from scrawler.revisit.visit import after_visit


def note_visit(
    flight: PageFlight, row: PageRow, response: Response | None, policy: RevisitPolicy, text_print: bytes = b""
) -> PageRow:
    """Note the state of the URL that an entry names, and what has changed; return its row with flags of that.

    `response` is the answer, if one came; `text_print` is of its text, if texts are compared.
    """
    site, party, known = flight.site, flight.party, flight.known
    before = known.state if known is not None else None
    etag = last_modified = ""
    if response is not None:
        etag, last_modified = (response.headers.get(name, "") for name in ("etag", "last-modified"))
    original = site.archived.get(row.digest) if row.revisit and row.digest else None
    visited = after_visit(
        before,
        row,
        etag,
        last_modified,
        policy,
        in_round=party.seed.round > 0,
        original=None if original is None else (original.url, original.date_ms),
        learning=site.learning,
        text_print=text_print,
        near=party.near or 0,
    )
    party.note_visit(visited.state, visited.changes)
    if before is not None and row.result == Result.NOT_MODIFIED.value:
        party.counts.saved += before.length
    if site.visited is not None:
        site.visited.pop(row.url, None)
    return visited.row
