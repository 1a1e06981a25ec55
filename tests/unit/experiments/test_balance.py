"""What the experiment on balance compares with the crawler's own ring."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.balance import by_nearest, by_permutation, by_successor
from scrawler.features.cluster.partition.ring import Ring, replicas
from scrawler.model.terms import url_hash

NAMES = ["a", "b", "c"]
PLACES = np.array([int.from_bytes(url_hash(str(one))[:8], "big") for one in range(300)], np.uint64)


def test_the_owners_are_those_of_the_ring() -> None:
    ring = Ring(dict.fromkeys(NAMES, 1), 20)
    assert [NAMES[one] for one in by_nearest(PLACES, NAMES, 20)] == [ring.nearest(int(place)) for place in PLACES]


def test_the_next_replica_is_the_first_one_behind() -> None:
    ring = sorted((place, one) for one, name in enumerate(NAMES) for place in replicas(name, 1, 20))
    expected = [next((one for place, one in ring if place >= host), ring[0][1]) for host in map(int, PLACES)]
    assert list(by_successor(PLACES, NAMES, 20)) == expected


@pytest.mark.parametrize("way", [by_permutation, lambda places, names: by_nearest(places, names, 50)])
def test_who_comes_moves_nothing_between_the_others(way) -> None:  # type: ignore[no-untyped-def]
    before, after = way(PLACES, NAMES), way(PLACES, [*NAMES, "d"])
    assert set(after[before != after]) == {3}
