"""Rows of pages that are asked for again: what a new answer takes the place of, and what they were counted for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Final, NamedTuple, Protocol

from scrawler.model.results import COUNTED_AS, PageFlag, Result
from scrawler.model.terms import Millis

_NOT_MODIFIED: Final = HTTPStatus.NOT_MODIFIED.value


class Counted(Protocol):
    """What of a page row decides for what it is counted."""

    @property
    def result(self) -> str:
        """The value of a Result."""

    @property
    def status(self) -> int:
        """HTTP status, 0 for none."""

    @property
    def length(self) -> int:
        """Body bytes over the wire."""

    @property
    def revisit(self) -> int:
        """1 if the record is a revisit."""

    @property
    def flags(self) -> int:
        """A sum of PageFlag."""


class WaitingRow(NamedTuple):
    """A page row whose URL is listed to be asked for again."""

    id: int
    seed_id: int
    url: str
    result: str
    status: int
    content_type: str
    length: int
    digest: bytes
    fetched_at: Millis
    warc_file: str
    warc_offset: int
    warc_length: int
    revisit: int
    flags: int
    is_referred: bool = False  # whether a revisit record of its site refers to its own record, which must stay known
    is_lost: bool = False  # whether its record is gone, so that its machine has not brought it any more
    is_of_others: bool = False  # whether its seed is not in work here, so that its counts are changed by the store


class ListedRow(NamedTuple):
    """A page row that is to be asked for again, and how its URL was listed."""

    row: WaitingRow
    depth: int  # as lists have it
    position: int
    referrer: bytes


class EarlierPages(NamedTuple):
    """What a seed had fetched before its site was taken up: the first page below its own URL, and what came last."""

    good: str  # URL of that page
    digest: bytes  # of its payload
    length: int
    last: str  # URL of the newest page or redirect


def counts_of(rows: Iterable[Counted]) -> Mapping[str, int]:
    """Return what rows were counted for in their seed."""
    counts: Counter[str] = Counter()
    for row in rows:
        fetched = row.result == Result.FETCHED.value
        counts[COUNTED_AS.get(Result(row.result), "failures")] += 1
        counts["internal_errors"] += row.result == Result.INTERNAL_ERROR.value
        counts["noindex"] += bool(row.flags & PageFlag.NOINDEX)
        counts["nofollow"] += bool(row.flags & PageFlag.NOFOLLOW)
        counts["near_duplicates"] += bool(row.flags & PageFlag.NEAR_DUPLICATE)
        if fetched:
            counts["revisits"] += row.revisit
            is_saved = row.status == _NOT_MODIFIED or row.flags & PageFlag.EARLIER
            counts["saved"] += row.length if row.revisit and is_saved else 0
            counts["slow_pages"] += bool(row.flags & PageFlag.SLOW)
    return counts
