"""The reference link extractor, on html5lib: slow, and the letter of the parsing rules (of 2020)."""

from __future__ import annotations

from xml.etree.ElementTree import Element

import html5lib

from scrawler.extract.charset import to_utf8
from scrawler.extract.hazards import is_hazardous
from scrawler.extract.links import DEEP_HTML, PARSER_FAILED, LinkPolicy, PageLinks, PageText, WantsWords
from scrawler.extract.rules import DEFAULT_POLICY, LinkCollector, may_be_canonical
from scrawler.extract.scanner import scan_text, scanned
from scrawler.extract.simhash import words_of
from scrawler.extract.text import TextCollector


class Html5libExtractor:
    """LinkExtractor on html5lib; about 10 ms for a page of 32 KB."""

    def __init__(self, policy: LinkPolicy = DEFAULT_POLICY) -> None:
        self._policy = policy

    def links(self, body: bytes, url: str, content_type: str = "", wants_words: WantsWords | None = None) -> PageLinks:
        """Find the links of a decoded body; see LinkExtractor."""
        utf8, charset = to_utf8(body, content_type)
        page = utf8.decode("utf-8", "replace")
        hazardous = is_hazardous(utf8)
        root = None if hazardous else _parse(page)
        if root is None:
            note = DEEP_HTML if hazardous else PARSER_FAILED
            return scanned(page, url, self._policy, charset, note, wants_words)
        collector = LinkCollector(url, self._policy)
        in_templates = {inner for template in root.iter("template") for inner in template.iter()}
        in_head = {link for head in root.iterfind("head") for link in head.iter("link")} - in_templates
        for element in root.iter():
            if isinstance(element.tag, str):  # comments have a function there
                collector.element(_local_name(element), element.attrib, element in in_templates)
                if element in in_head and may_be_canonical(element.attrib):
                    collector.canonical(element.attrib)
        wanted = wants_words is not None and wants_words(collector.hrefs)
        return collector.result(charset, words=words_of(_text(root).text) if wanted else None)

    def text(self, body: bytes, content_type: str = "") -> PageText:
        """Read title, meta data, headings, anchor texts and visible text; see LinkExtractor."""
        utf8, _ = to_utf8(body, content_type)
        page = utf8.decode("utf-8", "replace")
        root = None if is_hazardous(utf8) else _parse(page)
        if root is None:
            return scan_text(page)
        return _text(root)


def _text(root: Element) -> PageText:
    collector = TextCollector()
    _collect_text(root, collector)
    return collector.result()


def _parse(page: str) -> Element | None:
    """Return the page's root, or None: html5lib 1.1 has assertions that a few malformed pages break."""
    try:
        root: Element = html5lib.parse(page, treebuilder="etree", namespaceHTMLElements=False)
    except Exception:  # whatever is wrong in there, no page may end a crawl
        return None
    return root


def _local_name(element: Element) -> str:
    return str(element.tag).rpartition("}")[2]  # SVG and MathML elements have a namespace


def _collect_text(root: Element, collector: TextCollector) -> None:
    # A stack, not recursion: pages nest deeper than Python can call. Strings on it are texts, None ends an element.
    waiting: list[Element | str | None] = [root]
    open_tags: list[str] = []
    while waiting:
        item = waiting.pop()
        if item is None:
            collector.end(open_tags.pop())
        elif isinstance(item, str):
            collector.text(item)
        elif isinstance(item.tag, str):
            open_tags.append(_local_name(item))
            collector.start(open_tags[-1], item.attrib)
            waiting.append(None)
            for child in reversed(item):
                waiting += (child.tail or "", child)
            waiting.append(item.text or "")
