"""XHTML, read as XML: there `<title/>` is an empty title, in HTML it hides the rest of the page.

Expat, of the standard library, reads it; it opens no external entity. The named characters of HTML are known whatever
the document type. What is not well-formed, declares entities or attributes of its own, nests very deeply, or is in no
name space, is read as HTML: browsers show an error or nothing then, but the links are there. What was found before the
reading as XML ended is kept.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from html.entities import html5
from xml.parsers.expat import ExpatError, ParserCreate

from scrawler.extract.links import LinkExtractor, LinkPolicy, LinkSources, PageLinks
from scrawler.extract.rules import DEFAULT_POLICY, FOREIGN_TAGS, LinkCollector
from scrawler.extract.xml_text import root_of, xml_text
from scrawler.mime import media_type

_XHTML = "http://www.w3.org/1999/xhtml"
_FOREIGN = frozenset(("http://www.w3.org/2000/svg", "http://www.w3.org/1998/Math/MathML"))
_XLINK_HREF = "http://www.w3.org/1999/xlink href"

_START_BYTES = 4_096  # XHTML is told from other XML by so many bytes
_DEEPEST = 5_000  # elements that may be open at once
_MOST_ELEMENTS = 200_000  # elements that are read, which takes about half a second
_NAMED = re.compile("&([A-Za-z][A-Za-z0-9]*;)")
_OF_XML = frozenset(("amp;", "lt;", "gt;", "quot;", "apos;"))


class _ReadAsHtml(Exception):
    """A document cannot be read as XHTML."""


def is_xml(essence: str) -> bool:
    """Tell whether a media type is one of XML (MIME Sniffing Standard, 4.6)."""
    return essence.endswith("+xml") or essence in ("text/xml", "application/xml")


def is_xhtml(body: bytes, content_type: str) -> bool:
    """Tell by its root element whether a decoded body, which is XML, is XHTML."""
    name, attributes = root_of(xml_text(body[:_START_BYTES], content_type)[0])
    return name == "html" and _XHTML in attributes


class XhtmlExtractor:
    """LinkExtractor that reads XHTML as XML, and leaves all else, and what is broken, to another."""

    def __init__(self, other: LinkExtractor, policy: LinkPolicy = DEFAULT_POLICY) -> None:
        self._other = other
        self._policy = policy

    def links(self, body: bytes, url: str, content_type: str = "") -> PageLinks:
        """Find the links of a decoded body; see LinkExtractor."""
        if "xml" in content_type and is_xml(media_type(content_type).essence):
            text, charset = _prepared(body, content_type)
            collector = LinkCollector(url, self._policy)
            if _Links(collector).read(text):
                found = collector.result(charset, text.encode("utf-8", "replace"))
                found.is_xml = True
                return found
            return _joined(self._other.links(body, url, content_type), collector.result(charset), url)
        return self._other.links(body, url, content_type)


def _joined(as_html: PageLinks, as_xml: PageLinks, url: str) -> PageLinks:
    """Add what was read as XML before it broke to what HTML makes of a page: there `<title/>` hides the rest."""
    return replace(
        as_html,
        base=as_xml.base if as_html.base == url else as_html.base,
        hrefs=_with_more(as_html.hrefs, as_xml.hrefs),
        robots=_with_more(as_html.robots, as_xml.robots),
        canonicals=_with_more(as_html.canonicals, as_xml.canonicals),
        unfollowed=_with_more(as_html.unfollowed, as_xml.unfollowed),
        assets=_with_more(as_html.assets, as_xml.assets),
        sources=_joined_sources(as_html, as_xml),
    )


def _joined_sources(as_html: PageLinks, as_xml: PageLinks) -> LinkSources | None:
    if as_html.sources is None or as_xml.sources is None:
        return None
    known = set(as_html.hrefs)
    added = (source for href, source in zip(as_xml.hrefs, as_xml.sources.of_hrefs, strict=True) if href not in known)
    others = dict.fromkeys((*as_html.sources.others, *as_xml.sources.others))
    return LinkSources([*as_html.sources.of_hrefs, *added], list(others))


def _with_more(found: Sequence[str], others: Sequence[str]) -> list[str]:
    known = set(found)
    return [*found, *(one for one in others if one not in known)]


def _prepared(body: bytes, content_type: str) -> tuple[str, str]:
    """Return the text for expat, which knows no characters by name, and its encoding."""
    text, charset = xml_text(body, content_type)
    return _NAMED.sub(_by_number, text) if "&" in text else text, charset


def _by_number(reference: re.Match[str]) -> str:
    meant = html5.get(reference[1], "")
    if not meant or reference[1] in _OF_XML:
        return reference[0]
    return "".join(f"&#{ord(character)};" for character in meant)


class _Links:
    """Reads one document, and hands over what says something of links."""

    def __init__(self, collector: LinkCollector) -> None:
        self._collector = collector
        self._tags = collector.tags
        self._templates = 0
        self._open: list[str] = []
        self._elements = 0

    def read(self, text: str) -> bool:
        """Read a document; False: it has to be read as HTML."""
        parser = ParserCreate(namespace_separator=" ")
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        # Entities could be billions of laughs; with 10,000 declared attributes each element takes a second.
        parser.EntityDeclHandler = parser.AttlistDeclHandler = self._refuse
        try:
            parser.Parse(text, True)
        except (_ReadAsHtml, ExpatError, UnicodeEncodeError):  # halves of UTF-16 pairs cannot be encoded
            return False
        return True

    def _refuse(self, *_declaration: object) -> None:
        raise _ReadAsHtml

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        namespace, _, tag = name.rpartition(" ")
        self._elements += 1
        if not self._open and name != f"{_XHTML} html":
            raise _ReadAsHtml
        if len(self._open) > _DEEPEST or self._elements > _MOST_ELEMENTS:
            raise _ReadAsHtml
        if namespace == _XHTML:
            self._take(tag, attributes, is_html=True)
        elif namespace in _FOREIGN:
            if _XLINK_HREF in attributes:
                attributes.setdefault("href", attributes[_XLINK_HREF])
            self._take(tag, attributes, is_html=False)
        else:
            tag = ""  # the name says nothing of an element of another name space
        self._open.append(tag)

    def _end(self, _name: str) -> None:
        self._templates -= self._open.pop() == "template"

    def _take(self, tag: str, attributes: dict[str, str], is_html: bool) -> None:
        if tag == "template":
            self._templates += 1
        elif tag not in self._tags or not (is_html or tag in FOREIGN_TAGS):
            return
        elif tag == "link":
            parents = [parent for parent in self._open[-2:] if parent != "noscript"]
            self._collector.link(attributes, in_head=parents[-1:] == ["head"])
        else:
            self._collector.element(tag, attributes, in_template=self._templates > 0)
