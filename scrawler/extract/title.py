"""The title of a page, as browsers have it (HTML Standard, `document.title`)."""

from __future__ import annotations

import re

from selectolax.lexbor import LexborHTMLParser

# A picture in a page has a title of its own, and what stands in a noscript is text for browsers with scripts.
_TITLE = "title:not(svg title):not(noscript title)"
_SPACES = re.compile("[\t\n\f\r ]+")  # others, as one that does not break, are part of a title


def title_of(tree: LexborHTMLParser) -> str:
    """Return the text of the first element that is a title, its white space collapsed; empty if there is none."""
    found = tree.css_first(_TITLE)
    return "" if found is None else collapsed(found.text())


def collapsed(text: str) -> str:
    """Collapse ASCII white space, and strip it."""
    return _SPACES.sub(" ", text).strip(" ")
