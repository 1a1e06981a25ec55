"""One answer's way from the downloader to its page row and links: archive, decode, extract."""

from __future__ import annotations

import threading
from dataclasses import replace

from scrawler.archive.archive import Archive, UnrecordableError
from scrawler.archive.record import Exchange, RecordRef, RevisitOf, Truncation, digest
from scrawler.core.party.copies import NO_COPIES, Copies
from scrawler.core.party.decisions import header_text
from scrawler.core.party.site import SiteContext
from scrawler.extract.decode import decode_body
from scrawler.extract.directives import ALL_ALLOWED, Directives, directives
from scrawler.extract.links import REFRESH_HEADER, SCRIPTED, LinkExtractor, LinkSources, PageLinks
from scrawler.extract.rules import refresh_target, refreshes_at_once
from scrawler.extract.sitemaps import Sitemap, read_sitemap
from scrawler.extract.sniff import HTML_TYPES, RESOURCE_HEADER, UNKNOWN_TYPES, sniffed_type
from scrawler.extract.xhtml import is_xhtml, is_xml
from scrawler.fetch.downloader import Document, Recalled, Response
from scrawler.fetch.wire import header_values
from scrawler.model.results import Result
from scrawler.model.visits import KnownVisit
from scrawler.urls.normalise import normalise

_MADE_TYPE = "text/html; charset=utf-8"
_MADE_MARK = b"rendered\0"  # sets digests of documents that were made apart from those of payloads
_LONG_SITEMAP = 256 << 10  # bytes of a body, which may be packed
_NO_PAGE = (Result.HTTP_ERROR, Result.REDIRECT)  # answers that say the same at each visit, mostly
_TRUNCATED: dict[Result, Truncation] = {Result.TOO_LARGE: "length", Result.TIMEOUT: "time", Result.CUT: "disconnect"}


class PagePipeline:
    """Archives answers and finds their links; shared by the collectors of a machine.

    X-Robots-Tag headers address this crawler by `product_token`. `copies` reads what visits before have archived.
    """

    def __init__(
        self,
        archive: Archive,
        extractor: LinkExtractor,
        max_decoded: int,
        max_ratio: int,
        product_token: str,
        copies: Copies = NO_COPIES,
    ) -> None:
        self._archive = archive
        self._extractor = extractor
        self._max_decoded = max_decoded
        self._max_ratio = max_ratio
        self._product_token = product_token
        self._copies = copies
        self._one_long = threading.Lock()

    def archive(
        self,
        site: SiteContext,
        response: Response,
        metadata: bytes = b"",
        known: KnownVisit | None = None,
        payload_digest: bytes = b"",
    ) -> RecordRef | None:
        """Write the answer's records; None if there was no HTTP answer, or its body not wanted.

        `metadata` is what was found in it, as fields of a record of its own; empty: nothing is to be kept of that.
        `known` is the last visit to the URL, which a server means that answers that nothing has changed since.
        `payload_digest` is that of its payload; empty where it is still to be made.

        Raises ArchiveError, and UnrecordableError where no record can be made. A payload that the site's archive has
        already is written as a revisit of the first record: that one is committed before, or with, everything that
        comes after it in this site.
        """
        if not response.head or response.result is Result.UNWANTED_TYPE:
            return None
        is_whole = response.body != b"" and response.result.answered
        exchange = _exchange(response, site if is_whole else None, payload_digest)
        exchange.metadata = metadata
        if response.document is not None:
            exchange.rendered = response.document.html
        if response.recalled is not None:
            _refer_back(exchange, response.recalled)
        elif known is not None:
            self._refer_to_last_visit(site, response, exchange, known)
        record = self._archive.write(exchange)
        if is_whole and exchange.revisit_of is None:
            site.archived.remember(exchange.payload_digest, RevisitOf(response.request.url, response.started_at))
        return record

    def is_lost(self, site: SiteContext, known: KnownVisit) -> bool:
        """Tell whether what the last visit to a URL has brought cannot be read any more, where it should be."""
        self._copies.expect(known.payload_url, site.visited or {})
        return self._copies.is_gone(known.payload_url, known.digest)

    def _refer_to_last_visit(
        self, site: SiteContext, response: Response, exchange: Exchange, known: KnownVisit
    ) -> None:
        """Let an exchange be a revisit of what visits to its URL have brought, where it has brought nothing else."""
        if response.result is Result.NOT_MODIFIED:
            exchange.payload_digest = known.digest
            exchange.revisit_of = RevisitOf(known.payload_url, known.payload_at, said_by_server=True)
        elif not response.body or not response.result.answered:
            return
        elif known.digest == exchange.payload_digest:
            self._copies.expect(known.payload_url, site.visited or {})
            if self._copies.holds(known.payload_url, known.digest, response.body):
                self._refer_to(site, exchange, known)
        elif exchange.revisit_of is None and response.result in _NO_PAGE:
            exchange.revisit_of = self._said_before(exchange)

    def _said_before(self, exchange: Exchange) -> RevisitOf | None:
        """Return the record in which a URL has answered this already, where it leads elsewhere, or to an error."""
        since = self._copies.held_since(exchange.url, exchange.payload_digest, exchange.body)
        return None if since is None else RevisitOf(exchange.url, since)

    @staticmethod
    def _refer_to(site: SiteContext, exchange: Exchange, known: KnownVisit) -> None:
        """Let an exchange be a revisit of what the last visit to its URL has brought."""
        in_this_run, exchange.revisit_of = exchange.revisit_of, RevisitOf(known.payload_url, known.payload_at)
        if in_this_run is not None and in_this_run != exchange.revisit_of:
            site.archived.remember(exchange.payload_digest, exchange.revisit_of)  # where its visit looks, see `visited`

    @staticmethod
    def payload_digest(response: Response) -> bytes:
        """Return the digest of the payload of an answer; empty where it has none that others could have as well."""
        if not response.body or not response.result.answered:
            return b""
        return digest(response.body) if response.recalled is None else response.recalled.digest

    @staticmethod
    def leave_out(response: Response) -> RecordRef | None:
        """Return what the row of an answer that is not archived says of its payload; None as `archive`."""
        if not response.head or response.result is Result.UNWANTED_TYPE:
            return None
        return RecordRef("", 0, 0, digest(response.body), False)

    def archive_alone(self, response: Response) -> RecordRef | None:
        """Write the records of an answer to which no other refers; None if it was none. Raises as `archive`."""
        if not response.head:
            return None
        record = self._archive.write(_exchange(response))
        return record if record.file else None

    def is_copy(self, site: SiteContext, response: Response, document: Document) -> bool:
        """Tell whether the very same document was made of another page of a site; remember this one.

        What servers send says little of that: often it is the same for all pages.
        """
        made = digest(_MADE_MARK + document.html)
        is_known = site.archived.get(made) is not None
        if not is_known:
            site.archived.remember(made, RevisitOf(response.request.url, response.started_at))
        return is_known

    def sitemap(self, response: Response) -> Sitemap | None:
        """Read a sitemap; None for anything else.

        Of long ones one is read at a time: that takes some four times its size of memory, and all of one processor.
        """
        encoding, content_type = (response.headers.get(name, "") for name in ("content-encoding", "content-type"))
        body, limit = response.body, self._max_decoded
        if len(body) <= _LONG_SITEMAP:
            return read_sitemap(body, encoding, content_type, limit)
        with self._one_long:
            return read_sitemap(body, encoding, content_type, limit)

    @staticmethod
    def media_type(response: Response) -> str:
        """Return the media type of an answer: as declared or, where nothing valid is, by its first bytes."""
        declared = response.content_type
        if declared not in UNKNOWN_TYPES:
            return declared
        start = decode_body(response.body, response.headers.get("content-encoding", ""), RESOURCE_HEADER).body
        nosniff = response.headers.get("x-content-type-options", "").partition(",")[0].strip().lower() == "nosniff"
        return sniffed_type(start, scriptable=not nosniff)

    def links(self, response: Response, media_type: str) -> PageLinks | None:
        """Find the links of a page of HTML; None for anything else. `media_type` is that of the answer."""
        document = response.document
        if document is None or not document.html:
            return self._in_body(response, media_type)
        return self._in_document(response, document, media_type)

    def _in_document(self, response: Response, document: Document, media_type: str) -> PageLinks:
        """Find the links of the document that was made of a page, and where its scripts wanted to lead.

        What the page as it came asks of robots counts as well: scripts cannot take that back.
        """
        found = self._extractor.links(document.html, document.url, _MADE_TYPE)
        came = self._in_body(response, media_type)
        robots = found.robots if came is None else [*came.robots, *found.robots]
        hrefs, sources = [*found.hrefs, *document.links], found.sources
        if sources is not None:
            sources = LinkSources([*sources.of_hrefs, *([SCRIPTED] * len(document.links))], sources.others)
        return replace(found, robots=robots, hrefs=hrefs, sources=sources)

    def _in_body(self, response: Response, media_type: str) -> PageLinks | None:
        other_xml = media_type not in HTML_TYPES
        if other_xml and not is_xml(media_type):
            return None
        encoding = response.headers.get("content-encoding", "")
        content_type = response.headers.get("content-type", "")
        if encoding:
            decoded = decode_body(response.body, encoding, self._max_decoded, self._max_ratio)
            body, note = decoded.body, decoded.note
        else:
            body, note = response.body, ""
        if other_xml and not is_xhtml(body, content_type):
            return None
        found = self._extractor.links(body, response.request.url, content_type or media_type)
        found.note = note or found.note
        return found

    def directives(self, response: Response, links: PageLinks | None) -> Directives:
        """Return what a page, HTML or not, allows robots to do with it."""
        said = links.robots if links else []
        if not said and "x-robots-tag" not in response.headers:
            return ALL_ALLOWED
        headers = header_values(response.head, "x-robots-tag")
        return directives(said, headers, self._product_token, response.started_at)


def _refer_back(exchange: Exchange, recalled: Recalled) -> None:
    """Let an exchange be what it was: a server's word that all is as a record of another crawl has it."""
    exchange.response_head = recalled.head
    exchange.body = b""
    exchange.revisit_of = RevisitOf(recalled.payload_url, recalled.payload_at, said_by_server=True)


def _exchange(response: Response, site: SiteContext | None = None, payload_digest: bytes = b"") -> Exchange:
    """Return what is archived of an answer: a revisit of the record in which `site` has its payload already, if any.

    `payload_digest` is that of its payload, where that is known. Raises UnrecordableError.
    """
    try:
        payload_digest = payload_digest or digest(response.body)
        known = site.archived.get(payload_digest) if site is not None else None
        http, tls, cipher = response.protocols or ("", "", "")
        limits = response.request.limits
        proxied = limits is not None and limits.proxy is not None  # nobody here knows whom the proxy asked
        return Exchange(
            url=response.request.url,
            address="" if proxied else response.request.address,
            date_ms=response.started_at,
            request_head=response.request_head,
            response_head=response.head,
            body=response.body,
            payload_digest=payload_digest,
            truncated=_TRUNCATED.get(response.result, "") if response.document is None else "",
            revisit_of=known,
            protocols=(http, tls),
            cipher_suite=cipher,
        )
    except Exception as error:
        raise UnrecordableError from error


def refreshed(response: Response, links: PageLinks | None) -> PageLinks | None:
    """Return the links of a page with that of its Refresh header, which comes before them; a <base> is not for it."""
    content, url = header_text(response, "refresh"), response.request.url
    target = refresh_target(content)
    if not target:
        return links
    at_once = refreshes_at_once(content)
    if links is None:
        alone = LinkSources([REFRESH_HEADER], [])
        return PageLinks(url, [target], sources=alone, refresh=target if at_once else "")
    if links.base != url:
        target = normalise(target, url).url or target
    sources = links.sources
    if sources is not None:
        sources = LinkSources([REFRESH_HEADER, *sources.of_hrefs], sources.others)
    refresh = target if at_once else links.refresh
    return replace(links, hrefs=[target, *links.hrefs], sources=sources, refresh=refresh)
