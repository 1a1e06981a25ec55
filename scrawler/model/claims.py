"""What a machine gets when it asks the store for work."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import count
from typing import NamedTuple

from scrawler.model.seeds import Seed
from scrawler.model.terms import Millis
from scrawler.model.windows import Window


class SiteState(StrEnum):
    """Life of a site: ready (or resting before it is) -> active (owned by a machine) -> ready, resting or done.

    What guests do at a site has a row of its own, whose life is: guest -> visited (by a machine) -> guest or left.
    """

    READY = "ready"  # the site has seeds that are ready or active, and no owner
    RESTING = "resting"  # the site is ready from the end of its rest on: a server has asked for time
    ACTIVE = "active"  # a machine owns the site
    DONE = "done"  # no seed of the site is ready or active
    GUEST = "guest"  # parties of guests wait for a machine that has nothing else to do
    VISITED = "visited"  # a machine is there as a guest: it owns this row, and that of the site itself
    LEFT = "left"  # no party of guests is ready or active


@dataclass(frozen=True, slots=True)
class ClaimedSite:
    """A site that this machine now owns, with the seeds it is to crawl first."""

    id: int
    key: str
    token: int
    next_due_at: Millis
    seeds: tuple[Seed, ...]
    fresh: bool  # whether no party of it was ever begun, so that there are no lanes and chunks to read
    pause_ms: int = 0  # pause between two requests that its last owner kept
    pushbacks: int = 0  # times that it has refused in a row
    slowest_ms: int = 0  # its slowest answer so far; 0: it has given none
    after_death: bool = False  # whether its owner died, which may have asked it after the last checkpoint
    silent_since: Millis = 0  # its dead owner can have asked nothing after this time of the database's clock
    guest_at: int = 0  # the id of the site itself, where this is the row of its guests
    window: Window | None = None  # in which its owner wants it to be asked; None: at any time


@dataclass(frozen=True, slots=True)
class WorkLeft:
    """Seeds of the crawl by state: the crawl has ended when all but done are 0."""

    ready: int
    active: int
    done: int
    slow: int = 0


@dataclass(frozen=True, slots=True)
class Resting:
    """The sites of the crawl that are left alone for a while, because they asked for that or did not answer."""

    sites: int = 0
    next_ms: int = 0  # milliseconds until the first of them may be asked again


class HeldSites(NamedTuple):
    """How many sites each machine that runs owns (id -> sites), and which of them this one is.

    `seats` are the seeds that each of them can hold; 0: it has not told yet. `urls` are the URLs that are left at
    their sites, as they have told.
    """

    me: int
    by_machine: Mapping[int, int]
    seats: Mapping[int, int]
    urls: Mapping[int, int]


def fair_level(held: Iterable[int], free: int) -> int:
    """Return up to how many sites a machine may own so that `free` sites go to those that have the fewest.

    It is the smallest number with room for all of them below it, where machines own so many sites as `held` says: the
    free ones are dealt out as water fills vessels. At least one machine is needed.
    """
    owned = sorted(held)
    below = 0
    for number in count(1):
        below += owned[number - 1]
        level = -(-(free + below) // number)
        if number == len(owned) or level <= owned[number]:
            return level
    raise AssertionError


def enough_for_all(wanted: int, machines: int, seats_elsewhere: int) -> int:
    """Return of how many free sites a machine may take `wanted` without a look at what the others have.

    Each of the others finds as many then, and enough to fill its seats: who has filled its own, and wants a few sites
    more for its queue, shall not take them from one that is about to begin.
    """
    return wanted + max(wanted * (machines - 1), seats_elsewhere)
