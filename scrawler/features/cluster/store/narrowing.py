"""Which open sites are this machine's, where a partition says so: read in the order of ids, from a remembered place.

A claim does not look through the sites of all others anew. What a lap has passed by is read again in the next lap only,
and a lap is followed by a rest in proportion to what it took, in which only new sites are looked at.
Another map begins a lap at once: what was somebody else's may be ours now. Where a map has slots, it does so only if
this machine has other slots than before; and what was seen of slots that were nobody's is remembered, so that a machine
that takes the next subset of a dynamic partition need not look for its sites.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from itertools import islice

from sqlalchemy import ColumnElement, Connection, select

from scrawler.features.cluster.partition.maps import OwnerMap, SlotMap
from scrawler.store.claims.partitions import Narrowed
from scrawler.store.claims.sites import open_sites
from scrawler.store.schema.tables import site

_PAGE = 2_000  # sites that one query reads
_PAGES = 10  # queries of one look at one source
_MOST_SPARE = 200_000  # sites of slots that are nobody's which are remembered
_REST = 50  # a lap is followed by a rest so many times as long ...
_LONGEST_REST = 10.0  # ... but of no more seconds than this


class Narrowing:
    """Finds what one machine may claim; used by one thread at a time."""

    def __init__(self, machine_id: int) -> None:
        """Speak for `machine_id`."""
        self._machine_id = machine_id
        self._owners: OwnerMap | None = None
        self._slots: frozenset[int] = frozenset()  # this machine's, where the map has any
        self._spare: dict[int, list[int]] = {}  # slot that is nobody's -> free sites that were passed by in this lap
        self._watched: frozenset[int] = frozenset()  # the slots of which `_spare` has all
        self._spare_number = 0
        self._mine: dict[int, None] = {}  # free sites that were found, in order; fewer than are wanted and _PAGE more
        self._after = 0  # the free sites up to this id have been looked at in this lap
        self._lap_took = 0.0  # seconds of this lap so far
        self._rests_until = 0.0  # monotonic seconds; 0: a lap is being made
        self.is_through = False  # whether the last look has left nothing unseen, and returned all

    def look(self, connection: Connection, owners: OwnerMap, wanted: int) -> list[Narrowed]:
        """Return up to `wanted` open sites of this machine, those whose owners are gone before free ones; lock none."""
        if owners is not self._owners:
            self._change_to(owners)
        found: list[Narrowed] = []
        self.is_through = True
        for source in open_sites(connection, self._machine_id):
            missing = wanted - sum(len(one.ids) for one in found)
            look = self._left_behind if source.after_death else self._free
            found.append(Narrowed(source, look(connection, owners, source.condition, missing)))
        return [one for one in found if one.ids]

    def forget(self, ids: Iterable[int]) -> None:
        """Take sites off what is remembered: they were claimed, or somebody else has them."""
        for identity in ids:
            self._mine.pop(identity, None)

    def _change_to(self, owners: OwnerMap) -> None:
        self._owners = owners
        slots = owners.slots_of(self._machine_id) if isinstance(owners, SlotMap) else frozenset()
        gained = slots - self._slots
        knows_all = bool(slots) and self._slots <= slots and gained <= self._watched
        self._slots = slots
        if not knows_all:
            self._mine.clear()
            self._begin_lap()
            return
        for slot in gained:
            self._mine.update(dict.fromkeys(self._spare.pop(slot, ())))
        self._watched &= _nobodys(owners)  # what was another machine's meanwhile has not been remembered

    def _left_behind(
        self, connection: Connection, owners: OwnerMap, condition: ColumnElement[bool], wanted: int
    ) -> list[int]:
        ids: list[int] = []
        after = 0
        for _ in range(_PAGES):
            rows = _keys(connection, condition, after)
            ids += self._of_mine(owners, rows)
            if len(rows) < _PAGE and len(ids) <= wanted:
                return ids
            if len(ids) >= wanted:
                break
            after = rows[-1][0]
        self.is_through = False
        return ids[:wanted]

    def _free(self, connection: Connection, owners: OwnerMap, condition: ColumnElement[bool], wanted: int) -> list[int]:
        for _ in range(_PAGES):
            if len(self._mine) >= wanted:
                break
            began = time.monotonic()
            if 0 < self._rests_until <= began:
                self._begin_lap()
            rows = _keys(connection, condition, self._after)
            mine = self._of_mine(owners, rows)
            self._remember(owners, rows)
            self._mine.update(dict.fromkeys(mine))
            if rows:
                self._after = rows[-1][0]
            self._lap_took += time.monotonic() - began
            if len(rows) < _PAGE:
                self._end_lap()
                return self._first(wanted)
        self.is_through = False
        return self._first(wanted)

    def _first(self, wanted: int) -> list[int]:
        return list(islice(self._mine, max(0, wanted)))

    def _of_mine(self, owners: OwnerMap, rows: list[tuple[int, str]]) -> list[int]:
        return [identity for identity, key in rows if owners.owner(key) == self._machine_id]

    def _remember(self, owners: OwnerMap, rows: list[tuple[int, str]]) -> None:
        """Keep what is nobody's, for the moment when this machine takes its slot."""
        if not self._watched or not isinstance(owners, SlotMap):
            return
        for identity, key in rows:
            slot = owners.slot(key)
            if slot in self._watched:
                self._spare.setdefault(slot, []).append(identity)
                self._spare_number += 1
        if self._spare_number > _MOST_SPARE:
            self._spare.clear()
            self._watched = frozenset()

    def _begin_lap(self) -> None:
        self._spare.clear()
        self._spare_number = 0
        self._watched = frozenset() if self._owners is None else _nobodys(self._owners)
        self._after = 0
        self._lap_took = self._rests_until = 0.0

    def _end_lap(self) -> None:
        """Rest; what comes above the last id is looked at meanwhile."""
        if not self._rests_until:
            self._rests_until = time.monotonic() + min(_REST * self._lap_took, _LONGEST_REST)


def _nobodys(owners: OwnerMap) -> frozenset[int]:
    return owners.slots_of(None) if isinstance(owners, SlotMap) else frozenset()


def _keys(connection: Connection, condition: ColumnElement[bool], after: int) -> list[tuple[int, str]]:
    """Read ids and keys of a source above an id, in order."""
    query = select(site.c.id, site.c.site_key).where(condition, site.c.id > after).order_by(site.c.id).limit(_PAGE)
    rows = connection.execute(query.with_hint(site, "FORCE INDEX (site_state)", "mysql"))
    return [(row[0], row[1]) for row in rows]
