"""Pages that cost a tree builder more than linear time or memory, recognised before they are parsed.

Measured with Lexbor: 1 MB of nested <div> takes a minute (each tag looks through all open elements); 170 KB of
attributes in one tag 0.7 s and 890 KB 17 s (each attribute looks through those before it); 1,000 formatting elements
opened in one paragraph are opened again in each that follows, so that 26 KB of them become 2 million nodes and 700 MB.
Such pages are rare and mostly hostile, so what matters is that ordinary ones pay next to nothing for the question.
"""

from __future__ import annotations

import re

from scrawler.extract.markup import ATTRIBUTE, TAG_REST

MAX_DEPTH = 5_000  # of open elements, as estimated
_MAX_ATTRIBUTES = 5_000  # of one tag
_MAX_REOPENED = 5_000_000  # formatting elements opened again, over the whole page
_MARGIN = 8_192  # bytes looked at beyond those expected to be enough
_SHORTEST_TAG = 3  # bytes
_TAG_SEARCHED = 32_768  # a tag shorter than this holds too few attributes to matter

_RAW_TEXT = ("script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes")
_NAMES = re.compile(  # "b" and "/b" for the tags of <b>, nothing for comments and raw text
    (
        rf"<(?:(?!(?:{'|'.join(_RAW_TEXT)})[\s/>])(/?[a-z][^\s/>]*+){TAG_REST}|!--.*?(?:-->|\Z)"
        + "".join(rf"|{name}(?=[\s/>]){TAG_REST}>.*?(?:(?=</{name}[\s/>])|\Z)" for name in _RAW_TEXT)
        + ")"
    ).encode(),
    re.DOTALL,
)
_TAG = re.compile(rf"<[a-zA-Z][^\s/>]*+{TAG_REST}".encode())
_ATTRIBUTE = re.compile(ATTRIBUTE.encode())

_VOID = b"area base basefont bgsound br col embed frame hr img input keygen link meta param source track wbr"
# Elements whose end tag may be left out do not nest in themselves, so they add at most a constant factor to the depth
# of the others; counting them would take every long old-fashioned list for a deep page.
_IMPLIED = b"body colgroup dd dt head html li optgroup option p rb rp rt rtc tbody td tfoot th thead tr"
_NOT_COUNTED = frozenset((b"", *_VOID.split(), *_IMPLIED.split()))
_FORMATTING_ENDS = frozenset(b"/b /big /code /em /font /i /nobr /s /small /strike /strong /tt /u".split())


def is_hazardous(body: bytes) -> bool:
    """Tell whether a page must not be parsed into a tree (an estimate, meant to err on the side of yes)."""
    return _nests_deeply(body) or _has_giant_tag(body)


def _nests_deeply(body: bytes) -> bool:
    # Cheapest bounds first: bytes, then tags, then start tags. Few pages come further.
    if len(body) <= _SHORTEST_TAG * MAX_DEPTH:
        return False
    brackets = body.count(b"<")
    if brackets <= MAX_DEPTH:
        return False
    starts = brackets - body.count(b"</")
    if starts <= MAX_DEPTH:
        return False
    # As soon as few enough start tags are left, the rest of the page cannot do any harm: so ordinary pages that are a
    # little too large for the bounds are read in part.
    lower = body.lower()
    looked_at = int(len(body) * (1 - MAX_DEPTH / starts) * 1.1) + _MARGIN
    while (verdict := _follow(lower, looked_at, starts)) is None:
        looked_at *= 2
    return verdict


def _follow(body: bytes, looked_at: int, starts: int) -> bool | None:
    """Follow the open elements of a page with `starts` start tags through its first bytes; None if undecided.

    An end tag counts only where it closes the innermost element: parsers ignore many of the others.
    """
    ends_awaited = [b"!"]
    formatting = reopened = 0
    for name in _NAMES.findall(body, 0, looked_at):
        if name == ends_awaited[-1]:
            ends_awaited.pop()
            formatting -= name in _FORMATTING_ENDS
        elif not name.startswith(b"/"):
            starts -= 1
            reopened += formatting
            if name not in _NOT_COUNTED:
                ends_awaited.append(b"/" + name)
                formatting += ends_awaited[-1] in _FORMATTING_ENDS
                if len(ends_awaited) > MAX_DEPTH:
                    return True
    if reopened > _MAX_REOPENED:
        return True
    harmless = len(ends_awaited) + starts <= MAX_DEPTH and reopened + formatting * starts <= _MAX_REOPENED
    return False if harmless or looked_at >= len(body) else None


def _has_giant_tag(body: bytes) -> bool:
    position = 0
    while len(body) - position > _TAG_SEARCHED:
        bracket = body.rfind(b">", position, position + _TAG_SEARCHED)
        if bracket < 0:
            tag = _TAG.search(body, position)
            if tag and sum(1 for _ in _ATTRIBUTE.finditer(tag[0])) > _MAX_ATTRIBUTES:
                return True
            bracket = body.find(b">", position)
            if bracket < 0:
                return False
        position = bracket + 1
    return False
