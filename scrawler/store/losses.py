"""Losses: WARC files that do not hold any more what page rows say, as they were found, told of and accepted."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import Connection, delete, insert, select, update
from sqlalchemy import func as sql

from scrawler.model import CdxRow, Loss, LossKind
from scrawler.store.engine import Database, database_time
from scrawler.store.rows import sliced
from scrawler.store.tables import loss, page, seed

_PLACES = 200  # of one query for the pages at them


class LostSum(NamedTuple):
    """How much is gone: whole or damaged files, their records, and records elsewhere that refer to these."""

    files: int
    records: int
    revisits: int


@dataclass(frozen=True, slots=True)
class LostTotals:
    """What is gone, and what of it the user has accepted."""

    open: LostSum
    accepted: LostSum


class Losses:
    """The table loss."""

    def __init__(self, database: Database) -> None:
        """Work on `database`."""
        self._database = database

    def all(self) -> dict[str, Loss]:
        """Return all losses by file; they are few."""
        columns = [loss.c[name] for name in Loss._fields]
        rows = self._database.rows(select(*columns).order_by(loss.c.warc_file))
        return {row.warc_file: Loss(row[0], LossKind(row[1]), row[2], row[3], bool(row[4])) for row in rows}

    def note(self, found: Loss) -> None:
        """Note what is gone of a file; it is to be told where more is gone than was known."""

        def work(connection: Connection) -> None:
            mine = loss.c.warc_file == found.warc_file
            numbers = {"kind": found.kind.value, "records": found.records, "revisits": found.revisits}
            known = connection.execute(select(loss.c.records).where(mine)).one_or_none()
            if known is not None and known.records >= found.records:
                connection.execute(update(loss).where(mine).values(numbers))
                return
            connection.execute(delete(loss).where(mine))
            now = database_time(connection, self._database.clock)
            connection.execute(insert(loss).values(warc_file=found.warc_file, found_at=now, **numbers))

        self._database.retrying(work)

    def clear(self, warc_files: Iterable[str]) -> None:
        """Forget the losses of files that are whole again."""
        for part in sliced(sorted(warc_files)):
            gone = delete(loss).where(loss.c.warc_file.in_(part))
            self._database.retrying(lambda connection, gone=gone: connection.execute(gone))  # type: ignore[misc]

    def accept(self) -> LostSum:
        """Let nothing that is gone now be told of again, or be fetched again; return how much that is."""

        def work(connection: Connection) -> LostSum:
            found = _sum(connection, 0)
            connection.execute(update(loss).values(accepted=1, told=1))
            return found

        return self._database.retrying(work)

    def tell(self) -> LostSum:
        """Return what no run has told of yet; it counts as told from now on."""

        def work(connection: Connection) -> LostSum:
            found = _sum(connection, 0, loss.c.told == 0)
            connection.execute(update(loss).where(loss.c.told == 0).values(told=1))
            return found

        return self._database.retrying(work)

    def totals(self) -> LostTotals:
        """Return how much is gone."""
        return self._database.reading(lambda connection: LostTotals(_sum(connection, 0), _sum(connection, 1)))

    def revisits_of(self, lost: Iterable[CdxRow], warc_files: Collection[str]) -> int:
        """Count the revisit records, in other files, whose payload stood in these lost ones alone.

        All are of one file; what stands in one of `warc_files`, from which records are gone, does not count as there.
        """
        number = 0
        for part in sliced((row for row in lost if not row.revisit), _PLACES):
            places = [row.offset for row in part]
            file = part[0].file

            def work(connection: Connection, places: list[int] = places, file: str = file) -> int:
                return _count_revisits(connection, file, places, warc_files)

            number += self._database.reading(work)
        return number


def _count_revisits(connection: Connection, file: str, offsets: list[int], warc_files: Collection[str]) -> int:
    at = page.c.warc_file == file, page.c.warc_offset.in_(offsets)
    query = select(page.c.digest, seed.c.site_id).join(seed, seed.c.id == page.c.seed_id).where(*at)
    gone = {(row.site_id, row.digest) for row in connection.execute(query)}
    return sum(payloads_alone(connection, gone, warc_files).values())


def payloads_alone(
    connection: Connection, gone: Collection[tuple[int, bytes]], warc_files: Collection[str]
) -> Mapping[tuple[int, bytes], int]:
    """Return which of some payloads (site, digest) revisit records refer to in vain, and how many.

    A payload is there while a response record of the same site holds it, in a file that is not one of `warc_files`.
    """
    sites = sorted({site_id for site_id, _ in gone})
    digests = sorted({digest for _, digest in gone if digest})
    if not digests:
        return {}
    of_site = page.join(seed, seed.c.id == page.c.seed_id)
    same = seed.c.site_id.in_(sites), page.c.digest.in_(digests), page.c.warc_file.not_in(["", *sorted(warc_files)])
    grouped = select(seed.c.site_id, page.c.digest, page.c.revisit, sql.count().label("times")).select_from(of_site)
    rows = connection.execute(grouped.where(*same).group_by(seed.c.site_id, page.c.digest, page.c.revisit)).all()
    there = {(row.site_id, row.digest) for row in rows if not row.revisit}
    times = {(row.site_id, row.digest): row.times for row in rows if row.revisit}
    return {payload: number for payload, number in times.items() if payload in gone and payload not in there}


def _sum(connection: Connection, accepted: int, *conditions: object) -> LostSum:
    columns = sql.count(), sql.coalesce(sql.sum(loss.c.records), 0), sql.coalesce(sql.sum(loss.c.revisits), 0)
    query = select(*columns).where(loss.c.accepted == accepted, *conditions)  # type: ignore[arg-type]
    return LostSum(*map(int, connection.execute(query).one()))
