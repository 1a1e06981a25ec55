"""Rows of pages that are asked for again (`run --retry`): read before, and replaced by what has come since.

A retry marks rows and lists their URLs. In the transaction that commits an answer which takes the place of such rows,
these go, what they were counted for is taken back, and their records are given up as orphans. Where the answer is worth
less than what is there, the rows lose their mark alone. A kill before that has changed nothing.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from http import HTTPStatus

from sqlalchemy import Connection, case, delete, select, update

from scrawler.model.deltas import SeedDelta
from scrawler.model.lanes import REFETCH, REVISIT
from scrawler.model.replaced import EarlierPages, ListedRow, WaitingRow, counts_of
from scrawler.model.results import NO_ERROR, PageFlag, Result
from scrawler.model.robots import RobotsRecord
from scrawler.model.terms import Millis, url_hash
from scrawler.store.engines.bulk import BulkInsert
from scrawler.store.engines.engine import Database, database_time
from scrawler.store.engines.rows import AnyRow, listed_depth, sliced
from scrawler.store.lists.orphans import OrphanWriter, Span
from scrawler.store.lists.relisting import IS_WAITING
from scrawler.store.schema.tables import lane, loss, machine, page, robots_record, seed

_READ = [page.c[name] for name in WaitingRow._fields[: WaitingRow._fields.index("is_referred")]]
_MACHINE = re.compile(r"-m(\d+)-\d{17}-\d{5,}\.warc\.gz$")
_NOT_MODIFIED = 304
_OLDEST = 200  # rows of a seed that are searched for its first page
_NEWEST = 200  # rows of a seed that are searched for what a wall has given before it was known for one


class Replacing:
    """Replaces rows inside the transaction of a checkpoint."""

    def __init__(self, database: Database) -> None:
        """Make the statements for `database`."""
        compiler = database.compiler
        self._orphans = OrphanWriter(compiler)
        self._records = BulkInsert.inserting(robots_record, RobotsRecord._fields, compiler)

    def write(self, connection: Connection, seeds: Sequence[SeedDelta]) -> None:
        """Mark rows that wait from now on, take those away whose place others take, and the mark from the rest."""
        gone = [row for one in seeds for row in one.replaced]
        _mark(connection, [number for one in seeds for number in one.marked])
        _unmark(connection, [number for one in seeds for number in one.kept])
        _delete(connection, gone)
        self._give_up_records(connection, [span for one in seeds for span in one.orphans], gone)
        _subtract_of_others(connection, [row for row in gone if row.is_of_others])
        lost = [row for row in gone if row.is_lost]
        if lost:
            _lessen_losses(connection, lost)
            _subtract_totals(connection, lost)

    def _give_up_records(self, connection: Connection, spans: list[Span], gone: Sequence[WaitingRow]) -> None:
        """Note records that have no row: `spans`, and those of the rows that are gone, unless others refer to them."""
        archived = [row for row in gone if row.warc_file]
        spans += [(row.warc_file, row.warc_offset, row.warc_length) for row in archived if not row.is_referred]
        self._orphans.write(connection, spans)
        self._records.run(connection, sorted(_record_of(row) for row in archived if row.is_referred))


def _delete(connection: Connection, rows: Sequence[WaitingRow]) -> None:
    for part in sliced(sorted(row.id for row in rows)):
        connection.execute(delete(page).where(page.c.id.in_(part)))


def _mark(connection: Connection, rows: Sequence[int]) -> None:
    for part in sliced(sorted(rows)):
        flags = page.c.flags.bitwise_or(PageFlag.WAITING.value)
        connection.execute(update(page).where(page.c.id.in_(part)).values(flags=flags))


def _unmark(connection: Connection, rows: Sequence[int]) -> None:
    for part in sliced(sorted(rows)):
        flags = page.c.flags - PageFlag.WAITING.value
        connection.execute(update(page).where(page.c.id.in_(part), IS_WAITING).values(flags=flags))


def waiting_rows(database: Database, seed_id: int, urls: Iterable[str]) -> dict[str, tuple[WaitingRow, ...]]:
    """Return the rows of a seed's URLs that a retry has marked."""
    found: defaultdict[str, list[WaitingRow]] = defaultdict(list)
    for part in sliced(map(url_hash, urls)):
        query = select(*_READ).where(page.c.url_hash.in_(part), page.c.seed_id == seed_id, IS_WAITING)
        rows = database.rows(query.order_by(page.c.id))
        referred = _referred(database, seed_id, rows)
        for row in rows:
            digest = bytes(row.digest)
            made = WaitingRow(*row)._replace(digest=digest, is_referred=digest in referred and not row.revisit)
            found[row.url].append(made)
    return {url: tuple(rows) for url, rows in found.items()}


def newest_rows(database: Database, seed_id: int, urls: Collection[str], digest: bytes) -> list[ListedRow]:
    """Return those of a seed's newest rows that are of some URLs, or have a payload, and do not wait already."""
    more = page.c.depth, page.c.position, page.c.referrer, page.c.lane_seed
    results = Result.FETCHED.value, Result.REDIRECT.value
    query = select(*_READ, *more).where(page.c.seed_id == seed_id).order_by(page.c.id.desc()).limit(_NEWEST)
    found = []
    for row in database.rows(query):
        own = row.lane_seed == seed_id and row.result in results and not row.flags & PageFlag.WAITING
        if own and (row.url in urls or (digest and bytes(row.digest) == digest)):
            made = WaitingRow(*row[: len(_READ)])._replace(digest=bytes(row.digest))
            found.append(ListedRow(made, listed_depth(row), row.position, bytes(row.referrer)))
    referred = _referred(database, seed_id, [one.row for one in found])
    return [
        one._replace(row=one.row._replace(is_referred=one.row.digest in referred and not one.row.revisit))
        for one in found
    ]


def earlier_pages(database: Database, seed_id: int) -> EarlierPages | None:
    """Return what a seed has fetched first and last; None if that was no page below its own URL.

    Of the first page that is its first visit: a later one may have met a wall.
    """
    columns = [page.c[name] for name in ("url", "depth", "result", "status", "length", "digest")]
    of_seed = select(*columns).where(page.c.seed_id == seed_id).with_hint(page, "FORCE INDEX (page_seed)", "mysql")
    first = (
        row
        for row in database.rows(of_seed.order_by(page.c.id).limit(_OLDEST))
        if row.depth > 0 and row.result == Result.FETCHED.value and row.status == HTTPStatus.OK and row.length
    )
    good = next(first, None)
    if good is None:
        return None
    shown = page.c.result.in_((Result.FETCHED.value, Result.REDIRECT.value))
    newest = database.rows(of_seed.where(shown).order_by(page.c.id.desc()).limit(1))
    return EarlierPages(good.url, bytes(good.digest), good.length, newest[0].url)


def retried_until(database: Database) -> Millis | None:
    """Return when the last seed ended of which a retry has asked URLs again; now, if one is at it; None: there is none.

    Records may have become orphans until then in files that were finished, and listed, before.
    """
    retried = lane.c.kind.between(REFETCH.number, REVISIT.number - 1), lane.c.cursor_position > 0
    query = select(seed.c.ended_at).join(lane, lane.c.seed_id == seed.c.id).where(*retried)

    def work(connection: Connection) -> Millis | None:
        now = database_time(connection, database.clock)
        return max((now if at is None else at for at in connection.scalars(query)), default=None)

    return database.reading(work)


def _referred(database: Database, seed_id: int, rows: Iterable[AnyRow | WaitingRow]) -> set[bytes]:
    """Return the payloads of rows to whose records revisits of the same site refer. All pages of that are looked at."""
    digests = {bytes(row.digest) for row in rows if row.warc_file and row.digest and not row.revisit}
    site_id = select(seed.c.site_id).where(seed.c.id == seed_id).scalar_subquery()
    found: set[bytes] = set()
    for part in sliced(sorted(digests)):
        query = select(page.c.digest).join(seed, seed.c.id == page.c.seed_id).distinct()
        query = query.where(seed.c.site_id == site_id, page.c.revisit == 1, page.c.digest.in_(part))
        found.update(bytes(row[0]) for row in database.rows(query))
    return found


def _record_of(row: WaitingRow) -> RobotsRecord:
    """Return the row of a record whose page has another by now, but to which other records refer."""
    return RobotsRecord(
        row.warc_file, row.warc_offset, row.warc_length, row.url, row.fetched_at, row.status, row.content_type,
        row.digest,
    )  # fmt: skip


def _subtract_of_others(connection: Connection, rows: Iterable[WaitingRow]) -> None:
    by_seed: defaultdict[int, list[WaitingRow]] = defaultdict(list)
    for row in rows:
        by_seed[row.seed_id].append(row)
    for one, some in sorted(by_seed.items()):
        counts = counts_of(some).items()
        values = {seed.c[name]: case((seed.c[name] > less, seed.c[name] - less), else_=0) for name, less in counts}
        connection.execute(update(seed).where(seed.c.id == one).values(values))


def _lessen_losses(connection: Connection, rows: Iterable[WaitingRow]) -> None:
    """Count off what is fetched again from what the files are known to have lost."""
    for name, number in sorted(Counter(row.warc_file for row in rows).items()):
        left = case((loss.c.records > number, loss.c.records - number), else_=0)
        connection.execute(update(loss).where(loss.c.warc_file == name).values(records=left))


def _subtract_totals(connection: Connection, rows: Iterable[WaitingRow]) -> None:
    """Take from machines what they have brought, and is lost."""
    totals: defaultdict[int, Counter[str]] = defaultdict(Counter)
    for row in rows:
        if match := _MACHINE.search(row.warc_file):
            less = totals[int(match[1])]
            less["pages"] += row.result == Result.FETCHED.value
            less["bytes"] += row.length if row.status != _NOT_MODIFIED else 0
            less["errors"] += row.result not in NO_ERROR
    for number, counts in sorted(totals.items()):
        values = {machine.c[name]: machine.c[name] - less for name, less in counts.items()}
        connection.execute(update(machine).where(machine.c.id == number).values(values))
