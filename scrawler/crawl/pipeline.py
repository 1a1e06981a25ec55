"""One answer's way from the downloader to its page row and links: archive, decode, extract."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from scrawler.archive.archive import Archive
from scrawler.archive.record import Exchange, RecordRef, RevisitOf, Truncation, digest
from scrawler.crawl.site import SiteContext
from scrawler.extract.charset import is_html
from scrawler.extract.decode import decode_body
from scrawler.extract.directives import ALL_ALLOWED, Directives, directives
from scrawler.extract.links import LinkExtractor, PageLinks
from scrawler.extract.simhash import fingerprint_of
from scrawler.extract.sitemaps import Sitemap, read_sitemap
from scrawler.fetch.downloader import Response
from scrawler.fetch.wire import header_values
from scrawler.model import Result

_TRUNCATED: dict[Result, Truncation] = {Result.TOO_LARGE: "length", Result.TIMEOUT: "time", Result.CUT: "disconnect"}
_SNIFFED_BYTES = 512


class PagePipeline:
    """Archives answers and finds their links; shared by the collectors of a machine.

    X-Robots-Tag headers address this crawler by `product_token`.
    """

    def __init__(
        self, archive: Archive, extractor: LinkExtractor, max_decoded: int, max_ratio: int, product_token: str
    ) -> None:
        self._archive, self._extractor = archive, extractor
        self._max_decoded, self._max_ratio = max_decoded, max_ratio
        self._product_token = product_token

    def archive(self, site: SiteContext, response: Response) -> RecordRef | None:
        """Write the answer's records; None if there was no HTTP answer, or its body not wanted. Raises ArchiveError.

        A payload that the site's archive has already is written as a revisit of the first record: that one is
        committed before, or with, everything that comes after it in this site.
        """
        if not response.head or response.result is Result.UNWANTED_TYPE:
            return None
        payload_digest = digest(response.body)
        whole = response.body and response.result.answered
        known = site.archived.get(payload_digest) if whole else None
        record = self._archive.write(
            Exchange(
                url=response.request.url,
                address=response.request.address,
                date_ms=response.started_at,
                request_head=response.request_head,
                response_head=response.head,
                body=response.body,
                payload_digest=payload_digest,
                truncated=_TRUNCATED.get(response.result, ""),
                revisit_of=known,
            )
        )
        if whole and known is None:
            site.remember(payload_digest, RevisitOf(response.request.url, response.started_at))
        return record

    def sitemap(self, response: Response) -> Sitemap | None:
        """Read a sitemap; None for anything else."""
        encoding, content_type = (response.headers.get(name, "") for name in ("content-encoding", "content-type"))
        return read_sitemap(response.body, encoding, content_type, self._max_decoded)

    def links(self, response: Response, wants_text: Callable[[list[str]], bool] | None = None) -> PageLinks | None:
        """Find the links of an HTML page; None for anything else.

        `wants_text` tells by the links whether the page's text is to be compared with that of others.
        """
        encoding = response.headers.get("content-encoding", "")
        content_type = response.headers.get("content-type", "")
        if encoding:
            decoded = decode_body(response.body, encoding, self._max_decoded, self._max_ratio)
            body, note = decoded.body, decoded.note
        else:
            body, note = response.body, ""
        if not is_html(content_type, body[:_SNIFFED_BYTES]):
            return None
        found = self._extractor.links(body, response.request.url, content_type, wants_text)
        if found.words is None and not note:  # of most pages that is all
            return found
        text = None if found.words is None else fingerprint_of(found.words)
        return replace(found, note=note or found.note, words=None, fingerprint=text)

    def directives(self, response: Response, links: PageLinks | None) -> Directives:
        """Return what a page, HTML or not, allows robots to do with it."""
        said = links.robots if links else []
        if not said and "x-robots-tag" not in response.headers:
            return ALL_ALLOWED
        headers = header_values(response.head, "x-robots-tag")
        return directives(said, headers, self._product_token, response.started_at)
