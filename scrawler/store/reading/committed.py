"""Page rows as they were committed, with their ids and seeds; a follower gives each once, soon after its commit.

Rows have their ids in the order in which they were inserted, and become visible when they are committed. On SQLite one
transaction writes at a time, so both orders are the same. On MySQL a machine may commit ids that are lower than those
which another one has committed before: what is missing between two ids may come later, or never, where a transaction
was rolled back. It is waited for until all machines that lived when it was missed have committed once more, or ended,
for each of them has one transaction at a time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, and_, or_, select
from sqlalchemy import func as sql

from scrawler.model.results import Result
from scrawler.model.rows import PageRow
from scrawler.store.claims.overview import LIVING
from scrawler.store.engines.engine import Database
from scrawler.store.engines.rows import AnySelect
from scrawler.store.schema.tables import machine, page, seed

_READ = 500  # rows held in memory at a time
_IN_HAND, _MOST_GAPS = 20_000, 500  # ids before the newest one that transactions may yet bring, and gaps among them


class CommittedPage(NamedTuple):
    """A page row with what it is known by."""

    id: int
    seed: str  # URL of the seed for which it was fetched, as imported
    row: PageRow
    seed_columns: str = ""  # JSON: further columns of that seed; empty: none


_COMMITTED: tuple[ColumnElement[Any], ...] = (
    page.c.id,
    seed.c.url,
    seed.c["columns"],
    *(page.c[name] for name in PageRow._fields),
)
_PAGES: AnySelect = (
    select(*_COMMITTED)
    .join(seed, seed.c.id == page.c.seed_id)
    .order_by(page.c.id)
    .prefix_with("STRAIGHT_JOIN", dialect="mysql")  # a small table seed would make it sort
)


class Place(NamedTuple):
    """How far a follower has come: all rows up to an id were given, but for those that may yet come into gaps."""

    after: int = 0
    gaps: tuple[tuple[int, int], ...] = ()  # first and last id of each


@dataclass(slots=True)
class _Gap:
    """Ids that were missing between others, and how many checkpoints the machines had that may yet bring them."""

    first: int
    last: int
    waits_for: Mapping[int, int]


class PageFollower:
    """Gives the page rows that were committed since the last time; used by one thread at a time."""

    def __init__(self, database: Database, place: Place, most: int = _READ) -> None:
        """Follow the rows that are not given at a place, so many at a time."""
        self._database = database
        self._after = place.after
        self.most = most
        self._has_gaps = database.dialect != "sqlite"
        waits_for = database.reading(_checkpoints) if place.gaps else {}
        self._gaps = [_Gap(first, last, waits_for) for first, last in place.gaps]

    @property
    def place(self) -> Place:
        """How far it has come: where another follower may go on."""
        return Place(self._after, tuple((gap.first, gap.last) for gap in self._gaps))

    def fresh(self) -> list[CommittedPage]:
        """Return rows that were not given before, some hundreds at most; none: all were given. Raises StoreError."""
        rows, self._after, self._gaps = self._database.reading(self._look)
        return rows

    def _look(self, connection: Connection) -> tuple[list[CommittedPage], int, list[_Gap]]:
        """Return what has come, and what is known after it: nothing is changed before all of it was read."""
        late: list[CommittedPage] = []
        gaps = self._gaps
        if gaps:
            late, gaps = _late(connection, gaps, self.most)
        found = _pages(connection, page.c.id > self._after, self.most)
        if not found:
            return late, self._after, gaps
        if self._has_gaps:
            gaps = gaps + _new_gaps(connection, self._after, [one.id for one in found])
        return late + found, found[-1].id, gaps


def newest_place(database: Database) -> Place:
    """Return where a follower begins that is to be given what comes from now on.

    Of the ids before the newest one those are gaps, into which rows may come, that machines may have in hand.
    """
    return database.reading(partial(_newest, has_gaps=database.dialect != "sqlite"))


def _newest(connection: Connection, has_gaps: bool) -> Place:
    living = has_gaps and connection.scalar(select(machine.c.id).where(machine.c.state.in_(LIVING)).limit(1))
    newest = int(connection.scalar(select(sql.max(page.c.id))) or 0)
    if not living:
        return Place(newest)
    recent = page.c.id > max(0, newest - _IN_HAND), page.c.id <= newest
    ids = list(connection.execute(select(page.c.id).where(*recent).order_by(page.c.id)).scalars())
    return Place(newest, tuple(_missing(max(0, newest - _IN_HAND), ids))[-_MOST_GAPS:])


def listed_pages(
    database: Database, seed_id: int | None = None, results: Collection[Result] = ()
) -> Iterator[CommittedPage]:
    """Yield the pages fetched for a seed, or all, with one of these results, or any, in the order of their commits."""
    conditions = [] if seed_id is None else [page.c.seed_id == seed_id]
    if results:
        conditions.append(page.c.result.in_([one.value for one in results]))
    after = 0
    while rows := database.reading(partial(_pages, which=and_(page.c.id > after, *conditions))):
        yield from rows
        after = rows[-1].id


def pages_of(database: Database, hashes: Collection[bytes]) -> list[CommittedPage]:
    """Return the pages with these hashes of their URLs, some hundreds at most, the newest last."""
    return database.reading(partial(_pages, which=page.c.url_hash.in_(hashes)))


def _late(connection: Connection, gaps: list[_Gap], most: int) -> tuple[list[CommittedPage], list[_Gap]]:
    """Return the rows that came into gaps, and the gaps that are left: those into which none can come are not."""
    checkpoints = _checkpoints(connection)  # before the rows: what was committed by then is among them
    missing = or_(*(and_(page.c.id >= gap.first, page.c.id <= gap.last) for gap in gaps))
    found = _pages(connection, missing, most)
    came = {one.id for one in found}
    if len(found) < most:
        gaps = [gap for gap in gaps if _may_come(gap, checkpoints)]
    return found, [part for gap in gaps for part in _parts(gap, came)]


def _new_gaps(connection: Connection, after: int, ids: Iterable[int]) -> list[_Gap]:
    missing = list(_missing(after, ids))
    if not missing:
        return []
    waits_for = _checkpoints(connection)  # after the rows: what comes into the gap is not counted yet
    return [_Gap(first, last, waits_for) for first, last in missing]


def _missing(after: int, ids: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield first and last of the ids that are missing between `after` and these, which come in order."""
    for number in ids:
        if number > after + 1:
            yield after + 1, number - 1
        after = number


def _pages(connection: Connection, which: ColumnElement[bool], most: int = _READ) -> list[CommittedPage]:
    rows = connection.execute(_PAGES.where(which).limit(most))
    return [CommittedPage(row[0], row[1], PageRow(*row[3:]), row[2] or "") for row in rows]


def _checkpoints(connection: Connection) -> dict[int, int]:
    living = select(machine.c.id, machine.c.checkpoints).where(machine.c.state.in_(LIVING))
    return {row[0]: row[1] for row in connection.execute(living)}


def _may_come(gap: _Gap, checkpoints: Mapping[int, int]) -> bool:
    return any(checkpoints.get(number) == before for number, before in gap.waits_for.items())


def _parts(gap: _Gap, came: set[int]) -> list[_Gap]:
    """Return what is left of a gap."""
    inside = sorted(number for number in came if gap.first <= number <= gap.last)
    if not inside:
        return [gap]
    bounds = zip(
        [gap.first, *(number + 1 for number in inside)], [*(number - 1 for number in inside), gap.last], strict=True
    )
    return [_Gap(first, last, gap.waits_for) for first, last in bounds if first <= last]
