"""The default link extractor: the scanner in C (`linkscan_c`) where it is compiled, else Lexbor, which finds the same.

The scanner passes over a page once and builds no tree. What it finds is what Lexbor's tree holds: the same links, with
those that come twice because the parser copies an open <a>; the same base, canonical URLs, robots metas and assets.
They come in the order in which they are written. What differs:

* A link in a table but in no cell or caption stands where it is written; a tree has it before the table. For the same
  reason, of two <base>, one of them in such a place, another may be the first.
* Lexbor 2.5 loses an <image> that stands so (browsers make an <img> of it), takes type=HIDDEN for another type than
  type=hidden when it decides whether a <frameset> may still come, and copies an open <a> into a <textarea>.
* LexborExtractor counts an element with both href and src twice, and one in a <template> in a <template> in <svg>.
* Of the document types that ask for quirks mode only the sort is looked at; that moves a paragraph's end before a
  <table>. Formatting elements count as equal if their attributes are written alike. Neither has been seen to matter.
* A page with more than 5,000 elements open at once, or that keeps too many open for its length, is read flat from
  there on, with the note "deep-html": nothing is dropped, and SVG is no more than markup. Which page that is is
  counted here; for Lexbor it is estimated (`hazards`), and such a page is read flat from its beginning (`scanned`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from html.entities import html5
from importlib import import_module

from scrawler.extract.charset import to_utf8
from scrawler.extract.lexbor import LexborExtractor
from scrawler.extract.links import DEEP_HTML, LinkExtractor, LinkPolicy, PageLinks
from scrawler.extract.rules import DEFAULT_POLICY, LinkCollector

WITH_ASSETS, WITH_REL, WITH_AREAS = 1, 2, 4  # flags: note assets too, the rel of <a> and <area>, which is an <area>

Other = tuple[int, str, dict[str, str], bool, bool]  # hrefs before it, tag, attributes, in a template, in the head
Scan = Callable[[bytes, int, Mapping[str, str]], tuple[list[str], list[Other], bool]]


def _compiled() -> Scan | None:
    try:
        scan: Scan = import_module("scrawler.extract._linkscan").scan
    except ImportError:  # it is built where there is a compiler
        return None
    return scan


COMPILED = _compiled()


def scan_links(page: bytes, url: str, policy: LinkPolicy, scan: Scan) -> tuple[LinkCollector, str]:
    """Return the collector of a page's links, the page given in UTF-8, and "deep-html" if it nests too deeply."""
    collector = LinkCollector(url, policy)
    flags = (WITH_ASSETS if policy.sees_assets else 0) | (WITH_REL if policy.nofollow else 0)
    flags |= WITH_AREAS if policy.outlinks else 0
    hrefs, others, deep = scan(page, flags, html5)
    taken, robots = 0, policy.robots
    for before, tag, attributes, in_template, in_head in others:
        if tag == "meta" and "http-equiv" not in attributes and attributes["name"].lower() not in robots:
            continue  # most describe the page to others
        if before > taken:
            collector.hrefs += hrefs[taken:before]
            taken = before
        if tag == "link":
            collector.link(attributes, in_head)
        else:
            collector.element(tag, attributes, in_template)
    collector.hrefs += hrefs[taken:]
    return collector, DEEP_HTML if deep else ""


class ScannerExtractor:
    """LinkExtractor on the compiled scanner; about 0.04 ms for a page of 38 KB."""

    def __init__(self, policy: LinkPolicy = DEFAULT_POLICY) -> None:
        if COMPILED is None:
            raise RuntimeError("the link scanner is not compiled: `fastest_extractor` asks before")
        self._policy = policy
        self._scan = COMPILED

    def links(self, body: bytes, url: str, content_type: str = "") -> PageLinks:
        """Find the links of a decoded body; see LinkExtractor."""
        page, charset = to_utf8(body, content_type)
        collector, note = scan_links(page, url, self._policy, self._scan)
        return collector.result(charset, page, note)


def fastest_extractor(policy: LinkPolicy = DEFAULT_POLICY) -> LinkExtractor:
    """Return the scanner if it is compiled, else Lexbor."""
    return ScannerExtractor(policy) if COMPILED else LexborExtractor(policy)
