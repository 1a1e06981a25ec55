"""Groups of page rows on SQLite without a part in C: each row is added to its group in a temporary table.

SQLite groups by sorting all rows, which takes longer. In the table all groups have room; what does not fit its cache
goes to a file. A group is found by one number there.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Connection,
    Integer,
    MetaData,
    Table,
    case,
    select,
    true,
    union_all,
)
from sqlalchemy import func as sql
from sqlalchemy import literal_column as number
from sqlalchemy.schema import CreateTable, DropTable

from scrawler.model.results import Result
from scrawler.store.engines.bulk import sqlite_insert
from scrawler.store.engines.rows import AnySelect
from scrawler.store.schema.tables import page as page_table
from scrawler.store.sums.page_classes import DEEPEST, SIZES, TIMES, Wanted, class_of, of_wanted, single_pages
from scrawler.store.sums.periods import Periods, committed_periods, is_outside, period_of, periods_between

_page = page_table.c

# What the pages of a group have in common stands in one number, which is the key of the table: to find a group by
# several columns takes as long as all the rest. These are the bits where its parts begin, the lowest ones for
# the time. A status has three digits. The texts are numbered: results as they are listed, media types as they come
# first. A page with any other is a group of its own, by the negative of its id, and what it is stands in the page.
_SIZE_AT, _TYPE_AT, _RESULT_AT, _FLAGS_AT, _STATUS_AT, _DEPTH_AT, _PERIOD_AT = 4, 7, 11, 16, 36, 46, 53
_RESULTS = [result.value for result in Result]
_TYPES_NUMBERED = 1 << _RESULT_AT - _TYPE_AT
_LOOKED_AT = 20_000  # pages whose media types are numbered, the most frequent first
_WHOLE_NUMBER = BigInteger().with_variant(Integer(), "sqlite")
_SUMS = ("pages", "bytes", "longest", "retried", "first_at", "last_at", "first_id")
_group = Table(
    "page_group",
    MetaData(),
    Column("numbers", _WHOLE_NUMBER, primary_key=True),
    *(Column(name, _WHOLE_NUMBER) for name in _SUMS),
    prefixes=["TEMPORARY"],
)
_CACHE = "PRAGMA temp.cache_size = -65536"  # 64 MiB at most, taken as needed


def _first_types(connection: Connection, wanted: Wanted) -> list[str]:
    """Return the media types that are frequent among the first pages, the most frequent first."""
    first = of_wanted(select(_page.content_type), wanted).limit(_LOOKED_AT).subquery().c.content_type
    frequent = select(first).group_by(first).order_by(sql.count().desc(), first).limit(_TYPES_NUMBERED)
    return list(connection.scalars(frequent))


def groups_by_number(connection: Connection, wanted: Wanted) -> AnySelect:
    """Add all pages to their groups, and select these."""
    types = _first_types(connection, wanted)
    periods = committed_periods(connection, *wanted)
    _make_groups(connection, types, _period(periods), wanted)
    first, last = connection.execute(select(sql.min(_group.c.first_at), sql.max(_group.c.last_at))).one()
    if first is not None and is_outside(first, last, periods):  # as after a leap of the clock
        periods = periods_between(first, last)
        connection.execute(DropTable(_group))
        _make_groups(connection, types, _period(periods), wanted)
    return _groups(types, _period(periods))


def _period(periods: Periods) -> ColumnElement[int]:
    return period_of(_page.fetched_at, periods, "sqlite")


def _make_groups(connection: Connection, types: Sequence[str], period: ColumnElement[int], wanted: Wanted) -> None:
    """Make the temporary table, and add each page to its group there; it is gone with the end of the transaction."""
    of = single_pages(period).selected_columns
    numbers = (
        of.period.bitwise_lshift(_PERIOD_AT)
        + case((of.depth < DEEPEST, of.depth), else_=DEEPEST).bitwise_lshift(_DEPTH_AT)
        + of.status.bitwise_lshift(_STATUS_AT)
        + of.flags.bitwise_lshift(_FLAGS_AT)
        + _number_of(of.result, _RESULTS, _RESULT_AT)
        + _number_of(of.content_type, types, _TYPE_AT)
        + class_of(_page.length, SIZES, shift=_SIZE_AT)
        + class_of(_page.elapsed_ms, TIMES)
    )
    rows = select(sql.ifnull(numbers, -_page.id), *(of[name] for name in _SUMS))
    adding = sqlite_insert(_group).from_select(list(_group.c), of_wanted(rows.where(true()), wanted))
    mine, new = _group.c, adding.excluded
    changed = {
        "pages": mine.pages + new.pages,
        "bytes": mine.bytes + new.bytes,
        "longest": case((mine.longest < new.longest, new.longest), else_=mine.longest),
        "retried": mine.retried + new.retried,
        "first_at": case((mine.first_at > new.first_at, new.first_at), else_=mine.first_at),
        "last_at": case((mine.last_at < new.last_at, new.last_at), else_=mine.last_at),
    }
    connection.exec_driver_sql(_CACHE)
    connection.execute(CreateTable(_group))
    connection.execute(adding.on_conflict_do_update(index_elements=list(_group.primary_key), set_=changed))


def _number_of(text: ColumnElement[str], texts: Sequence[str], shift: int) -> ColumnElement[int]:
    """Return the index of a text among some, shifted left by so many bits; NULL if it is none of them."""
    places: dict[str, ColumnElement[int]] = {one: number(str(place << shift)) for place, one in enumerate(texts)}
    return case(places, value=text) if places else number("NULL")


def _groups(types: Sequence[str], period: ColumnElement[int]) -> AnySelect:
    """Select the groups with the columns of `single_pages`."""
    numbers = _group.c.numbers
    numbered = select(
        _text_of(_part(numbers, _RESULT_AT, _FLAGS_AT), _RESULTS).label("result"),
        _part(numbers, _STATUS_AT, _DEPTH_AT).label("status"),
        _part(numbers, _DEPTH_AT, _PERIOD_AT).label("depth"),
        _part(numbers, _FLAGS_AT, _STATUS_AT).label("flags"),
        numbers.bitwise_rshift(_PERIOD_AT).label("period"),
        _text_of(_part(numbers, _TYPE_AT, _RESULT_AT), types).label("content_type"),
        _part(numbers, _SIZE_AT, _TYPE_AT).label("size"),
        _part(numbers, 0, _SIZE_AT).label("time"),
        *(_group.c[name] for name in _SUMS),
    )
    others = single_pages(period).join_from(_group, page_table, _page.id == -numbers)
    both = union_all(numbered.where(numbers >= 0), others.where(numbers < 0)).subquery()
    return select(both)


def _part(numbers: ColumnElement[int], start: int, end: int) -> ColumnElement[int]:
    return numbers.bitwise_rshift(start).bitwise_and((1 << end - start) - 1)


def _text_of(place: ColumnElement[int], texts: Sequence[str]) -> ColumnElement[str]:
    return case(dict(enumerate(texts)), value=place) if texts else number("NULL")
