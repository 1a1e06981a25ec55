"""The partition of an agent: a site is its own where the ring of its view says so, and nobody else's word counts."""

from __future__ import annotations

from threading import Lock

from scrawler.features.cluster.agents.views import View
from scrawler.features.cluster.store.partitions import MappedPartition
from scrawler.model.machines import Living
from scrawler.model.partitions import PartitionKind
from scrawler.store.engines.engine import Database

_ANOTHERS = 0  # no machine has this id


class AgentMap:
    """A view, as a machine's own database knows machines: by its id, or another's."""

    is_open = False

    def __init__(self, view: View, name: str, machine_id: int) -> None:
        self.view = view
        self._name = name
        self._machine_id = machine_id

    def owner(self, site_key: str) -> int:
        """Return the machine's id where the site is this agent's."""
        return self._machine_id if self.view.owner(site_key) == self._name else _ANOTHERS

    def shares(self) -> dict[int, float]:
        """Return this agent's part of all possible sites."""
        return {self._machine_id: self.view.shares().get(self._name, 0.0)}


class AgentPartition(MappedPartition):
    """Who owns which site, as an agent's machine knows it.

    Whoever claims holds `claiming` meanwhile, so that with another view no claim by the one before is still being made.
    """

    def __init__(self, database: Database, machine_id: int, name: str, view: View) -> None:
        """Begin with a view; the machine has to let go of what is another's in it."""
        super().__init__(database, machine_id, PartitionKind.CONSISTENT)
        self.name = name
        self.claiming = Lock()
        self.map = AgentMap(view, name, machine_id)
        self.owners = self.map
        self.moving = True  # sites may be here that are another's by this view

    def install(self, view: View) -> bool:
        """Go over to another view; False: a claim is being made, try again soon."""
        if not self.claiming.acquire(timeout=0):
            return False
        try:
            self.map = AgentMap(view, self.name, self.machine_id)
            self.owners = self.map
            self.moving = True
        finally:
            self.claiming.release()
        return True

    def follow(self, living: Living) -> bool:
        """Return whether sites of others may still be here, with each heartbeat of the machine anew."""
        return self.moving

    def take_next(self) -> bool:
        """Leave subsets alone: there are none."""
        return False
