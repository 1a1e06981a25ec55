"""What a collector's sites have done, on its way to the checkpointer. Guarded by the machine's turn.

Of a site that lists a page part by part nothing is handed over until its end: whoever takes the site over after a kill
finds all of that page, or nothing, and no part of it counts twice.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from scrawler.core.party.context import SeedContext
from scrawler.core.party.site import SiteContext
from scrawler.core.rules import CrawlRules
from scrawler.model import SiteDelta


class Handover:
    """Hands over the changes of sites: at each checkpoint, earlier where they are many, and with their release."""

    def __init__(self, submit: Callable[[SiteDelta], None], rules: CrawlRules) -> None:
        self._submit, self._rules = submit, rules
        self.checkpoint_at = time.monotonic() + rules.checkpoint_interval

    def changes(self, site: SiteContext, now: float) -> None:
        """Hand over what a site has not yet handed over, unless a page of it is listed in part."""
        if site.listing:
            return
        delta = site.take_delta(now)
        if delta is not None and not site.lost:
            self._submit(delta)

    def changes_if_many(self, site: SiteContext, party: SeedContext) -> None:
        """Do not wait for the checkpoint when a party has as many rows as one may hold."""
        if party.weight >= self._rules.checkpoint_rows:
            self.changes(site, time.monotonic())

    def checkpoint(self, sites: Iterable[SiteContext], now: float) -> None:
        """Hand over the changes of all sites, as is to be done at `checkpoint_at`."""
        for site in sites:
            self.changes(site, now)
        self.checkpoint_at = now + self._rules.checkpoint_interval

    def release(self, site: SiteContext, now: float, resting: bool = False) -> None:
        """Give a site back to the database."""
        delta = site.take_delta(now, released=True, resting=resting)
        if delta is not None and not (site.lost or site.listing):
            self._submit(delta)
        site.seen.close()
