"""A partition narrows what a machine claims, and nothing is left to nobody."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import event, select, update

from scrawler.features.cluster.identity import NamedMachine
from scrawler.features.cluster.partition.slots import NOBODY
from scrawler.features.cluster.store import narrowing
from scrawler.features.cluster.store.partitions import MappedPartition, SlotTables
from scrawler.model.claims import ClaimedSite
from scrawler.model.machines import Living, MachineState
from scrawler.model.partitions import PartitionKind
from scrawler.model.seeds import EndReason, SeedState
from scrawler.store.claims.claims import Claims
from scrawler.store.claims.control import Control
from scrawler.store.claims.machines import Machines
from scrawler.store.claims.seeds import NewSeed, Seeds
from scrawler.store.engines.engine import Database
from scrawler.store.schema.tables import machine
from tests.dead import declare_dead
from tests.integration.store.crawling import Worker, seed_delta, site_delta

CONSISTENT, MODULO, DYNAMIC = PartitionKind.CONSISTENT, PartitionKind.MODULO, PartitionKind.DYNAMIC
KEPT = [PartitionKind.CONSISTENT, PartitionKind.MODULO, PartitionKind.SUBSITE]
_DONE = {"state": SeedState.DONE, "end_reason": EndReason.COMPLETED}


class Sharer(Worker):
    """A machine that claims what a partition says is its own."""

    @classmethod
    def agent(cls, database: Database, kind: PartitionKind, name: str, weight: int = 1) -> Sharer:
        made = Machines(database).register("here", os.getpid(), database.now(), NamedMachine(name, str(weight)))
        sharer = cls(database, made.id)
        sharer.partition = MappedPartition(database, made.id, kind)
        sharer.claims = Claims(database, made.id, sharer.partition)
        return sharer

    partition: MappedPartition
    claims: Claims

    def beat(self, weight: int = 1) -> bool:
        """Have a heartbeat, and follow what it brings."""
        return self.partition.follow(Machines(self.database).beat(self.id, weight=weight).living)

    def finish(self, claimed: list[ClaimedSite]) -> None:
        """End all seeds of sites, and let go of them."""
        for one in claimed:
            seeds = [seed_delta(seed.id, **_DONE) for seed in one.seeds]
            self.commit(site_delta(one, *seeds, released=True))


def fleet(database: Database, kind: PartitionKind, names: str) -> list[Sharer]:
    """Register machines, and let each of them see all."""
    machines = [Sharer.agent(database, kind, name) for name in names]
    for one in (*machines, *machines):
        one.beat()
    return machines


def seeded(database: Database, sites: int, first: int = 0) -> None:
    Seeds(database).add(
        [NewSeed(f"http://s{one}.example.org/", f"s{one}.example.org") for one in range(first, first + sites)]
    )


def keys(claimed: list[ClaimedSite]) -> set[str]:
    return {one.key for one in claimed}


@contextmanager
def statements(database: Database) -> Iterator[list[str]]:
    """Collect what is asked of the database."""
    asked: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        asked.append(statement)

    engine = database._engine
    event.listen(engine, "before_cursor_execute", note)
    try:
        yield asked
    finally:
        event.remove(engine, "before_cursor_execute", note)


@pytest.mark.parametrize("kind", KEPT)
def test_machines_claim_their_own_sites_and_together_all_of_them(database: Database, kind: PartitionKind) -> None:
    seeded(database, 300)
    machines = fleet(database, kind, "abc")
    claimed = [keys(one.claim(300, 1, machines=3)) for one in machines]
    assert sum(map(len, claimed)) == len(set().union(*claimed)) == 300
    assert min(map(len, claimed)) > 40
    for one, got in zip(machines, claimed, strict=True):
        assert {machines[0].partition.owners.owner(key) for key in got} == {one.id}


@pytest.mark.parametrize("kind", KEPT)
def test_what_a_dead_machine_held_is_claimed_by_its_heirs_and_only_by_them(
    database: Database, kind: PartitionKind
) -> None:
    seeded(database, 90)
    machines = fleet(database, kind, "abc")
    held = [keys(one.claim(90, 1, machines=3)) for one in machines]
    declare_dead(database, machines[0].id)
    assert [one.beat() for one in machines[1:]] == [True, True]
    heirs = [one.claim(90, 1, machines=2) for one in machines[1:]]
    assert keys(heirs[0]) | keys(heirs[1]) == held[0]
    assert not keys(heirs[0]) & keys(heirs[1])
    assert all(one.after_death for one in heirs[0] + heirs[1])


@pytest.mark.parametrize("kind", KEPT)
def test_a_machine_that_ends_owns_nothing_any_more(database: Database, kind: PartitionKind) -> None:
    seeded(database, 60)
    first, second = fleet(database, kind, "ab")
    Control(database).drain("here-1")
    assert first.beat()
    assert second.beat()
    assert len(second.claim(60, 1, machines=2)) == 60
    assert first.claim(60, 1, machines=2) == []


def test_who_comes_later_gets_its_share_of_what_is_free(database: Database) -> None:
    seeded(database, 200)
    (first,) = fleet(database, CONSISTENT, "a")
    second = Sharer.agent(database, CONSISTENT, "b")
    assert second.beat()
    assert first.beat()
    assert not first.beat()
    mine, theirs = first.claim(200, 1, machines=2), second.claim(200, 1, machines=2)
    assert len(mine) + len(theirs) == 200
    assert len(theirs) > 60
    assert not any(first.partition.is_mine(key) for key in keys(theirs))


def test_the_capacity_of_a_machine_is_its_share(database: Database) -> None:
    small, large = Sharer.agent(database, MODULO, "a", 1), Sharer.agent(database, MODULO, "b", 3)
    for one, weight in ((small, 1), (large, 3), (small, 1)):
        one.beat(weight)
    assert large.partition.owners.shares() == small.partition.owners.shares() == {small.id: 0.25, large.id: 0.75}


def test_a_table_is_made_once_and_changes_only_when_machines_do(database: Database) -> None:
    machines = fleet(database, MODULO, "abcd")
    table = SlotTables(database).read(MODULO)
    assert set(table.machines) == set(table.slots) == {one.id for one in machines}
    for one in machines:
        assert not one.beat()
    assert SlotTables(database).read(MODULO) == table
    Machines(database).stop(machines[3].id)
    for one in machines[:3]:
        one.beat()
    after = SlotTables(database).read(MODULO)
    assert after.version == table.version + 1
    assert sum(old != new for old, new in zip(table.slots, after.slots, strict=True)) == 1024


def test_of_two_that_change_a_table_at_once_one_comes_first_and_the_other_reads(database: Database) -> None:
    tables = SlotTables(database)
    assert tables.write(MODULO, 0, {1: 1}, (1, 1))
    assert not tables.write(MODULO, 0, {2: 1}, (2, 2))
    assert tables.write(MODULO, 1, {2: 1}, (2, 2))
    assert not tables.write(MODULO, 1, {3: 1}, (3, 3))
    assert tables.read(MODULO) == (2, {2: 1}, (2, 2))
    assert tables.version(DYNAMIC) == 0


def test_the_next_subset_goes_to_whoever_is_free(database: Database) -> None:
    seeded(database, 400)
    first, second = fleet(database, DYNAMIC, "ab")
    seen: set[str] = set()
    while claimed := first.claim(20, 1, machines=2, seats_elsewhere=20):
        assert not keys(claimed) & seen
        seen |= keys(claimed)
        first.finish(claimed)
        if len(seen) > 80:
            break
    others = second.claim(20, 1, machines=2, seats_elsewhere=20)
    assert others
    assert not keys(others) & seen
    slots = SlotTables(database).read(DYNAMIC).slots
    assert slots.count(first.id) > slots.count(second.id) > 0
    assert slots.count(NOBODY) > 0


def test_the_sites_of_the_next_subset_are_known_without_another_look_at_all(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    seeded(database, 3_000)
    first, second = fleet(database, DYNAMIC, "ab")
    read: list[int] = []
    keys_of = narrowing._keys

    def counted(*arguments: Any) -> list[tuple[int, str]]:
        rows = keys_of(*arguments)
        read.append(len(rows))
        return rows

    monkeypatch.setattr(narrowing, "_keys", counted)
    for name in ("_REST", "_LONGEST_REST"):
        monkeypatch.setattr(narrowing, name, 1e9)  # no second lap begins, however slow this machine is
    seen: set[str] = set()
    while len(seen) < 400:
        for one in (first, second):
            claimed = one.claim(50, 1)
            assert not keys(claimed) & seen
            seen |= keys(claimed)
            one.beat()
    assert sum(read) <= 4 * 3_000, "some 20 subsets were taken, each with a look at all it would be 20 times that"


def test_subsets_of_a_machine_that_is_gone_are_given_out_again_and_nothing_is_left(database: Database) -> None:
    seeded(database, 60)
    first, second = fleet(database, DYNAMIC, "ab")
    held = keys(first.claim(20, 1))
    declare_dead(database, first.id)
    second.beat()
    seen: set[str] = set()
    while claimed := second.claim(30, 1):
        seen |= keys(claimed)
        second.finish(claimed)
    assert held <= seen
    assert len(seen) == 60
    assert second.claims.states_left() == set()


def test_what_becomes_free_behind_the_place_that_was_reached_is_found_again(database: Database) -> None:
    seeded(database, 50)
    (only,) = fleet(database, CONSISTENT, "a")
    claimed = only.claim(50, 1)
    assert only.claim(50, 1) == []
    only.release(*claimed[:5])
    seeded(database, 5, first=50)
    found: set[str] = set()
    while len(found) < 10:  # a lap in vain rests for some milliseconds
        found |= keys(only.claim(50, 1))
    assert found == keys(claimed[:5]) | {f"s{one}.example.org" for one in range(50, 55)}


def test_a_claim_reads_no_more_of_others_sites_than_it_must(database: Database) -> None:
    seeded(database, 6_000)
    first, _ = fleet(database, CONSISTENT, "ab")
    while first.claim(500, 1, machines=2):
        pass
    with statements(database) as asked:
        assert first.claim(500, 1, machines=2) == []
    assert len([one for one in asked if "site_key" in one]) <= 1  # the lap was in vain, and is not made again at once


def test_without_a_partition_a_claim_asks_what_it_asked_before(database: Database) -> None:
    seeded(database, 100)
    plain, open_to_all = Worker.of(database, "one"), Sharer.agent(database, PartitionKind.INDEPENDENT, "a")
    open_to_all.beat()
    asked = []
    for one in (plain, open_to_all):
        with statements(database) as found:
            one.release(*one.claim(50, 1))
        asked.append(found)
    assert asked[0] == asked[1]


def test_a_stale_map_never_gives_a_site_to_two(database: Database) -> None:
    seeded(database, 100)
    first, second = fleet(database, CONSISTENT, "ab")
    second.partition.follow(Living(tuple(one for one in Machines(database).living().machines if one.id == second.id)))
    mine, theirs = second.claim(100, 1), first.claim(100, 1)
    assert len(mine) == 100
    assert theirs == []


def test_a_name_is_kept_by_whoever_starts_again_and_never_shared(database: Database) -> None:
    machines = Machines(database)
    one = machines.register("here", os.getpid(), 0, NamedMachine("north"))
    other = machines.register("there", os.getpid(), 0, NamedMachine("north"))
    assert (one.agent, other.agent) == ("north", "north-2")
    machines.stop(one.id)
    assert machines.register("anywhere", os.getpid(), 0, NamedMachine("north")).agent == "north"
    assert machines.register("plain", os.getpid(), 0).agent == "plain-1"


def test_the_name_of_a_machine_whose_lease_is_over_is_free(database: Database) -> None:
    machines = Machines(database)
    lost = machines.register("here", os.getpid(), 0, NamedMachine("north"))
    with database.begin() as connection:
        connection.execute(update(machine).values(heartbeat_at=machine.c.heartbeat_at - 100_000))
    assert machines.register("there", os.getpid(), 0, NamedMachine("north")).agent == "north"
    with database.read() as connection:
        assert connection.scalar(select(machine.c.state).where(machine.c.id == lost.id)) == MachineState.RUNNING.value
