"""What counts as a change of a page, and how far a site is believed when it says so itself.

A page has changed where its bytes have (a digest), and then its text once what changes by itself is taken out of it:
dates, times, counters, nonces (`stable_text`). Where a tolerance is set, the texts may differ in so many of 64 bits of
their simhash as well (Charikar 2002): with 3, a word or two of a page of a thousand words are no change.

Servers and sitemaps say when a page changed; some tell the truth. Each kind of word is held against what visits found,
site by site, in a counter of hits and misses (`Trust`), and believed from 80 % on, with some certainty.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from enum import Enum, auto
from functools import lru_cache
from hashlib import blake2b
from itertools import pairwise
from typing import NamedTuple

from scrawler.features.revisit.policies.estimator import DAY_S, YEAR_S, Gamma

MOST_TEXT = 1 << 20  # characters of a page that are looked at
_ALL_BITS = (1 << 64) - 1

_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\.?"
)
_DAY = r"(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?,? "
_COUNTED = (
    r"(?:views?|visits?|visitors?|hits?|comments?|replies|likes?|shares?|downloads?|users?|guests?|members?|online"
    r"|reads?|votes?|points?|followers?|times)"
)
_SPAN = r"(?:milliseconds?|ms|seconds?|secs?|minutes?|mins?|hours?|hrs?|days?|weeks?|months?|years?)"
# Each has one way only to read a text, and only short repetitions: the time grows with the text alone.
_BY_ITSELF = (
    r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b",
    rf"\b(?:{_DAY})?\d{{1,2}}(?:st|nd|rd|th)?[ -]{_MONTH}[ ,-]{{1,2}}\d{{4}}\b",
    rf"\b(?:{_DAY})?{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?,? \d{{4}}\b",
    r"\b\d{4}[-/.]\d{1,2}[-/.]\d{1,2}(?:t(?=\d))?",
    r"\b\d{1,2}[-/.]\d{1,2}[-/.]\d{4}\b",
    r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?: ?[ap]\.?m\b\.?|z\b| (?:utc|gmt)\b| ?[+-]\d{2}:?\d{2}\b)?",
    rf"\b(?:\d{{1,6}}(?:[.,]\d{{1,9}})?|an?|one) {_SPAN}(?: ago)?\b",
    rf"\b\d{{1,3}}(?:[., ]\d{{3}}){{1,4}} {_COUNTED}\b|\b\d{{1,15}}[km]? {_COUNTED}\b",
    rf"\b{_COUNTED}: ?\d[\d.,]{{0,15}}",
    r"(?:©|\(c\)|copyright)[ ©]{0,3}\d{4}(?: ?[-–] ?\d{4})?",
)
_DIGIT = re.compile(r"\d")
_TOKEN = re.compile(r"[\w+/=-]{16,}")


def stable_text(text: str) -> str:
    """Return a text in small letters without what changes by itself: dates, times, ages, counters, nonces.

    `text` is what a reader sees (`scrawler.extract.visible`). Numbers that none of these explain stay: a price is news.
    """
    lines = (" ".join(line.split()) for line in text[:MOST_TEXT].lower().splitlines())
    return "\n".join(line for one in lines if (line := _stable_line(one)))


def _stable_line(line: str) -> str:
    if _DIGIT.search(line) is None and " ago" not in line:  # as most lines of prose are
        return line
    for pattern in _patterns():
        line = pattern.sub(" ", line)
    return " ".join(_TOKEN.sub(_unless_nonce, line).split())


@lru_cache(maxsize=1)
def _patterns() -> tuple[re.Pattern[str], ...]:
    """Compile them when a page is compared by its text, as few crawls want it: that takes 2 ms."""
    return tuple(map(re.compile, _BY_ITSELF))


class Print(NamedTuple):
    """What is kept of a page to know it again: 8 bytes each."""

    body: bytes  # digest of its bytes
    text: bytes  # digest of its stable text; of what has no text, that of its bytes
    simhash: int = 0  # of the words of its stable text, 64 bits; 0: there are none, or they were not asked for


class Difference(Enum):
    """How a page compares with what it was."""

    NONE = auto()  # the bytes are the same
    BY_ITSELF = auto()  # only dates, counters, nonces or markup differ
    NEAR = auto()  # the texts differ within the tolerance
    CHANGED = auto()


def print_of(body: bytes, text: str | None, simhash: Callable[[bytes], int] | None = None) -> Print:
    """Return what is kept of a page, its decoded bytes and its text as a reader sees it; None for what has no text.

    `simhash`, of a text in UTF-8, is wanted where there is a tolerance (`scrawler.extract.simhash.fingerprint_of`).
    """
    digest = blake2b(body, digest_size=8).digest()
    if text is None:
        return Print(digest, digest)
    stable = stable_text(text).encode("utf-8", "replace")
    return Print(digest, blake2b(stable, digest_size=8).digest(), simhash(stable) if simhash is not None else 0)


def difference(before: Print, now: Print, near: int = 0) -> Difference:
    """Compare a page with what it was; `near` is how many bits of the simhash may differ, 0: texts must be equal."""
    if before.body == now.body:
        return Difference.NONE
    if before.text == now.text:
        return Difference.BY_ITSELF
    has_words = before.simhash != 0 and now.simhash != 0
    if near > 0 and has_words and ((before.simhash ^ now.simhash) & _ALL_BITS).bit_count() <= near:
        return Difference.NEAR
    return Difference.CHANGED


def text_print_of(text: str | None, simhash: Callable[[bytes], int] | None = None) -> bytes:
    """Return 16 bytes of a page's text, digest and simhash of what is stable in it; none of what has no text."""
    if text is None:
        return b""
    stable = stable_text(text).encode("utf-8", "replace")
    bits = simhash(stable) & _ALL_BITS if simhash is not None else 0
    return blake2b(stable, digest_size=_HALF).digest() + bits.to_bytes(_HALF, "big")


def same_text(before: bytes, now: bytes, near: int = 0) -> bool:
    """Tell whether two such prints are of the same text, but for `near` bits; of what has none, nothing is known."""
    if len(before) != 2 * _HALF or len(now) != 2 * _HALF:
        return False
    old, new = (Print(b"", one[:_HALF], int.from_bytes(one[_HALF:], "big")) for one in (before, now))
    return difference(old._replace(body=b"0"), new._replace(body=b"1"), near) is not Difference.CHANGED


_HALF = 8  # bytes
BODY_BYTES = 15  # of the SHA-1 of a body that came packed: fewer than a print of a text has


class Trust(NamedTuple):
    """How often a site's word proved true: the counts of a Beta distribution, with one of each to begin with."""

    hits: float = 0.0
    misses: float = 0.0

    def told(self, right: bool) -> Trust:
        """Return the trust after its word proved right or wrong; what is long ago counts less and less."""
        keep = _REMEMBERED if self.hits + self.misses >= _MOST_COUNTED else 1.0
        return Trust(keep * self.hits + right, keep * self.misses + (not right))

    @property
    def share(self) -> float:
        """The share of its words that is expected to be true."""
        return (self.hits + 1) / (self.hits + self.misses + 2)

    @property
    def believed(self) -> bool:
        """Whether it is acted on: the share is, by one standard deviation, above 80 %; after 8 hits and no miss."""
        count = self.hits + self.misses + 2
        return self.share - math.sqrt(self.share * (1 - self.share) / (count + 1)) >= _BELIEVED


_BELIEVED = 0.8
_MOST_COUNTED = 64.0
_REMEMBERED = 1 - 1 / _MOST_COUNTED


def modified_is_right(modified: float, before: float, now: float, changed: bool, slack_s: float = 2.0) -> bool | None:
    """Tell whether a Last-Modified, or a sitemap's lastmod, agrees with what two visits found; all in seconds of UTC.

    After a change it must be between them, without one before the first; None where nothing follows, which is so
    within `slack_s` of the first, as clocks differ. What lies in the future is wrong.
    """
    if modified > now + slack_s:
        return False
    if abs(modified - before) <= slack_s:
        return None
    return (modified > before) == changed


class SitemapTrust(NamedTuple):
    """What sitemaps of a site are worth: a lastmod that is newer than our visit, and one that is not."""

    newer: Trust = Trust()  # it says that the page has changed
    older: Trust = Trust()  # it says that it has not

    def told(self, lastmod: float, before: float, changed: bool) -> SitemapTrust:
        """Return the trust after a visit, which found whether the page had changed since the visit at `before`."""
        if lastmod > before:
            return self._replace(newer=self.newer.told(changed))
        return self._replace(older=self.older.told(not changed))

    def says(self, lastmod: float, before: float) -> bool | None:
        """Return whether a page has changed since the visit at `before`, as far as its sitemap is believed."""
        trust = self.newer if lastmod > before else self.older
        return lastmod > before if trust.believed else None


_CHANGE_FREQUENCIES = {
    "always": DAY_S / 24,
    "hourly": DAY_S / 24,
    "daily": DAY_S,
    "weekly": 7 * DAY_S,
    "monthly": 30 * DAY_S,
    "yearly": YEAR_S,
    "never": 10 * YEAR_S,
}


def changefreq_prior(changefreq: str, trust: Trust, general: Gamma) -> Gamma:
    """Return the prior of a page's rate by the changefreq of its sitemap; of what is not believed, the general one.

    The more it is believed, the more checks it takes to say otherwise: up to four changes.
    """
    interval_s = _CHANGE_FREQUENCIES.get(changefreq.strip().lower())
    if interval_s is None or not trust.believed:
        return general
    shape = _CHANGEFREQ_SHAPE * trust.share
    return Gamma(shape, shape * interval_s)


def changefreq_interval_s(changefreq: str) -> float | None:
    """Return the seconds that a changefreq names; None: it is no such word."""
    return _CHANGE_FREQUENCIES.get(changefreq.strip().lower())


def changefreq_is_right(changefreq: str, rate: float) -> bool | None:
    """Tell whether a changefreq is right within a factor of four of a rate known well; None: it is no such word."""
    interval_s = _CHANGE_FREQUENCIES.get(changefreq.strip().lower())
    return None if interval_s is None else 1 / _WITHIN <= rate * interval_s <= _WITHIN


_CHANGEFREQ_SHAPE = 4.0
_WITHIN = 4.0


def _unless_nonce(token: re.Match[str]) -> str:
    """Return a long token, or nothing where it looks drawn: letters and digits change places often."""
    text = token[0]
    kinds = [character.isdigit() for character in text if character.isalnum()]
    turns = sum(one != other for one, other in pairwise(kinds))
    return " " if turns * 6 >= len(kinds) else text
