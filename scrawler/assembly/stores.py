"""The parts of the store that a machine uses."""

from __future__ import annotations

from scrawler.agents.partition import AgentPartition
from scrawler.core.clock import DatabaseClock
from scrawler.model.partitions import PartitionKind
from scrawler.store.agents import AgentCheckpoints, AgentClaims
from scrawler.store.boundary import CrawlBoundary
from scrawler.store.checkpoints import Checkpoints
from scrawler.store.claims import Claims
from scrawler.store.engine import Database
from scrawler.store.externals import Externals
from scrawler.store.frontier import Frontier
from scrawler.store.guests import GuestInboxes, Visits
from scrawler.store.inboxes import Inboxes
from scrawler.store.partitions import Partition
from scrawler.store.robots import RobotsCopies
from scrawler.store.seeds import Seeds
from scrawler.store.servers import Servers
from scrawler.store.slow import SlowSeeds
from scrawler.store.suspects import Suspects
from scrawler.tuples.classes import dataclass


@dataclass(frozen=True, slots=True)
class Stores:
    """The parts of the store that a machine uses."""

    database: Database
    claims: Claims
    checkpoints: Checkpoints
    frontier: Frontier
    seeds: Seeds
    robots: RobotsCopies
    servers: Servers
    suspects: Suspects
    externals: Externals
    boundary: CrawlBoundary
    inboxes: Inboxes
    guest_inboxes: GuestInboxes
    visits: Visits
    slow: SlowSeeds
    clock: DatabaseClock
    partition: Partition  # who owns which site

    @classmethod
    def of(
        cls,
        database: Database,
        machine_id: int,
        externals: Externals,
        boundary: CrawlBoundary,
        inboxes: Inboxes,
        guest_inboxes: GuestInboxes,
        partition: Partition | None = None,
    ) -> Stores:
        """Make the parts for one machine; `externals` are where its external URLs go.

        Without `partition` any site is open to any machine.
        """
        partition = partition or Partition(database, machine_id, PartitionKind.INDEPENDENT)
        claims, checkpoints = Claims(database, machine_id, partition), Checkpoints(database, machine_id, externals)
        if isinstance(partition, AgentPartition):
            claims = AgentClaims(database, machine_id, partition, partition.claiming)
            checkpoints = AgentCheckpoints(database, machine_id, externals, boundary.scope)
        return cls(
            database=database,
            claims=claims,
            checkpoints=checkpoints,
            frontier=Frontier(database),
            seeds=Seeds(database),
            robots=RobotsCopies(database),
            servers=Servers(database, machine_id),
            suspects=Suspects(database),
            externals=externals,
            boundary=boundary,
            inboxes=inboxes,
            guest_inboxes=guest_inboxes,
            visits=Visits(database, machine_id),
            slow=SlowSeeds(database),
            clock=DatabaseClock(),
            partition=partition,
        )
