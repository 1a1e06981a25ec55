"""Machines: who crawls, with a heartbeat as lease, statistics over time, and the summary of a crawl."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import Connection, and_, func, insert, or_, select, update

from scrawler.model import EndReason, Millis, SeedState
from scrawler.store.engine import Database, database_time
from scrawler.store.rows import AnyRow, inserted_id
from scrawler.store.seeds import Seeds
from scrawler.store.tables import machine, machine_statistics, thread_statistics

LEASE = 15_000  # milliseconds after its last heartbeat for which a machine is believed to live
_RATE_SPAN = 60_000  # milliseconds


class MachineSample(NamedTuple):
    """What a machine did since it started, and how many seeds its Seed ID Queue holds."""

    requests: int
    pages: int
    bytes: int
    errors: int
    queued: int


@dataclass(frozen=True, slots=True)
class MachineView:
    """A machine as `status` shows it; `held` has the seeds that each thread held at the last sample."""

    id: int
    name: str
    host: str
    pid: int
    state: str  # running, stopped, dead
    started_at: Millis
    heartbeat_at: Millis
    pages: int
    bytes: int
    errors: int
    held: tuple[int, ...]
    pages_per_second: float


@dataclass(frozen=True, slots=True)
class Summary:
    """How the crawl stands; totals are of committed pages, rates of the last minute."""

    seeds: dict[SeedState, dict[EndReason | None, int]]
    machines: tuple[MachineView, ...]
    pages: int
    bytes: int
    errors: int
    pages_per_second: float


class Machines:
    """The machines of a crawl."""

    def __init__(self, database: Database) -> None:
        """Work on `database`."""
        self._database = database
        self._last_beat = -float("inf")  # monotonic seconds
        self._good_since = 0.0

    def register(self, name: str, host: str, pid: int) -> int:
        """Make a row for this process and return its id; no two processes have the same.

        Declares dead: machines of the same host (one table of processes) whose process is gone, and all whose
        lease is over.
        """

        def work(connection: Connection) -> int:
            now = database_time(connection, self._database.clock)
            running = select(machine.c.id, machine.c.host, machine.c.pid).where(machine.c.state == "running")
            rows = connection.execute(running)
            gone = [row.id for row in rows if row.host == host and (row.pid == pid or not _runs(row.pid))]
            over = machine.c.heartbeat_at < now - LEASE
            which = and_(machine.c.state == "running", or_(machine.c.id.in_(gone), over))
            connection.execute(update(machine).where(which).values(state="dead"))
            row = {"name": name, "host": host, "pid": pid, "state": "running", "started_at": now, "heartbeat_at": now}
            return inserted_id(connection.execute(insert(machine), row))

        return self._database.retrying(work)

    def beat(self, machine_id: int, sample: MachineSample | None = None, held_by_thread: Sequence[int] = ()) -> bool:
        """Prolong the machine's lease; False says that others declared it dead: it owns nothing any more.

        With a sample this goes to the statistics, with the seeds that each thread holds. Declares others dead, but
        only after a whole lease of own good heartbeats: after an outage of the database everybody looks dead.
        """

        def work(connection: Connection) -> bool:
            now = database_time(connection, self._database.clock)
            mine = update(machine).where(machine.c.id == machine_id, machine.c.state == "running")
            alive = connection.execute(mine.values(heartbeat_at=now)).rowcount == 1
            if sample is not None:
                _record(connection, machine_id, now, sample, held_by_thread)
            return alive

        alive = self._database.retrying(work)
        beat_at = time.monotonic()
        if beat_at - self._last_beat > LEASE / 1000:
            self._good_since = beat_at
        self._last_beat = beat_at
        if beat_at - self._good_since > LEASE / 1000:
            self._database.retrying(self._declare_dead)
        return alive

    def stop(self, machine_id: int) -> MachineView:
        """Note that the machine ended by itself, and return what it committed.

        Sites that it still owns are claimed first by the next one.
        """

        def work(connection: Connection) -> MachineView:
            mine = machine.c.id == machine_id
            connection.execute(update(machine).where(mine).values(state="stopped"))
            row = connection.execute(select(machine).where(mine)).one()
            return _view(connection, row, database_time(connection, self._database.clock))

        return self._database.retrying(work)

    def gone(self) -> list[int]:
        """Return the ids of the machines that stopped or died, less those whose last commit is still on its way.

        A commit writes the machine's row last of all, so whoever finds that row free sees all that it will ever write
        (a killed process is gone before the server has worked off what it sent).
        """
        query = select(machine.c.id).where(machine.c.state != "running").order_by(machine.c.id)
        query = query.with_for_update(skip_locked=True)  # SQLite needs none: there a commit dies with its process
        return self._database.retrying(lambda connection: list(connection.scalars(query)))

    def summary(self) -> Summary:
        """Return how the crawl stands."""

        def work(connection: Connection) -> tuple[MachineView, ...]:
            now = database_time(connection, self._database.clock)
            rows = connection.execute(select(machine).order_by(machine.c.id)).all()
            return tuple(_view(connection, row, now) for row in rows)

        machines = self._database.reading(work)
        return Summary(
            Seeds(self._database).counts(),
            machines,
            sum(one.pages for one in machines),
            sum(one.bytes for one in machines),
            sum(one.errors for one in machines),
            sum(one.pages_per_second for one in machines),
        )

    def _declare_dead(self, connection: Connection) -> None:
        now = database_time(connection, self._database.clock)
        over = and_(machine.c.state == "running", machine.c.heartbeat_at < now - LEASE)
        ids = sorted(connection.scalars(select(machine.c.id).where(over)))
        if ids:
            connection.execute(update(machine).where(machine.c.id.in_(ids), over).values(state="dead"))


def _record(
    connection: Connection, machine_id: int, now: Millis, sample: MachineSample, held_by_thread: Sequence[int]
) -> None:
    key = {"machine_id": machine_id, "at": now}
    connection.execute(insert(machine_statistics), key | sample._asdict())
    if held_by_thread:
        rows = [key | {"thread": number, "seeds_held": held} for number, held in enumerate(held_by_thread)]
        connection.execute(insert(thread_statistics), rows)


def _view(connection: Connection, row: AnyRow, now: Millis) -> MachineView:
    of_machine = thread_statistics.c.machine_id == row.id
    last = select(func.max(thread_statistics.c.at)).where(of_machine).scalar_subquery()
    held = select(thread_statistics.c.seeds_held).where(of_machine, thread_statistics.c.at == last)
    return MachineView(
        row.id,
        row.name,
        row.host,
        row.pid,
        row.state,
        row.started_at,
        row.heartbeat_at,
        row.pages,
        row.bytes,
        row.errors,
        tuple(connection.scalars(held.order_by(thread_statistics.c.thread))) if row.state == "running" else (),
        _rate(connection, row, now) if row.state == "running" else 0.0,
    )


def _rate(connection: Connection, row: AnyRow, now: Millis) -> float:
    samples = select(machine_statistics.c.at, machine_statistics.c.pages).where(
        machine_statistics.c.machine_id == row.id, machine_statistics.c.at >= now - _RATE_SPAN
    )
    started = [(row.started_at, 0)] if row.started_at >= now - _RATE_SPAN else []
    points = started + [(at, pages) for at, pages in connection.execute(samples.order_by(machine_statistics.c.at))]
    if len(points) < 2 or points[-1][0] <= points[0][0]:
        return 0.0
    return float((points[-1][1] - points[0][1]) * 1000 / (points[-1][0] - points[0][0]))


def _runs(pid: int) -> bool:
    """Tell whether a process of this host runs; where that cannot be asked, the lease decides."""
    if os.name != "posix":
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
