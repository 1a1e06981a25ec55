"""What a page's answer says, before anything of its party is changed: its record, its links, its flags."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from typing import Final

from scrawler.archive.archive import UnrecordableError
from scrawler.archive.record import RecordRef
from scrawler.core.answers.focus import Focus
from scrawler.core.answers.outlinks import outlink_fields
from scrawler.core.answers.pipeline import PagePipeline
from scrawler.core.answers.recall import is_to_be_whole
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
from scrawler.core.party.publishing import CHANGE_LIST
from scrawler.core.rules import CrawlRules
from scrawler.extract.directives import ALL_ALLOWED, Directives
from scrawler.extract.links import LinkMark, PageLinks
from scrawler.extract.simhash import Fingerprint, fingerprint_of
from scrawler.extract.sitemaps import Sitemap
from scrawler.faults import Fault, fault_of
from scrawler.fetch.downloader import Rendered, Response
from scrawler.model.lanes import LaneKey
from scrawler.model.results import PageFlag, Result
from scrawler.tuples.classes import NamedTuple
from scrawler.tuples.quick import quick
from scrawler.urls.analyzer import Analysis, UrlAnalyzer
from scrawler.urls.normalise import normalise


@quick
class Reading(NamedTuple):
    """What is known of a page's answer before it is applied: its record and links, or the lane to list it in again."""

    again: LaneKey | None
    record: RecordRef | None = None
    links: PageLinks | None = None
    flags: int = 0  # of PageFlag
    sitemap: Sitemap | None = None
    media_type: str = ""
    fault: Fault | None = None  # met while it was read
    listed: Analysis | None = None  # what its links came to, where they are listed already: see `long_pages`
    parts: tuple[tuple[Response, RecordRef], ...] = ()  # what the page asked for in a browser, with its records
    is_copy: bool | None = None  # whether a browser made the same document of another page; None: it was in no browser
    counted: bool = False  # whether its request and bytes are counted already: `lister` applies it much later
    text_print: bytes = b""  # by which it is compared with other visits, where the payload's digest does not tell


_OK: Final = HTTPStatus.OK.value  # to ask the enum costs a quarter of a microsecond before Python 3.12

# What was read of an answer: its links, what it lists as a sitemap, its flags and its media type. It is taken apart by
# whoever asks for it: a type of its own would cost as much as half of a Reading, for each page.
_Read = tuple[PageLinks | None, Sitemap | None, int, str]
_NOTHING: _Read = (None, None, 0, "")


class AnswerReader:
    """Reads the answers of pages; that needs no turn. With `keeps_outlinks`, what they lead to is archived as well."""

    def __init__(
        self,
        pipeline: PagePipeline,
        rules: CrawlRules,
        keeps_outlinks: bool = False,
        reads_marks: bool = False,
        focus: Focus | None = None,
    ) -> None:
        self._pipeline = pipeline
        self._rules = rules
        self._keeps_outlinks = keeps_outlinks
        self._reads_marks = reads_marks  # what pages say of their links
        self._focus = focus

    def read(self, flight: PageFlight, response: Response, as_sitemap: bool = False) -> Reading:
        """Find the links of a page, or what it lists as a sitemap, and archive the answer. Raises ArchiveError.

        Nothing of the party is changed, and its site cannot move meanwhile: this needs no turn. A fault of this
        program ends the reading, and nothing else, also where no record can be made; what else the archive raises
        ends the machine.
        """
        fault = response.fault
        if fault is None and (response.result is not Result.FETCHED or response.status != _OK):
            try:
                again = self._again(flight, response)
            except BaseException as error:
                fault = fault_of(error)
            else:
                if again is not None:
                    return Reading(again)
        found, metadata = _NOTHING, b""
        if fault is None:
            try:
                found = self._read(flight, response, as_sitemap)
                if self._keeps_outlinks:
                    metadata = outlink_fields(flight.party.analyzer, response, found[0])
            except BaseException as error:
                found, fault = _NOTHING, fault_of(error)
        links, sitemap, flags, media_type = found
        parts = () if response.rendered is None else self._archive_parts(response.rendered)
        try:
            if flight.lane.rereads:  # it has its record
                record = None
            elif flight.site.earlier is None and self._focus is None:
                record = self._pipeline.archive(flight.site, response, metadata, flight.known)
            else:
                is_kept = self._focus is None or fault is not None or self._focus.keeps(flight, links)
                record, flags = self._archived(flight, response, metadata, flags, is_kept)
        except UnrecordableError as error:
            return Reading(None, fault=fault or _fault_behind(error), parts=parts)
        reading = Reading(None, record, links, flags, sitemap, media_type, fault)
        if response.rendered is not None:
            is_shown = response.rendered.html != b""
            is_copy = self._pipeline.is_copy(flight.site, response, response.rendered) if is_shown else None
            reading = reading._replace(parts=parts, is_copy=is_copy)
        return reading if flight.party.policy is None else self._with_print(flight, reading, response)

    def _archived(
        self, flight: PageFlight, response: Response, metadata: bytes, flags: int, is_kept: bool
    ) -> tuple[RecordRef | None, int]:
        """Archive an answer that may be left out, or that an earlier crawl may have; return its record and flags."""
        if not is_kept:
            return self._pipeline.leave_out(response), flags
        payload = None
        # What was lost is to be archived whole, and so is what is tried again: the earlier record may be why.
        if not flight.lane.ordered and not flight.lane.key.retries:
            payload = self._pipeline.look_up(flight.site, response, flight.known)
        record = self._pipeline.archive(flight.site, response, metadata, flight.known, payload)
        is_earlier = payload is not None and payload.earlier is not None
        return record, flags | PageFlag.EARLIER if is_earlier else flags

    def _with_print(self, flight: PageFlight, reading: Reading, response: Response) -> Reading:
        """Add by what a page is compared with that of other visits; a fault that it meets is its page's."""
        if response.result is not Result.FETCHED or reading.fault is not None:
            return reading
        of_text = flight.party.near is not None and reading.sitemap is None and response.rendered is None
        try:
            return reading._replace(text_print=self._pipeline.print_of(response, reading.media_type, of_text))
        except BaseException as error:
            return reading._replace(fault=fault_of(error))

    def _archive_parts(self, rendered: Rendered) -> tuple[tuple[Response, RecordRef], ...]:
        """Archive what a page asked for in a browser; that of which no record can be made is left out."""
        parts = []
        for answer in rendered.answers:
            with suppress(UnrecordableError):
                record = self._pipeline.archive_alone(answer)
                if record is not None:
                    parts.append((answer, record))
        return tuple(parts)

    def archive(self, response: Response) -> Reading:
        """Archive an answer of which nothing else is read here, as that of a robots.txt. Raises ArchiveError."""
        try:
            return Reading(None, self._pipeline.archive_alone(response))
        except UnrecordableError as error:
            return Reading(None, fault=_fault_behind(error))

    def _read(self, flight: PageFlight, response: Response, as_sitemap: bool) -> _Read:
        media_type = self._pipeline.media_type(response)
        if as_sitemap and (sitemap := self._pipeline.sitemap(response)):
            flags = self._flags(flight, response, self._pipeline.directives(response, None))
            cut = sitemap.listed and is_cut_page(response)
            said = PageFlag.SITEMAP | PageFlag.TRUNCATED if cut else PageFlag.SITEMAP
            if sitemap.capability == CHANGE_LIST and not sitemap.until:  # what is over need not be read again
                said |= PageFlag.CHANGE_LIST
            return None, sitemap, flags | said, media_type
        if not shows_page(response):  # what redirects and errors say to robots is said of no page
            return None, None, self._flags(flight, response, ALL_ALLOWED), media_type
        cut = response.result is not Result.FETCHED and is_cut_page(response)
        traps = None if cut else flight.party.traps  # half a text is like no other
        entry = flight.entry
        read_text = None if traps is None else partial(traps.read_text, entry.url)
        if flight.party.searches is not None and flight.entry.role is EntryRole.PAGE:
            read_text = partial(_read_searches, flight.entry.url, read_text)
        if self._reads_marks:
            read_text = partial(_read_marks, flight.party.analyzer, read_text)
        if self._focus is not None:
            read_text = partial(_read_relevance, self._focus, read_text)
        if flight.party.policy is not None and not cut:
            read_text = partial(_read_words, read_text)
        links = None if flight.entry.role is EntryRole.ASSET else self._pipeline.links(response, media_type, read_text)
        flags = self._flags(flight, response, self._pipeline.directives(response, links))
        if self._focus is not None:
            flags |= self._focus.flag(links)
        if cut and links is not None and links.any:
            flags |= PageFlag.TRUNCATED
        return links, None, flags, media_type

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
        if response.rendered is not None and response.rendered.html:
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


def _read_marks(
    analyzer: UrlAnalyzer, read_text: Callable[[PageLinks], Fingerprint | None] | None, links: PageLinks
) -> Fingerprint | None:
    """Read what a page says of its links, and then what else is to be read of it."""
    from scrawler.extract.marks import marked_links  # few crawls follow a topic

    marks: dict[str, LinkMark] = {}
    for href, mark in marked_links(links.page):
        url = analyzer.resolve(href, links.base, links.charset)
        known = marks.get(url)
        if known is None or (mark.anchor and not known.anchor):  # a picture often stands before the words
            marks[url] = mark
    links.marks = marks
    return None if read_text is None else read_text(links)


def _read_words(read_text: Callable[[PageLinks], Fingerprint | None] | None, links: PageLinks) -> Fingerprint | None:
    """Read what else is to be read of a page, and its words, with which those of the next visit are compared."""
    found = None if read_text is None else read_text(links)
    links.simhash = found.simhash if found is not None else 0
    if not links.simhash and links.page:
        links.simhash = fingerprint_of(links.page, links.is_xml).simhash
    return found


def _read_searches(
    url: str, read_text: Callable[[PageLinks], Fingerprint | None] | None, links: PageLinks
) -> Fingerprint | None:
    """Read the search forms of a page and its words, and then what else is to be read of it."""
    from scrawler.hidden.searches import read_search_page  # few crawls look for the hidden web

    links.searches = read_search_page(links.page, links.is_xml, url, links.base, links.charset)
    return None if read_text is None else read_text(links)


def _read_relevance(
    focus: Focus, read_text: Callable[[PageLinks], Fingerprint | None] | None, links: PageLinks
) -> Fingerprint | None:
    """Read how much a page has to do with the topic, and then what else is to be read of it."""
    links.relevance = focus.read(links)
    return None if read_text is None else read_text(links)


def _fault_behind(error: UnrecordableError) -> Fault:
    cause = error.__context__  # as its __cause__, which it has where it was raised in Python alone
    return fault_of(cause if isinstance(cause, Exception) else error)
