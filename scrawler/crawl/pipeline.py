"""One answer's way from the downloader to its page row and links: archive, decode, extract."""

from __future__ import annotations

from collections.abc import Callable

from scrawler.archive.record import Exchange, RecordRef, RevisitOf, Truncation, digest
from scrawler.archive.warc import WarcWriter
from scrawler.crawl.site import Archived, SiteContext
from scrawler.extract.charset import is_html
from scrawler.extract.decode import decode_body
from scrawler.extract.links import LinkExtractor, PageLinks
from scrawler.extract.simhash import Words, fingerprint_of, words_of
from scrawler.fetch.downloader import Response
from scrawler.model import Result

_TRUNCATED: dict[Result, Truncation] = {Result.TOO_LARGE: "length", Result.TIMEOUT: "time", Result.CUT: "disconnect"}
_SNIFFED_BYTES = 512


class PagePipeline:
    """Archives answers and finds their links; shared by the collectors of a machine."""

    def __init__(self, archive: WarcWriter, extractor: LinkExtractor, max_decoded: int) -> None:
        self._archive, self._extractor, self._max_decoded = archive, extractor, max_decoded

    def archive(self, site: SiteContext, response: Response) -> RecordRef | None:
        """Write the answer's records; None if there was no HTTP answer. Raises ArchiveError.

        A payload that the site's archive has already is written as a revisit of the first record: that one is
        committed before, or with, everything that comes after it in this site.
        """
        if not response.head:
            return None
        payload_digest = digest(response.body)
        known = site.archived.get(payload_digest) if response.body and response.result.answered else None
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
                revisit_of=RevisitOf(known.url, known.date) if known else None,
            )
        )
        if response.result.answered and response.body and not known:
            site.remember(payload_digest, Archived(response.request.url, response.started_at))
        return record

    def links(self, response: Response, wants_text: Callable[[list[str]], bool] | None = None) -> PageLinks | None:
        """Find the links of an HTML page; None for anything else.

        `wants_text` tells by the links whether the page's text is to be compared with that of others.
        """
        encoding = response.headers.get("content-encoding", "")
        content_type = response.headers.get("content-type", "")
        if encoding:
            decoded = decode_body(response.body, encoding, self._max_decoded)
            body, note = decoded.body, decoded.note
        else:
            body, note = response.body, ""
        if not is_html(content_type, body[:_SNIFFED_BYTES]):
            return None
        found = self._extractor.links(body, response.request.url, content_type)
        text = None
        if wants_text is not None and wants_text(found.hrefs):
            text = fingerprint_of(found.words() if found.words else self._words(body, content_type))
        return PageLinks(found.base, found.hrefs, found.charset, note or found.note, fingerprint=text)

    def _words(self, body: bytes, content_type: str) -> Words:
        return words_of(self._extractor.text(body, content_type).text)
