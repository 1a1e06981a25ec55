"""Identifier-seeded consistent hashing on a circle of 64 bits (paper 001, sections 4.1.4 and 4.1.5).

Each machine has `REPLICAS` places a unit of its weight, which follow from its identifier alone. A site belongs to the
machine whose replica is nearest, on either side. So all machines come to the same answer without asking each other, and
one that comes or goes takes or leaves only what is its own.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from hashlib import blake2b
from itertools import pairwise
from struct import Struct

REPLICAS = 200  # for each unit of weight
CIRCLE_BITS = 64
_OF_DIGEST = Struct(">8Q")  # one hash makes eight places


def replicas(identifier: str, weight: int, of_each: int = REPLICAS, bits: int = CIRCLE_BITS) -> list[int]:
    """Return the places of an identifier; those of a smaller weight are the first of those of a larger one."""
    seed = identifier.encode("utf-8", "surrogatepass")
    places: list[int] = []
    for number in range(-(-weight * of_each // 8)):
        digest = blake2b(seed, digest_size=_OF_DIGEST.size, salt=number.to_bytes(8, "big")).digest()
        places += _OF_DIGEST.unpack(digest)
    return [place >> (CIRCLE_BITS - bits) for place in places[: weight * of_each]]


class Ring:
    """The places of all machines in order, with the borders halfway between two of them."""

    def __init__(self, weights: Mapping[str, int], of_each: int = REPLICAS, bits: int = CIRCLE_BITS) -> None:
        """Place machines (identifier -> weight), of which there is one at least."""
        places = sorted(
            (place, name) for name, weight in weights.items() for place in replicas(name, weight, of_each, bits)
        )
        self._bits = bits
        round_once = 1 << bits
        last, first = places[-1][0], places[0][0] + round_once
        borders = [left + (right - left) // 2 for (left, _), (right, _) in pairwise(places)]
        names = [name for _, name in places]
        across = last + (first - last) // 2  # the border between the last place and the first one
        if across < round_once:
            borders.append(across)
            names.append(names[0])
        else:
            borders.insert(0, across - round_once)
            names.insert(0, names[-1])
        self._borders = borders
        self._names = names

    def borders(self) -> tuple[list[int], list[str]]:
        """Return the borders, and whose all up to each of them is; what is above the last is the last name's."""
        return self._borders, self._names

    def shares(self) -> dict[str, float]:
        """Return the part of the circle that is nearest to each identifier's replicas; 1 in all."""
        whole = 1 << self._bits
        parts = dict.fromkeys(self._names, 0)
        for before, border, name in zip([-1, *self._borders], [*self._borders, whole - 1], self._names, strict=True):
            parts[name] += border - before
        return {name: part / whole for name, part in parts.items()}

    def nearest(self, place: int) -> str:
        """Return the identifier whose replica is nearest to a place; of two that are as near, the one before it."""
        return self._names[bisect_left(self._borders, place)]
