"""Hosts that were well just now, by which the death of many is told from that of the own network. Under the turn.

Remembered are the newest ones only, so that a look at them takes no longer with a hundred thousand sites in work.
"""

from __future__ import annotations

from scrawler.core.outage.silence import Silence
from scrawler.core.party.site import SiteContext

_MOST = 100


class Witnesses:
    """Sites that have answered, the last one at each of so many addresses."""

    def __init__(self) -> None:
        self._sites: dict[str, SiteContext] = {}  # by address or, where it is not known yet, by key

    def answered(self, address: str, site: SiteContext) -> None:
        """Note that somebody has answered; called for each page."""
        self._sites[address] = site
        if len(self._sites) > _MOST:
            del self._sites[next(iter(self._sites))]

    def came(self, site: SiteContext) -> None:
        """Note a site that a collector takes up: it may have answered an earlier owner."""
        if site.slowest_ms:
            self.answered(site.address() or site.key, site)

    def well(self, failing: Silence) -> int:
        """Count hosts of sites in work that are well, at different addresses, or have just begun to fail."""
        known = ((site.address() or site.key, site) for site in self._sites.values() if site.collector is not None)
        return len({address for address, site in known if not site.health.failures or address in failing})
