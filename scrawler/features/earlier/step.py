"""The step of earlier crawls: pages are asked for only if they have changed, and payloads are looked for there."""

from __future__ import annotations

from typing import cast

from scrawler.archive.record import RevisitOf
from scrawler.core.answers.steps import Want
from scrawler.core.party.flights import PageFlight
from scrawler.core.party.site import SiteContext
from scrawler.features.earlier.known import EarlierSite
from scrawler.features.earlier.restoring import restored
from scrawler.features.earlier.sites import EarlierSites
from scrawler.fetch.downloader import Response
from scrawler.model.claims import ClaimedSite


class EarlierStep:
    """Knows of each site what earlier crawls have archived."""

    at: int
    wants: frozenset[Want] = frozenset()

    def __init__(self, sites: EarlierSites) -> None:
        self._sites = sites

    def site_state(self, site: SiteContext, claimed: ClaimedSite) -> EarlierSite:
        """Return what is known of a site; in later rounds of its seeds this crawl knows the pages itself."""
        return self._sites.of_site(claimed.key, any(not seed.round for seed in claimed.seeds))

    def conditions(self, flight: PageFlight) -> tuple[tuple[str, str], ...]:
        """Return the headers by which a page is asked for only if it has changed since."""
        return self._of_site(flight.site).conditions(flight.entry.url)

    def restore(self, flight: PageFlight, response: Response) -> Response:
        """Return an answer with what the archive has of the page that has not changed."""
        return restored(self._of_site(flight.site), flight.entry.url, response)

    def find_copy(self, flight: PageFlight, response: Response, payload_digest: bytes) -> RevisitOf | None:
        """Return the record that holds a payload; it is read, unless the server has said that it has not changed."""
        # What was lost is to be archived whole, and so is what is tried again: the earlier record may be why.
        if flight.lane.ordered or flight.lane.key.retries:
            return None
        recalled, known = response.recalled, flight.known
        if recalled is not None:
            return RevisitOf(recalled.payload_url, recalled.payload_at)
        if known is not None and known.digest == payload_digest:
            return None
        return self._of_site(flight.site).record_of(payload_digest, response.body)

    def _of_site(self, site: SiteContext) -> EarlierSite:
        return cast(EarlierSite, site.state_of(self.at))
