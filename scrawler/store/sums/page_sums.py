"""Sums of the page rows of a seed, or of all: by result and period of time, by kind of content, by media type.

The table page is the largest of a crawl, and so it is read once. SQLite groups by sorting all rows; instead a function
of ours is given each row, where its part in C is compiled (see sqlite_sums.py). Without, or where that has no room for
all groups, each row is added to its group in a temporary table (see page_groups.py): the sums that a report shows are
then sums of some thousand groups. MariaDB groups in memory by itself, and a user of it need not have the right to make
temporary tables: there the same sums are made of the rows.
"""

from __future__ import annotations

from collections import defaultdict
from operator import add
from typing import NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    String,
    case,
    select,
)
from sqlalchemy import func as sql
from sqlalchemy import literal_column as number

from scrawler.model.results import Result
from scrawler.model.terms import Millis
from scrawler.store.engines.engine import Database
from scrawler.store.engines.rows import AnySelect
from scrawler.store.engines.sqlite_sums import asked, names_in, page_sums_of
from scrawler.store.schema.tables import page as page_table
from scrawler.store.sums.page_classes import DEEPEST, Wanted, of_wanted, single_pages
from scrawler.store.sums.page_groups import groups_by_number
from scrawler.store.sums.periods import committed_periods, first_number, period_of

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
# What the function in C is given of each page; the length of a period comes after that.
_GIVEN = ("id", "result", "status", "depth", "flags", "content_type", "length", "elapsed_ms", "attempts", "fetched_at")


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


def page_sums(database: Database, seed_id: int | None, since: Millis = 0) -> PageSums:
    """Add up the pages of a seed, of all if None; with `since`, those that were asked for at that time or later."""
    wanted = Wanted(seed_id, since)

    def work(connection: Connection) -> PageSums:
        if database.dialect == "sqlite":
            return _sums_in_c(connection, wanted) or _sums(connection, groups_by_number(connection, wanted))
        period = period_of(_page.fetched_at, committed_periods(connection, *wanted), database.dialect)
        return _sums(connection, of_wanted(single_pages(period), wanted))

    return database.reading(work)


def _sums_in_c(connection: Connection, wanted: Wanted) -> PageSums | None:
    """Return the sums that the function in C makes; None where it cannot."""
    periods = committed_periods(connection, *wanted)
    columns = (*(_page[name] for name in _GIVEN), number(str(periods.length)))
    said = asked(connection, of_wanted(select(page_sums_of(*columns)).select_from(page_table), wanted))
    if said is None:
        return None
    results, groups, types, type_sums = names_in(said[0]), said[1], names_in(said[2]), said[3]
    before = first_number(periods)
    pages = [
        PageSum(results[result], status, depth, flags, period - before, *sums)
        for result, status, depth, flags, period, *sums in groups
    ]
    kinds: defaultdict[tuple[str, int, int], list[int]] = defaultdict(lambda: [0, 0])
    for name, (*_, cells) in zip(types, type_sums, strict=True):
        for size, time, *sums in cells:
            of_kind = kinds[kind_of(name), size, time]
            of_kind[:] = map(add, of_kind, sums)
    by_type = (TypeSum(name, *row[:3]) for name, row in zip(types, type_sums, strict=True))
    frequent = sorted(by_type, key=lambda one: (-one.pages, one.content_type))[:_TYPES_READ]
    return PageSums(sorted(pages), sorted(KindSum(*key, *sums) for key, sums in kinds.items()), frequent)


def kind_of(content_type: str) -> str:
    """Return the kind of a media type, as `_kind` does in the database."""
    start = content_type.partition("/")[0]
    if content_type in _KIND_OF:
        return _KIND_OF[content_type]
    return start if start in ("image", "audio", "video", "text") else "other"


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
