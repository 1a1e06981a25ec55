"""The table of slots: balanced after each change, and changed as little as must be."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from scrawler.features.cluster.partition.maps import owner_map
from scrawler.features.cluster.partition.slots import (
    LOGICAL_NODES,
    NOBODY,
    SUBSETS,
    assigned,
    moved,
    next_taken,
    slot_of,
    without,
)
from scrawler.model.machines import Living, LivingMachine
from scrawler.model.partitions import PartitionKind
from scrawler.model.terms import url_hash

EMPTY = (NOBODY,) * LOGICAL_NODES
HOSTS = [f"www{number}.example.org" for number in range(200)]
fleets = st.dictionaries(st.integers(1, 40), st.integers(1, 5), min_size=1, max_size=12)
few = settings(max_examples=40, deadline=None)  # each example makes tables of 4,096 slots


def equal(*ids: int) -> dict[int, int]:
    return dict.fromkeys(ids, 1)


@few
@given(fleets)
def test_each_machine_has_its_share_rounded_down_or_up(weights: dict[int, int]) -> None:
    counts = Counter(assigned(EMPTY, weights))
    for one, weight in weights.items():
        assert abs(counts[one] - LOGICAL_NODES * weight / sum(weights.values())) < 1


@few
@given(fleets, fleets)
def test_no_slot_moves_that_could_have_stayed(before: dict[int, int], after: dict[int, int]) -> None:
    old = assigned(EMPTY, before)
    new = assigned(old, after)
    had, has = Counter(old), Counter(new)
    lost_by_the_gone = sum(count for one, count in had.items() if one not in after)
    given_away = sum(max(0, had[one] - has[one]) for one in after)
    assert moved(old, new) == lost_by_the_gone + given_away
    total = sum(after.values())
    for one in after:  # who gives away ends at its share rounded up, unless that would leave another below its own
        if has[one] < had[one] and has[one] == LOGICAL_NODES * after[one] // total:
            assert all(has[other] <= max(had[other], -(-LOGICAL_NODES * after[other] // total)) for other in after)


@few
@given(fleets)
def test_what_is_as_it_should_be_stays(weights: dict[int, int]) -> None:
    table = assigned(EMPTY, weights)
    assert assigned(table, weights) == table


@pytest.mark.parametrize("machines", [1, 2, 7, 16, 50])
def test_a_join_moves_one_share_and_a_leave_another_where_one_level_moves_nearly_all(machines: int) -> None:
    old = assigned(EMPTY, equal(*range(1, machines + 1)))
    joined = assigned(old, equal(*range(1, machines + 2)))
    assert moved(old, joined) == Counter(joined)[machines + 1] <= -(-LOGICAL_NODES // (machines + 1))
    left = assigned(joined, equal(*range(2, machines + 2)))
    assert moved(joined, left) == Counter(joined)[1]
    one_level = moved(
        [slot_of(url_hash(str(one)), machines) for one in range(LOGICAL_NODES)],
        [slot_of(url_hash(str(one)), machines + 1) for one in range(LOGICAL_NODES)],
    )
    assert one_level > 0.8 * LOGICAL_NODES * machines / (machines + 1) >= moved(old, joined) * machines * 0.75


def test_without_machines_all_is_nobodys() -> None:
    assert set(assigned(assigned(EMPTY, equal(1, 2)), {})) == {NOBODY}


def test_subsets_go_to_whoever_is_free_and_those_of_the_gone_come_back() -> None:
    table: tuple[int, ...] = (NOBODY,) * SUBSETS
    for turn in range(SUBSETS):
        taken = next_taken(table, 1 + turn % 3)
        assert taken is not None
        assert moved(table, taken) == 1
        table = taken
    assert next_taken(table, 1) is None
    left = without(table, equal(1, 3))
    assert Counter(left)[NOBODY] == Counter(table)[2]
    again = next_taken(left, 3)
    assert again is not None
    assert again[1] == 3


class MapChanges(RuleBasedStateMachine):
    """Machines come, go, end and change their capacity, with a table that follows them sooner or later."""

    def __init__(self) -> None:
        super().__init__()
        self.machines: dict[int, LivingMachine] = {}
        self.table = EMPTY
        self.followed: dict[int, int] = {}
        self.last = 0

    def living(self) -> Living:
        return Living(tuple(sorted(self.machines.values())))

    @rule(weight=st.integers(1, 3))
    @precondition(lambda self: len(self.machines) < 8)
    def join(self, weight: int) -> None:
        self.last += 1
        self.machines[self.last] = LivingMachine(self.last, 10, f"agent-{self.last}", weight)

    @rule(which=st.integers(0, 100))
    @precondition(lambda self: len(self.machines) > 0)
    def leave(self, which: int) -> None:
        del self.machines[sorted(self.machines)[which % len(self.machines)]]

    @rule(which=st.integers(0, 100))
    @precondition(lambda self: len(self.machines) > 0)
    def end(self, which: int) -> None:
        one = sorted(self.machines)[which % len(self.machines)]
        self.machines[one] = self.machines[one]._replace(ends=True)

    @rule(which=st.integers(0, 100), weight=st.integers(1, 3))
    @precondition(lambda self: len(self.machines) > 0)
    def grow(self, which: int, weight: int) -> None:
        one = sorted(self.machines)[which % len(self.machines)]
        self.machines[one] = self.machines[one]._replace(weight=weight)

    @rule()
    def follow(self) -> None:
        weights = self.living().weights()
        before, self.table = self.table, assigned(self.table, weights)
        if weights and self.followed:
            kept = sum(old == new for old, new in zip(before, self.table, strict=True))
            total = sum(weights.values())
            had = Counter(before)
            could = sum(min(had[one], -(-LOGICAL_NODES * weight // total)) for one, weight in weights.items())
            assert could - len(weights) <= kept <= could
        self.followed = weights

    @invariant()
    def every_owner_lives_and_takes_sites_up(self) -> None:
        owning = {one.id for one in self.living().owning()}
        for kind in (PartitionKind.MODULO, PartitionKind.SUBSITE, PartitionKind.CONSISTENT):
            owners = owner_map(kind, self.living(), self.table)
            assert {owners.owner(host) for host in HOSTS[:20]} <= {*owning, None}

    @invariant()
    def nobody_waits_in_vain_once_the_table_has_followed(self) -> None:
        weights = self.living().weights()
        if weights and weights == self.followed:
            owners = owner_map(PartitionKind.MODULO, self.living(), self.table)
            assert None not in {owners.owner(host) for host in HOSTS}

    @invariant()
    def whoever_sees_the_same_gives_the_same_answer(self) -> None:
        one, other = (owner_map(PartitionKind.CONSISTENT, Living(self.living().machines)) for _ in range(2))
        assert [one.owner(host) for host in HOSTS[:5]] == [other.owner(host) for host in HOSTS[:5]]


TestMapChanges = MapChanges.TestCase
TestMapChanges.settings = settings(
    max_examples=15, stateful_step_count=12, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
