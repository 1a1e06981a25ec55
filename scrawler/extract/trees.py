"""A page as a tree of Lexbor, which takes time in proportion to its length; hazardous pages aside (`hazards.py`).

With events, Lexbor looks through all options of a list for each that is added: 100,000 of them took 45 s.
"""

from __future__ import annotations

from selectolax.lexbor import LexborDocumentOptions, LexborHTMLParser

_WITHOUT_EVENTS = LexborDocumentOptions.WO_EVENTS.value  # no <option> is copied to show its choice


def tree_of(page: bytes | str) -> LexborHTMLParser:
    """Return the tree of a page in UTF-8, or of its text."""
    return LexborHTMLParser(page, options=_WITHOUT_EVENTS)
