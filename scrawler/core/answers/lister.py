"""Works off what lists very much: a slice at a time, with which the turn goes round.

Sitemaps are read here, one at a time, outside the turn. Pages with very many links come here when they are read. What
is taken counts at once, for the limits of its party. A page that is being listed holds back what its site hands over;
a sitemap does not, for its rows are many.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import field

from scrawler.core.answers.answers import AnswerHandler
from scrawler.core.answers.long_pages import LongPage, long_page
from scrawler.core.answers.page_read import PageRead
from scrawler.core.answers.reading import AnswerReader
from scrawler.core.blame.slots import Slot
from scrawler.core.party.context import SeedContext
from scrawler.core.party.decisions import is_cut_page
from scrawler.core.party.entries import EntryRole
from scrawler.core.party.flights import PageFlight
from scrawler.core.party.publishing import (
    CAPABILITY_LIST,
    CHANGE_LIST,
    DELETED,
    DESCRIPTION,
    LEVELS,
    RESOURCE_LIST,
    holds_pages,
    is_followed,
    names_lists,
)
from scrawler.core.party.sitemaps import MAX_LEVEL, SITEMAP_DEPTH, list_sitemaps
from scrawler.core.rules import CrawlRules
from scrawler.extract.sitemaps import Listed, Sitemap, is_sitemap
from scrawler.faults import fault_of
from scrawler.fetch.downloader import Response
from scrawler.model.results import Result
from scrawler.model.rows import PublishedRow, SitemapRow
from scrawler.model.terms import url_hash
from scrawler.tuples.classes import dataclass
from scrawler.urls.verdict import Verdict

_SLICE = 250  # URLs listed before others have the turn: some 3 ms


@dataclass(slots=True)
class Listing:
    """A sitemap in work. Its entry is finished with the last slice: whoever takes the party over reads it again.

    What would count twice then is kept back until the end.
    """

    flight: PageFlight
    response: Response
    reading: PageRead
    done: int = 0  # URLs
    verdicts: Counter[str] = field(default_factory=Counter)
    external: dict[str, None] = field(default_factory=dict)

    @property
    def sitemap(self) -> Sitemap:
        """What was read; of an answer that is no sitemap, nothing to list."""
        return self.reading.sitemap or Sitemap(False, [])

    @property
    def over(self) -> bool:
        """Whether all of it is listed."""
        return self.done >= len(self.sitemap.listed)


class SitemapLister:
    """The sitemaps, and the long pages, of one collector's sites; used by its thread alone."""

    def __init__(self, reader: AnswerReader, answers: AnswerHandler, rules: CrawlRules, slot: Slot) -> None:
        self._reader = reader
        self._answers = answers
        self._rules = rules
        self._slot = slot
        self._unread: deque[tuple[PageFlight, Response]] = deque()
        self._long: deque[LongPage] = deque()
        self._current: Listing | LongPage | None = None

    @property
    def busy(self) -> bool:
        """Whether there is something to read or to list."""
        return self._current is not None or bool(self._unread or self._long)

    @property
    def begun(self) -> bool:
        """Whether a page is listed in part."""
        return isinstance(self._current, LongPage) and self._current.done > 0

    def wants(self, response: Response) -> bool:
        """Tell whether an answer is to be read as a sitemap."""
        flight = response.request.tag
        if not isinstance(flight, PageFlight) or not (response.result is Result.FETCHED or is_cut_page(response)):
            return False
        if flight.lane.refetches:
            return False
        entry = flight.entry
        return entry.role is EntryRole.SITEMAP or (entry.depth == 0 and self._seed_is_sitemap(flight, response))

    def take(self, response: Response) -> None:
        """Take an answer that is wanted."""
        flight = response.request.tag
        assert isinstance(flight, PageFlight)
        self._answers.count(flight, response)
        self._unread.append((flight, response))

    def take_long(
        self, landed: list[Response], readings: list[PageRead | None]
    ) -> list[tuple[Response, PageRead | None]]:
        """Take the pages with very many links out of what was read; return the rest."""
        rest: list[tuple[Response, PageRead | None]] = []
        for response, reading in zip(landed, readings, strict=True):
            page = long_page(response, reading)
            if page is None or self._answers.forbids_to_follow(page.flight, page.reading):
                rest.append((response, reading))
            else:
                self._answers.count(page.flight, response)
                self._long.append(page)
        return rest

    def _seed_is_sitemap(self, flight: PageFlight, response: Response) -> bool:
        rules = flight.site.own_rules or self._rules
        if rules.sitemaps == "off" and rules.resourcesync == "off":
            return False
        encoding, content_type = (response.headers.get(name, "") for name in ("content-encoding", "content-type"))
        return is_sitemap(response.body, encoding, content_type)

    def read(self) -> None:
        """Take up what is next, if nothing is being listed; a sitemap is archived and read first.

        Needs no turn. Raises ArchiveError.
        """
        if self._current is None and self._long:
            self._current = self._long.popleft()
        elif self._current is None and self._unread:
            flight, response = self._unread.popleft()
            self._slot.enter(flight.site.id, flight.entry.url)
            try:
                reading = self._reader.read(flight, response, as_sitemap=True)
                reading.counted = True
                self._current = Listing(flight, response, reading)
            finally:
                self._slot.leave()

    def work_off(self) -> Listing | LongPage | None:
        """List the next slice, under the turn; returns what it is of, None if there is nothing to do."""
        listing = self._current
        if listing is None:
            return None
        if listing.flight.site.collector is None:  # the lease was lost
            self._current = None
            return None
        self._slot.enter(listing.flight.site.id, listing.flight.entry.url)
        try:
            if isinstance(listing, LongPage):
                listing.flight.site.listing = True
                listing.list_part(self._answers)
            else:
                self._list_slice(listing)
        except BaseException as error:
            listing.reading.sitemap = None  # nothing is left to list
            listing.reading.fault = fault_of(error)
        finally:
            self._slot.leave()
        if listing.over:
            self._current = None
        return listing

    def _list_slice(self, listing: Listing) -> None:
        some = listing.sitemap.listed[listing.done : listing.done + _SLICE]
        listing.flight.party.finder = url_hash(listing.flight.entry.url)
        if not self._is_read(listing):
            listing.done = len(listing.sitemap.listed)
        elif names_lists(listing.sitemap):
            self._list_sitemaps(listing.flight, listing.sitemap, some)
        else:
            self._list_pages(listing, some)
        listing.done += _SLICE
        if listing.over:
            party = listing.flight.party
            external = self._answers.urls.wanted(listing.flight.site, party, list(listing.external), SITEMAP_DEPTH)
            party.verdicts.update(listing.verdicts)
            party.note_externals(external, listing.flight.entry.depth)

    def _is_read(self, listing: Listing) -> bool:
        """Tell whether what a document lists is to be listed; packages of ResourceSync are not.

        Where its lists are not read, one that a sitemap leads to is a sitemap as any other.
        """
        rules = listing.flight.site.own_rules or self._rules
        return rules.resourcesync == "off" or holds_pages(listing.sitemap)

    def _list_sitemaps(self, flight: PageFlight, sitemap: Sitemap, some: list[Listed]) -> None:
        entry = flight.entry
        party, rules = flight.party, flight.site.own_rules or self._rules
        told = party.told
        hrefs = [one.url for one in some if is_followed(sitemap, one) and not (told and told.knows(one))]
        if party.told is not None and sitemap.capability == DESCRIPTION:
            party.told.note_sets(sum(one.capability == CAPABILITY_LIST for one in sitemap.listed))
        deepest = MAX_LEVEL + LEVELS if sitemap.capability else MAX_LEVEL
        list_sitemaps(flight.site, party, hrefs, entry.url, entry.depth + 1, rules, party.finder, deepest)

    def _list_pages(self, listing: Listing, some: list[Listed]) -> None:
        party, sitemap = listing.flight.party, listing.flight.entry.url
        rules = listing.flight.site.own_rules or self._rules
        capability = listing.sitemap.capability if rules.resourcesync != "off" else ""
        judge, internal = party.analyzer.judge, []
        party.rejections.page = sitemap
        for one in some:
            verdict, url = judge(one.url, sitemap)
            listing.verdicts[verdict] += 1
            if verdict is Verdict.INTERNAL:
                if one.change != DELETED:  # what is known is asked for once more, what is not need not be
                    internal.append(url)
                if capability in (RESOURCE_LIST, CHANGE_LIST):
                    self._note_published(party, capability, url, one, sitemap)
                else:
                    party.add_sitemap_url(SitemapRow(party.seed.id, url_hash(url), one.lastmod, sitemap))
            elif verdict is Verdict.EXTERNAL:
                listing.external[url] = None
        self._answers.urls.list_from_sitemap(listing.flight, internal)

    @staticmethod
    def _note_published(party: SeedContext, capability: str, url: str, one: Listed, source: str) -> None:
        """Note what a list of ResourceSync says of an internal URL."""
        key = url_hash(url)
        party.add_published(PublishedRow(party.seed.id, key, one.lastmod, int(one.change == DELETED), source))
        if party.told is not None and capability == CHANGE_LIST:
            party.told.note_change(key, one.lastmod)
