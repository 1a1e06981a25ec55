"""Periods of time, each as long as the next, over which the pages of a crawl are added up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import BigInteger, ColumnElement, Connection, select
from sqlalchemy import literal_column as number

from scrawler.model.terms import Millis
from scrawler.store.engines.rows import AnySelect
from scrawler.store.schema.tables import page

MOST_PERIODS = 40
_SECOND, _MINUTE, _HOUR, _DAY = 1_000, 60_000, 3_600_000, 86_400_000
_LENGTHS = (  # each is a multiple of the one before, so that periods can be joined to longer ones
    *(_SECOND * n for n in (1, 2, 10, 30)),
    *(_MINUTE * n for n in (1, 2, 10, 30)),
    *(_HOUR * n for n in (1, 2, 6, 12)),
    *(_DAY * 2**n for n in range(16)),
)
_NUMBERS = 1 << 10
_BEFORE = 1 << 8  # periods before the first that have a number


class Periods(NamedTuple):
    """Periods numbered from 0; the first begins at a whole multiple of their length. Milliseconds since 1970, UTC."""

    start: int = 0
    length: int = _LENGTHS[0]

    def of(self, at: int) -> int:
        """Return the number of the period of a time."""
        return (at - self.start) // self.length

    def begin(self, period: int) -> int:
        """Return when a period begins."""
        return self.start + period * self.length


def periods_between(first: int, last: int) -> Periods:
    """Return the shortest periods of which there are MOST_PERIODS at most from a time to another one."""
    for length in _LENGTHS:
        periods = Periods(first // length * length, length)
        if periods.of(last) < MOST_PERIODS:
            break
    return periods


def committed_periods(connection: Connection, seed_id: int | None, since: Millis = 0) -> Periods:
    """Return periods for the pages of a seed, of all if None: from the first that was committed to the last.

    With `since`, those that were asked for earlier are left out.

    Some pages are fetched before the first or after the last: there is room for so many periods more.
    """
    times = select(page.c.fetched_at)
    if seed_id is not None:
        times = times.where(page.c.seed_id == seed_id)
    if since:
        times = times.where(page.c.fetched_at >= since)
    ends: Sequence[AnySelect] = (times.order_by(page.c.id).limit(1), times.order_by(page.c.id.desc()).limit(1))
    found = [at for query in ends for at in connection.scalars(query)]
    return periods_between(min(found), max(found)) if found else Periods()


def period_of(at: ColumnElement[int], periods: Periods, dialect: str) -> ColumnElement[int]:
    """Return the number of the period of a time, counted from _BEFORE periods before the first: no test, no function.

    Of a time that `is_outside` it is negative, or too high.
    """
    divide = at.op("DIV" if dialect == "mysql" else "/", return_type=BigInteger())
    return divide(number(str(periods.length))) - number(str(first_number(periods)))


def first_number(periods: Periods) -> int:
    """Return what `period_of` takes off times divided by the length of a period."""
    return periods.start // periods.length - _BEFORE


def is_outside(first: int, last: int, periods: Periods) -> bool:
    """Tell whether a time from `first` to `last` has no period that `period_of` tells."""
    return periods.of(first) < -_BEFORE or periods.of(last) >= _NUMBERS - _BEFORE
