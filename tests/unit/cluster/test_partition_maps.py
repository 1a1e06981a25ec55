"""Who owns which site: what holds for every partition, whatever machines there are."""

from __future__ import annotations

from collections import Counter
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrawler.features.cluster.partition.maps import OwnerMap, is_mine, owner_map, slots_of
from scrawler.features.cluster.partition.slots import NOBODY, assigned, first_word
from scrawler.model.machines import Living, LivingMachine
from scrawler.model.partitions import PartitionKind

HOSTS = [f"www{number}.example{number % 7}.org" for number in range(500)]
CONSISTENT, MODULO, SUBSITE, DYNAMIC = (
    *(PartitionKind.CONSISTENT, PartitionKind.MODULO),
    *(PartitionKind.SUBSITE, PartitionKind.DYNAMIC),
)
agents = st.text("ab-1é", min_size=1, max_size=6)
fleets = st.lists(st.tuples(agents, st.integers(1, 3)), min_size=1, max_size=4, unique_by=lambda one: one[0])
few = settings(max_examples=25, deadline=None)  # each example makes rings of hundreds of replicas


def living(*machines: tuple[str, int]) -> Living:
    return Living(tuple(LivingMachine(number, 10, *one) for number, one in enumerate(machines, 1)))


def agent_of(owners: OwnerMap, there: Living) -> dict[str, str]:
    names = {one.id: one.agent for one in there.machines}
    return {host: names[owner] for host in HOSTS if (owner := owners.owner(host)) is not None}


def consistent(*machines: tuple[str, int]) -> dict[str, str]:
    there = living(*machines)
    return agent_of(owner_map(CONSISTENT, there), there)


def table_for(there: Living, kind: PartitionKind = MODULO) -> tuple[int, ...]:
    return assigned((NOBODY,) * slots_of(kind), there.weights())


@pytest.mark.parametrize("kind", [PartitionKind.INDEPENDENT, PartitionKind.NONE])
def test_without_a_partition_any_site_is_anybodys(kind: PartitionKind) -> None:
    owners = owner_map(kind, living(("a", 1), ("b", 1)))
    assert owners.is_open
    assert owners.owner("example.org") is None
    assert is_mine(owners, "example.org", 2)
    assert owners.shares() == {}


@pytest.mark.parametrize("kind", list(PartitionKind))
def test_where_nobody_takes_sites_up_or_no_table_is_there_no_site_is_lost(kind: PartitionKind) -> None:
    ending = Living((LivingMachine(1, 10, "a", 1, True),))
    assert owner_map(kind, Living()).owner("example.org") is None
    assert not owner_map(kind, ending).owner("example.org")


@few
@given(fleets)
def test_each_site_has_one_owner_and_all_agree_whatever_the_order_in_which_machines_came(
    fleet: list[tuple[str, int]],
) -> None:
    assert set(consistent(*fleet)) == set(HOSTS)
    assert consistent(*fleet) == consistent(*reversed(fleet))


def test_every_order_of_joining_gives_the_same_ring() -> None:
    fleet = [("a", 1), ("b", 2), ("c", 1), ("d", 3)]
    assert len({tuple(consistent(*order).items()) for order in permutations(fleet)}) == 1


@few
@given(fleets, agents, st.integers(1, 4))
def test_who_comes_takes_sites_and_moves_none_between_the_others(
    fleet: list[tuple[str, int]], newcomer: str, weight: int
) -> None:
    if newcomer in dict(fleet):
        return
    before, after = consistent(*fleet), consistent(*fleet, (newcomer, weight))
    assert {after[host] for host in HOSTS if after[host] != before[host]} <= {newcomer}


@few
@given(fleets)
def test_more_capacity_takes_sites_from_others_and_gives_none_away(fleet: list[tuple[str, int]]) -> None:
    (name, weight), *others = fleet
    before, after = consistent(*fleet), consistent((name, weight + 1), *others)
    assert {after[host] for host in HOSTS if after[host] != before[host]} <= {name}


@few
@given(fleets)
def test_the_shares_of_a_ring_are_what_the_hosts_get(fleet: list[tuple[str, int]]) -> None:
    there = living(*fleet)
    owners = owner_map(CONSISTENT, there)
    shares = owners.shares()
    assert sum(shares.values()) == pytest.approx(1)
    counts = Counter(owners.owner(host) for host in HOSTS)
    assert all(abs(counts[one] / len(HOSTS) - share) < 0.15 for one, share in shares.items())


def test_capacity_is_a_share() -> None:
    shares = owner_map(CONSISTENT, living(("small", 1), ("large", 3))).shares()
    assert shares[2] == pytest.approx(0.75, abs=0.05)


def test_of_two_machines_with_one_name_the_earlier_owns_the_sites() -> None:
    owners = owner_map(CONSISTENT, living(("same", 1), ("same", 1)))
    assert {owners.owner(host) for host in HOSTS} == {1}


def test_a_slot_of_a_machine_that_is_gone_or_ends_is_nobodys_until_the_table_follows() -> None:
    table = table_for(living(("a", 1), ("b", 1)))
    left = Living((LivingMachine(1, 10, "a"), LivingMachine(2, 10, "b", 1, True)))
    owners = owner_map(MODULO, left, table)
    assert {owners.owner(host) for host in HOSTS} == {1, None}
    assert not is_mine(owners, next(host for host in HOSTS if owners.owner(host) is None), 1)


def test_a_subset_that_nobody_has_yet_is_nobodys() -> None:
    there = living(("a", 1))
    owners = owner_map(DYNAMIC, there, (NOBODY,) * slots_of(DYNAMIC))
    assert not owners.is_open
    assert owners.owner("example.org") is None


def test_subsites_go_by_the_first_word_of_the_host_whatever_follows() -> None:
    there = living(*((name, 1) for name in "abcdefgh"))
    owners = owner_map(SUBSITE, there, table_for(there))
    assert owners.owner("blog.example.org") == owners.owner("blog.2006.example.org:8080") == owners.owner("blog.x.com")
    assert len({owners.owner(f"sub{number}.example.org") for number in range(60)}) > 4


@pytest.mark.parametrize(
    ("key", "word"),
    [
        ("blog.2006.sina.com.cn", "blog"),
        ("www8.blog.163.com:8080", "www8"),
        ("localhost:8080", "localhost:8080"),
        ("127.0.0.1:8080", "127.0.0.1:8080"),
        ("127.0.0.1", "127.0.0.1"),
        ("[::1]:80", "[::1]:80"),
        ("163.com", "163"),
    ],
)
def test_the_first_word_of_a_host(key: str, word: str) -> None:
    assert first_word(key) == word


def test_a_map_is_known_by_machines_names_capacities_and_who_ends() -> None:
    one = LivingMachine(1, 10, "a", 1)
    others = [LivingMachine(2, 10, "a"), one._replace(agent="b"), one._replace(weight=2), one._replace(ends=True)]
    versions = {Living((machine,)).version for machine in (one, *others)}
    assert len(versions) == 5
