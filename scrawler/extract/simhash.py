"""Simhash: 64 bits of a page's words, by whose Hamming distance near copies are known (Charikar 2002, section 3).

Manku, Jain and Das Sarma (WWW 2007) found a distance of 3 right among 8 billion pages; here a page is compared with a
few of its own kind, and 6 finds nearly all that differ in a date, a counter or a sentence. The features are the
distinct words, without weights: the same list in another order has the same simhash.

All 64 counters are lanes of 16 bits in one long integer, so that adding a word is one addition. The lanes of words are
remembered, as most words of a site stand on many of its pages.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import NamedTuple

NEAR = 6  # bits in which near copies differ at most
IMAGE = b"\x00"  # begins the word that stands for an image
_BITS = 64
_LANE = 16  # bits of a counter
_MOST_WORDS = 30_000  # of a page: a counter holds no more than 32,767
_MOST_IMAGES = 200
_TEXT_READ = 1 << 20  # characters
_LONGEST_KEPT = 64  # bytes of a word whose lanes are remembered
_WORDS_KEPT = 32_768  # at about 300 bytes each

_ONES = sum(1 << _LANE * bit for bit in range(_BITS))
_TOPS = _ONES << (_LANE - 1)
_HALF = (1 << (_LANE - 1)) - 1
_SPREAD = [sum((byte >> bit & 1) << _LANE * bit for bit in range(8)) for byte in range(256)]
_DIGITS = bytes(ord("1") if byte & 0x80 else ord("0") for byte in range(256))
# Words are runs of letters and digits, in lower case; what is not ASCII counts as letters.
_WORD_BYTES = bytes(byte if byte > 127 or chr(byte).isalnum() else 32 for byte in bytes(range(256)).lower())

Words = frozenset[bytes]


class Fingerprint(NamedTuple):
    """What remains of a page's text for comparing it: its simhash, signed, and its distinct words."""

    simhash: int  # 0: there were no words
    words: Words


class _Lanes(dict[bytes, int]):
    """Word -> its 64 hash bits, each in the lowest bit of a lane."""

    def __missing__(self, word: bytes) -> int:
        lanes = 0
        for place, byte in enumerate(blake2b(word, digest_size=_BITS // 8).digest()):
            lanes |= _SPREAD[byte] << 8 * _LANE * place
        if len(word) <= _LONGEST_KEPT:
            if len(self) >= _WORDS_KEPT:
                self.clear()
            self[word] = lanes
        return lanes


_lanes = _Lanes()


def words_of(text: str, images: Iterable[str] = ()) -> Words:
    """Return the distinct words of a text, and one for each image, by its address without query."""
    words = text[:_TEXT_READ].encode("utf-8", "replace").translate(_WORD_BYTES).split(None, _MOST_WORDS)
    shown = [image.partition("?")[0] for image, _ in zip(images, range(_MOST_IMAGES), strict=False)]
    words += [IMAGE + image.encode("utf-8", "replace") for image in shown if image[:5].lower() != "data:"]
    return frozenset(words)


def fingerprint_of(words: Words) -> Fingerprint:
    """Return the fingerprint of a page with these words."""
    return Fingerprint(simhash(words), words)


def simhash(words: Words) -> int:
    """Return the simhash of distinct words as a signed 64-bit number; 0 if there are none."""
    if not words:
        return 0
    sums = sum(map(_lanes.__getitem__, words))
    # A lane that counts more than half of the words carries over into its top bit.
    tops = sums + _ONES * (_HALF - len(words) // 2) & _TOPS
    unsigned = int(tops.to_bytes(_BITS * _LANE // 8, "big")[::2].translate(_DIGITS), 2)
    return (unsigned or 1) - (unsigned >> (_BITS - 1) << _BITS)


def distance(one: int, other: int) -> int:
    """Return in how many of 64 bits two simhashes differ."""
    return ((one ^ other) & (1 << _BITS) - 1).bit_count()
