"""Simhash: 64 bits of a page's words, by whose Hamming distance near copies are known (Charikar 2002, section 3).

Manku, Jain and Das Sarma (WWW 2007) found a distance of 3 right among 8 billion pages; here a page is compared with a
few of its own kind, and 6 finds nearly all that differ in a date, a counter or a sentence. The features are the
distinct words, without weights: the same list in another order has the same simhash.

Words are read from the page's bytes in one pass, compiled (`_simhash.c`) where that was built, else in Python
(`plain_simhash.py`, which says what a word is): 110 us a page of 30 KB and 6,200 words, 1,570 of them distinct; 5 ms in
Python. The skeleton of its text costs 5 us, and tells most pages that are no copies from those that may be.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from scrawler.compiled import compiled_part
from scrawler.extract import plain_simhash

NEAR = 6  # near copies differ in so many bits at most
WORD_BYTES = 8
_VOCABULARY_BYTES = 12  # for a thousand words these are 12,000 bits: 1 in 150 new words is taken for a known one
_BITS = 64

COMPILED = compiled_part("scrawler.extract._simhash")
_form: Any = COMPILED or plain_simhash


class Fingerprint(NamedTuple):
    """What remains of a page's text for comparing it; of most pages that is the skeleton."""

    skeleton: int | None = None  # a digest of the lengths of its texts; None where they were not read
    simhash: int = 0  # a signed number of 64 bits; 0 where there are no words, or they were not read
    digest: int = 0  # a digest of its distinct words, whatever their order
    words: bytes = b""  # the hashes of its distinct words

    @property
    def size(self) -> int:
        """The number of distinct words."""
        return len(self.words) // WORD_BYTES


def fingerprint_of(page: bytes, is_xml: bool = False, skeleton: int | None = None) -> Fingerprint:
    """Return the fingerprint of a page, bytes in UTF-8, whose skeleton is known or not asked for."""
    return Fingerprint(skeleton, *_form.fingerprint(page, is_xml))


def skeleton_of(page: bytes) -> int:
    """Return the skeleton of a page's text; copies that differ in a number or a name mostly have the same."""
    skeleton: int = _form.skeleton(page)
    return skeleton


def is_number(word: int) -> bool:
    """Tell whether a word holds a digit."""
    return bool(word & 1)


def picture_hash(address: bytes) -> int:
    """Return the hash by which an image stands among the words of its page."""
    return plain_simhash.image_hash(address.partition(b"?")[0])


def mark_of(thing: bytes) -> int:
    """Return a hash of something that is no word, but is remembered with words."""
    return picture_hash(thing) ^ 1


class Vocabulary:
    """Words that were met: a Bloom filter, which takes about so many of them before it knows too much."""

    __slots__ = ("_bits", "count")

    def __init__(self, words: int) -> None:
        self._bits = bytearray(words * _VOCABULARY_BYTES // 8)
        self.count = 0  # how many words were learned

    def unknown(self, words: bytes, most: int) -> list[int]:
        """Return words that were never met, at most so many."""
        return words_in(self.unknown_packed(words, most))

    def unknown_packed(self, words: bytes, most: int) -> bytes:
        """Return the same as bytes, in a tenth of the time."""
        unknown: bytes = _form.unknown(words, self._bits, most)
        return unknown

    def learn(self, words: bytes) -> None:
        """Remember words."""
        self.count += _form.learn(words, self._bits)

    def clear(self) -> None:
        """Forget all words."""
        self._bits = bytearray(len(self._bits))
        self.count = 0


def words_in(words: bytes) -> list[int]:
    """Return the hashes of words."""
    return memoryview(words).cast("Q").tolist()


def distance(one: int, other: int) -> int:
    """Return in how many of 64 bits two simhashes differ."""
    return ((one ^ other) & (1 << _BITS) - 1).bit_count()
