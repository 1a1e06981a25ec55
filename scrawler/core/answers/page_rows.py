"""The rows of URLs that have their final result."""

from __future__ import annotations

from typing import Final

from scrawler.archive.record import RecordRef
from scrawler.core.answers.page_read import PageRead
from scrawler.core.party.entries import Entry, EntryRole
from scrawler.core.party.flights import PageFlight
from scrawler.faults import Fault
from scrawler.fetch.downloader import Response
from scrawler.model.results import PageFlag, Result
from scrawler.model.robots import RobotsRecord
from scrawler.model.rows import PageRow
from scrawler.model.terms import Millis, url_hash

_DETAIL_CHARACTERS: Final = 1000
# Of where a seed's own URL leads, for that is followed: the longest URL that may be allowed.
_LOCATION_CHARACTERS: Final = 16_000
_NO_RECORD: Final = RecordRef("", 0, 0, b"", False)


def page_row(flight: PageFlight, response: Response, reading: PageRead, note: str) -> PageRow:
    """Make the row of a URL's final result."""
    entry = flight.entry
    file, offset, length, digest, revisit = reading.record or _NO_RECORD
    most = _LOCATION_CHARACTERS if response.result is Result.REDIRECT and flight.is_seed else _DETAIL_CHARACTERS
    return PageRow(  # names would cost half as much again, for each page
        flight.party.seed.id, url_hash(entry.url), entry.url, entry.depth, flight.lane.seed_id, entry.stored_position,
        response.result._value_, response.status, reading.media_type[:100], len(response.body), digest,
        flight.attempt, response.started_at, response.elapsed_ms, file, offset, length, int(revisit),
        note[:most], int(reading.flags), 0, 0, entry.referrer,
    )  # fmt: skip


def fault_row(flight: PageFlight, response: Response, reading: PageRead, fault: Fault) -> PageRow:
    """Make the row of a URL whose answer met a fault: of the answer, only what needs no reading."""
    return page_row(flight, response, reading, fault.text[:_DETAIL_CHARACTERS])._replace(
        result=Result.INTERNAL_ERROR.value, flags=reading.flags | _asset_flag(flight.entry)
    )


def robots_record(response: Response, record: RecordRef) -> RobotsRecord:
    """Make the row of the record of an answer that is no page: of a robots.txt, or for a page in a browser."""
    return RobotsRecord(
        warc_file=record.file,
        warc_offset=record.offset,
        warc_length=record.length,
        url=response.request.url,
        fetched_at=response.started_at,
        status=response.status,
        content_type=response.content_type[:100],
        digest=record.digest,
    )


def refused_row(flight: PageFlight, result: Result, detail: str, now: Millis) -> PageRow:
    """Make the row of a URL that is not asked for."""
    entry = flight.entry
    return PageRow(
        seed_id=flight.party.seed.id,
        url_hash=url_hash(entry.url),
        url=entry.url,
        depth=entry.depth,
        lane_seed=flight.lane.seed_id,
        position=entry.stored_position,
        result=result.value,
        status=0,
        content_type="",
        length=0,
        digest=b"",
        attempts=0,
        fetched_at=now,
        elapsed_ms=0,
        warc_file="",
        warc_offset=0,
        warc_length=0,
        revisit=0,
        detail=detail[:_DETAIL_CHARACTERS],
        flags=_asset_flag(entry),
        referrer=entry.referrer,
    )


def _asset_flag(entry: Entry) -> int:
    return PageFlag.ASSET if entry.role is EntryRole.ASSET else 0
