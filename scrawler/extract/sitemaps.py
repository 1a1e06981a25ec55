"""Sitemaps: lists of a site's URLs, as sites publish them for crawlers.

Read are the sitemaps and indexes of sitemaps.org (0.9, and older ones of the same shape), plain text with a URL a line,
RSS 0.9 to 2.0 and Atom 1.0, all of them gzipped or not. The lists of ResourceSync (ANSI/NISO Z39.99-2017) have the form
of sitemaps: what they say besides, of themselves and of each entry, is read as well. Names in capitals count as well,
a URL that stands in an entry without a `loc`, and the `guid` of an item without a link, unless it says that it is none;
`xml:base` is what relative ones are read against. Expat, of the standard library,
reads XML; it opens no external entity, and a document that declares entities or attributes of its own is read no
further than that. What expat refuses, for a raw "&" as a rule, is read again as loosely as its makers have written it
(`loose_xml`).
"""

from __future__ import annotations

import re
from enum import Enum
from typing import NamedTuple
from urllib.parse import urljoin
from xml.parsers.expat import ExpatError, ParserCreate

from scrawler.dates import read_date
from scrawler.extract.decode import decode_body
from scrawler.extract.loose_xml import End, Start, tokens
from scrawler.extract.sniff import HTML_TYPES
from scrawler.extract.xml_text import root_of, xml_text
from scrawler.mime import media_type
from scrawler.model.terms import Millis

MAX_URLS = 50_000  # URLs of one sitemap (sitemaps.org, "Sitemap file limits")
MAX_BYTES = 50 << 20  # bytes of one sitemap, once it is decoded (the same limits)

TOO_MANY_URLS = "too-many-urls"
BAD_XML = "bad-xml"  # its XML is bad; what could be read is listed nevertheless
DECLARATIONS = "declarations"  # it declares entities or attributes
TOO_DEEP = "too-deep"
TOO_MANY_ELEMENTS = "too-many-elements"

_START_BYTES = 4_096  # a sitemap is told from other documents by so many bytes
_SLICE = 1 << 20  # characters that expat is given at a time, for it takes a copy
_DEEPEST = 100  # elements that may be open at once
_MOST_ELEMENTS = 2_000_000
_RATIO = 200  # times that a decoded body may be larger than what came; one with nearly equal URLs is 60 times as large
_SMALL = 1 << 20  # so many bytes may be decoded at any ratio
_LONGEST_VALUE = 16_384  # characters of a value; of a longer one nothing is kept
_GZIP_MAGIC = b"\x1f\x8b"

CHANGE_FREQUENCIES = frozenset(("always", "hourly", "daily", "weekly", "monthly", "yearly", "never"))
_ROOTS = frozenset(("urlset", "sitemapindex", "rss", "rdf", "feed"))
_LINE_END = re.compile(r"[\r\n]")
_URL_LINE = re.compile(r"^[ \t]*(https?://\S+)[ \t\r]*$", re.IGNORECASE | re.MULTILINE)


class Listed(NamedTuple):
    """A URL as written, and when it last changed; 0: not said."""

    url: str
    lastmod: Millis
    changefreq: str = ""  # one of CHANGE_FREQUENCIES, if it is said
    change: str = ""  # created, updated or deleted, as a change list of ResourceSync says
    capability: str = ""  # what kind of list it is, where one of ResourceSync names another one
    until: Millis = 0  # a list of changes that is over: when


class Sitemap(NamedTuple):
    """What a sitemap lists, in its order: pages or, if it is an index, further sitemaps. `note`: why not all of it."""

    is_index: bool
    listed: list[Listed]
    note: str = ""
    capability: str = ""  # which list of ResourceSync it is: description, capabilitylist, resourcelist, changelist, ...
    since: Millis = 0  # a list of changes: since when it tells of all of them
    until: Millis = 0  # ... and until when, if it is over: nothing comes to it any more


class _EndOfReading(Exception):
    """No more of a document is to be read."""


def is_sitemap(body: bytes, content_encoding: str, content_type: str) -> bool:
    """Tell by its beginning whether a body is a sitemap; a text is one if it begins with a URL on a line of its own."""
    start, _ = _unpacked(body, content_encoding, _START_BYTES)
    text, _ = xml_text(start[:_START_BYTES], content_type)
    return _root(text) != "" or _is_list(text, content_type)


def read_sitemap(body: bytes, content_encoding: str, content_type: str, max_bytes: int = MAX_BYTES) -> Sitemap | None:
    """Read a body as transferred; None if it is no sitemap. Broken ones give what came before the break."""
    limit = min(max_bytes, MAX_BYTES, max(_SMALL, _RATIO * len(body)))
    unpacked, note = _unpacked(body, content_encoding, limit)
    text, _ = xml_text(unpacked, content_type)
    if root := _root(text):
        found = _read_xml(text, root)
    elif _is_list(text, content_type):
        found = _read_text(text)
    else:
        return None
    return found._replace(note=note or found.note)


def _unpacked(body: bytes, content_encoding: str, limit: int) -> tuple[bytes, str]:
    """Undo the content coding, and the gzip of a .gz file."""
    unpacked, note = decode_body(body, content_encoding, limit)
    if unpacked.startswith(_GZIP_MAGIC):
        file = decode_body(unpacked, "gzip", limit)
        return file.body, note or file.note
    return unpacked, note


def _root(text: str) -> str:
    """Return the name of the root element if it is a sitemap's, without prefix; else an empty string."""
    name, _ = root_of(text)
    name = name.lower()
    return name if name in _ROOTS else ""


def _is_list(text: str, content_type: str) -> bool:
    if media_type(content_type).essence in HTML_TYPES:
        return False
    return _URL_LINE.match(_LINE_END.split(text, 1)[0]) is not None


def _read_text(text: str) -> Sitemap:
    listed: list[Listed] = []
    if "\r" in text:  # some end their lines by it alone
        text = text.replace("\r", "\n")
    for line in _URL_LINE.finditer(text):
        if len(listed) == MAX_URLS:
            return Sitemap(False, listed, TOO_MANY_URLS)
        if line.end(1) - line.start(1) <= _LONGEST_VALUE:
            listed.append(Listed(line[1], 0))
    return Sitemap(False, listed)


class _Part(Enum):
    """What the text of an element, or what its attributes say, is to its entry."""

    URL = 1
    DATE = 2
    FREQUENCY = 3
    METADATA = 4
    GUID = 5  # its URL, if there is no better one
    ENTRY = 6  # what stands in an entry itself: its URL, if nothing else names that


class _Shape(NamedTuple):
    """Where a kind of document has its entries, and what of them it says where; by local names in lower case."""

    entry: tuple[str, ...]
    parts: dict[str, _Part]


_RSS_PARTS = {"link": _Part.URL, "guid": _Part.GUID, "pubdate": _Part.DATE, "date": _Part.DATE}
_SITEMAP_PARTS = {
    "loc": _Part.URL,
    "lastmod": _Part.DATE,
    "changefreq": _Part.FREQUENCY,
    "md": _Part.METADATA,
}
_SHAPES = {
    "urlset": _Shape(("urlset", "url"), _SITEMAP_PARTS),
    "sitemapindex": _Shape(("sitemapindex", "sitemap"), _SITEMAP_PARTS),
    "rss": _Shape(("rss", "channel", "item"), _RSS_PARTS),
    "rdf": _Shape(("rdf", "item"), _RSS_PARTS),
    "feed": _Shape(("feed", "entry"), {"link": _Part.URL, "updated": _Part.DATE}),
}


def _read_xml(text: str, root: str) -> Sitemap:
    reader = _XmlReader(_SHAPES[root], links_have_href=root == "feed")
    problem = reader.read(text)
    if problem == BAD_XML:
        reader = _XmlReader(_SHAPES[root], links_have_href=root == "feed")
        problem = reader.read_loosely(text)
    since, until = (max(0, read_date(reader.head.get(name, "")) or 0) for name in ("from", "until"))
    return Sitemap(root == "sitemapindex", reader.listed, problem, reader.head.get("capability", ""), since, until)


def _local(name: str) -> str:
    return name[name.find(":") + 1 :].lower()


def _joined(base: str, url: str) -> str:
    """Resolve a URL against a base, which may be relative itself: who lists it knows the URL of the document."""
    try:
        return urljoin(base, url)
    except ValueError:
        return url


class _XmlReader:
    """Gathers the entries of one document; only what stands directly in an entry counts."""

    def __init__(self, shape: _Shape, *, links_have_href: bool) -> None:
        self.listed: list[Listed] = []
        self._shape = shape
        self._links_have_href = links_have_href
        self._depth = len(shape.entry)  # depth at which an entry stands
        self._open: list[str] = []
        self.head: dict[str, str] = {}  # what a list of ResourceSync says of itself
        self._bases: list[tuple[int, str]] = []  # what xml:base says: depth, and URL
        self._url = ""
        self._spare = ""  # of an entry that has no other URL
        self._date = ""
        self._frequency = ""
        self._said: dict[str, str] = {}  # what a list of ResourceSync says of an entry
        self._text: list[str] = []
        self._part: _Part | None = None
        self._problem = ""
        self._elements = 0
        self._parser = ParserCreate()
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        # Entities could be billions of laughs; with 10,000 declared attributes each element takes a second.
        self._parser.EntityDeclHandler = self._refuse
        self._parser.AttlistDeclHandler = self._refuse

    def read(self, text: str) -> str:
        """Read a document; returns what went wrong, or an empty string."""
        try:
            for start in range(0, len(text), _SLICE):
                self._parser.Parse(text[start : start + _SLICE], False)
            self._parser.Parse("", True)
        except _EndOfReading:
            return self._problem
        except (ExpatError, UnicodeEncodeError):  # halves of UTF-16 pairs cannot be encoded
            return BAD_XML
        return ""

    def read_loosely(self, text: str) -> str:
        """Read a document that is no XML; returns what is wrong with it. What its end leaves open is not listed."""
        try:
            for token in tokens(text.encode("utf-8", "replace").decode()):
                if isinstance(token, str):
                    if self._part is not None:
                        self._text.append(token)
                elif isinstance(token, End):
                    self._close(token.name)
                else:
                    self._open_loosely(token)
        except _EndOfReading:
            return self._problem
        return BAD_XML

    def _open_loosely(self, start: Start) -> None:
        if _local(start.name) == self._shape.entry[-1]:
            self._close(start.name)  # entries do not nest: the one before had no end tag
        self._start(start.name, start.attributes)
        if start.is_empty:
            self._close(start.name)

    def _close(self, name: str) -> None:
        """End the innermost open element of a name, with all in it; none if there is none."""
        local = _local(name)
        if local in self._open:
            last = len(self._open) - self._open[::-1].index(local)
            while len(self._open) >= last:
                self._end(name)

    def _stop(self, problem: str) -> None:
        self._problem = problem
        raise _EndOfReading

    def _refuse(self, *_declaration: object) -> None:
        self._stop(DECLARATIONS)

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        path = self._open
        path.append(_local(name))
        depth = len(path)
        self._elements += 1
        if depth > _DEEPEST or self._elements > _MOST_ELEMENTS:
            self._stop(TOO_DEEP if depth > _DEEPEST else TOO_MANY_ELEMENTS)
        if base := attributes.get("xml:base"):
            self._bases.append((depth, _joined(self._base, base.strip())))
        if self._part is _Part.ENTRY:
            self._take_part(_Part.ENTRY)
        if depth == self._depth + 1:
            part = self._shape.parts.get(path[-1])
            if part is not None and tuple(path[:-1]) == self._shape.entry:
                self._begin(part, attributes)
        elif depth == self._depth and "loc" in self._shape.parts and tuple(path) == self._shape.entry:
            self._listen(_Part.ENTRY)
        elif depth == 2 and path[1] == "md" and not self.head:
            self.head = attributes

    def _begin(self, part: _Part, attributes: dict[str, str]) -> None:
        if part is _Part.METADATA:
            self._said = self._said or attributes
            return
        if part is _Part.URL and self._links_have_href:
            attributes = {name.lower(): value for name, value in attributes.items()}
            if not self._url and attributes.get("rel", "alternate") == "alternate":
                href = attributes.get("href", "").strip()
                self._url = _joined(self._base, href) if href else ""
            return
        if part is _Part.GUID:
            attributes = {name.lower(): value for name, value in attributes.items()}
            if attributes.get("ispermalink", "").strip().lower() == "false":
                return
        self._listen(part)

    def _listen(self, part: _Part) -> None:
        """Gather the text that comes next."""
        self._part, self._text = part, []
        self._parser.CharacterDataHandler = self._text.append

    @property
    def _base(self) -> str:
        return self._bases[-1][1] if self._bases else ""

    def _end(self, _name: str) -> None:
        path = self._open
        depth = len(path)
        if self._part is not None and (depth == self._depth + 1 or self._part is _Part.ENTRY):
            self._take_part(self._part)
        if depth == self._depth:
            self._url = self._url or self._spare
            if self._url and tuple(path) == self._shape.entry:
                self._take_entry()
            self._spare = self._date = self._frequency = ""
            self._said = {}
        path.pop()
        while self._bases and self._bases[-1][0] > len(path):
            self._bases.pop()

    def _take_part(self, part: _Part) -> None:
        self._parser.CharacterDataHandler = None
        self._part = None
        value = "".join(self._text).strip()
        if len(value) > _LONGEST_VALUE:
            return
        if part is _Part.URL:
            self._url = self._url or (_joined(self._base, value) if value else "")
        elif part in (_Part.GUID, _Part.ENTRY):
            if value.lower().startswith(("http://", "https://")):
                self._spare = self._spare or value
        elif part is _Part.FREQUENCY:
            self._frequency = value.lower() if value.lower() in CHANGE_FREQUENCIES else ""
        else:
            self._date = self._date or value

    def _take_entry(self) -> None:
        if len(self.listed) == MAX_URLS:
            self._stop(TOO_MANY_URLS)
        said = self._said
        date = max(0, read_date(said.get("datetime", "") or self._date) or 0)
        change, capability = said.get("change", ""), said.get("capability", "")
        until = max(0, read_date(said.get("until", "")) or 0)
        self.listed.append(Listed(self._url, date, self._frequency, change, capability, until))
        self._url = ""
