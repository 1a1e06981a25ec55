"""Works off what lists very much: a slice at a time, with which the turn goes round.

Sitemaps are read here, one at a time, outside the turn. Pages with very many links come here when they are read. What
is taken counts at once, for the limits of its party. A page that is being listed holds back what its site hands over;
a sitemap does not, for its rows are many.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field

from scrawler.core.answers.answers import AnswerHandler
from scrawler.core.answers.long_pages import LongPage, long_page
from scrawler.core.answers.page_read import PageRead
from scrawler.core.answers.reading import AnswerReader
from scrawler.core.blame.slots import Slot
from scrawler.core.party.decisions import is_cut_page
from scrawler.core.party.entries import EntryRole
from scrawler.core.party.flights import PageFlight
from scrawler.core.party.sitemaps import SITEMAP_DEPTH, list_sitemaps
from scrawler.core.rules import CrawlRules
from scrawler.extract.sitemaps import Listed, Sitemap, is_sitemap
from scrawler.faults import fault_of
from scrawler.fetch.downloader import Response
from scrawler.model.results import Result
from scrawler.model.terms import url_hash
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
        self._lists = answers.lists
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
        if rules.sitemaps == "off" and not self._lists.are_read(flight.site):
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
        if not self._lists.is_read(listing.flight.site, listing.sitemap):
            listing.done = len(listing.sitemap.listed)
        elif self._lists.names_lists(listing.sitemap):
            self._list_sitemaps(listing.flight, listing.sitemap, some)
        else:
            self._list_pages(listing, some)
        listing.done += _SLICE
        if listing.over:
            party = listing.flight.party
            external = self._answers.urls.wanted(listing.flight.site, party, list(listing.external), SITEMAP_DEPTH)
            party.verdicts.update(listing.verdicts)
            party.note_externals(external, listing.flight.entry.depth)

    def _list_sitemaps(self, flight: PageFlight, sitemap: Sitemap, some: list[Listed]) -> None:
        entry = flight.entry
        party, rules = flight.party, flight.site.own_rules or self._rules
        hrefs, deepest = self._lists.named_in(flight, sitemap, some), self._lists.deepest(sitemap)
        list_sitemaps(flight.site, party, hrefs, entry.url, entry.depth + 1, rules, party.finder, deepest)

    def _list_pages(self, listing: Listing, some: list[Listed]) -> None:
        flight, document = listing.flight, listing.sitemap
        party, sitemap = flight.party, flight.entry.url
        judge, internal = party.analyzer.judge, []
        party.rejections.page = sitemap
        for one in some:
            verdict, url = judge(one.url, sitemap)
            listing.verdicts[verdict] += 1
            if verdict is Verdict.INTERNAL:
                if self._lists.note(flight, document, url, one):
                    internal.append(url)
            elif verdict is Verdict.EXTERNAL:
                listing.external[url] = None
        self._answers.urls.list_from_sitemap(flight, internal)
