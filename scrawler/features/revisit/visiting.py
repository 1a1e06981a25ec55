"""Visits within a crawl: what is known of URLs, by what pages are compared, and what a visit finds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from scrawler.core.answers.page_read import PageRead
from scrawler.core.party.context import SeedContext
from scrawler.core.party.decisions import is_cut_page
from scrawler.core.party.flights import PageFlight
from scrawler.core.party.site import SiteContext
from scrawler.core.rules import CrawlRules
from scrawler.extract.links import PageLinks
from scrawler.extract.simhash import fingerprint_of
from scrawler.features.revisit.lists import ListsStep
from scrawler.features.revisit.policies.demand import demand_of
from scrawler.features.revisit.policies.due import Wishes
from scrawler.features.revisit.policies.learning import SiteLearning, unpack_rates
from scrawler.features.revisit.policies.policy import Bounds
from scrawler.features.revisit.prints import print_of
from scrawler.features.revisit.shares import VisitShares
from scrawler.features.revisit.states import PartyVisits, SiteVisits
from scrawler.features.revisit.store.known import KnownVisits
from scrawler.features.revisit.visited import note_visit
from scrawler.features.revisit.wishes import near_of, policy_of, settings_at, wishes_of
from scrawler.fetch.downloader import Response
from scrawler.model.results import Result
from scrawler.model.rows import PageRow
from scrawler.model.visits import KnownVisit, known_visit


class PageFound(NamedTuple):
    """By what a page is compared with that of other visits, beside its digest: see `UrlState`."""

    simhash: int
    text_print: bytes


class Visiting:
    """What the step of visits does where URLs are visited again."""

    def __init__(self, rules: CrawlRules, known: KnownVisits, shares: VisitShares, lists: ListsStep | None) -> None:
        """`lists` has what change lists have told; None: none is read."""
        self._rules = rules
        self._known = known
        self._shares = shares
        self._lists = lists

    def take_up(self, site: SiteContext, party: SeedContext, of_site: SiteVisits) -> PartyVisits | None:
        """Return how the URLs of a party become due again, if they do; in a later round its limits begin anew."""
        own, seed = settings_at(site, self._rules), party.seed
        wishes = wishes_of(own).of_seed(self._known.seed_columns(seed.id))
        if site.visited is None and wishes.word == "off":
            return None
        if of_site.learning is None:
            of_site.learning = self._learning(site, wishes)
        before = self._known.counts_before(seed.id, seed.round - 1) if seed.round else None
        if before is not None:
            party.base, party.base_ms = before
        return PartyVisits(policy_of(wishes), near_of(own))

    def begin(self, site: SiteContext) -> PartyVisits:
        """Let what visits find be noted from now on: somebody has sent a URL that was visited before."""
        own = settings_at(site, self._rules)
        return PartyVisits(policy_of(wishes_of(own)), near_of(own))

    def look_up(self, seed_id: int, urls: Sequence[str], after_lists: bool) -> Mapping[str, KnownVisit]:
        """Return what is known of URLs by their visits, and what lists say of them where these are read before."""
        states = self._known.states(seed_id, urls)
        if not after_lists:
            return {state.url: known_visit(state) for state in states}
        published = self._known.published(seed_id, (state.url_hash for state in states))
        return {state.url: known_visit(state)._replace(published=published.get(state.url_hash)) for state in states}

    def read(self, flight: PageFlight, response: Response, page: PageRead, visits: PartyVisits | None) -> PageFound:
        """Read by what a page is compared with that of other visits."""
        links = page.links
        is_whole = response.result is Result.FETCHED or not is_cut_page(response)
        simhash = _simhash_of(links) if links is not None and is_whole else 0
        text_print = b""
        if response.result is Result.FETCHED:
            near = near_of(settings_at(flight.site, self._rules)) if visits is None else visits.near
            of_text = near is not None and page.sitemap is None and response.document is None
            most, ratio = self._rules.settings.max_decoded, self._rules.settings.max_ratio
            text_print = print_of(response.body, response.headers, page.media_type, most, ratio, of_text)
        return PageFound(simhash, text_print)

    def finish(
        self,
        flight: PageFlight,
        row: PageRow,
        response: Response | None,
        visits: PartyVisits,
        of_site: SiteVisits | None,
        found: PageFound | None,
    ) -> PageRow:
        """Note what is known of a URL from now on, and what of it has changed."""
        lists = None if self._lists is None else self._lists.of(flight.party)
        learning, told = None if of_site is None else of_site.learning, None if lists is None else lists.told
        text_print = b"" if found is None else found.text_print
        return note_visit(flight, row, response, visits, learning, told, text_print)

    def _learning(self, site: SiteContext, wishes: Wishes) -> SiteLearning:
        packed, cells = self._known.learned(site.id)
        if wishes.per_day is None:
            return self._shares.make_learning(unpack_rates(packed))
        bounds = Bounds(wishes.least_ms / 1000, max(wishes.least_ms, wishes.most_ms) / 1000)
        return self._shares.make_learning(unpack_rates(packed), own=demand_of(cells, wishes.per_day, bounds))


def _simhash_of(links: PageLinks) -> int:
    """Return the simhash of a page's words, with which those of the next visit are compared."""
    found = links.fingerprint
    if found is not None and found.simhash:
        return found.simhash
    return fingerprint_of(links.page, links.is_xml).simhash if links.page else 0
