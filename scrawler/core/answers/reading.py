"""What a page's answer says, before anything of its party is changed: its record, its links, its flags."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from scrawler.archive.archive import UnrecordableError
from scrawler.archive.record import RecordRef
from scrawler.core.answers.outlinks import outlink_fields
from scrawler.core.answers.pipeline import PagePipeline
from scrawler.core.party.decisions import (
    PUSH_BACK,
    has_invalid_length,
    is_cut_page,
    listed_again,
    location_of,
    shows_page,
)
from scrawler.core.party.depth import EntryRole
from scrawler.core.party.flights import PageFlight
from scrawler.core.rules import CrawlRules
from scrawler.extract.directives import ALL_ALLOWED, Directives
from scrawler.extract.links import PageLinks
from scrawler.extract.sitemaps import Sitemap
from scrawler.faults import Fault, fault_of
from scrawler.fetch.downloader import Response
from scrawler.model.lanes import LaneKey
from scrawler.model.results import PageFlag, Result
from scrawler.urls.analyzer import Analysis
from scrawler.urls.normalise import normalise


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
    metadata: bytes = b""  # what is to be archived beside it: its out-links, if they are wanted
    counted: bool = False  # whether its request and bytes are counted already: `lister` applies it much later


class AnswerReader:
    """Reads the answers of pages; that needs no turn. With `keeps_outlinks`, what they lead to is archived as well."""

    def __init__(self, pipeline: PagePipeline, rules: CrawlRules, keeps_outlinks: bool = False) -> None:
        self._pipeline = pipeline
        self._rules = rules
        self._keeps_outlinks = keeps_outlinks

    def read(self, flight: PageFlight, response: Response, as_sitemap: bool = False) -> Reading:
        """Find the links of a page, or what it lists as a sitemap, and archive the answer. Raises ArchiveError.

        Nothing of the party is changed, and its site cannot move meanwhile: this needs no turn. A fault of this
        program ends the reading, and nothing else, also where no record can be made; what else the archive raises
        ends the machine.
        """
        fault = response.fault
        if response.result is not Result.FETCHED and fault is None:
            try:
                again = self._again(flight, response)
            except BaseException as error:
                fault = fault_of(error)
            else:
                if again is not None:
                    return Reading(again)
        reading = Reading(None, fault=fault) if fault is not None else self._read_safely(flight, response, as_sitemap)
        try:
            record = self._pipeline.archive(flight.site, response, reading.metadata, flight.known)
        except UnrecordableError as error:
            return Reading(None, fault=fault or _fault_behind(error))
        return reading._replace(record=record, metadata=b"")

    def archive(self, response: Response) -> Reading:
        """Archive an answer of which nothing else is read here, as that of a robots.txt. Raises ArchiveError."""
        try:
            return Reading(None, self._pipeline.archive_alone(response))
        except UnrecordableError as error:
            return Reading(None, fault=_fault_behind(error))

    def _read_safely(self, flight: PageFlight, response: Response, as_sitemap: bool) -> Reading:
        try:
            reading = self._read(flight, response, as_sitemap)
            if not self._keeps_outlinks:
                return reading
            return reading._replace(metadata=outlink_fields(flight.party.analyzer, response, reading.links))
        except BaseException as error:
            return Reading(None, fault=fault_of(error))

    def _read(self, flight: PageFlight, response: Response, as_sitemap: bool) -> Reading:
        media_type = self._pipeline.media_type(response)
        if as_sitemap and (sitemap := self._pipeline.sitemap(response)):
            flags = self._flags(flight, response, self._pipeline.directives(response, None))
            flags |= PageFlag.SITEMAP
            flags |= PageFlag.TRUNCATED if sitemap.listed and is_cut_page(response) else 0
            return Reading(None, flags=flags, sitemap=sitemap, media_type=media_type)
        if not shows_page(response):  # what redirects and errors say to robots is said of no page
            return Reading(None, flags=self._flags(flight, response, ALL_ALLOWED), media_type=media_type)
        cut = response.result is not Result.FETCHED and is_cut_page(response)
        traps = None if cut else flight.party.traps  # half a text is like no other
        read_text = None if traps is None else partial(traps.read_text, flight.entry.url)
        links = None if flight.entry.role is EntryRole.ASSET else self._pipeline.links(response, media_type, read_text)
        flags = self._flags(flight, response, self._pipeline.directives(response, links))
        flags |= PageFlag.TRUNCATED if cut and links is not None and links.any else 0
        return Reading(None, links=links, flags=flags, media_type=media_type)

    def _wants_cookie(self, flight: PageFlight, response: Response) -> bool:
        """Tell whether a page sets a cookie and leads to itself, where it shows itself to those who bring it back."""
        first = flight.lane.key.retries == 0  # where it is to be asked again, however seldom failures are
        if not ("set-cookie" in response.headers and self._rules.cookies and first):
            return False
        return normalise(location_of(response), flight.entry.url).url == flight.entry.url

    def _flags(self, flight: PageFlight, response: Response, directives: Directives) -> int:
        """Return what is to be flagged in the page's row."""
        unchecked = self._rules.insecure and response.head and response.request.url.startswith("https:")
        flags: int = PageFlag.INSECURE if unchecked else 0
        if flight.lane.slow:
            flags |= PageFlag.SLOW
        if flight.entry.role is EntryRole.ASSET:
            flags |= PageFlag.ASSET
        if directives.noindex:
            flags |= PageFlag.NOINDEX
        return flags | PageFlag.NOFOLLOW if directives.nofollow else flags

    def _again(self, flight: PageFlight, response: Response) -> LaneKey | None:
        """Return the key of the lane in which a URL is listed again, None if this is its final result."""
        rules = self._rules
        if not flight.party.counts.pages and response.status in PUSH_BACK:
            return flight.lane.key.after(pushbacks=1)  # kept in the list: its party ends after max_pushbacks of them
        if response.result is Result.REDIRECT and self._wants_cookie(flight, response):
            return flight.lane.key.after(retries=1)
        first = flight.lane.key.retries == 0  # once more at least, however seldom failures are asked for again
        if first and has_invalid_length(response):
            return flight.lane.key.after(retries=1)
        return listed_again(response, flight.lane.key, rules.retries, rules.max_pushbacks)


def _fault_behind(error: UnrecordableError) -> Fault:
    cause = error.__cause__
    return fault_of(cause if isinstance(cause, Exception) else error)
