"""Which sites are this machine's: any that it can have, or those that another way of dividing them says are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from scrawler.feature import part_of_feature
from scrawler.model.machines import Living
from scrawler.model.partitions import OPEN_KINDS, PartitionKind
from scrawler.store.claims.sites import Open
from scrawler.store.engines.engine import Database


class Narrowed(NamedTuple):
    """Sites that may be claimed, of one source."""

    source: Open
    ids: list[int]


class Partition(Protocol):
    """Whose sites are, as one machine knows it.

    `follow` is called by the thread of the heartbeats, `narrowed` and `forget` by the one that claims; the rest by any.
    """

    kind: PartitionKind  # the machine changes it while it runs, as users do

    @property
    def is_open(self) -> bool:
        """Whether any site is anybody's."""

    def is_mine(self, site_key: str) -> bool:
        """Tell whether this machine may claim a site, and keep it."""

    def follow(self, living: Living) -> bool:
        """Take in which machines live; return whether sites may have other owners now. Raises StoreBusyError."""

    def narrowed(self, wanted: int, machines: int, seats_elsewhere: int) -> list[Narrowed] | None:
        """Return up to `wanted` open sites that are this machine's, none of them locked; None: any site is anybody's.

        Of `machines` the others can hold `seats_elsewhere` seeds.
        """

    def forget(self, ids: Iterable[int]) -> None:
        """Take sites off what is remembered: they were claimed, or somebody else has them."""


class LivePartition:
    """The partition of the kind that is set: of any but an open one a feature's, which is loaded when it is set."""

    def __init__(self, database: Database, machine_id: int, kind: PartitionKind) -> None:
        """Speak for `machine_id`. Until it has followed once, any site is anybody's."""
        self.kind = kind
        self._database = database
        self._machine_id = machine_id
        self._divided: Partition | None = None

    @property
    def is_open(self) -> bool:
        """Whether any site is anybody's."""
        divided = self._divided
        return divided is None or divided.is_open

    def is_mine(self, site_key: str) -> bool:
        """Tell whether this machine may claim a site, and keep it."""
        divided = self._divided
        return divided is None or divided.is_mine(site_key)

    def follow(self, living: Living) -> bool:
        """Take in which machines live, and what kind is set. Raises SettingsError where no feature brings it."""
        kind, divided = self.kind, self._divided
        if kind in OPEN_KINDS:
            self._divided = None
            return divided is not None
        if divided is None:
            divided = part_of_feature("partition", kind.value)(self._database, self._machine_id, kind)
        divided.kind = kind
        has_changed = divided.follow(living)
        self._divided = divided
        return has_changed

    def narrowed(self, wanted: int, machines: int, seats_elsewhere: int) -> list[Narrowed] | None:
        """Return open sites that are this machine's; None: any site is anybody's."""
        divided = self._divided
        return None if divided is None else divided.narrowed(wanted, machines, seats_elsewhere)

    def forget(self, ids: Iterable[int]) -> None:
        """Take sites off what is remembered."""
        if (divided := self._divided) is not None:
            divided.forget(ids)
