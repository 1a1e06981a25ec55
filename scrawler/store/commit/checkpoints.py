"""Checkpoints: makes what the machine did durable, in one transaction for many sites, fenced by their tokens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any

from sqlalchemy import Connection, select, update

from scrawler.errors import LeaseLostError, StoreError
from scrawler.model.deltas import SiteDelta
from scrawler.model.machines import ENDING, Command, MachineState
from scrawler.store.claims.sites import ensure_sites, lock_sites
from scrawler.store.commit.batches import batch_of
from scrawler.store.commit.externals import AsCandidates, Externals
from scrawler.store.commit.row_writers import FeatureWriter, RowWriters
from scrawler.store.engines.engine import Database
from scrawler.store.engines.rows import AnyRow
from scrawler.store.schema.tables import machine


class _CommittedAlready(Exception):
    """An earlier try did commit, only its acknowledgement was lost."""


class Checkpoints:
    """Commits deltas for one machine; used by one thread at a time."""

    def __init__(self, database: Database, machine_id: int, externals: Externals | None = None) -> None:
        """Commit in the name of `machine_id`; external URLs go to `externals`, by default as candidate seeds."""
        self._database = database
        self._machine_id = machine_id
        self._committed: int | None = None  # checkpoints that are committed; None before it was asked
        self._tried = False  # whether the deltas at hand were about to be committed before: perhaps they were
        self._stale: frozenset[int] = frozenset()  # sites whose deltas that try has dropped
        self._rows = RowWriters(database, AsCandidates(database) if externals is None else externals)

    def add_feature(self, writer: FeatureWriter) -> None:
        """Let a feature write the rows of its kinds itself."""
        self._rows.add_feature(writer)

    def commit(self, deltas: Sequence[SiteDelta]) -> frozenset[int]:
        """Write all deltas in one transaction; return the ids of the sites whose token was no longer valid.

        The delta of such a site is dropped whole, the others are written.

        Raises:
            LeaseLostError: this machine was declared dead; nothing was written.
            StoreBusyError: commit the same deltas again, before any others. They may have been written: then nothing
                is written twice.
            StoreError: the database refuses; nothing was written.
        """
        if not deltas:
            return frozenset()
        if self._committed is None:
            self._committed = self._database.reading(self._checkpoints_so_far)
        number = self._committed

        def work(connection: Connection) -> None:
            if self._tried:  # first: rows that are there would be refused
                self._look_back(connection, number)
            targets = self._targets(connection, deltas)
            rows = lock_sites(connection, chain(self._locked(deltas), targets.values()))
            dropped = frozenset(one.site_id for one in deltas if not self._owns(rows.get(one.site_id), one))
            valid = [delta for delta in deltas if delta.site_id not in dropped]
            batch = batch_of(connection, valid, targets)
            self._rows.write(batch)
            self._count(connection, number, batch.done)
            self._tried, self._stale = True, dropped

        with suppress(_CommittedAlready):
            self._database.retrying(work)
        self._committed, self._tried = number + 1, False
        return self._stale

    def _look_back(self, connection: Connection, number: int) -> None:
        """Raise _CommittedAlready if the try before did commit, once it is known whether it did."""
        mine = select(machine.c.checkpoints).where(machine.c.id == self._machine_id).with_for_update()
        if connection.scalar(mine) not in (number, None):
            raise _CommittedAlready

    def _checkpoints_so_far(self, connection: Connection) -> int:
        found = connection.scalar(select(machine.c.checkpoints).where(machine.c.id == self._machine_id))
        if found is None:
            raise StoreError(f"machine {self._machine_id} is not in the database {self._database.where}")
        return int(found)

    def _locked(self, deltas: Sequence[SiteDelta]) -> Iterable[int]:
        """Return the sites that are written, and no others."""
        return (delta.site_id for delta in deltas)

    def _targets(self, connection: Connection, deltas: Sequence[SiteDelta]) -> dict[str, int]:
        """Return the sites to which seeds move, by key; made before any is locked, to lock all in one order."""
        keys = {one.rehoming.site_key for delta in deltas for one in delta.seeds if one.rehoming}
        return ensure_sites(connection, keys, self._database.compiler)[0] if keys else {}

    def _owns(self, row: AnyRow | None, delta: SiteDelta) -> bool:
        return row is not None and (row.owner, row.token) == (self._machine_id, delta.token)

    def _count(self, connection: Connection, number: int, done: Counter[str]) -> None:
        """Add to the machine's totals, last of all: its heartbeat writes the same row and shall not wait for long."""
        totals: dict[str, Any] = {name: machine.c[name] + times for name, times in done.items()}
        totals["checkpoints"] = number + 1
        mine = update(machine).where(
            machine.c.id == self._machine_id,
            machine.c.checkpoints == number,
            machine.c.state != MachineState.DEAD.value,
        )
        if connection.execute(mine.values(totals)).rowcount == 0:
            row = connection.execute(
                select(machine.c.state, machine.c.wanted).where(machine.c.id == self._machine_id)
            ).one()
            if row.state == MachineState.DEAD:
                raise LeaseLostError("other machines took this one for dead", was_to_end=Command(row.wanted) in ENDING)
            raise StoreError(f"another program commits for machine {self._machine_id}")
