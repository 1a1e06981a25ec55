"""The statistics of machines: a sample every ten seconds, of which later one a minute and one an hour is left.

The last sample of each minute or hour stays. What a machine has done since it started is a sum in each of them, so
that totals, and differences between samples that are left, are what they were. A machine thins its own samples and
those of machines that have ended, a few at a time: no pass over the table is ever needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from sqlalchemy import Connection, Table, delete, select

from scrawler.model.machines import MachineState
from scrawler.model.terms import Millis
from scrawler.store.claims.overview import LIVING
from scrawler.store.engines.locking import lock_free
from scrawler.store.engines.rows import inserting_new, sliced
from scrawler.store.schema.tables import machine, machine_statistics, thread_statistics

SAMPLE_EVERY: Millis = 10_000  # a machine looks so often whether there is something new to be written
THINNED_EVERY: Millis = 60_000

_HOUR: Millis = 3_600_000
_LEVELS = ((24 * _HOUR, _HOUR), (_HOUR, 60_000))  # of samples older than the first, one in each of the second is left
_AT_A_TIME = 500  # samples of a table that are looked at
_DELETED = 100  # samples that one statement deletes
_ENDED_AT_A_TIME = 8  # machines that have ended, and whose samples are looked at


class MachineSample(NamedTuple):
    """What a machine did since it started, and how many seeds its Seed ID Queue holds."""

    requests: int
    pages: int
    bytes: int
    errors: int
    queued: int


class Look(NamedTuple):
    """How a machine is when a sample is taken."""

    machine_id: int
    state: MachineState
    sample: MachineSample
    held: tuple[int, ...]  # seeds, by thread


class Samples:
    """Writes the samples of one machine, which are only what has changed, and thins what is old."""

    def __init__(self) -> None:
        self._last: Look | None = None
        self._at: Millis = 0
        self._thinned_at: Millis = 0
        self._own = _Walks()
        self._ended = _Walks()
        self._ended_id: int | None = None

    def is_due(self, now: Millis, started_at: Millis, state: MachineState, threads: int) -> bool:
        """Tell whether a sample is to be taken: at first with each beat, then every SAMPLE_EVERY and at changes."""
        if self._last is None or 0 <= now - started_at < SAMPLE_EVERY or state is MachineState.STOPPING:
            return True
        changed = (state, threads) != (self._last.state, len(self._last.held))
        return changed or not 0 <= now - self._at < SAMPLE_EVERY

    def record(self, connection: Connection, now: Millis, look: Look) -> None:
        """Write what has changed since the last sample that was `written`, and thin now and then."""
        key = {"machine_id": look.machine_id, "at": now}
        dialect = connection.dialect.name
        if self._last is None or look.sample != self._last.sample:
            row = key | look.sample._asdict()
            connection.execute(inserting_new(machine_statistics, dialect), row)  # there may be two in a ms
        if look.held and (self._last is None or look.held != self._last.held):
            rows = [key | {"thread": number, "seeds_held": seeds} for number, seeds in enumerate(look.held)]
            connection.execute(inserting_new(thread_statistics, dialect), rows)
        if self._is_thinning_due(now, look):
            self._own.step(connection, look.machine_id, now)
            self._thin_ended(connection, look.machine_id, now)

    def written(self, now: Millis, look: Look) -> None:
        """Note that a sample is committed."""
        if self._last is None or self._is_thinning_due(now, look):
            self._thinned_at = now
        self._last = look
        self._at = now

    def _is_thinning_due(self, now: Millis, look: Look) -> bool:
        """Tell whether samples are to be thinned: every minute, and when the machine begins to stop."""
        if self._last is None:
            return False
        stops = look.state is MachineState.STOPPING and self._last.state is not MachineState.STOPPING
        return stops or not 0 <= now - self._thinned_at < THINNED_EVERY

    def _thin_ended(self, connection: Connection, machine_id: int, now: Millis) -> None:
        """Thin samples of machines that have ended; one whose row another has locked is passed over."""
        for _ in range(_ENDED_AT_A_TIME):
            if self._ended.are_over:
                self._ended_id = _ended_before(connection, self._ended_id or machine_id)
            if self._ended_id is None:
                return
            if lock_free(connection, select(machine.c.id), machine.c.id, [self._ended_id]):
                self._ended.step(connection, self._ended_id, now)
                if not self._ended.are_over:
                    return


class _Walks:
    """Thins both tables of a machine."""

    def __init__(self) -> None:
        self._all = _Walk(machine_statistics), _Walk(thread_statistics)
        self.are_over = True

    def step(self, connection: Connection, machine_id: int, now: Millis) -> None:
        """Thin a few samples."""
        for walk in self._all:
            walk.step(connection, machine_id, now)
        self.are_over = all(walk.is_over for walk in self._all)


class _Walk:
    """Goes through the samples of a machine in a table, a few at a time, again and again."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._from: Millis = 0
        self.is_over = True

    def step(self, connection: Connection, machine_id: int, now: Millis) -> None:
        """Delete what need not stay of the next few samples."""
        mine, at = self._table.c.machine_id == machine_id, self._table.c.at
        old = at >= self._from, at < now - _LEVELS[-1][0]
        query = select(at).where(mine, *old).group_by(at).order_by(at).limit(_AT_A_TIME)
        times = list(connection.scalars(query))
        for part in sliced(superseded(times, now), _DELETED):
            connection.execute(delete(self._table).where(mine, at.in_(part)))
        self.is_over = len(times) < _AT_A_TIME
        self._from = 0 if self.is_over else times[-1]


def superseded(times: Sequence[Millis], now: Millis) -> Iterator[Millis]:
    """Yield those of some times, which are in order, for which a later one stands: one a minute or an hour is left."""
    for earlier, later in pairwise(times):
        every = next((every for age, every in _LEVELS if now - later > age), 0)
        if every and earlier // every == later // every:
            yield earlier


def _ended_before(connection: Connection, machine_id: int) -> int | None:
    """Return the newest machine before this one that has ended; None: there is none, and the next look begins anew."""
    ended = machine.c.state.not_in(LIVING), machine.c.id < machine_id
    return connection.scalar(select(machine.c.id).where(*ended).order_by(machine.c.id.desc()).limit(1))
