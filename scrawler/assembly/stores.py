"""The parts of the store that a machine uses."""

from __future__ import annotations

from dataclasses import dataclass

from scrawler.assembly.building import Building
from scrawler.core.clock import DatabaseClock
from scrawler.store.claims.boundary import CrawlBoundary
from scrawler.store.claims.claims import Claims
from scrawler.store.claims.errands import ErrandTurns
from scrawler.store.claims.partitions import Partition
from scrawler.store.claims.seeds import Seeds
from scrawler.store.claims.servers import Servers
from scrawler.store.claims.slow import SlowSeeds
from scrawler.store.claims.suspects import Suspects
from scrawler.store.commit.checkpoints import Checkpoints
from scrawler.store.commit.externals import Externals
from scrawler.store.commit.inboxes import Inboxes
from scrawler.store.commit.robots import RobotsCopies
from scrawler.store.engines.engine import Database
from scrawler.store.lists.frontier import Frontier


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
    errand_turns: ErrandTurns
    suspects: Suspects
    externals: Externals
    boundary: CrawlBoundary
    inboxes: Inboxes
    slow: SlowSeeds
    clock: DatabaseClock
    partition: Partition  # who owns which site

    @classmethod
    def of(cls, building: Building) -> Stores:
        """Make the parts for one machine."""
        database, machine_id = building.database, building.machine_id
        checkpoints = building.make_checkpoints(database, machine_id, building.externals)
        for writer in building.writers:
            checkpoints.add_feature(writer)
        return cls(
            database=database,
            claims=building.make_claims(database, machine_id, building.partition),
            checkpoints=checkpoints,
            frontier=Frontier(database),
            seeds=Seeds(database),
            robots=RobotsCopies(database),
            servers=Servers(database, machine_id),
            errand_turns=ErrandTurns(database, machine_id),
            suspects=Suspects(database),
            externals=building.externals,
            boundary=building.boundary,
            inboxes=building.inboxes,
            slow=SlowSeeds(database),
            clock=DatabaseClock(),
            partition=building.partition,
        )
