"""Whether a page says what earlier pages have said: its simhash is near one of theirs, and no word of it is new."""

from __future__ import annotations

import re
from collections import deque
from typing import NamedTuple

from rbloom import Bloom

from scrawler.extract.simhash import IMAGE, NEAR, Fingerprint, Words, distance

_ALIKE = 8  # bits; of a short page a changed date alone makes more than NEAR differ
_NEW_NUMBERS = 2  # words with digits that may be new on a page that says nothing new: a date, a counter
_NEW_WORDS_LOOKED_AT = 50  # pages with more new words have something to say
_REMEMBERED = 64  # simhashes of pages unlike each other
_VOCABULARY = 8_192  # words, in about 10 KB
_TRUSTED_AFTER = 16  # pages in a row with something new, after which ...
_SAMPLED = 16  # ... only every so many-th is compared

_HAS_DIGIT = re.compile(rb"[0-9]")
_URL_WORDS = re.compile(rb"[0-9a-z\x80-\xff]+")


class Likeness(NamedTuple):
    """What a comparison came to."""

    near: bool  # a near copy: its simhash differs from an earlier one in at most NEAR bits
    nothing_new: bool  # it is like an earlier page, and its words are known


class TextMemory:
    """Remembers the texts of one group of pages, in about 15 KB."""

    def __init__(self) -> None:
        self._hashes: deque[int] = deque(maxlen=_REMEMBERED)
        self._vocabulary = Bloom(_VOCABULARY, 0.01)
        self._new_in_a_row = 0
        self._pages = 0

    @property
    def wants_text(self) -> bool:
        """Whether the next page is to be compared; while all pages are new, not each of them."""
        return self._new_in_a_row < _TRUSTED_AFTER or self._pages % _SAMPLED == 0

    def passed(self, repeats: bool) -> None:
        """Count a page; `repeats` says that it was found to be a copy."""
        self._pages += 1
        self._new_in_a_row = 0 if repeats else self._new_in_a_row + 1

    def compare(self, url: str, text: Fingerprint) -> Likeness:
        """Compare a page with those before it, and remember it."""
        nearest = min((distance(text.simhash, known) for known in self._hashes), default=64)
        nothing_new = nearest <= _ALIKE and not self._says_more(url, text.words)
        if nearest > _ALIKE:
            self._hashes.append(text.simhash)
        if not nothing_new:
            self._learn(text.words)
        return Likeness(nearest <= NEAR, nothing_new)

    def _says_more(self, url: str, words: Words) -> bool:
        """Tell whether a page has words that none before it had; what stands in its URL may be an echo of that."""
        vocabulary = self._vocabulary
        new = [word for word in words if word not in vocabulary]
        if len(new) > _NEW_WORDS_LOOKED_AT:
            return True
        echo = frozenset(_URL_WORDS.findall(url.lower().encode())) if new else frozenset()
        new = [word for word in new if word not in echo]
        numbers = sum(1 for word in new if _HAS_DIGIT.search(word) and not word.startswith(IMAGE))
        return numbers < len(new) or numbers > _NEW_NUMBERS

    def _learn(self, words: Words) -> None:
        if len(words) > _VOCABULARY:
            return
        if self._vocabulary.approx_items + len(words) > _VOCABULARY:  # fuller, it would know words it has never met
            self._vocabulary.clear()
        self._vocabulary.update(words)
