"""How a machine comes by its identifier (paper 001, section 4.1.5).

It is what the user calls it, also after a restart. A newcomer whose name is taken by one that lives, or one of whose
replicas falls on another's, must choose another one: it counts up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count

from scrawler.features.cluster.partition.ring import CIRCLE_BITS, REPLICAS, replicas


def free_identifier(
    wanted: str, weight: int, taken: Mapping[str, int], of_each: int = REPLICAS, bits: int = CIRCLE_BITS
) -> str:
    """Return `wanted`, or the first of wanted-2, wanted-3, ... that is at peace with those that live (name -> weight).

    With 64 bits and 10,000 machines two replicas are on one place once in 10^12 times, as the paper says.
    """
    occupied = {place for name, theirs in taken.items() for place in replicas(name, theirs, of_each, bits)}
    return next(
        name
        for name in _names(wanted)
        if name not in taken and occupied.isdisjoint(replicas(name, weight, of_each, bits))
    )


def _names(wanted: str) -> Iterator[str]:
    yield wanted
    for number in count(2):
        yield f"{wanted}-{number}"
