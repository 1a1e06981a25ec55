"""What a page weighs against others: by its depth, by the links to it, or by a file of ranks.

Only ratios of weights count: a page of weight 2 is worth two of weight 1 that are as fresh.
"""

from __future__ import annotations

import math
import struct
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable

from scrawler.model.terms import url_hash

MOST_RANKS = 20_000_000  # lines of a file; each page takes 12 bytes, and 50 more while the file is read
_LONGEST_LINE = 16_384  # characters: a URL may have 16,000
_LARGEST = 1e9  # weights are above 0, up to this
_FLOAT = struct.Struct("<f")


class RankError(ValueError):
    """A file of ranks that cannot be understood; the text says which line, and why."""


def by_depth(depth: int) -> float:
    """Return the weight of a page so many links away from its seed: 1, 1/2, 1/3, ..."""
    return 1 / (1 + max(depth, 0))


def by_links(in_degree: int) -> float:
    """Return the weight of a page to which so many pages link: 1 + ln(1 + n), as in-degrees follow a power law."""
    return 1 + math.log1p(max(in_degree, 0))


class Ranks:
    """Weights by URL, held as 64 bits of a hash and a number of 32 bits each."""

    def __init__(self, pairs: Iterable[tuple[str, float]], otherwise: float = 1.0) -> None:
        """Take normalised URLs with their weights, the last one of a URL holds; `otherwise` is that of all others."""
        latest = {_key(url): weight for url, weight in pairs}
        keys = sorted(latest)
        self._keys = array("Q", keys)
        self._weights = array("f", (latest[key] for key in keys))
        self._otherwise = otherwise

    def __len__(self) -> int:
        return len(self._keys)

    def weight(self, url: str) -> float:
        """Return the weight of a normalised URL."""
        key = _key(url)
        place = bisect_left(self._keys, key)
        found = place < len(self._keys) and self._keys[place] == key
        return self._weights[place] if found else self._otherwise


def read_ranks(lines: Iterable[str], normalise: Callable[[str], str | None]) -> Ranks:
    """Read lines of a URL, white space and a number above 0; empty lines and those that begin with # are passed over.

    `normalise` returns None for what is no URL. URLs of which nothing is said weigh as little as the least that is.

    Raises:
        RankError: a line says something else, or there are too many.
    """
    least = math.inf

    def pairs() -> Iterable[tuple[str, float]]:
        nonlocal least
        count = 0
        for number, line in enumerate(lines, 1):
            if line.isspace() or not line or line.startswith("#"):
                continue
            count += 1
            if count > MOST_RANKS:
                raise RankError(f"line {number}: more than {MOST_RANKS:,} ranks")
            url, weight = _read(line, number)
            known = normalise(url)
            if known is None:
                raise RankError(f"line {number}: not a URL")
            least = min(least, weight)
            yield known, weight

    ranks = Ranks(pairs())
    ranks._otherwise = least if len(ranks) else 1.0
    return ranks


def _read(line: str, number: int) -> tuple[str, float]:
    parts = line.split() if len(line) <= _LONGEST_LINE else []
    if len(parts) != 2:
        raise RankError(f"line {number}: a URL and a number are wanted, with white space between")
    try:
        weight = float(parts[1])
    except ValueError:
        weight = math.nan
    if not 0 < weight <= _LARGEST:
        raise RankError(f"line {number}: the number must be above 0, and {_LARGEST:,.0f} at most")
    return parts[0], _FLOAT.unpack(_FLOAT.pack(weight))[0] or 1e-30


def _key(url: str) -> int:
    return int.from_bytes(url_hash(url)[:8], "big")
