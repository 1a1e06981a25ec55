"""Change lists within a crawl (ResourceSync): they are read as sitemaps are, and tell which visits are spared."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import cast

from scrawler.core.answers.page_read import PageRead
from scrawler.core.answers.steps import Want
from scrawler.core.asking.checks import Answer, Refuse
from scrawler.core.party.context import SeedContext
from scrawler.core.party.entries import EntryRole
from scrawler.core.party.flights import PageFlight
from scrawler.core.party.parties import Choice
from scrawler.core.party.site import Origin, SiteContext
from scrawler.core.rules import CrawlRules
from scrawler.extract.sitemaps import Listed, Sitemap
from scrawler.features.revisit.kinds import PublishedRow, PublisherRow
from scrawler.features.revisit.publishing import (
    CAPABILITY_LIST,
    CHANGE_LIST,
    DELETED,
    DESCRIPTION,
    RESOURCE_LIST,
    WELL_KNOWN,
    UnreadLists,
    holds_pages,
    is_followed,
    named_on,
)
from scrawler.features.revisit.states import PartyLists
from scrawler.features.revisit.store.known import KnownVisits
from scrawler.features.revisit.told import Told
from scrawler.features.revisit.wishes import settings_at
from scrawler.fetch.downloader import Response
from scrawler.model.claims import ClaimedSite
from scrawler.model.results import PageFlag, Result
from scrawler.model.rows import PageRow
from scrawler.model.terms import url_hash


class ListsStep:
    """The step of change lists: what those of a party have told, and what that spares."""

    at: int
    wants: frozenset[Want] = frozenset()

    def __init__(self, rules: CrawlRules, known: KnownVisits) -> None:
        self._rules = rules
        self._known = known

    def reads(self, site: SiteContext) -> bool:
        """Tell whether the lists of a site are read."""
        return self.word(site) != "off"

    def word(self, site: SiteContext) -> str:
        """Return what is set for a site: off, told or ask."""
        return settings_at(site, self._rules).resourcesync

    def of(self, party: SeedContext) -> PartyLists | None:
        """Return what the lists of a party have told, if they are read."""
        return cast("PartyLists | None", party.state_of(self.at))

    def site_state(self, site: SiteContext, claimed: ClaimedSite) -> None:
        """Let pages of a site wait for its lists, where these are read."""
        site.reads_lists = self.reads(site)

    def party_state(self, site: SiteContext, party: SeedContext) -> PartyLists | None:
        """Return what the lists of a party have told so far."""
        if not self.reads(site):
            return None
        seed = party.seed
        row = self._known.publisher(seed.id) if seed.counts.requests else None
        is_fresh = not seed.round and not seed.counts.requests
        before = int(time.time() * 1000) if is_fresh else 0
        fresh_ms = int(settings_at(site, self._rules).resourcesync_interval * 1000)
        return PartyLists(seed.id, Told(row or PublisherRow(seed.id, 0, 0, 0, 0), fresh_ms, before))

    def check(self, site: SiteContext, choice: Choice, origin: Origin, now: float) -> Answer:
        """Spare a visit that could find nothing new, as far as the change lists of the server are believed."""
        lists = self.of(choice.party)
        if lists is None or not choice.lane.revisits or choice.entry.role is not EntryRole.PAGE or not site.visited:
            return None
        known = site.visited.get(choice.entry.url)
        if known is None or choice.lane.seed_id != choice.party.seed.id:
            return None
        if not lists.told.spares(url_hash(choice.entry.url), known, int(time.time() * 1000)):
            return None
        return Refuse(Result.SPARED, "the change lists of its server do not name it")

    def put_off(self, flight: PageFlight, response: Response) -> None:
        """Note that what a list tells is not known while others are visited."""
        lists = self.of(flight.party)
        if lists is not None and flight.entry.role is EntryRole.SITEMAP:
            lists.told.note_failure()

    def finish(self, flight: PageFlight, row: PageRow, response: Response | None, page: PageRead | None) -> PageRow:
        """Note what has come of a list."""
        lists = self.of(flight.party)
        if lists is None:
            return row
        if page is not None and page.sitemap is not None:
            _note_read(lists.told, page.sitemap, row)
        if flight.entry.role is EntryRole.SITEMAP:
            _note_result(lists.told, flight, row)
        return row


def _note_read(told: Told, sitemap: Sitemap, row: PageRow) -> None:
    """Note that a list of changes was read; one of which not all was read tells of none."""
    if sitemap.capability != CHANGE_LIST:
        return
    if sitemap.note or row.flags & PageFlag.TRUNCATED:
        told.note_failure()
    else:
        told.note_list(sitemap.since, row.fetched_at)


def _note_result(told: Told, flight: PageFlight, row: PageRow) -> None:
    """Note whether a list, or a sitemap, could be read: what a change list would have told is not known otherwise."""
    known = flight.known
    if row.result in (Result.FETCHED.value, Result.REDIRECT.value):
        return
    was_list = known is not None and known.state is not None and bool(known.state.flags & PageFlag.CHANGE_LIST)
    if row.result == Result.NOT_MODIFIED.value:
        if was_list:
            told.note_unchanged(row.fetched_at)
    elif was_list or known is None:
        told.note_failure()


class PublishedLists(UnreadLists):
    """Lists of ResourceSync beside sitemaps, at sites where they are read."""

    def __init__(self, step: ListsStep) -> None:
        self._step = step

    def are_read(self, site: SiteContext) -> bool:
        """Tell whether they are read at a site."""
        return self._step.reads(site)

    def named_on(self, site: SiteContext, response: Response) -> list[str]:
        """Return those to which a seed's page leads, and where they stand by the standard, if that is asked."""
        word = self._step.word(site)
        if word == "off":
            return []
        return [*named_on(response), *([WELL_KNOWN] if word == "ask" else [])]

    def is_read(self, site: SiteContext, sitemap: Sitemap) -> bool:
        """Tell whether what a document lists is to be listed; packages of ResourceSync are not.

        Where its lists are not read, one that a sitemap leads to is a sitemap as any other.
        """
        return not self._step.reads(site) or holds_pages(sitemap)

    def named_in(self, flight: PageFlight, sitemap: Sitemap, some: Sequence[Listed]) -> list[str]:
        """Return those of the lists that a document names which are to be asked for, and may tell something new."""
        lists = self._step.of(flight.party)
        if lists is None:
            return super().named_in(flight, sitemap, some)
        new = [one for one in some if not (is_followed(sitemap, one) and lists.told.knows(one))]
        if sitemap.capability == DESCRIPTION:
            lists.told.note_sets(sum(one.capability == CAPABILITY_LIST for one in sitemap.listed))
        return super().named_in(flight, sitemap, new)

    def note(self, flight: PageFlight, sitemap: Sitemap, url: str, one: Listed) -> bool:
        """Note what a list says of an internal URL, which is listed unless it was deleted."""
        lists = self._step.of(flight.party)
        if lists is None or sitemap.capability not in (RESOURCE_LIST, CHANGE_LIST):
            return super().note(flight, sitemap, url, one)
        party, key = flight.party, url_hash(url)
        lists.add(PublishedRow(party.seed.id, key, one.lastmod, int(one.change == DELETED), flight.entry.url))
        if sitemap.capability == CHANGE_LIST:
            lists.told.note_change(key, one.lastmod)
        party.touch()
        return one.change != DELETED
