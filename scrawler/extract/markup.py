"""Tags and attributes, for what looks at markup roughly: whether it is hazardous, which character set it declares.

There is one way only to read each text, so that no pattern tries a second one: each passes over a page once. Both
match to the end of the page where a quote or a tag is not closed.
"""

from __future__ import annotations

import re

# From a tag's name to its ">", over quoted values that hold ">" themselves. A group takes memory each time it repeats,
# and a page may be one tag of millions of "=": after 1,000 of them the match ends, which `tag_end` then takes up.
TAG_REST = r"""[^>=]*(?:=\s*(?:"[^"]*"?|'[^']*'?)?[^>=]*){0,1000}"""
# One attribute of what TAG_REST matched: groups name, double, single and bare (the value by its quotes).
ATTRIBUTE = (
    r"""(?P<name>[^\s/>=][^\s/>=]*)"""
    r"""(?:\s*=\s*(?:"(?P<double>[^"]*)"?|'(?P<single>[^']*)'?|(?P<bare>[^\s>]*)))?"""
)

_REST = re.compile(TAG_REST.encode())


def tag_end(page: bytes, position: int) -> int:
    """Return the position of the ">" that ends a tag, or the page's length; `position` is behind the tag's name."""
    while position < len(page):
        rest = _REST.match(page, position)
        assert rest is not None  # the pattern matches an empty text as well
        position = rest.end()
        if page.startswith(b">", position):
            break
    return position
