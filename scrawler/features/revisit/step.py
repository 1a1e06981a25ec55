"""The step of visits again: it is there in each crawl, and loads what it needs where a URL is visited again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, cast

from scrawler.core.answers.page_read import PageRead
from scrawler.core.answers.steps import Want
from scrawler.core.party.context import SeedContext
from scrawler.core.party.flights import PageFlight
from scrawler.core.party.site import SiteContext
from scrawler.core.rules import CrawlRules
from scrawler.features.revisit.publishing import CHANGE_LIST
from scrawler.features.revisit.settings import RevisitSettings
from scrawler.features.revisit.states import PartyVisits, SiteVisits
from scrawler.fetch.downloader import Response
from scrawler.model.claims import ClaimedSite
from scrawler.model.results import PageFlag
from scrawler.model.rows import PageRow
from scrawler.model.visits import KnownVisit

if TYPE_CHECKING:
    from scrawler.features.revisit.visiting import PageFound, Visiting


class RevisitStep:
    """Notes what a visit has found of a URL, where its party's are visited again."""

    at: int
    wants: frozenset[Want] = frozenset()

    def __init__(self, rules: CrawlRules, make_visiting: Callable[[], Visiting]) -> None:
        """`make_visiting` makes what does the work, once a site is taken up whose URLs may be visited again."""
        self._rules = rules
        self._make_visiting = make_visiting

    @cached_property
    def _visiting(self) -> Visiting:
        return self._make_visiting()

    def site_state(self, site: SiteContext, claimed: ClaimedSite) -> SiteVisits | None:
        """Return what is learned of a site, where URLs of it may become due again."""
        own = RevisitSettings.of((site.own_rules or self._rules).settings)
        may_be_due = site.visited is not None or own.revisit != "off" or own.keep
        return SiteVisits(site.id) if may_be_due else None

    def party_state(self, site: SiteContext, party: SeedContext) -> PartyVisits | None:
        """Return how the URLs of a party become due again, if they do; in a later round its limits begin anew."""
        of_site = self._of_site(site)
        if of_site is None and site.visited is not None:  # since it was taken up a URL was sent that is known
            of_site = SiteVisits(site.id)
        return None if of_site is None else self._visiting.take_up(site, party, of_site)

    def look_up(self, seed_id: int, urls: Sequence[str], after_lists: bool) -> Mapping[str, KnownVisit]:
        """Return what is known of URLs by their visits, and what lists say of them where these are read before."""
        return self._visiting.look_up(seed_id, urls, after_lists)

    def read(self, flight: PageFlight, response: Response, page: PageRead) -> None:
        """Read by what a page is compared with that of other visits."""
        sitemap = page.sitemap
        if sitemap is not None and sitemap.capability == CHANGE_LIST and not sitemap.until:
            page.flags |= PageFlag.CHANGE_LIST  # what is over need not be read again
        visits = self._of_party(flight.party)
        if visits is not None or flight.known is not None:
            page.found[self.at] = self._visiting.read(flight, response, page, visits)

    def finish(self, flight: PageFlight, row: PageRow, response: Response | None, page: PageRead | None) -> PageRow:
        """Note what is known of a URL from now on, and what of it has changed."""
        visits = self._of_party(flight.party)
        if visits is None:
            if flight.known is None:
                return row
            visits = self._visiting.begin(flight.site)
            flight.party.keep_state(self.at, visits)
        found = cast("PageFound | None", page.found[self.at]) if page is not None and page.found else None
        if found is not None and page is not None and page.links is not None:
            row = row._replace(simhash=found.simhash)
        return self._visiting.finish(flight, row, response, visits, self._of_site(flight.site), found)

    def _of_party(self, party: SeedContext) -> PartyVisits | None:
        return cast("PartyVisits | None", party.state_of(self.at))

    def _of_site(self, site: SiteContext) -> SiteVisits | None:
        return cast("SiteVisits | None", site.state_of(self.at))
