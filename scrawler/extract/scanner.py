"""The default link extractor: the link scanner where it is compiled, else Lexbor, which finds the same.

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
  counted here, and estimated for Lexbor (`hazards`).

In Python (6 ms a page) the scanner is slower than Lexbor (0.4 ms), so it serves only pages that Lexbor should not see.
"""

from __future__ import annotations

from scrawler.extract.charset import to_utf8
from scrawler.extract.lexbor import LexborExtractor
from scrawler.extract.links import LinkExtractor, LinkPolicy, PageLinks, PageText
from scrawler.extract.rules import DEFAULT_POLICY
from scrawler.extract.scanned import COMPILED, scan_links


class ScannerExtractor:
    """LinkExtractor on the link scanner; about 0.06 ms for a page of 37 KB. Text is Lexbor's."""

    def __init__(self, policy: LinkPolicy = DEFAULT_POLICY) -> None:
        self._policy = policy
        self._reader = LexborExtractor(policy)

    def links(self, body: bytes, url: str, content_type: str = "") -> PageLinks:
        """Find the links of a decoded body; see LinkExtractor."""
        page, charset = to_utf8(body, content_type)
        collector, note = scan_links(page, url, self._policy)
        return collector.result(charset, page, note)

    def text(self, body: bytes, content_type: str = "") -> PageText:
        """Read title, meta data, headings, anchor texts and visible text; see LinkExtractor."""
        return self._reader.text(body, content_type)


def fastest_extractor(policy: LinkPolicy = DEFAULT_POLICY) -> LinkExtractor:
    """Return the scanner if it is compiled, else Lexbor."""
    return ScannerExtractor(policy) if COMPILED else LexborExtractor(policy)
