"""The map of one moment: which machine owns which site.

A machine makes one with `owner_map` whenever `Living.version`, the kind or the table of slots has changed, and asks it
as often as it likes: a look-up takes neither a lock nor the network.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Protocol

from scrawler.features.cluster.partition.ring import Ring
from scrawler.features.cluster.partition.slots import LOGICAL_NODES, SUBSETS, first_word, slot_of
from scrawler.model.machines import Living
from scrawler.model.partitions import PartitionKind
from scrawler.model.terms import url_hash

_SLOTS = {
    PartitionKind.DYNAMIC: SUBSETS,
    PartitionKind.MODULO: LOGICAL_NODES,
    PartitionKind.SUBSITE: LOGICAL_NODES,
}


def slots_of(kind: PartitionKind) -> int:
    """Return how many entries the table of a kind has; 0: it has none."""
    return _SLOTS.get(kind, 0)


class OwnerMap(Protocol):
    """Who owns a site. It never changes: when machines come or go, there is another one."""

    @property
    def is_open(self) -> bool:
        """Whether anybody may claim any site, so that nothing has to be asked."""

    def owner(self, site_key: str) -> int | None:
        """Return the id of the living machine that owns the site; None: nobody does, or anybody may."""

    def shares(self) -> dict[int, float]:
        """Return what part of all possible sites each machine owns, by id; empty where any site is anybody's."""


class AnybodysMap:
    """Any machine may claim any site."""

    is_open = True

    def owner(self, site_key: str) -> int | None:
        """Return None."""
        return None

    def shares(self) -> dict[int, float]:
        """Return nothing."""
        return {}


class RingMap:
    """The owner is whose replica on the circle is nearest to the site."""

    is_open = False

    def __init__(self, living: Living) -> None:
        """Place the machines of `living` that may own sites, of which there is one at least."""
        owning = {one.identifier: one for one in reversed(living.owning())}  # of two with one name, the earlier
        self._ring = Ring({name: one.weight for name, one in owning.items()})
        self._ids = {name: one.id for name, one in owning.items()}

    def owner(self, site_key: str) -> int | None:
        """Return the id of the machine."""
        return self._ids[self._ring.nearest(int.from_bytes(url_hash(site_key)[:8], "big"))]

    def shares(self) -> dict[int, float]:
        """Return the parts of the circle."""
        return {self._ids[name]: share for name, share in self._ring.shares().items()}


class SlotMap:
    """The owner is the machine in whose name the site's slot stands in the table, if it lives."""

    is_open = False

    def __init__(self, table: Sequence[int], living: Living, by_first_word: bool = False) -> None:
        """Read `table`: slot -> id of a machine, NOBODY for none."""
        ids = {one.id for one in living.owning()}
        self._owners = [one if one in ids else None for one in table]
        self._by_first_word = by_first_word

    def owner(self, site_key: str) -> int | None:
        """Return the id of the machine; None: the slot is nobody's, or of a machine that is gone."""
        return self._owners[self.slot(site_key)]

    def slots_of(self, machine_id: int | None) -> frozenset[int]:
        """Return the slots of a machine; of None those that are nobody's."""
        return frozenset(slot for slot, owner in enumerate(self._owners) if owner == machine_id)

    def slot(self, site_key: str) -> int:
        """Return the slot of a site."""
        name = first_word(site_key) if self._by_first_word else site_key
        return slot_of(url_hash(name), len(self._owners))

    def shares(self) -> dict[int, float]:
        """Return the parts of the table."""
        counts = Counter(one for one in self._owners if one is not None)
        return {one: count / len(self._owners) for one, count in counts.items()}


def owner_map(kind: PartitionKind, living: Living, table: Sequence[int] = ()) -> OwnerMap:
    """Return who owns which site: the same for whoever sees the same machines and the same table.

    Without a table a kind that needs one, and any kind without a machine, is open to anybody.
    """
    if kind is PartitionKind.CONSISTENT and living.owning():
        return RingMap(living)
    if slots_of(kind) and table:
        return SlotMap(table, living, kind is PartitionKind.SUBSITE)
    return AnybodysMap()


def is_mine(owners: OwnerMap, site_key: str, machine_id: int) -> bool:
    """Tell whether a machine may claim a site."""
    return owners.is_open or owners.owner(site_key) == machine_id
