"""Whether a page says what earlier pages have said: its simhash is near one of theirs, and no word of it is new."""

from __future__ import annotations

import re
from collections import deque
from typing import NamedTuple

from rbloom import Bloom

from scrawler.extract.simhash import IMAGE, NEAR, Fingerprint, Words, distance

_ALIKE = 8  # bits; of a short page a changed date alone makes more than NEAR differ
_SHORT = 64  # words of a page below which a few that change leave no simhash alike
_NEW_NUMBERS = 2  # words with digits that may be new on a page that says nothing new: a date, a counter
_NEW_WORDS_LOOKED_AT = 50  # pages with more new words have something to say
_REMEMBERED = 64  # simhashes of pages unlike each other
_VOCABULARY = 8_192  # words, in about 10 KB
_TRUSTED_AFTER = 16  # pages in a row with something new, after which not each of them is compared any more:
_TRUST = 4  # one for so many of them, and ...
_RAREST = 32  # ... in the end every so many-th

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
        self._short: deque[int] = deque(maxlen=_REMEMBERED)
        self._vocabulary = Bloom(_VOCABULARY, 0.01)
        self._learned = 0  # words in the vocabulary, or fewer: those of several pages count for each
        self._new_in_a_row = 0
        self._passed = 0  # pages since the last one compared

    @property
    def wants_text(self) -> bool:
        """Whether the next page is to be compared; while all pages are new, ever fewer of them are."""
        return self._passed >= min((self._new_in_a_row - _TRUSTED_AFTER) // _TRUST, _RAREST)

    def passed(self, compared: bool, repeats: bool) -> None:
        """Count a page; `repeats` says that it was found to say nothing new."""
        self._passed = 0 if compared else self._passed + 1
        self._new_in_a_row = 0 if repeats else self._new_in_a_row + 1

    def compare(self, url: str, text: Fingerprint) -> Likeness:
        """Compare a page with those before it, and remember it."""
        nearest = min((distance(text.simhash, known) for known in self._hashes), default=64)
        alike = nearest <= _ALIKE or (len(text.words) < _SHORT and self._met_but_for_numbers(url, text.words))
        nothing_new = alike and not self._says_more(url, text.words)
        if nearest > _ALIKE:
            self._hashes.append(text.simhash)
        if not nothing_new:
            self._learn(text.words)
        return Likeness(nearest <= NEAR, nothing_new)

    def _met_but_for_numbers(self, url: str, words: Words) -> bool:
        """Tell whether a short page had the same words but for numbers, and for what stands in its URL; remember it."""
        key = hash(frozenset(word for word in words - _echo(url) if not _is_number(word)))
        met = key in self._short
        if not met:
            self._short.append(key)
        return met

    def _says_more(self, url: str, words: Words) -> bool:
        """Tell whether a page has words that none before it had; what stands in its URL may be an echo of that."""
        vocabulary = self._vocabulary
        new = [word for word in words if word not in vocabulary]
        if len(new) > _NEW_WORDS_LOOKED_AT:
            return True
        echo = _echo(url) if new else frozenset()
        new = [word for word in new if word not in echo]
        numbers = sum(map(_is_number, new))
        return numbers < len(new) or numbers > _NEW_NUMBERS

    def _learn(self, words: Words) -> None:
        if len(words) > _VOCABULARY:
            return
        if self._learned + len(words) > _VOCABULARY:
            self._learned = int(self._vocabulary.approx_items)
            if self._learned + len(words) > _VOCABULARY:  # fuller, it would know words that it has never met
                self._vocabulary.clear()
                self._learned = 0
        self._vocabulary.update(words)
        self._learned += len(words)


def _echo(url: str) -> frozenset[bytes]:
    """Return the words of a URL, which its page may show."""
    return frozenset(_URL_WORDS.findall(url.lower().encode()))


def _is_number(word: bytes) -> bool:
    return _HAS_DIGIT.search(word) is not None and not word.startswith(IMAGE)
