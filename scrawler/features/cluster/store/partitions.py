"""The partition as one machine sees it, and the table of slots that all machines read.

The table changes only by comparing versions: of two machines that see one come or go, the first writes it, and the
other one reads what the first has written. No lock is held, and nobody decides alone.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from threading import Lock
from typing import NamedTuple

from sqlalchemy import Connection, select, update

from scrawler.features.cluster.partition.maps import AnybodysMap, OwnerMap, owner_map, slots_of
from scrawler.features.cluster.partition.slots import NOBODY, assigned, next_taken, without
from scrawler.features.cluster.store.narrowing import Narrowing
from scrawler.features.cluster.store.tables import slot_table
from scrawler.model.machines import Living
from scrawler.model.partitions import PartitionKind
from scrawler.store.claims.partitions import Narrowed
from scrawler.store.claims.shares import PATIENCE, FairShare
from scrawler.store.engines.engine import Database
from scrawler.store.engines.faults import read_json
from scrawler.store.engines.rows import inserting_new

_TRIES = 20  # of a change that others come before


class SlotTable(NamedTuple):
    """Whose each slot is; version 0: the database has none of this kind yet."""

    version: int = 0
    machines: Mapping[int, int] = {}  # id -> weight of those among whom the slots are divided
    slots: tuple[int, ...] = ()  # ids of machines, or NOBODY


class SlotTables:
    """The tables of slots in the database, one for each kind of partition that needs one."""

    def __init__(self, database: Database) -> None:
        """Work on `database`."""
        self._database = database

    def version(self, kind: PartitionKind) -> int:
        """Return the version of a table, 0 where there is none."""
        query = select(slot_table.c.version).where(slot_table.c.kind == kind.value)
        return self._database.reading(lambda connection: connection.scalar(query) or 0)

    def read(self, kind: PartitionKind) -> SlotTable:
        """Return the table of a kind."""
        return self._database.reading(lambda connection: _read(connection, kind))

    def write(self, kind: PartitionKind, seen: int, machines: Mapping[int, int], slots: Sequence[int]) -> bool:
        """Write a table that was made from version `seen`; False: another one came first."""
        values = {"machines": json.dumps(machines), "slots": json.dumps(slots, separators=(",", ":"))}

        def work(connection: Connection) -> bool:
            if not seen:
                nothing = {"kind": kind.value, "version": 0, "machines": "{}", "slots": "[]"}
                connection.execute(inserting_new(slot_table, connection.dialect.name), nothing)
            same = slot_table.c.kind == kind.value, slot_table.c.version == seen
            changed = update(slot_table).where(*same).values(version=seen + 1, **values)
            return connection.execute(changed).rowcount > 0

        return self._database.retrying(work)


def _read(connection: Connection, kind: PartitionKind) -> SlotTable:
    query = select(slot_table.c.version, slot_table.c.machines, slot_table.c.slots)
    row = connection.execute(query.where(slot_table.c.kind == kind.value)).first()
    if row is None:
        return SlotTable()
    machines = {int(one): weight for one, weight in read_json(row.machines).items()}
    return SlotTable(row.version, machines, tuple(read_json(row.slots)))


class MappedPartition:
    """Who owns which site, as this machine knows it: `owners`, which is replaced whenever that has changed.

    `follow` is called by the thread of the heartbeats, `take_next` by the one that claims; anybody may read `owners`.
    """

    def __init__(self, database: Database, machine_id: int, kind: PartitionKind) -> None:
        """Speak for `machine_id`. Until it has followed once, any site is anybody's."""
        self.machine_id = machine_id
        self.kind = kind  # the machine changes it while it runs, as users do
        self.owners: OwnerMap = AnybodysMap()
        self._tables = SlotTables(database)
        self._changing = Lock()  # held while nothing is waited for
        self._table = SlotTable()
        self._living = Living()
        self._known = PartitionKind.INDEPENDENT, 0, 0  # kind, living and table from which `owners` was made
        self._database = database
        self._narrowing = Narrowing(machine_id)
        self._share = FairShare(machine_id)
        self._modest_since: float | None = None  # when the next subset was first left to others

    @property
    def version(self) -> tuple[str, int, int]:
        """What `owners` was made from: the same on each machine that sees the same."""
        return self._known

    @property
    def is_open(self) -> bool:
        """Whether any site is anybody's."""
        return self.owners.is_open

    def is_mine(self, site_key: str) -> bool:
        """Tell whether this machine may claim a site, and keep it."""
        owners = self.owners
        return owners.is_open or owners.owner(site_key) == self.machine_id

    def follow(self, living: Living) -> bool:
        """Take in which machines live; return whether `owners` is another one than before. Raises StoreBusyError."""
        kind = self.kind
        table = self._kept_table(kind, living) if slots_of(kind) else SlotTable()
        return self._install(kind, living, table)

    def narrowed(self, wanted: int, machines: int, seats_elsewhere: int) -> list[Narrowed] | None:
        """Return up to `wanted` open sites that are this machine's: read only, none is locked.

        A machine that finds none in a dynamic partition makes further subsets its own, until one has a site.
        """
        while True:
            owners = self.owners
            if owners.is_open:
                return None

            def look(connection: Connection, owners: OwnerMap = owners) -> list[Narrowed]:
                return self._narrowing.look(connection, owners, wanted)

            found = self._database.reading(look)
            if found or not self._narrowing.is_through or not self._may_take_next(machines, seats_elsewhere):
                return found
            if not self.take_next():
                return []

    def forget(self, ids: Iterable[int]) -> None:
        """Take sites off what is remembered: they were claimed, or somebody else has them."""
        self._narrowing.forget(ids)

    def _may_take_next(self, machines: int, seats_elsewhere: int) -> bool:
        """Whether a dynamic partition's next subset is this machine's, and not left to one with fewer sites."""
        if self.kind is not PartitionKind.DYNAMIC:
            return False
        allowed = self._database.reading(
            lambda connection: self._share.allowed(connection, 1, machines, seats_elsewhere)
        )
        now = time.monotonic()
        if allowed:
            self._modest_since = None
        elif self._modest_since is None:
            self._modest_since = now
        return self._modest_since is None or now - self._modest_since >= PATIENCE

    def take_next(self) -> bool:
        """Make the next subset of a dynamic partition this machine's; False: all have been given out."""
        kind = self.kind
        if kind is not PartitionKind.DYNAMIC:
            return False
        for _ in range(_TRIES):
            table = self._tables.read(kind)
            slots = next_taken(table.slots, self.machine_id)
            if slots is None:
                return False
            if self._tables.write(kind, table.version, table.machines, slots):
                self._install(kind, self._living, table._replace(version=table.version + 1, slots=slots))
                return True
        return False

    def _kept_table(self, kind: PartitionKind, living: Living) -> SlotTable:
        """Return the table as it is, once it holds for the machines that live now."""
        weights = living.weights()
        table = self._table
        for _ in range(_TRIES):
            if table.version == 0 or kind is not self._known[0] or self._tables.version(kind) != table.version:
                table = self._tables.read(kind)
            if not weights or table.machines == weights:
                break
            slots = table.slots or tuple(NOBODY for _ in range(slots_of(kind)))
            slots = without(slots, weights) if kind is PartitionKind.DYNAMIC else assigned(slots, weights)
            if self._tables.write(kind, table.version, weights, slots):
                table = SlotTable(table.version + 1, weights, slots)
                break
            table = SlotTable()
        return table

    def _install(self, kind: PartitionKind, living: Living, table: SlotTable) -> bool:
        known = kind, living.version, table.version
        with self._changing:
            if known == self._known or (kind is self._known[0] and table.version < self._known[2]):
                return False
            self._known, self._living, self._table = known, living, table
            self.owners = owner_map(kind, living, table.slots)
        return True
