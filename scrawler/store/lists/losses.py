"""Losses: WARC files that do not hold any more what page rows say, as they were found, told of and accepted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, bindparam, case, delete, insert, select, update
from sqlalchemy import func as sql

from scrawler.model.records import UNCOUNTED, Loss, LossKind
from scrawler.store.engines.engine import Database, database_time
from scrawler.store.engines.rows import sliced
from scrawler.store.lists.vain import VainRevisits
from scrawler.store.schema.tables import loss

_REVISITS = case((loss.c.revisits == UNCOUNTED, 0), else_=loss.c.revisits)


class LostSum(NamedTuple):
    """How much is gone: whole or damaged files, their records, and records elsewhere that refer to these."""

    files: int
    records: int
    revisits: int


class Found(NamedTuple):
    """What was found to be gone, and how many records of which files that are."""

    sum: LostSum
    files: Mapping[str, int]


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
        columns = [_REVISITS.label(name) if name == "revisits" else loss.c[name] for name in Loss._fields]
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
        """Let nothing that is gone now be told of again, or be fetched again; return how much that is.

        A file is open again, with all that is gone of it, once that is more than was accepted.
        """
        found = self._found(loss.c.accepted == 0)
        self._set(found.files, accepted=1, told=1)
        return found.sum

    def untold(self) -> Found:
        """Return what no run has told of yet."""
        return self._found(loss.c.accepted == 0, loss.c.told == 0)

    def mark_told(self, files: Mapping[str, int]) -> None:
        """Tell no more of what is gone of files, by name, as far as no more records than these are."""
        self._set(files, told=1)

    def totals(self) -> LostTotals:
        """Return how much is gone."""
        return self._database.reading(lambda connection: LostTotals(_sum(connection, 0), _sum(connection, 1)))

    def uncounted(self) -> list[str]:
        """Return the files of which it is not known how many revisits elsewhere refer to what they held."""
        open_ones = select(loss.c.warc_file).where(loss.c.revisits == UNCOUNTED, loss.c.accepted == 0)
        return [row.warc_file for row in self._database.rows(open_ones.order_by(loss.c.warc_file))]

    def count(self, warc_file: str, revisits: int) -> None:
        """Note how many revisits elsewhere refer to what a file held."""
        counted = update(loss).where(loss.c.warc_file == warc_file).values(revisits=revisits)
        self._database.retrying(lambda connection: connection.execute(counted))

    def vain_revisits(self, stopping: Callable[[], bool]) -> VainRevisits:
        """Return the object that finds revisits which refer to what is gone."""
        return VainRevisits(self._database, stopping)

    def _found(self, *conditions: ColumnElement[bool]) -> Found:
        query = select(loss.c.warc_file, loss.c.records, _REVISITS.label("revisits")).where(*conditions)
        rows = self._database.rows(query.order_by(loss.c.warc_file))
        total = LostSum(len(rows), sum(row.records for row in rows), sum(row.revisits for row in rows))
        return Found(total, {row.warc_file: row.records for row in rows})

    def _set(self, files: Mapping[str, int], **values: int) -> None:
        """Change the rows of files, but for those of which more is gone by now."""
        as_found = loss.c.warc_file == bindparam("file"), loss.c.records <= bindparam("number")
        change = update(loss).where(*as_found).values(values)
        for part in sliced(sorted(files.items())):
            rows = [{"file": file, "number": number} for file, number in part]
            self._database.retrying(lambda connection, rows=rows: connection.execute(change, rows))  # type: ignore[misc]


def _sum(connection: Connection, accepted: int) -> LostSum:
    columns = sql.count(), sql.coalesce(sql.sum(loss.c.records), 0), sql.coalesce(sql.sum(_REVISITS), 0)
    return LostSum(*map(int, connection.execute(select(*columns).where(loss.c.accepted == accepted)).one()))
