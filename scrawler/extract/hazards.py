"""Pages that cost a tree builder more than linear time or memory, recognised before they are parsed.

Measured with Lexbor: 1 MB of nested <div> takes a minute (each tag looks through all open elements); 170 KB of
attributes in one tag 0.7 s and 890 KB 17 s (each attribute looks through those before it); 1,000 formatting elements
opened in one paragraph are opened again in each that follows, so that 26 KB of them become 2 million nodes and 700 MB.
Such pages are rare and mostly hostile, so what matters is that ordinary ones pay next to nothing for the question:
most are let go by what a sample of their bytes says.
"""

from __future__ import annotations

import re
from itertools import islice
from random import randrange
from typing import NamedTuple

from scrawler.extract.markup import ATTRIBUTE, TAG_REST, tag_end

MAX_DEPTH = 5_000  # open elements, as estimated
_MAX_ATTRIBUTES = 1_000  # attributes of one tag
_MAX_REOPENED = 1_000_000  # formatting elements that a page opens again, which takes 350 MB and 0.8 s
_FEW_STARTS = 2_000  # so few start tags cannot open formatting again that often, however they are arranged
_SHORTEST_TAG = 3  # bytes of the shortest tag, <b>
_TAG_SEARCHED = 4_096  # a tag shorter than this holds too few attributes to matter
_MOST_READ = 4  # times the page that may be read for its tags: they overlap where quotes are left open on purpose
_COUNTED, _COUNTED_EVERY = 512, 4_096  # bytes of a sample in which tags are counted, and from one sample to the next
_FOLLOWED, _FOLLOWED_EVERY = 2_048, 65_536  # the same of the samples in which open elements are followed

_RAW_TEXT = ("script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes")
_NAMES = re.compile(  # it finds "b" and "/b" for the tags of <b>, and nothing for comments and raw text
    (
        rf"<(?:(?!(?:{'|'.join(_RAW_TEXT)})[\s/>])(/?[a-z][^\s/>]*){TAG_REST}|!--.*?(?:-->|\Z)"
        + "".join(rf"|{name}(?=[\s/>]){TAG_REST}(?:>.*?(?:(?=</{name}[\s/>])|\Z))?" for name in _RAW_TEXT)
        + ")"
    ).encode(),
    re.DOTALL,
)
_TAG_START = re.compile(rb"<[a-zA-Z][^\s/>]*")
_ATTRIBUTE = re.compile(ATTRIBUTE.encode())

_VOID = b"area base basefont bgsound br col embed frame hr img input keygen link meta param source track wbr"
# Elements whose end tag may be left out do not nest in themselves, so they add at most a constant factor to the depth
# of the others; counting them would take every long old-fashioned list for a deep page.
_IMPLIED = b"body colgroup dd dt head html li optgroup option p rb rp rt rtc tbody td tfoot th thead tr"
_NOT_COUNTED = frozenset((b"", *_VOID.split(), *_IMPLIED.split()))
_FORMATTING = r"b(?:ig)?|code|em|font|i|nobr|s(?:mall|trike|trong)?|tt|u"  # a form that is decided fast
_FORMATTING_TAG = re.compile(rf"<(?:{_FORMATTING})(?=[\s/>])[^>]*".encode())
_FORMATTING_ENDS = frozenset(b"/b /big /code /em /font /i /nobr /s /small /strike /strong /tt /u".split())


def is_hazardous(body: bytes) -> bool:
    """Tell whether a page must not be parsed into a tree (an estimate, meant to err on the side of yes)."""
    return _nests_deeply(body) or _has_giant_tag(body)


def _nests_deeply(body: bytes) -> bool:
    # Cheapest bounds first: bytes, then tags, then start tags, both counted in samples. Few pages come further; those
    # that do are looked at in samples for depth, and as a whole only where many tags could open formatting again, of
    # which a few hundred bytes can do the harm.
    if len(body) <= _SHORTEST_TAG * _FEW_STARTS:
        return False
    # Where samples lie is left to chance, so that no page can be made to look well just there.
    begin = randrange(_COUNTED_EVERY - _COUNTED)
    sample = b"".join([body[i : i + _COUNTED] for i in range(begin, len(body), _COUNTED_EVERY)])
    weight = _COUNTED_EVERY // _COUNTED
    brackets = weight * sample.count(b"<")
    if brackets <= _FEW_STARTS:
        return False
    starts = brackets - weight * sample.count(b"</")
    if starts <= _FEW_STARTS:
        return False
    if starts <= MAX_DEPTH:
        if weight * _most_formatting(sample) * starts <= _MAX_REOPENED:
            return False
    elif _sampled_depth(body, starts) > MAX_DEPTH:
        return _is_too_much(body)
    return _most_formatting(body) * starts > _MAX_REOPENED and _is_too_much(body)


def _is_too_much(body: bytes) -> bool:
    opened = _follow(body)
    return opened.deepest > MAX_DEPTH or opened.reopened > _MAX_REOPENED


def _sampled_depth(body: bytes, starts: int) -> int:
    """Return the depth at the end if all the page were like the samples.

    A deep part that lies between two samples is missed; it is too short to take a parser more than 0.3 s.
    """
    seen = left_open = 0
    for position in range(randrange(_FOLLOWED_EVERY - _FOLLOWED), len(body), _FOLLOWED_EVERY):
        opened = _follow(body[position : position + _FOLLOWED])
        seen += opened.starts
        left_open += opened.at_end
    return left_open * starts // seen if seen else starts


def _most_formatting(body: bytes) -> int:
    """Return a bound on the formatting elements open at once: three of a kind (HTML Standard, 13.2.4.3)."""
    return 3 * len(set(_FORMATTING_TAG.findall(body.lower())))


class _Opened(NamedTuple):
    starts: int  # how many start tags there are
    deepest: int  # how many elements are open at once, at most
    at_end: int  # how many elements are left open
    reopened: int  # how many formatting elements could have to be opened again


def _follow(markup: bytes) -> _Opened:
    """Follow the open elements through a page; an end tag counts only where it closes the innermost one.

    Parsers ignore many of the others, so that counting them too would be no bound.
    """
    ends_awaited = [b"!"]
    starts = deepest = formatting = reopened = 0
    for name in _NAMES.findall(markup.lower()):
        if name == ends_awaited[-1]:
            deepest = max(deepest, len(ends_awaited) - 1)
            ends_awaited.pop()
            formatting -= name in _FORMATTING_ENDS
        elif not name.startswith(b"/"):
            starts += 1
            reopened += formatting
            if name not in _NOT_COUNTED:
                ends_awaited.append(b"/" + name)
                formatting += ends_awaited[-1] in _FORMATTING_ENDS
    at_end = len(ends_awaited) - 1
    return _Opened(starts, max(deepest, at_end), at_end, reopened)


def _has_giant_tag(body: bytes) -> bool:
    position = read = 0
    while len(body) - position > _TAG_SEARCHED:
        bracket = body.rfind(b">", position, position + _TAG_SEARCHED)
        if bracket < 0:
            bracket = body.find(b">", position)
            start = _TAG_START.search(body, position, bracket if bracket >= 0 else len(body))
            if start:
                end = tag_end(body, start.end())
                read += end - start.start()
                if read > _MOST_READ * len(body) or _has_many_attributes(body, start.end(), end):
                    return True
            if bracket < 0:
                return False
        position = bracket + 1
    return False


def _has_many_attributes(body: bytes, position: int, end: int) -> bool:
    attributes = islice(_ATTRIBUTE.finditer(body, position, end), _MAX_ATTRIBUTES, None)
    return next(attributes, None) is not None
