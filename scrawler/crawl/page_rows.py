"""The rows of URLs that have their final result."""

from __future__ import annotations

from scrawler.crawl.flights import PageFlight
from scrawler.crawl.reading import Reading
from scrawler.fetch.downloader import Response
from scrawler.model import Millis, PageFlag, PageRow, Result, url_hash

_DETAIL_CHARACTERS = 1000


def page_row(flight: PageFlight, response: Response, reading: Reading, note: str) -> PageRow:
    """Make the row of a URL's final result."""
    entry, record = flight.entry, reading.record
    return PageRow(
        seed_id=flight.party.seed.id,
        url_hash=url_hash(entry.url),
        url=entry.url,
        depth=abs(entry.depth),
        lane_seed=flight.lane.seed_id,
        position=entry.position,
        result=str(response.result),
        status=response.status,
        content_type=response.content_type[:100],
        length=len(response.body),
        digest=record.digest if record else b"",
        attempts=flight.attempt,
        fetched_at=response.started_at,
        elapsed_ms=response.elapsed_ms,
        warc_file=record.file if record else "",
        warc_offset=record.offset if record else 0,
        warc_length=record.length if record else 0,
        revisit=int(record.revisit) if record else 0,
        detail=note[:_DETAIL_CHARACTERS],
        flags=int(reading.flags),
    )


def refused_row(flight: PageFlight, result: Result, detail: str, now: Millis) -> PageRow:
    """Make the row of a URL that is not asked for."""
    entry = flight.entry
    return PageRow(
        flight.party.seed.id, url_hash(entry.url), entry.url, abs(entry.depth), flight.lane.seed_id, entry.position,
        result.value, 0, "", 0, b"", 0, now, 0, "", 0, 0, 0, detail[:_DETAIL_CHARACTERS],
        PageFlag.ASSET if entry.is_asset else 0,
    )  # fmt: skip
