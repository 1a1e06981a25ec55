"""What a page allows robots to do with it, as its robots meta elements and X-Robots-Tag headers say.

No standard says how to read them; what large search engines document is followed: directives stand between commas,
case means nothing, those that are unknown are passed over, and of several that address a robot the strictest counts, so
that nothing is ever allowed again. In a header a robot's name with a colon may stand before directives; they are for
that robot alone, up to the next name or the end of the header line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final, NamedTuple

from scrawler.dates import read_date
from scrawler.model.terms import Millis

EVERY_ROBOT = "robots"  # the name by which a <meta> addresses all robots

_TO_ALL = frozenset(("", "*", EVERY_ROBOT))
_UNAVAILABLE_AFTER = "unavailable_after"
_VALUED = frozenset((_UNAVAILABLE_AFTER, "max-snippet", "max-image-preview", "max-video-preview"))
# A word before a colon is a robot's name if one of these follows; it may be a directive of tomorrow if not.
_PLAIN = """all follow index indexifembedded noai noarchive nocache nofollow noimageai noimageindex noindex none noodp
nositelinkssearchbox nosnippet notranslate noydir"""
_KNOWN = _VALUED.union(_PLAIN.split())
_LONGEST_TEXT, _MOST_TEXTS = 4_096, 100  # characters and texts that are read: dates take time


class Directives(NamedTuple):
    """What is not allowed."""

    noindex: bool = False
    nofollow: bool = False


ALL_ALLOWED: Final = Directives()


def directives(metas: Iterable[str], headers: Iterable[str], product_token: str, now: Millis) -> Directives:
    """Add up what is said to the robot with a product token.

    `metas` are the contents of the meta elements that address it, `headers` the values of X-Robots-Tag, a header line
    each. `unavailable_after` a time before `now` is noindex; a time that cannot be read is passed over.
    """
    addressed = _TO_ALL | {product_token.lower()}
    said = {word for text in islice(metas, _MOST_TEXTS) for agent, word in _words(text, now) if agent in _TO_ALL}
    said |= {word for text in islice(headers, _MOST_TEXTS) for agent, word in _words(text, now) if agent in addressed}
    none = "none" in said
    return Directives(none or "noindex" in said, none or "nofollow" in said)


def _words(text: str, now: Millis) -> Iterator[tuple[str, str]]:
    """Yield the robot that is addressed (empty: all) and the directive, both in lower case."""
    agent = ""
    parts = iter(text[:_LONGEST_TEXT].lower().split(","))
    for part in parts:
        name, colon, value = part.partition(":")
        if colon and name.strip() not in _VALUED and _begins_with_directive(value):
            agent = name.strip()
            name, colon, value = value.partition(":")
        if name.strip() == _UNAVAILABLE_AFTER:
            value = value.strip()
            if value.isalpha():  # it is a day of the week, and the comma behind it a part of the date
                value = f"{value},{next(parts, '')}"
            if _is_past(value, now):
                yield agent, "noindex"
            continue
        for word in name.replace(";", " ").split():  # some pages separate names by these
            yield agent, word


def _begins_with_directive(value: str) -> bool:
    words = value.replace(":", " ").replace(";", " ").split(maxsplit=1)
    return bool(words) and words[0] in _KNOWN


def _is_past(date: str, now: Millis) -> bool:
    at = read_date(date)
    return at is not None and at < now
