"""A page as users of the library see it: its row at once, what the server answered when it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from scrawler.api.answers import Answers
from scrawler.dates import moment
from scrawler.extract.beginning import beginning
from scrawler.extract.charset import to_utf8
from scrawler.extract.scanner import fastest_extractor
from scrawler.extract.sniff import HTML_TYPES, UNKNOWN_TYPES, sniffed_type
from scrawler.insight.contents import RENDERED_TYPE, PageContent
from scrawler.model.results import PageFlag, Result
from scrawler.model.visits import kinds_of
from scrawler.store.claims.seeds import columns_of
from scrawler.store.reading.committed import CommittedPage
from scrawler.urls.normalise import normalise

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser


class Page:
    """The final result of one URL.

    What stands in the database is there at once. `headers`, `body` and all that is made of the body are read from the
    WARC file when they are asked for, once each; they are empty where nothing was archived, as for a page that
    robots.txt forbids. They raise `RecordsLostError` where the record is gone, or on another host.

    It can be pickled, for other processes of this host: they read the same files, which have to be there still.
    """

    def __init__(self, committed: CommittedPage, answers: Answers) -> None:
        row = committed.row
        self._row = row
        self._answers = answers
        self.id = committed.id  # its key in the database: no other page has it, and it never changes
        self.url = row.url
        self.seed = committed.seed  # URL of the seed for which it was fetched
        self._seed_columns = committed.seed_columns
        self.depth = row.depth  # links from the seed
        self.result = Result(row.result)
        self.status = row.status  # HTTP status; 0: there was none
        self.content_type = row.content_type  # media type without parameters, in lower case
        self.length = row.length  # body bytes over the wire
        self.digest = row.digest.hex()  # SHA-1 of the payload as transferred, in hexadecimal; empty: none
        self.attempts = row.attempts
        self.fetched_at = moment(row.fetched_at)
        self.elapsed = row.elapsed_ms / 1000  # seconds from the request to the end of the answer
        self.detail = row.detail  # where a redirect leads, or what went wrong
        self.flags = PageFlag(row.flags)
        self.visit = row.visit  # 0: the first to this URL
        self.changes = kinds_of(row.flags)  # what this visit has found: new, changed, failing, gone, back, moved
        self.warc_file = row.warc_file  # name of the file with its record; empty: nothing was archived
        self.warc_offset = row.warc_offset  # in bytes
        self.warc_length = row.warc_length  # in bytes, of the gzip member
        self.revisit = bool(row.revisit)  # whether the record refers to an earlier one with the same payload

    def __reduce__(self) -> tuple[type[Page], tuple[CommittedPage, Answers]]:
        """Be pickled as the row and its place in the archive, from which another process reads the rest anew."""
        return type(self), (CommittedPage(self.id, self.seed, self._row, self._seed_columns), self._answers)

    def __repr__(self) -> str:
        return f"<Page {self.url} {self.result.value}{f' {self.status}' if self.status else ''}>"

    @cached_property
    def seed_columns(self) -> Mapping[str, Any]:
        """What the seed file said of its seed beside the URL, by the names of the columns; empty where it said nothing.

        Of CSV all values are text, of JSON lines what JSON holds.
        """
        return columns_of(self._seed_columns)

    @cached_property
    def referrer(self) -> str:
        """The URL of the page, or sitemap, that listed this one first; empty for a seed.

        It is looked up in the database when it is asked for.
        """
        return self._answers.referrer(self._row)

    @cached_property
    def _content(self) -> PageContent | None:
        return self._answers.of(self._row)

    @cached_property
    def headers(self) -> Mapping[str, str]:
        """The header fields of the answer: names in lower case, the values of equal ones joined with ", "."""
        return {} if self._content is None else self._content.headers

    @cached_property
    def body(self) -> bytes:
        """The body without its content coding (gzip, br, ...), as a browser would get it; at most `max_decoded`.

        Of a damaged body as much as could be had.
        """
        return b"" if self._content is None else self._content.decoded().body

    @property
    def _type(self) -> str:
        return self.headers.get("content-type", "")

    @property
    def rendered(self) -> bytes:
        """The document that a browser made of the page, in UTF-8, empty where it was shown in none.

        `text`, `title`, `links` and `dom` are those of it then, `body` and `html` what the server sent.
        """
        return b"" if self._content is None else self._content.rendered

    @property
    def _document(self) -> tuple[bytes, str]:
        return (self.rendered, RENDERED_TYPE) if self.rendered else (self.body, self._type)

    @property
    def html(self) -> str:
        """The body as text, in the encoding that a browser would find: the source of a page.

        It is decoded each time, for kept it would take the memory of the body once more, or four times.
        """
        return to_utf8(self.body, self._type)[0].decode("utf-8", "replace")

    @cached_property
    def is_html(self) -> bool:
        """Whether the body is an HTML page, by its media type or, where none is given, by its first bytes."""
        if self.content_type in UNKNOWN_TYPES:
            return sniffed_type(self.body, scriptable=True) in HTML_TYPES
        return self.content_type in HTML_TYPES

    @cached_property
    def text(self) -> str:
        """The text that a reader sees, as `scrawler cat --text` writes it, line by line; empty where there is none.

        It is that of the first 16 MiB and million tags of a page, as is `dom`.
        """
        from scrawler.extract.visible import visible_text  # what builds trees is large, and no run needs it

        body, content_type = self._document
        return visible_text(beginning(body), content_type, self.content_type) or ""

    @cached_property
    def title(self) -> str:
        """The text of the page's title, its white space collapsed; empty if there is none."""
        from scrawler.extract.title import title_of

        return title_of(self.dom)

    @cached_property
    def links(self) -> tuple[str, ...]:
        """The distinct http(s) URLs of the page's links, absolute and without fragments, in the order of the page."""
        if not self.is_html:
            return ()
        body, content_type = self._document
        found = fastest_extractor().links(body, self.url, content_type)
        urls = (normalise(href, found.base).url for href in found.hrefs)
        return tuple(dict.fromkeys(url for url in urls if url))

    @cached_property
    def dom(self) -> LexborHTMLParser:
        """The page as a tree of selectolax, for CSS selectors: `page.dom.css_first("h1").text()`.

        It is empty for what is no HTML, and for a page that is made to cost a tree builder minutes; of a page of more
        than 16 MiB, or a million tags, it is the tree of the beginning.
        """
        from scrawler.extract.hazards import is_hazardous
        from scrawler.extract.trees import tree_of

        body, content_type = self._document
        page = to_utf8(beginning(body), content_type)[0] if self.is_html else b""
        return tree_of(b"" if is_hazardous(page) else page)
