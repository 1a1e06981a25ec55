"""Sums of the page rows of a seed, or of all: by result and period of time, by kind of content, by media type.

The table page is the largest of a crawl, and so it is read once. SQLite groups by sorting all rows; instead each row
is added to its group in a temporary table, in which all groups have room (what does not fit its cache goes to a file).
A group is found by one number there. The sums that a report shows are then sums of some thousand groups. MariaDB
groups in memory by itself, and a user of it need not have the right to make temporary tables: there the same sums are
made of the rows.
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
    String,
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
from scrawler.model.terms import Millis
from scrawler.store.bulk import sqlite_insert
from scrawler.store.engine import Database
from scrawler.store.periods import Periods, committed_periods, is_outside, period_of, periods_between
from scrawler.store.rows import AnySelect
from scrawler.store.tables import page as page_table
from scrawler.tuples.classes import NamedTuple

DEEPEST = 100  # deeper pages count as of this depth
SIZES = (1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000)  # upper bounds of bytes, exclusive
TIMES = (10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000)  # upper bounds of milliseconds, exclusive
_TYPES_READ = 2_000
_KIND_OF = {
    "": "unknown",
    "text/html": "html",
    "application/xhtml+xml": "html",
    "text/css": "code",
    "text/javascript": "code",
    "application/javascript": "code",
    "application/pdf": "pdf",
}

_page = page_table.c


class PageSum(NamedTuple):
    """Pages that have these in common, and their sums."""

    result: str
    status: int
    depth: int
    flags: int
    period: int
    pages: int
    bytes: int
    retried: int
    first_at: int
    last_at: int
    first_id: int  # of the row of one of them, as a sample; on the whole that which was committed first


class KindSum(NamedTuple):
    """Fetched pages of a kind of content, in classes of size and response time (indexes of SIZES, TIMES)."""

    kind: str
    size: int
    time: int
    pages: int
    bytes: int


class TypeSum(NamedTuple):
    """Fetched pages of a media type."""

    content_type: str
    pages: int
    bytes: int
    longest: int


class PageSums(NamedTuple):
    """All sums of pages; the types are the most frequent ones, in this order."""

    pages: list[PageSum]
    kinds: list[KindSum]
    types: list[TypeSum]


class _Wanted(NamedTuple):
    """Which pages are added up."""

    seed_id: int | None = None  # None: those of all seeds
    since: Millis = 0  # that were asked for at that time or later


def page_sums(database: Database, seed_id: int | None, since: Millis = 0) -> PageSums:
    """Add up the pages of a seed, of all if None; with `since`, those that were asked for at that time or later."""
    wanted = _Wanted(seed_id, since)

    def work(connection: Connection) -> PageSums:
        if database.dialect == "sqlite":
            return _sums(connection, _groups_by_number(connection, wanted))
        period = period_of(_page.fetched_at, committed_periods(connection, *wanted), database.dialect)
        return _sums(connection, _of(_single_pages(period), wanted))

    return database.reading(work)


def kind_of(content_type: str) -> str:
    """Return the kind of a media type, as `_kind` does in the database."""
    start = content_type.partition("/")[0]
    if content_type in _KIND_OF:
        return _KIND_OF[content_type]
    return start if start in ("image", "audio", "video", "text") else "other"


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


def _single_pages(period: ColumnElement[int]) -> AnySelect:
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


def _of(query: AnySelect, wanted: _Wanted) -> AnySelect:
    if wanted.seed_id is not None:
        query = query.where(_page.seed_id == wanted.seed_id)
    return query.where(_page.fetched_at >= wanted.since) if wanted.since else query


def _sums(connection: Connection, groups: AnySelect) -> PageSums:
    """Add groups up to the sums that are shown."""
    of = groups.subquery().c
    pages, size = sql.sum(of.pages).label("pages"), sql.sum(of.bytes)

    depth = case((of.depth < DEEPEST, of.depth), else_=DEEPEST)
    shape = (of.result, of.status, depth, of.flags, of.period)
    more = (sql.sum(of.retried), sql.min(of.first_at), sql.max(of.last_at), sql.min(of.first_id))
    all_pages = connection.execute(select(*shape, pages, size, *more).group_by(*shape)).all()

    fetched = of.result == Result.FETCHED.value
    kind = (_kind(of.content_type), of.size, of.time)
    kinds = connection.execute(select(*kind, pages, size).where(fetched).group_by(*kind)).all()

    by_type = select(of.content_type, pages, size, sql.max(of.longest)).where(fetched).group_by(of.content_type)
    frequent = by_type.order_by(number("pages").desc(), of.content_type).limit(_TYPES_READ)
    types = connection.execute(frequent).all()
    return PageSums(
        [PageSum(*row[:4], *map(int, row[4:])) for row in all_pages],
        [KindSum(row[0], *map(int, row[1:])) for row in kinds],
        [TypeSum(row[0], *map(int, row[1:])) for row in types],
    )


def _kind(content_type: ColumnElement[str]) -> ColumnElement[str]:
    """Return the kind of a page's content: html, image, audio, video, code, pdf, text, unknown or other."""
    start: ColumnElement[str] = sql.substr(content_type, 1, 6, type_=String())
    return case(
        (content_type.in_(("text/html", "application/xhtml+xml")), number("'html'")),
        (start == "image/", number("'image'")),
        (start == "audio/", number("'audio'")),
        (start == "video/", number("'video'")),
        (content_type.in_(("text/css", "text/javascript", "application/javascript")), number("'code'")),
        (content_type == "application/pdf", number("'pdf'")),
        (sql.substr(content_type, 1, 5) == "text/", number("'text'")),
        (content_type == "", number("'unknown'")),
        else_=number("'other'"),
    )


# The groups on SQLite. What their pages have in common stands in one number, which is the key of the table: to find a
# group by several columns takes as long as all the rest. These are the bits where its parts begin, the lowest ones for
# the time. A status has three digits. The texts are numbered: results as they are listed, media types as they come
# first. A page with any other is a group of its own, by the negative of its id, and what it is stands in the page.
_SIZE_AT, _TYPE_AT, _RESULT_AT, _FLAGS_AT, _STATUS_AT, _DEPTH_AT, _PERIOD_AT = 4, 7, 12, 17, 34, 44, 51
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


def _first_types(connection: Connection, wanted: _Wanted) -> list[str]:
    """Return the media types that are frequent among the first pages, the most frequent first."""
    first = _of(select(_page.content_type), wanted).limit(_LOOKED_AT).subquery().c.content_type
    frequent = select(first).group_by(first).order_by(sql.count().desc(), first).limit(_TYPES_NUMBERED)
    return list(connection.scalars(frequent))


def _groups_by_number(connection: Connection, wanted: _Wanted) -> AnySelect:
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


def _make_groups(connection: Connection, types: Sequence[str], period: ColumnElement[int], wanted: _Wanted) -> None:
    """Make the temporary table, and add each page to its group there; it is gone with the end of the transaction."""
    of = _single_pages(period).selected_columns
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
    adding = sqlite_insert(_group).from_select(list(_group.c), _of(rows.where(true()), wanted))
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
    """Select the groups with the columns of `_single_pages`."""
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
    others = _single_pages(period).join_from(_group, page_table, _page.id == -numbers)
    both = union_all(numbered.where(numbers >= 0), others.where(numbers < 0)).subquery()
    return select(both)


def _part(numbers: ColumnElement[int], start: int, end: int) -> ColumnElement[int]:
    return numbers.bitwise_rshift(start).bitwise_and((1 << end - start) - 1)


def _text_of(place: ColumnElement[int], texts: Sequence[str]) -> ColumnElement[str]:
    return case(dict(enumerate(texts)), value=place) if texts else number("NULL")
