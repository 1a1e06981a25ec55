"""Free competition in its three ways, on collectors that only hold sites."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.arms import scrawler_arms
from experiments.arms.scrawler_arms import HandCompetition, SingleCompetition
from scrawler.core.distribution.competition import FreeCompetition
from scrawler.core.distribution.distributor import SeedIdQueue
from scrawler.errors import SettingsError
from scrawler.plugins import part_maker, parts
from scrawler.settings.parts import PART_KINDS

WAYS = (FreeCompetition, HandCompetition, SingleCompetition)


@dataclass
class Seeds:
    """A site with some seeds."""

    id: int
    waiting: int = 1
    count: int = 0
    inactive: bool = True
    connected: bool = False

    @property
    def set_aside(self) -> range:
        return range(self.waiting)


@dataclass
class Shelf:
    """Holds sites as a collector does, and crawls nothing."""

    capacity: int
    sites: dict[int, Seeds] = field(default_factory=dict)
    woken: int = 0

    @property
    def held(self) -> int:
        return sum(site.count for site in self.sites.values())

    @property
    def room(self) -> int:
        return self.capacity - self.held

    def take_in(self, site: Seeds) -> None:
        self.sites[site.id] = site
        self.fill(site)

    def fill(self, site: Seeds) -> None:
        coming = min(site.waiting, self.room)
        site.waiting -= coming
        site.count += coming

    def give_away(self, site: Seeds) -> None:
        raise AssertionError("in free competition nothing moves")

    def wake(self) -> None:
        self.woken += 1

    def end_seed(self) -> int:
        """End a seed of the first site that has one; returns how many there were to end (0 or 1)."""
        site = next((site for site in self.sites.values() if site.count), None)
        if site is None:
            return 0
        site.count -= 1
        for other in self.sites.values():
            self.fill(other)
        if not site.count and not site.waiting:
            del self.sites[site.id]
        return 1


class Desk:
    """A competition among shelves, and the seeds that came into its queue."""

    def __init__(self, way: type[FreeCompetition[Seeds]], shelves: int, capacity: int) -> None:
        self.queue = SeedIdQueue[Seeds](10_000)
        self.shelves = [Shelf(capacity) for _ in range(shelves)]
        self.way = way(self.queue, self.shelves, threading.RLock(), threading.Event())
        self.came = 0

    def put(self, *seeds: int) -> None:
        """Put in sites with so many seeds each."""
        for number in seeds:
            self.queue.reserved += 1
            self.queue.put(Seeds(self.came, number))
            self.came += 1

    def look(self, number: int) -> int:
        """Let a shelf look for seeds; returns how many sites it took."""
        before = len(self.queue)
        self.way.help_yourself(self.shelves[number])
        return before - len(self.queue)

    @property
    def held(self) -> list[int]:
        return [shelf.held for shelf in self.shelves]


def test_the_first_to_come_takes_all_it_has_room_for() -> None:
    desk = Desk(FreeCompetition, 2, 3)
    desk.put(1, 1, 1, 1)
    desk.way.seeds_changed()
    assert [shelf.woken for shelf in desk.shelves] == [1, 1]
    assert desk.look(1) == 3
    desk.way.seeds_changed()
    assert [shelf.woken for shelf in desk.shelves] == [2, 1]  # the full one is not woken
    assert desk.look(0) == 1
    assert desk.held == [1, 3]


def test_a_hand_is_taken_when_none_is_left_and_is_as_large_as_the_room() -> None:
    desk = Desk(HandCompetition, 2, 10)
    desk.put(*[1] * 25)
    assert desk.look(0) == 10
    assert [desk.shelves[0].end_seed() or desk.look(0) for _ in range(9)] == [1] * 9
    desk.way.seeds_changed()
    assert [shelf.woken for shelf in desk.shelves] == [0, 1]  # one seed is left to the first
    assert desk.look(0) == 0
    desk.shelves[0].end_seed()
    desk.way.seeds_changed()
    assert [shelf.woken for shelf in desk.shelves] == [1, 2]
    assert desk.look(0) == 10
    assert desk.look(1) == 5  # as many as there are


def test_a_collector_that_takes_one_at_each_look_leaves_seeds_to_those_that_look_meanwhile() -> None:
    desk = Desk(SingleCompetition, 2, 3)
    desk.put(1, 1, 1, 1)
    looks = deque([0, 1])
    while looks:
        number = looks.popleft()
        desk.look(number)
        looks.extend([number] * desk.shelves[number].woken)
        desk.shelves[number].woken = 0
    assert desk.held == [2, 2]
    desk.put(1, 1, 1)
    assert [desk.look(0), desk.look(0), desk.look(1), desk.look(1)] == [1, 0, 1, 0]
    assert len(desk.queue) == 1


@pytest.mark.parametrize("way", WAYS)
@given(
    capacity=st.integers(1, 5),
    steps=st.lists(
        st.one_of(
            st.tuples(st.just("put"), st.integers(1, 7)),
            st.tuples(st.just("look"), st.integers(0, 2)),
            st.tuples(st.just("end"), st.integers(0, 2)),
        ),
        max_size=60,
    ),
)
def test_every_seed_is_handed_out_once_and_nobody_holds_more_than_it_has_room_for(
    way: type[FreeCompetition[Seeds]], capacity: int, steps: list[tuple[str, int]]
) -> None:
    desk, put, ended, taken = Desk(way, 3, capacity), 0, 0, list[int]()
    for what, number in steps:
        if what == "put":
            desk.put(number)
            put += number
        elif what == "end":
            ended += desk.shelves[number].end_seed()
        else:
            shelf = desk.shelves[number]
            before, held, queued = set(shelf.sites), shelf.held, len(desk.queue)
            came = desk.look(number)
            assert came <= {FreeCompetition: capacity, HandCompetition: capacity, SingleCompetition: 1}[way]
            assert not came or held < capacity
            assert not came or way is not HandCompetition or held == 0
            assert came or not queued or shelf.room <= 0 or way is HandCompetition
            taken += set(shelf.sites) - before
        desk.way.seeds_changed()
        assert max(desk.held) <= capacity
        left = sum(site.waiting + site.count for shelf in desk.shelves for site in shelf.sites.values())
        assert left + desk.queue.seeds + ended == put
    assert len(taken) == len(set(taken)) == desk.came - len(desk.queue)


def test_all_ways_can_be_chosen_where_those_of_experiments_are_on_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    kind = PART_KINDS["distribution"]
    with pytest.raises(
        SettingsError, match=r"distribution 'hands' is not installed \(.* experiments/arms on PYTHONPATH"
    ):
        part_maker(kind, "hands")
    monkeypatch.syspath_prepend(str(Path(scrawler_arms.__file__).parent))
    assert [part.name for part in parts(kind)] == ["distributor", "free", "hands", "one"]
    for name in ("hands", "one"):
        assert part_maker(kind, name)(SeedIdQueue[Seeds](1), [], threading.RLock(), threading.Event()).moves == 0
