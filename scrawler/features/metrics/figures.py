"""Figures of a crawl for those who watch many: of its machines, its seeds and its sites, from committed rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, literal_column, select

from scrawler.model.claims import Resting
from scrawler.model.machines import LEASE, MachineState
from scrawler.model.terms import Millis
from scrawler.store.claims.claims import Claims
from scrawler.store.claims.overview import LIVING, held_by_thread, is_silent
from scrawler.store.engines.engine import Database
from scrawler.store.engines.rows import AnyRow
from scrawler.store.schema.tables import machine, machine_statistics
from scrawler.store.sums.reports import Reports


@dataclass(frozen=True, slots=True)
class MachineFigures:
    """What a machine has committed, and holds; one that is silent is still here until others have declared it dead."""

    id: int
    name: str
    host: str
    alive: bool
    silent_ms: Millis  # since its last heartbeat
    pages: int
    bytes: int
    errors: int
    refused: int  # page rows that were refused, for its sites were taken over: they are fetched again
    uncommitted: int  # records that were never committed: the same
    checkpoints: int
    capacity: int  # seeds that it can hold
    held: int
    queued: int
    memory: int  # resident bytes


@dataclass(frozen=True, slots=True)
class Figures:
    """How a crawl stands."""

    machines: tuple[MachineFigures, ...]  # those that work
    states: Mapping[str, int]  # machines by state, all that ever were
    seeds: Mapping[str, int]  # by end reason, by state where they have none
    counts: Mapping[str, int]  # sums of the seeds' counts, by their columns' names
    resting: Resting


class _Rows(NamedTuple):
    machines: list[AnyRow]
    held: Mapping[int, list[int]]
    queued: Mapping[int, int]


def read_figures(database: Database) -> Figures:
    """Read them; the counts of a million seeds take a second. Raises StoreError."""
    rows = database.reading(lambda connection: _read(connection, database.clock))
    living = [row for row in rows.machines if row.state in LIVING]
    silent = {row.id for row in living if is_silent(row, LEASE)}
    states = Counter(MachineState.DEAD.value if row.id in silent else row.state for row in rows.machines)
    reports = Reports(database)
    return Figures(
        tuple(_figures(row, row.id not in silent, rows) for row in living),
        states,
        reports.ends(),
        reports.counts(None),
        Claims(database, 0).resting(),
    )


def _read(connection: Connection, clock: str) -> _Rows:
    now: ColumnElement[Millis] = literal_column(clock).label("now")
    machines = list(connection.execute(select(machine, now).order_by(machine.c.id)))
    living = [row.id for row in machines if row.state in LIVING]
    queued = {}
    for machine_id in living:
        last = select(machine_statistics.c.queued).where(machine_statistics.c.machine_id == machine_id)
        queued[machine_id] = connection.scalar(last.order_by(machine_statistics.c.at.desc()).limit(1)) or 0
    return _Rows(machines, held_by_thread(connection, living), queued)


def _figures(row: AnyRow, alive: bool, rows: _Rows) -> MachineFigures:
    return MachineFigures(
        id=row.id,
        name=row.name,
        host=row.host,
        alive=alive,
        silent_ms=max(0, row.now - row.heartbeat_at),
        pages=row.pages,
        bytes=row.bytes,
        errors=row.errors,
        refused=row.refused,
        uncommitted=row.uncommitted,
        checkpoints=row.checkpoints,
        capacity=row.capacity,
        held=sum(rows.held.get(row.id, ())),
        queued=rows.queued[row.id],
        memory=row.memory,
    )
