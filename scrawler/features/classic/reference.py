"""The reference link extractor, on html5lib: slow, and the letter of the parsing rules (of 2020)."""

from __future__ import annotations

import io
from time import thread_time
from xml.etree.ElementTree import Element

import html5lib

from scrawler.extract.charset import to_utf8
from scrawler.extract.hazards import is_hazardous
from scrawler.extract.links import DEEP_HTML, PARSER_FAILED, LinkPolicy, PageLinks
from scrawler.extract.rules import DEFAULT_POLICY, FOREIGN_TAGS, LinkCollector, is_canonical
from scrawler.extract.scanned import scanned

_MAX_SECONDS = 3.0  # seconds of CPU for one tree: 5 MB of documentation take so long, or 2 MB of <p>more</p>
_XLINK = "{http://www.w3.org/1999/xlink}href"
_PIECE = 4096  # characters between two looks at the clock


class _TooCostly(Exception):
    """The page would take more time than any page is worth."""


class _TimedPage(io.StringIO):
    """A page that can be read for a time only: errors cost html5lib up to 12 us a character, and are not all it has."""

    def __init__(self, page: str) -> None:
        super().__init__(page)
        self._end = thread_time() + _MAX_SECONDS

    def read(self, size: int | None = None, /) -> str:
        """Return the next characters, at most `size` of them. Raises _TooCostly."""
        if thread_time() > self._end:
            raise _TooCostly
        return super().read(_PIECE if size is None else min(size, _PIECE))


class _Parser(html5lib.HTMLParser):
    """Keeps no list of errors, each with its line and column: nobody reads it, and it can outgrow the page."""

    def parseError(self, *_: object, **__: object) -> None:  # noqa: N802 - so html5lib calls it
        pass


class Html5libExtractor:
    """LinkExtractor on html5lib; about 10 ms for a page of 32 KB."""

    def __init__(self, policy: LinkPolicy = DEFAULT_POLICY) -> None:
        self._policy = policy

    def links(self, body: bytes, url: str, content_type: str = "") -> PageLinks:
        """Find the links of a decoded body; see LinkExtractor."""
        utf8, charset = to_utf8(body, content_type)
        page = utf8.decode("utf-8", "replace")
        root = DEEP_HTML if is_hazardous(utf8) else _parse(page)
        if isinstance(root, str):
            return scanned(utf8, url, self._policy, charset, root)
        collector = LinkCollector(url, self._policy)
        in_templates = {inner for template in root.iter("template") for inner in template.iter()}
        in_head = {link for head in root.iterfind("head") for link in head.iter("link")} - in_templates
        for element in root.iter():
            if isinstance(element.tag, str) and _says_something(element):  # the tag of a comment is a function
                collector.element(_local_name(element), _attributes(element), element in in_templates)
                if element in in_head and is_canonical(element.attrib):
                    collector.canonical(element.attrib)
        return collector.result(charset, utf8)


def _parse(page: str) -> Element | str:
    """Return the page's root, or the note that says why it has none."""
    parser = _Parser(html5lib.getTreeBuilder("etree"), namespaceHTMLElements=False)
    try:
        root: Element = parser.parse(_TimedPage(page))
    except _TooCostly:
        return DEEP_HTML
    except Exception:  # a few pages break assertions of html5lib 1.1, and no page may end a crawl
        return PARSER_FAILED
    return root


def _says_something(element: Element) -> bool:
    """Tell whether an element is of HTML, or one of those that are links or assets in SVG and MathML too."""
    return not element.tag.startswith("{") or _local_name(element) in FOREIGN_TAGS


def _local_name(element: Element) -> str:
    return str(element.tag).rpartition("}")[2]  # SVG and MathML elements have a namespace


def _attributes(element: Element) -> dict[str, str]:
    """Return the attributes of an element; of one in SVG or MathML, a link of XLink stands as href."""
    attributes = element.attrib
    if _XLINK in attributes and "href" not in attributes:
        return {**attributes, "href": attributes[_XLINK]}
    return attributes
