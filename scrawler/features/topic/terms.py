"""Topics: how much a page, and a link before anybody has followed it, has to do with a list of weighted terms.

The score of a page is the part of BM25 that one document has for itself (Robertson, Zaragoza: The Probabilistic
Relevance Framework, 2009): a term counts the more the oftener it stands there, up to a bound, and the less the longer
the text is. A link is judged as in best-first crawling (Cho, Garcia-Molina, Page: Efficient Crawling Through URL
Ordering, 1998; shark-search has the share that is inherited): by its anchor text, the words of its URL, and the score
of the page on which it stands. All scores are from 0 to 1, and the same wherever they are computed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from math import isfinite
from urllib.parse import unquote

LEVELS = 5  # of links: 0 is as good as nothing
MOST_TERMS = 1_000
_LONGEST_TERM = 200  # characters
_MOST_TEXT = 1 << 20  # characters of a page that are looked at
_WORD = re.compile(r"[^\W_]+")
_FULL = 3  # so many of the heaviest terms, often met, make a score of 1
_LENGTH = 500  # words of a text in which a term that stands there twice counts half
_OWN_SHARE = 0.6  # of a link's score that comes from its anchor text and URL; the rest is its page's
_LARGEST_WEIGHT = 1_000.0


class TopicError(ValueError):
    """A list of terms that cannot be understood; the text says which line, and why."""


class Topic:
    """Terms of one or more words with their weights; negative ones speak against a page."""

    def __init__(self, terms: Mapping[tuple[str, ...], float]) -> None:
        """Take terms as words in small letters; at least one weight is above 0."""
        self._terms = dict(terms)
        weights = sorted((weight for weight in terms.values() if weight > 0), reverse=True)
        self._best = weights[0]
        self._full = sum(weights[:_FULL])

    def of_text(self, text: str) -> float:
        """Return the score of a page's text."""
        words = _WORD.findall(text[:_MOST_TEXT].casefold())
        slowness = 1 + len(words) / _LENGTH
        score = 0.0
        for term, times in self._found(words).items():
            score += self._terms[term] * times / (times + slowness)
        return _within(score / self._full)

    def of_words(self, text: str) -> float:
        """Return the score of a few words, such as an anchor text: of the terms that are there, however often."""
        score = 0.0
        for term in self._found(_WORD.findall(text.casefold())):
            score += self._terms[term]
        return _within(score / self._best)

    def of_link(self, url: str, anchor: str, page_score: float) -> float:
        """Return the score of a link on a page of a score."""
        _, _, rest = url.partition("://")
        _, _, path = rest.partition("/")
        own = max(self.of_words(anchor), self.of_words(unquote(path)))
        return _OWN_SHARE * own + (1 - _OWN_SHARE) * page_score

    def _found(self, words: list[str]) -> dict[tuple[str, ...], int]:
        """Return how often each term stands in a text, of those that do."""
        counts = Counter(words)
        found: dict[tuple[str, ...], int] = {}
        joined = ""
        for term in self._terms:
            if len(term) == 1:
                times = counts.get(term[0], 0)
            elif all(word in counts for word in term):
                joined = joined or f" {' '.join(words)} "
                times = joined.count(f" {' '.join(term)} ")
            else:
                times = 0
            if times:
                found[term] = times
        return found


def level_of(score: float) -> int:
    """Return the level of a link's score: 0 to LEVELS - 1, the best."""
    return min(LEVELS - 1, int(score * LEVELS))


def read_topic(text: str) -> Topic:
    """Read terms, one a line: `WEIGHT TERM`, or a term alone, of weight 1; # begins a comment. Raises TopicError."""
    terms: dict[tuple[str, ...], float] = {}
    for number, line in enumerate(text.splitlines(), 1):
        written = line.partition("#")[0].strip()
        if not written:
            continue
        weight, term = _weighted(written)
        words = tuple(_WORD.findall(term.casefold()))
        if not words or len(term) > _LONGEST_TERM:
            raise TopicError(f"line {number}: no term of words, of at most {_LONGEST_TERM} characters")
        if not (isfinite(weight) and 0 < abs(weight) <= _LARGEST_WEIGHT):
            raise TopicError(f"line {number}: a weight is a number other than 0, up to {_LARGEST_WEIGHT:g} either way")
        if words in terms:
            raise TopicError(f"line {number}: the term {' '.join(words)!r} is there twice")
        terms[words] = weight
    if not any(weight > 0 for weight in terms.values()):
        raise TopicError("no term with a weight above 0")
    if len(terms) > MOST_TERMS:
        raise TopicError(f"more than {MOST_TERMS:,} terms")
    return Topic(terms)


def _weighted(line: str) -> tuple[float, str]:
    first, *rest = line.split(None, 1)
    if rest:
        try:
            return float(first), rest[0]
        except ValueError:
            return 1.0, line
    return 1.0, line


def _within(score: float) -> float:
    return max(0.0, min(1.0, score))
