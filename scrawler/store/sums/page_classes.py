"""Pages by classes of size, time and depth, and each as a group of its own; of all sums of pages the rows."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import ColumnElement, case, select
from sqlalchemy import literal_column as number

from scrawler.model.terms import Millis
from scrawler.store.engines.rows import AnySelect
from scrawler.store.schema.tables import page as page_table

DEEPEST = 100  # deeper pages count as of this depth
SIZES = (1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000)  # upper bounds of bytes, exclusive
TIMES = (10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000)  # upper bounds of milliseconds, exclusive

_page = page_table.c


class Wanted(NamedTuple):
    """Which pages are added up."""

    seed_id: int | None = None  # None: those of all seeds
    since: Millis = 0  # that were asked for at that time or later


def class_of(value: ColumnElement[int], bounds: tuple[int, ...], first: int = 0, shift: int = 0) -> ColumnElement[int]:
    """Return the index of the first bound above a value, counted from `first`, and shifted left by so many bits.

    Halves are compared, not each bound.
    """
    if not bounds:
        return number(str(first << shift))
    middle = len(bounds) // 2
    below = class_of(value, bounds[:middle], first, shift)
    above = class_of(value, bounds[middle + 1 :], first + middle + 1, shift)
    return case((value < bounds[middle], below), else_=above)


def single_pages(period: ColumnElement[int]) -> AnySelect:
    """Select page rows as groups of one page each."""
    return select(
        _page.result,
        _page.status,
        _page.depth,
        _page.flags,
        period.label("period"),
        _page.content_type,
        class_of(_page.length, SIZES).label("size"),
        class_of(_page.elapsed_ms, TIMES).label("time"),
        number("1").label("pages"),
        _page.length.label("bytes"),
        _page.length.label("longest"),
        case((_page.attempts > 1, number("1")), else_=number("0")).label("retried"),
        _page.fetched_at.label("first_at"),
        _page.fetched_at.label("last_at"),
        _page.id.label("first_id"),
    )


def of_wanted(query: AnySelect, wanted: Wanted) -> AnySelect:
    """Leave out the pages that are not wanted."""
    if wanted.seed_id is not None:
        query = query.where(_page.seed_id == wanted.seed_id)
    return query.where(_page.fetched_at >= wanted.since) if wanted.since else query
