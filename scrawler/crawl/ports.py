"""What a collector may ask of, and tell, the rest of its machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scrawler.crawl.site import SiteContext
from scrawler.model import SiteDelta

if TYPE_CHECKING:
    from scrawler.crawl.collector import UrlCollector


@dataclass(frozen=True, slots=True)
class CollectorPorts:
    """Where things go from here; all are called under the turn and never block."""

    submit: Callable[[SiteDelta], None]
    may_start: Callable[[], bool]  # whether requests may be started now
    help_yourself: Callable[[UrlCollector], None]  # take seeds from the queue (free competition)
    seeds_changed: Callable[[], None]  # to the distributor: seeds ended or came
    site_inactive: Callable[[UrlCollector], None]  # to the distributor: a site could move
    wants_site: Callable[[UrlCollector], bool]  # whether the distributor waits for that
    more_seeds: Callable[[SiteContext], None]  # to the selector
    failed: Callable[[BaseException], None]
