"""The circle, the places on it, and the names that seed them."""

from __future__ import annotations

from bisect import bisect_left
from math import sqrt
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrawler.features.cluster.partition.capacity import capacity_of
from scrawler.features.cluster.partition.identifiers import free_identifier
from scrawler.features.cluster.partition.ring import Ring, replicas
from scrawler.model.terms import url_hash

GIB, MIB = 1 << 30, 1 << 20
names = st.lists(st.text("abcdef", min_size=1, max_size=4), min_size=1, max_size=5, unique=True)


def nearest_by_hand(weights: dict[str, int], place: int, bits: int, of_each: int) -> set[str]:
    """All whose replica is at the least distance, on either side and across the beginning of the circle."""
    whole = 1 << bits
    distances = {
        name: min(min((one - place) % whole, (place - one) % whole) for one in replicas(name, weight, of_each, bits))
        for name, weight in weights.items()
    }
    return {name for name, distance in distances.items() if distance == min(distances.values())}


@given(names, st.integers(1, 3), st.integers(0, 255))
def test_the_owner_is_whose_replica_is_nearest(fleet: list[str], of_each: int, place: int) -> None:
    weights = dict.fromkeys(fleet, 1)
    assert Ring(weights, of_each, bits=8).nearest(place) in nearest_by_hand(weights, place, 8, of_each)


@given(names, st.integers(1, 50), st.integers(1, 3))
def test_the_shares_are_the_parts_of_the_circle(fleet: list[str], of_each: int, weight: int) -> None:
    ring = Ring(dict.fromkeys(fleet, weight), of_each, bits=10)
    found = [ring.nearest(place) for place in range(1 << 10)]
    assert ring.shares() == {name: found.count(name) / (1 << 10) for name in fleet}


def test_replicas_follow_from_the_name_alone_and_grow_at_their_end() -> None:
    assert replicas("a", 2)[:200] == replicas("a", 1)
    assert len(set(replicas("a", 100))) == 20_000
    assert not set(replicas("a", 1)) & set(replicas("b", 1))
    assert replicas("host-1", 1, of_each=2) == [
        9689803473951020115,
        15923508684386083445,
    ]  # so that no version of the program moves sites


@pytest.mark.parametrize("of_each", [100, 200])
def test_shares_deviate_as_theory_says_of_replicas_placed_at_random(of_each: int) -> None:
    squares = []
    for turn in range(20):
        shares = Ring({f"agent-{turn}-{one}": 1 for one in range(16)}, of_each).shares()
        squares.append(fmean((16 * share - 1) ** 2 for share in shares.values()))
    assert sqrt(fmean(squares)) == pytest.approx(sqrt((1 - 1 / 16) / (2 * of_each)), rel=0.2)


def test_a_machine_gets_the_name_it_wants_unless_it_is_taken() -> None:
    assert free_identifier("a", 1, {"b": 1}) == "a"
    assert free_identifier("a", 1, {"a": 1, "a-2": 1}) == "a-3"


def test_a_newcomer_whose_replica_falls_on_anothers_chooses_another_name() -> None:
    taken = {"a": 1}
    places = set(replicas("a", 1, of_each=8, bits=8))
    clashing = next(name for name in map(str, range(1_000)) if places & set(replicas(name, 1, of_each=8, bits=8)))
    chosen = free_identifier(clashing, 1, taken, of_each=8, bits=8)
    assert chosen.startswith(f"{clashing}-")
    assert not places & set(replicas(chosen, 1, of_each=8, bits=8))


def test_balance_is_that_of_another_ring() -> None:
    """The deviation of the ring of uhashring, which takes the next replica, is that of ours times the root of 2."""
    uhashring = pytest.importorskip("uhashring")
    hosts = [f"www{number}.example.org" for number in range(20_000)]
    ours, theirs = [], []
    for turn in range(5):
        fleet = [f"agent-{turn}-{one}" for one in range(8)]
        ring, other = Ring(dict.fromkeys(fleet, 1), 160), uhashring.HashRing(fleet, vnodes=160)
        counts = dict.fromkeys(fleet, 0), dict.fromkeys(fleet, 0)
        for host in hosts:
            counts[0][ring.nearest(int.from_bytes(url_hash(host)[:8], "big"))] += 1
            counts[1][other.get_node(host)] += 1
        for found, count in zip((ours, theirs), counts, strict=True):
            found.append(fmean((8 * one / len(hosts) - 1) ** 2 for one in count.values()))
    assert 0.3 < sqrt(fmean(ours)) / sqrt(fmean(theirs)) < 1.5


@pytest.mark.parametrize(
    ("free", "rate", "capacity"),
    [
        (0, 0, 1),
        (1000 * GIB, 0, 1),
        (1000 * GIB, 5 * MIB, 4),
        (25 * GIB, 100 * MIB, 2),
        (10_000 * GIB, 10_000 * MIB, 64),
    ],
)
def test_capacity_is_the_smaller_of_storage_and_bandwidth(free: int, rate: int, capacity: int) -> None:
    assert capacity_of(free, rate) == capacity


def test_a_look_up_is_a_search_in_a_sorted_list() -> None:
    borders, owners = Ring({"a": 1, "b": 2}).borders()
    assert borders == sorted(borders)
    assert len(owners) == len(borders) + 1 == 601
    assert Ring({"a": 1, "b": 2}).nearest(1 << 63) == owners[bisect_left(borders, 1 << 63)]
