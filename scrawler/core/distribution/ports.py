"""What a collector may ask of, and tell, the rest of its machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from scrawler.core.distribution.distributor import Collecting
from scrawler.core.party.site import SiteContext


@dataclass(frozen=True, slots=True)
class CollectorPorts:
    """Where things go from here; all are called under the turn and never block."""

    may_start: Callable[[], bool]  # whether requests may be started now
    may_probe: Callable[[SiteContext], bool]  # whether a site may start one although the network is down
    help_yourself: Callable[[Collecting[SiteContext]], None]  # take seeds from the queue (free competition)
    seeds_changed: Callable[[], None]  # to the distributor: seeds ended or came
    site_inactive: Callable[[Collecting[SiteContext]], None]  # to the distributor: a site could move
    wants_site: Callable[[Collecting[SiteContext]], bool]  # whether the distributor waits for that
    more_seeds: Callable[[SiteContext], None]  # to the selector
    site_released: Callable[[SiteContext], None]  # a site has gone back to the database
    grace: Callable[[], float]  # seconds for which what is in flight is waited for at the end
    failed: Callable[[BaseException], None]
