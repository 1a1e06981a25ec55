"""URLs that a retry has listed: whether what has come of one takes the place of the row that is there, or nothing.

A visit that has failed never takes the place of what an earlier one has brought. So the row that is there stays until
an answer is worth as much; where none comes, it can be asked for again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from scrawler.core.party.context import SeedContext
from scrawler.core.party.flights import PageFlight
from scrawler.model.replaced import Counted, WaitingRow, counts_of
from scrawler.model.results import AS_EXPECTED, GONE, PageFlag, Result
from scrawler.model.robots import RobotsRecord
from scrawler.model.rows import PageRow

_WHOLE: Final = 3  # a page, or a redirect
_PART: Final = 2  # the beginning of a page
_ANSWER: Final = 1  # an error, of which there is a record
_CUT: Final = (Result.CUT.value, Result.TIMEOUT.value, Result.TOO_LARGE.value)


def takes_place(flight: PageFlight, row: PageRow) -> bool:
    """Tell whether the row of a URL is to be written; note what becomes of those that a retry has marked.

    Where it is not, all is as it was before the retry, but for a record that has come: other records may refer to it.
    """
    before = flight.site.waiting_rows.pop(row.url, ())
    if not before:
        return True
    lost = flight.lane.refetches
    if is_worth_as_much(row, before, lost):
        _replace(flight, before, lost)
        return True
    _keep(flight, row, before)
    return False


def is_worth_as_much(row: PageRow, before: Sequence[WaitingRow], lost: bool) -> bool:
    """Tell whether a row takes the place of others; `lost`: their records are gone.

    Then nothing is left of a page that was there but the row itself, and that it is gone from the site is told instead.
    """
    now, was = _worth(row, row.warc_file), max(_worth(one, one.warc_file) for one in before)
    if not lost:
        return now >= was
    is_told = now[0] >= _ANSWER and was[0] < _PART
    return now[0] >= _PART or row.status in GONE or is_told


def _worth(row: Counted, warc_file: str) -> tuple[int, int]:
    """Return what a row is worth: first by kind, then in bytes, of which a part may have more or less."""
    result = row.result
    if result == Result.REDIRECT.value or result in AS_EXPECTED:
        return _WHOLE, 0
    if row.length and result in _CUT and (row.flags & PageFlag.TRUNCATED or 200 <= row.status < 300):
        return _PART, row.length
    return (_ANSWER if warc_file else 0), 0


def _replace(flight: PageFlight, before: Sequence[WaitingRow], lost: bool) -> None:
    """Let rows go with the next checkpoint, and what they were counted for."""
    for one in before:
        owner: SeedContext | None = flight.party
        if one.seed_id != flight.party.seed.id:
            owner = flight.site.in_work(one.seed_id)
        if owner is not None:
            counts = owner.counts
            for name, number in counts_of([one]).items():
                if number:
                    setattr(counts, name, max(0, getattr(counts, name) - number))
            owner.touch()
        gone = one._replace(is_lost=lost, is_referred=one.is_referred and not lost, is_of_others=owner is None)
        flight.party.replaced += (gone,)


def _keep(flight: PageFlight, row: PageRow, before: Sequence[WaitingRow]) -> None:
    """Leave rows as they are; their URL is done for now."""
    party = flight.party
    party.kept += tuple([one.id for one in before])
    if row.warc_file and row.revisit:
        party.unowned += ((row.warc_file, row.warc_offset, row.warc_length),)
    elif row.warc_file:
        record = RobotsRecord(
            row.warc_file, row.warc_offset, row.warc_length, row.url, row.fetched_at, row.status, row.content_type,
            row.digest,
        )  # fmt: skip
        flight.site.robots_records += (record,)
    if row.depth == 0 and row.lane_seed == party.seed.id:
        party.note_own(Result(row.result), row.status, row.detail, row.flags)
    if row.result == Result.INTERNAL_ERROR.value:
        party.note_fault(row.detail)
    flight.lane.finish(flight.index)
    party.touch()
