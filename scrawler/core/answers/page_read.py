"""What is known of a page's answer before it is applied to its party."""

from __future__ import annotations

from typing import Any

from scrawler.archive.record import RecordRef
from scrawler.extract.links import PageLinks
from scrawler.extract.sitemaps import Sitemap
from scrawler.faults import Fault
from scrawler.fetch.downloader import Response
from scrawler.model.lanes import LaneKey
from scrawler.urls.analyzer import Analysis


class PageRead:
    """What an answer was read to say: the one object of its kind for a page. Steps add to it.

    Attributes:
        again: the lane in which the URL is listed again; None if this is its last answer.
        links: what the page leads to; None where it is no page.
        sitemap: what it lists, where it was read as a sitemap.
        media_type: as declared or, where nothing valid is, by its first bytes.
        flags: of PageFlag.
        keep: whether the answer is archived; if not, its row has the digest alone.
        metadata: fields of a record beside that of the answer (application/warc-fields); empty: none.
        found: what each step has found, by its number; empty where no step reads.
        record: where the answer is archived.
        fault: what was met while it was read.
        listed: what its links came to, where they are listed already: see `long_pages`.
        parts: answers beside the page's own, with their records.
        is_copy: whether the same document was made of another page; None: none was made.
        counted: whether its request and bytes are counted already: `lister` applies it much later.
    """

    __slots__ = (
        *("again", "links", "sitemap", "media_type", "flags", "keep", "metadata", "found", "record", "fault"),
        *("listed", "parts", "is_copy", "counted"),
    )

    def __init__(self, again: LaneKey | None = None) -> None:
        self.again = again
        self.links: PageLinks | None = None
        self.sitemap: Sitemap | None = None
        self.media_type = ""
        self.flags = 0
        self.keep = True
        self.metadata = b""
        self.found: list[Any] = []
        self.record: RecordRef | None = None
        self.fault: Fault | None = None
        self.listed: Analysis | None = None
        self.parts: tuple[tuple[Response, RecordRef], ...] = ()
        self.is_copy: bool | None = None
        self.counted = False

    def met(self, fault: Fault) -> PageRead:
        """Return what is left where a fault ended the reading: nothing that was read counts."""
        left = PageRead()
        left.fault = fault
        left.parts = self.parts
        return left
