"""What a machine gets when it asks the store for work."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from scrawler.model.seeds import Seed
from scrawler.model.terms import Millis


class SiteState(StrEnum):
    """Life of a site: ready (or resting before it is) -> active (owned by a machine) -> ready, resting or done."""

    READY = "ready"  # it has seeds that are ready or active, and no owner
    RESTING = "resting"  # as ready, from the end of its rest on: a server has asked for time
    ACTIVE = "active"  # a machine owns it
    DONE = "done"  # none of its seeds is ready or active


@dataclass(frozen=True, slots=True)
class ClaimedSite:
    """A site that this machine now owns, with the seeds it is to crawl first."""

    id: int
    key: str
    token: int
    next_due_at: Millis
    seeds: tuple[Seed, ...]
    fresh: bool  # no party of it was ever begun: no lanes, no chunks to read
    pause_ms: int = 0  # between two requests, as its last owner kept
    pushbacks: int = 0  # in a row
    slowest_ms: int = 0  # its slowest answer so far; 0: it has given none
    after_death: bool = False  # its owner did not give it back: it may have been asked after the last checkpoint
    silent_since: Millis = 0  # after death: its owner can have asked nothing later, by the database's clock


@dataclass(frozen=True, slots=True)
class WorkLeft:
    """Seeds of the crawl by state: the crawl has ended when all but done are 0."""

    ready: int
    active: int
    done: int
    slow: int = 0
