"""Running text for the pages: made once for a web, then cut into slices."""

from __future__ import annotations

import random
from bisect import bisect_left
from itertools import accumulate

_SYLLABLES = (
    *("ba", "ce", "di", "fo", "gu", "la", "me", "ni", "or", "pu", "ra", "se", "ti", "ul", "va", "wen", "xi", "yo"),
    *("zar", "ché", "für", "mün", "øst", "ñan", "šil"),  # these take several bytes in UTF-8
)
_INLINE = ("<em>{}</em>", '<span class="term">{}</span>', "<code>{}</code>", "{} &amp; co.")
_WORDS = 3_000
_BLOCK = 512 * 1024  # bytes, several times as many as a deflate window holds


class TextBlock:
    """A block of HTML paragraphs of invented words with the frequencies of a language (Zipf's law)."""

    def __init__(self, seed: int, largest_cut: int) -> None:
        rng = random.Random(seed)
        vocabulary = sorted({"".join(rng.choices(_SYLLABLES, k=rng.randint(1, 4))) for _ in range(_WORDS)})
        rng.shuffle(vocabulary)
        weights = list(accumulate(1 / rank for rank in range(1, len(vocabulary) + 1)))
        paragraphs = []
        self._bounds = [0]
        while self._bounds[-1] < _BLOCK + largest_cut:
            words = rng.choices(vocabulary, cum_weights=weights, k=rng.randint(20, 120))
            paragraphs.append(_paragraph(rng, words).encode())
            self._bounds.append(self._bounds[-1] + len(paragraphs[-1]))
        self._text = b"".join(paragraphs)
        self._starts = bisect_left(self._bounds, _BLOCK)

    def cuts(self, draw: int, size: int, count: int) -> list[bytes]:
        """Cut `count` consecutive slices of whole paragraphs, together about `size` bytes, from a drawn place on."""
        bounds = self._bounds
        first = start = bounds[draw % self._starts]
        slices = []
        for number in range(1, count + 1):
            end = bounds[min(bisect_left(bounds, first + size * number // count), len(bounds) - 1)]
            slices.append(self._text[start:end])
            start = end
        return slices


def _paragraph(rng: random.Random, words: list[str]) -> str:
    """Set words as a heading, a table row or, mostly, a paragraph with some inline elements."""
    kind = rng.random()
    if kind < 0.08:
        return f'<h2 class="head">{" ".join(words[:6]).title()}</h2>\n'
    if kind < 0.16:
        cells = "".join(f"<td>{word}</td>" for word in words[:12])
        return f'<table class="data"><tr>{cells}</tr></table>\n'
    for place in range(0, len(words) - 2, 17):
        words[place] = rng.choice(_INLINE).format(words[place])
    return f'<div class="block"><p>{" ".join(words).capitalize()}.</p></div>\n'
