"""What a page's answer says, before anything of its party is changed: its record, its links, its flags."""

from __future__ import annotations

from contextlib import suppress
from http import HTTPStatus
from typing import Final

from scrawler.archive.archive import UnrecordableError
from scrawler.archive.record import RecordRef
from scrawler.core.answers.page_read import PageRead
from scrawler.core.answers.pipeline import PagePipeline, refreshed
from scrawler.core.answers.steps import NO_STEPS, Steps
from scrawler.core.answers.unchanged import is_to_be_whole
from scrawler.core.party.decisions import (
    PUSH_BACK,
    has_invalid_length,
    is_cut_page,
    is_disbelieved,
    listed_again,
    location_of,
    shows_page,
)
from scrawler.core.party.entries import EntryRole
from scrawler.core.party.flights import PageFlight
from scrawler.core.rules import CrawlRules
from scrawler.extract.directives import ALL_ALLOWED, Directives
from scrawler.extract.links import LinkMark, PageLinks
from scrawler.extract.sitemaps import Sitemap
from scrawler.faults import Fault, fault_of
from scrawler.fetch.downloader import Response
from scrawler.model.lanes import LaneKey
from scrawler.model.results import PageFlag, Result
from scrawler.urls.analyzer import UrlAnalyzer
from scrawler.urls.normalise import normalise

_OK: Final = HTTPStatus.OK.value  # to ask the enum costs a quarter of a microsecond before Python 3.12


class AnswerReader:
    """Reads the answers of pages, with the steps of features; that needs no turn.

    With `reads_marks` it reads what pages say of their links.
    """

    def __init__(
        self, pipeline: PagePipeline, rules: CrawlRules, steps: Steps = NO_STEPS, reads_marks: bool = False
    ) -> None:
        self._pipeline = pipeline
        self._rules = rules
        self._steps = steps
        self._reads_marks = reads_marks

    def read(self, flight: PageFlight, response: Response, as_sitemap: bool = False) -> PageRead:
        """Find the links of a page, or what it lists as a sitemap, and archive the answer. Raises ArchiveError.

        Nothing of the party is changed, and its site cannot move meanwhile: this needs no turn. A fault of this
        program ends the reading, and nothing else, also where no record can be made; what else the archive raises
        ends the machine.
        """
        page = PageRead()
        page.fault = response.fault
        try:
            if page.fault is None and (response.result is not Result.FETCHED or response.status != _OK):
                page.again = self._again(flight, response)
                if page.again is not None:
                    return page
            if page.fault is None:
                self._read(flight, response, page, as_sitemap)
                self._take_steps(flight, response, page)
        except BaseException as error:
            page = page.met(fault_of(error))
        if response.further:
            page.parts = self._archive_parts(response.further)
        try:
            if not flight.lane.rereads:  # else it has its record
                self._archive(flight, response, page)
        except UnrecordableError as error:
            return page.met(page.fault or _fault_behind(error))
        if response.document is not None and response.document.html:
            page.is_copy = self._pipeline.is_copy(flight.site, response, response.document)
        return page

    def _take_steps(self, flight: PageFlight, response: Response, page: PageRead) -> None:
        """Let features read the page; what it says is let go of then, unless its words are compared with others'."""
        if self._steps.reads:
            page.found = [None] * self._steps.number
            for read in self._steps.reads:
                read(flight, response, page)
        links = page.links
        if links is not None and (links.fingerprint is None or not links.fingerprint.words):
            links.page = b""

    def _archive(self, flight: PageFlight, response: Response, page: PageRead) -> None:
        if not page.keep:
            page.record = self._pipeline.leave_out(response)
            return
        payload_digest = b""
        if self._steps.finds_copies:
            payload_digest = self._pipeline.payload_digest(response)
            self._find_copy(flight, response, page, payload_digest)
        page.record = self._pipeline.archive(flight.site, response, page.metadata, flight.known, payload_digest)

    def _find_copy(self, flight: PageFlight, response: Response, page: PageRead, payload_digest: bytes) -> None:
        """Look whether another crawl has the payload of an answer, where this one's archive has it not."""
        archived = flight.site.archived
        for find_copy in self._steps.finds_copies:
            if not payload_digest or archived.get(payload_digest) is not None:
                return
            copy = find_copy(flight, response, payload_digest)
            if copy is not None:
                archived.remember(payload_digest, copy)
                page.flags |= PageFlag.EARLIER

    def _archive_parts(self, further: tuple[Response, ...]) -> tuple[tuple[Response, RecordRef], ...]:
        """Archive the answers beside that of a page; that of which no record can be made is left out."""
        parts = []
        for answer in further:
            with suppress(UnrecordableError):
                record = self._pipeline.archive_alone(answer)
                if record is not None:
                    parts.append((answer, record))
        return tuple(parts)

    def archive(self, response: Response) -> PageRead:
        """Archive an answer of which nothing else is read here, as that of a robots.txt. Raises ArchiveError."""
        page = PageRead()
        try:
            page.record = self._pipeline.archive_alone(response)
        except UnrecordableError as error:
            page.fault = _fault_behind(error)
        return page

    def _read(self, flight: PageFlight, response: Response, page: PageRead, as_sitemap: bool) -> None:
        page.media_type = self._pipeline.media_type(response)
        if as_sitemap and (sitemap := self._pipeline.sitemap(response)):
            self._read_sitemap(flight, response, page, sitemap)
            return
        if not shows_page(response):  # what redirects and errors say to robots is said of no page
            page.flags = self._flags(flight, response, ALL_ALLOWED)
            return
        cut = response.result is not Result.FETCHED and is_cut_page(response)
        if flight.entry.role is not EntryRole.ASSET:
            page.links = self._links(flight, response, page.media_type, cut)
        links = page.links
        page.flags = self._flags(flight, response, self._pipeline.directives(response, links))
        if cut and links is not None and links.any:
            page.flags |= PageFlag.TRUNCATED

    def _links(self, flight: PageFlight, response: Response, media_type: str, cut: bool) -> PageLinks | None:
        """Find the links of a page, which is HTML unless a header refreshes it, and read of it what is wanted."""
        links = self._pipeline.links(response, media_type)
        if links is not None:
            self._read_text(flight, links, cut)
        return refreshed(response, links) if "refresh" in response.headers else links

    def _read_sitemap(self, flight: PageFlight, response: Response, page: PageRead, sitemap: Sitemap) -> None:
        flags = self._flags(flight, response, self._pipeline.directives(response, None)) | PageFlag.SITEMAP
        if sitemap.listed and is_cut_page(response):
            flags |= PageFlag.TRUNCATED
        page.sitemap = sitemap
        page.flags = flags

    def _read_text(self, flight: PageFlight, links: PageLinks, cut: bool) -> None:
        """Read of a page what is compared with others, and what it says of its links, as far as that is wanted."""
        party = flight.party
        if party.traps is not None and not cut:  # half a text is like no other
            links.fingerprint = party.traps.read_text(flight.entry.url, links)
        if self._reads_marks:
            _read_marks(party.analyzer, links)

    def _rules_of(self, flight: PageFlight) -> CrawlRules:
        return flight.site.own_rules or self._rules

    def _wants_cookie(self, flight: PageFlight, response: Response) -> bool:
        """Tell whether a page sets a cookie and leads to itself, where it shows itself to those who bring it back."""
        first = flight.lane.key.retries == 0  # where it is to be asked again, however seldom failures are
        if not ("set-cookie" in response.headers and self._rules_of(flight).cookies and first):
            return False
        return normalise(location_of(response), flight.entry.url).url == flight.entry.url

    def _flags(self, flight: PageFlight, response: Response, directives: Directives) -> int:
        """Return what is to be flagged in the page's row."""
        rules = flight.asked.own_rules or self._rules
        unchecked = rules.insecure and response.head and response.request.url.startswith("https:")
        flags: int = PageFlag.INSECURE if unchecked else 0
        if flight.lane.slow:
            flags |= PageFlag.SLOW
        if response.document is not None and response.document.html:
            flags |= PageFlag.SHOWN
        if flight.entry.role is EntryRole.ASSET:
            flags |= PageFlag.ASSET
        if directives.noindex:
            flags |= PageFlag.NOINDEX
        return flags | PageFlag.NOFOLLOW if directives.nofollow else flags

    def _again(self, flight: PageFlight, response: Response) -> LaneKey | None:
        """Return the key of the lane in which a URL is listed again, None if this is its final result."""
        rules = self._rules_of(flight)
        if is_to_be_whole(flight, response) or self._has_lost(flight, response):
            return flight.lane.key.after(retries=1)
        if not flight.party.counts.pages and response.status in PUSH_BACK:
            return flight.lane.key.after(pushbacks=1)  # kept in the list: its party ends after max_pushbacks of them
        if response.result is Result.REDIRECT and self._wants_cookie(flight, response):
            return flight.lane.key.after(retries=1)
        first = flight.lane.key.retries == 0  # once more at least, however seldom failures are asked for again
        if first and (has_invalid_length(response) or is_disbelieved(response)):
            return flight.lane.key.after(retries=1)
        return listed_again(response, flight.lane.key, rules.retries, rules.max_pushbacks)

    def _has_lost(self, flight: PageFlight, response: Response) -> bool:
        """Tell whether a page is as it was, and what it was is lost: it is asked for as a whole then."""
        known = flight.known
        return (
            known is not None and response.result is Result.NOT_MODIFIED and self._pipeline.is_lost(flight.site, known)
        )


def _read_marks(analyzer: UrlAnalyzer, links: PageLinks) -> None:
    """Read what a page says of its links."""
    from scrawler.extract.marks import marked_links  # few crawls want it

    marks: dict[str, LinkMark] = {}
    for href, mark in marked_links(links.page):
        url = analyzer.resolve(href, links.base, links.charset)
        known = marks.get(url)
        if known is None or (mark.anchor and not known.anchor):  # a picture often stands before the words
            marks[url] = mark
    links.marks = marks


def _fault_behind(error: UnrecordableError) -> Fault:
    cause = error.__context__  # as its __cause__, which it has where it was raised in Python alone
    return fault_of(cause if isinstance(cause, Exception) else error)
