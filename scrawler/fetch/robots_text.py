"""The text of a robots.txt, read line by line: which rules are those of one crawler (RFC 9309, 2.1 and 2.2).

As the large crawlers do, it is read generously: a colon may be missing, some misspellings of Disallow are known.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import NamedTuple

MAX_ROBOTS = 500 * 1024  # bytes read of a robots.txt (RFC 9309, 2.5)
_MAX_SITEMAPS = 1000
_LONGEST_SITEMAP = 8 * 1024  # characters of a Sitemap line at most
_LONGEST_DELAY = 1e9  # seconds; a longer pause is read as this one

_GUESSED = 64  # bytes by which UTF-16 without a byte order mark is known
_LOOKED_AT = 1024  # bytes by which text is told from compressed data
_MARKS = "\ufeff\udcfe\udcff\udcef\udcbb\udcbf"  # byte order marks, halves of them too, and UTF-16 ones in other text
_LINE_END = re.compile(r"\r\n|\r|\n")
_SECONDS = re.compile(r"\d+(?:\.\d*)?|\.\d+", re.ASCII)
_NO_TEXT = re.compile(r"[\0-\x08\x0e-\x19\x1b-\x1f]")  # controls that no text has; \x1a ends files of DOS
_NO_UTF8 = re.compile(r"[\udc80-\udcff]")
_NAME_END = re.compile(r"[/\s(;,]")


class _Field(Enum):
    AGENT = auto()
    ALLOW = auto()
    DISALLOW = auto()
    DELAY = auto()
    SITEMAP = auto()


_FIELDS = {
    "user-agent": _Field.AGENT,
    "useragent": _Field.AGENT,
    "user agent": _Field.AGENT,
    "allow": _Field.ALLOW,
    "disallow": _Field.DISALLOW,
    "dissallow": _Field.DISALLOW,
    "dissalow": _Field.DISALLOW,
    "disalow": _Field.DISALLOW,
    "diasllow": _Field.DISALLOW,
    "disallaw": _Field.DISALLOW,
    "crawl-delay": _Field.DELAY,
    "crawl delay": _Field.DELAY,
    "sitemap": _Field.SITEMAP,
    "sitemaps": _Field.SITEMAP,
    "site-map": _Field.SITEMAP,
}


class Line(NamedTuple):
    """A rule as it is written; bytes that are no UTF-8 stand in `value` as surrogates."""

    allows: bool
    value: str
    number: int  # number of the line, from 1


@dataclass(slots=True)
class RobotsText:
    """What a robots.txt says to one crawler."""

    group: str = "*"  # the name to which the rules apply: the crawler's product token, or "*"
    rules: list[Line] = field(default_factory=list)
    crawl_delay: float | None = None  # seconds, the longest where the group has several
    sitemaps: tuple[str, ...] = ()


def read_robots(body: bytes, product_token: str) -> RobotsText:
    """Read a robots.txt of which at most 500 KiB count; malformed text never raises.

    All groups that name the crawler make one. A group that does not name it is the crawler's only if it is that of
    "*", and no other names it. A Crawl-delay is for those named right above it, as it is meant where
    lists of crawlers have one each.
    """
    reader = _Reader(product_token)
    for number, kind, value in _lines(plain_text(body).decode("utf-8", "surrogateescape")):
        if kind is _Field.SITEMAP:
            reader.sitemap(value)
        elif kind is _Field.AGENT:
            reader.agent(value)
        elif kind is _Field.DELAY:
            reader.delay(value)
        else:
            reader.rule(Line(kind is _Field.ALLOW, value, number))
    return reader.found()


class _Reader:
    """Takes the lines of a file in their order."""

    def __init__(self, product_token: str) -> None:
        self._token = product_token
        self._own = RobotsText(product_token)
        self._common = RobotsText()
        self._named = False  # whether any group names the crawler
        self._opening = False  # whether names may still be added to the group
        self._naming = False  # whether the last line was a name, but for lines of sitemaps
        self._groups: dict[str, RobotsText] = {}  # the groups to which the next rules belong
        self._delayed: dict[str, RobotsText] = {}  # the groups to which the next pause belongs
        self._sitemaps: dict[str, None] = {}

    def agent(self, value: str) -> None:
        if not self._opening:
            self._groups = {}
        if not self._naming:
            self._delayed = {}
        self._opening = self._naming = True
        meant: RobotsText | None = None
        if _names(value, self._token):
            self._named, meant = True, self._own
        elif _is_star(value):
            meant = self._common
        if meant is not None:
            self._groups[meant.group] = self._delayed[meant.group] = meant

    def rule(self, line: Line) -> None:
        self._opening = self._naming = False
        if line.value.startswith(("/", "*")):  # other text is no path, and matches no URL
            for group in self._groups.values():
                group.rules.append(line)

    def delay(self, value: str) -> None:
        self._naming = False  # a pause is no rule of the standard, so that the group stays open (RFC 9309, 2.2.4)
        if _SECONDS.fullmatch(value):
            for group in self._delayed.values():
                group.crawl_delay = max(min(float(value), _LONGEST_DELAY), group.crawl_delay or 0.0)

    def sitemap(self, value: str) -> None:
        if len(self._sitemaps) < _MAX_SITEMAPS and len(value) <= _LONGEST_SITEMAP and _is_absolute(value):
            self._sitemaps[value] = None

    def found(self) -> RobotsText:
        found = self._own if self._named else self._common
        found.sitemaps = tuple(self._sitemaps)
        return found


def _lines(text: str) -> Iterator[tuple[int, _Field, str]]:
    for number, line in enumerate(_LINE_END.split(text), 1):
        content = line.partition("#")[0].strip()
        if content and (found := _split(content)):
            yield number, *found


def _split(line: str) -> tuple[_Field, str] | None:
    """Return field and value of a line, None for one that means nothing here."""
    name, colon, value = line.partition(":")
    if colon and (kind := _FIELDS.get(name.strip().lower())):
        return kind, value.strip()
    if colon and (not value or value[0].isspace()):
        return None  # an unknown field ends no group (RFC 9309, 2.2.4)
    for count in (1, 2):
        words = line.split(maxsplit=count)
        if kind := _FIELDS.get(" ".join(words[:count]).lower()):
            return kind, words[count] if len(words) > count else ""
    return None


def _names(value: str, product_token: str) -> bool:
    """Tell whether a User-agent line names the crawler: its whole token, in any case, with or without a version."""
    token, value = product_token.lower(), value.lower()
    shown = value, value.partition("/")[0].strip(), _NAME_END.split(value, maxsplit=1)[0].rstrip("*")
    return token != "" and token in shown


def _is_star(value: str) -> bool:
    """Tell whether a User-agent line is for everybody: "*", whatever stands behind a blank."""
    first = value.split(maxsplit=1)[0] if value else ""
    return first != "" and not first.strip("*")


def _is_absolute(url: str) -> bool:
    return url[:8].lower().startswith(("http://", "https://"))


def plain_text(body: bytes, cut: bool = False) -> bytes:
    """Return a robots.txt in UTF-8 without marks and zeros, 500 KiB of it at most; plain text stays as it is.

    What is cut, or was (`cut`), loses its last line: half a line could forbid too much.
    """
    cut = cut or len(body) > MAX_ROBOTS
    text = _decoded(body[:MAX_ROBOTS]).replace("\0", "").lstrip(_MARKS)
    plain = text.encode("utf-8", "surrogateescape")
    if cut or len(plain) > MAX_ROBOTS:
        plain = plain[:MAX_ROBOTS]
        plain = plain[: max(plain.rfind(b"\n"), plain.rfind(b"\r")) + 1]
    return plain


def is_text(body: bytes) -> bool:
    """Tell whether a body is text in UTF-8, in UTF-16, or in a code that is mostly ASCII; an empty one is."""
    start = _decoded(body[:_LOOKED_AT])
    return not _NO_TEXT.search(start) and len(_NO_UTF8.findall(start)) <= len(start) // 8


def _decoded(body: bytes) -> str:
    """Decode; without a mark, as UTF-8 (2.3), or as UTF-16 where every other byte is zero."""
    if body.startswith(codecs.BOM_UTF16_LE):
        return body.decode("utf-16-le", "replace")
    if body.startswith(codecs.BOM_UTF16_BE):
        return body.decode("utf-16-be", "replace")
    even, odd = body[:_GUESSED:2], body[1:_GUESSED:2]
    if any(even) != any(odd) and len(odd) > 1:
        return body.decode("utf-16-le" if any(even) else "utf-16-be", "replace")
    return body.decode("utf-8", "surrogateescape")
