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

from collections.abc import Callable, Mapping, Sequence
from html.entities import html5

from scrawler.compiled import compiled_part, mypyc_attr
from scrawler.extract.charset import to_utf8
from scrawler.extract.links import DEEP_HTML, LinkExtractor, LinkPolicy, PageLinks
from scrawler.extract.rules import DEFAULT_POLICY, LinkCollector
from scrawler.urls.hrefs import Hrefs

WITH_ASSETS, WITH_REL, WITH_AREAS = 1, 2, 4  # flags: note assets too, the rel of <a> and <area>, which is an <area>

Other = tuple[int, str, dict[str, str], bool, bool]  # hrefs before it, tag, attributes, in a template, in the head
Scan = Callable[[bytes, int, Mapping[str, str]], tuple[bytes | list[str], int, list[Other], bool]]

_part = compiled_part("scrawler.extract._linkscan")
COMPILED: Scan | None = None if _part is None else _part.scan


def scan_links(page: bytes, url: str, policy: LinkPolicy, scan: Scan) -> tuple[LinkCollector, Sequence[str], str]:
    """Return what a page holds, given in UTF-8: the collector of all but the links, these, and what went wrong.

    That is "deep-html" if the page nests too deeply.
    """
    collector = LinkCollector(url, policy)
    flags = (WITH_ASSETS if policy.sees_assets else 0) | (WITH_REL if policy.nofollow else 0)
    flags |= WITH_AREAS if policy.outlinks else 0
    joined, count, others, deep = scan(page, flags, html5)
    hrefs: Sequence[str] = Hrefs(joined, count) if isinstance(joined, bytes) else joined
    robots, more = policy.robots, collector.hrefs
    placed: list[int] = []  # for each of `more`, how many of the scanner's own links stand before it
    taken = 0
    for before, tag, attributes, in_template, in_head in others:
        if tag == "meta" and "http-equiv" not in attributes and attributes["name"].lower() not in robots:
            continue  # most describe the page to others
        if policy.outlinks and before > taken:  # where a link stands is told as it comes to the others
            more += hrefs[taken:before]
            taken = before
        if tag == "link":
            collector.link(attributes, in_head)
        else:
            collector.element(tag, attributes, in_template)
        if len(more) > len(placed):
            placed += [before] * (len(more) - len(placed))
    if policy.outlinks:
        more += hrefs[taken:]
        return collector, more, DEEP_HTML if deep else ""
    if more:
        hrefs = _merged(hrefs, more, placed)
    return collector, hrefs, DEEP_HTML if deep else ""


def _merged(hrefs: Sequence[str], more: list[str], placed: list[int]) -> Sequence[str]:
    """Merge `more` into the links of a page; `placed` says for each how many of these stand before it."""
    if not placed[-1] and isinstance(hrefs, Hrefs):  # all others stand in the head, as usual
        joined = "\0".join(more).encode()
        return Hrefs(joined + b"\0" + hrefs.joined if hrefs else joined, len(more) + len(hrefs))
    merged: list[str] = []
    taken = 0
    for href, before in zip(more, placed, strict=True):
        merged += hrefs[taken:before]
        merged.append(href)
        taken = before
    merged += hrefs[taken:]
    return merged


@mypyc_attr(allow_interpreted_subclasses=True)  # parts of other packages may build on it
class ScannerExtractor:
    """LinkExtractor on the compiled scanner; about 0.03 ms for a page of 38 KB."""

    def __init__(self, policy: LinkPolicy = DEFAULT_POLICY) -> None:
        if COMPILED is None:
            raise RuntimeError("the link scanner is not compiled: `fastest_extractor` asks before")
        self._policy = policy
        self._scan = COMPILED

    def links(self, body: bytes, url: str, content_type: str = "") -> PageLinks:
        """Find the links of a decoded body; see LinkExtractor."""
        page, charset = to_utf8(body, content_type)
        collector, hrefs, note = scan_links(page, url, self._policy, self._scan)
        found = collector.result(charset, page, note)
        found.hrefs = hrefs
        return found


def fastest_extractor(policy: LinkPolicy = DEFAULT_POLICY) -> LinkExtractor:
    """Return the scanner if it is compiled, else Lexbor."""
    if COMPILED:
        return ScannerExtractor(policy)
    from scrawler.extract.lexbor import LexborExtractor  # the scanner needs neither that nor Lexbor

    return LexborExtractor(policy)
