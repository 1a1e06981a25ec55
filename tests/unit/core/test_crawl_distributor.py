"""The distributor's moves, on collectors that only hold sites."""

from __future__ import annotations

import threading

from scrawler.core.distribution.distributor import SeedDealer, SeedIdQueue, UrlDistributor, choose_move
from scrawler.core.party.context import SeedContext
from scrawler.core.party.site import SiteContext
from scrawler.core.seen import ExactSeen, MemoryBudget
from scrawler.model.scope import Scope
from scrawler.model.seeds import Seed
from scrawler.urls.analyzer import UrlAnalyzer
from scrawler.urls.scope import scope_of
from tests.limits import HANGS

_URL = "http://127.0.0.1/"


class Shelf:
    """Holds sites as a collector does, and crawls nothing."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.sites: dict[int, SiteContext] = {}
        self.back: list[SiteContext] = []  # that wait for a place
        self.woken = 0

    @property
    def held(self) -> int:
        return sum(site.count for site in self.sites.values())

    @property
    def room(self) -> int:
        return 0 if self.back else self.capacity - self.held

    def take_in(self, site: SiteContext) -> None:
        self.sites[site.id] = site
        while site.set_aside and self.room > 0:
            site.parties.append(site.set_aside.pop(0))

    @property
    def waiting(self) -> SiteContext | None:
        return self.back[0] if self.back else None

    @property
    def lets_in(self) -> bool:
        return bool(self.back) and self.held < self.capacity

    def give_away(self, site: SiteContext) -> None:
        if site in self.back:
            self.back.remove(site)
        else:
            del self.sites[site.id]

    def wake(self) -> None:
        self.woken += 1


def site(number: int, seeds: int = 1) -> SiteContext:
    made = SiteContext(number, f"site{number}", 1, ExactSeen(MemoryBudget(1000)), more_seeds=False)
    rule = scope_of(_URL, Scope.HOST)
    for index in range(seeds):
        seed = Seed(number * 1000 + index, number, _URL, _URL, 0, 0)
        made.set_aside.append(SeedContext(seed, UrlAnalyzer(rule), rule, 0.0))
    return made


class Desk:
    """A dealer whose steps are made by hand, as its thread makes them."""

    def __init__(self, threads: int, capacity: int = 10) -> None:
        self.queue = SeedIdQueue[SiteContext](1000)
        self.shelves = [Shelf(capacity) for _ in range(threads)]
        self.dealer = SeedDealer(self.queue, self.shelves)

    def put(self, *sites: SiteContext) -> None:
        for one in sites:
            self.queue.reserved += 1
            self.queue.put(one)

    def settle(self) -> list[int]:
        """Deal and move as long as there is anything to do; return what each holds."""
        for _ in range(1000):
            if not self.dealer.step():
                return self.held
        raise AssertionError("it never settles")

    @property
    def held(self) -> list[int]:
        return [shelf.held for shelf in self.shelves]


def test_sites_are_dealt_in_turn() -> None:
    desk = Desk(3)
    desk.put(*map(site, range(8)))
    assert desk.settle() == [3, 3, 2]
    assert [sorted(shelf.sites) for shelf in desk.shelves] == [[0, 3, 6], [1, 4, 7], [2, 5]]
    assert desk.dealer.moves == 0


def test_a_full_collector_is_passed_over_and_none_holds_more_than_its_capacity() -> None:
    desk = Desk(2, capacity=3)
    desk.put(site(0, seeds=5), *map(site, range(1, 8)))
    assert desk.settle() == [3, 3]
    assert len(desk.queue) == 4
    assert len(desk.shelves[0].sites[0].set_aside) == 2


def test_a_site_moves_with_all_its_seeds_and_only_if_that_helps() -> None:
    desk = Desk(2)
    desk.shelves[0].take_in(site(0, seeds=4))
    assert desk.settle() == [4, 0]  # moved, it would be 0 and 4
    desk.shelves[0].take_in(site(1, seeds=3))
    assert desk.settle() == [3, 4]
    assert [list(shelf.sites) for shelf in desk.shelves] == [[1], [0]]


def test_a_site_that_waits_for_a_place_goes_where_there_is_one_and_before_those_of_the_queue() -> None:
    desk = Desk(2, capacity=2)
    full, other = desk.shelves
    for number in range(2):
        full.take_in(site(number))
    other.take_in(site(2))
    full.back += [site(3), site(4)]
    desk.put(site(5))
    assert desk.settle() == [2, 2]
    assert list(other.sites) == [2, 3]
    assert [one.id for one in full.back] == [4]
    assert len(desk.queue) == 1


def test_a_site_that_waits_for_a_place_stays_where_there_is_one() -> None:
    desk = Desk(2, capacity=2)
    source, _ = desk.shelves
    source.take_in(site(0))
    source.back.append(site(1))
    assert desk.settle() == [1, 0]
    assert desk.dealer.moves == 0
    assert source.woken, "nobody tells its collector that there is a place"


def test_an_active_site_does_not_move() -> None:
    desk = Desk(2)
    for number in range(4):
        desk.shelves[0].take_in(site(number))
        desk.shelves[0].sites[number].in_flight = 1
    assert desk.settle() == [4, 0]
    desk.shelves[0].sites[2].in_flight = 0
    assert desk.settle() == [3, 1]
    assert list(desk.shelves[1].sites) == [2]


def test_sites_that_were_not_asked_yet_move_before_those_that_are_connected() -> None:
    desk = Desk(2)
    for number in range(4):
        desk.shelves[0].take_in(site(number))
        desk.shelves[0].sites[number].connected = number != 2
    assert desk.settle() == [2, 2]
    assert list(desk.shelves[1].sites) == [2, 0]  # the second move has to be of one that loses its connection


def test_a_site_that_waits_for_the_store_does_not_move() -> None:
    desk = Desk(2)
    for number in range(2):
        desk.shelves[0].take_in(site(number))
        desk.shelves[0].sites[number].await_answer()
    assert desk.settle() == [2, 0]


def test_a_move_waits_for_an_inactive_site_and_is_made_when_there_is_one() -> None:
    desk = Desk(2)
    for number in range(2):
        desk.shelves[0].take_in(site(number))
        desk.shelves[0].sites[number].in_flight = 1
    desk.dealer.site_inactive(desk.shelves[0])
    assert desk.settle() == [2, 0]
    desk.shelves[0].sites[1].in_flight = 0
    desk.dealer.site_inactive(desk.shelves[1])  # another one's is of no use
    assert desk.held == [2, 0]
    desk.dealer.site_inactive(desk.shelves[0])
    assert desk.held == [1, 1]


def test_a_site_too_large_to_move_does_not_keep_others_from_being_level() -> None:
    desk = Desk(3)
    desk.shelves[0].take_in(site(0, seeds=500))
    for number in range(1, 9):
        desk.shelves[1].take_in(site(number))
    assert desk.settle() == [10, 4, 4]


def test_nothing_moves_while_the_queue_has_seeds() -> None:
    desk = Desk(2, capacity=3)
    for number in range(3):
        desk.shelves[0].take_in(site(number))
    desk.shelves[1].take_in(site(9, seeds=3))
    desk.put(site(10))
    assert desk.settle() == [3, 3]
    assert desk.dealer.moves == 0


def test_the_fullest_that_is_not_stuck_gives() -> None:
    assert choose_move([10, 8, 0], stuck=[0]) == (1, 2)
    assert choose_move([10, 1, 0], stuck=[0]) is None
    assert choose_move([10, 8, 0], stuck=[0, 1, 2]) is None


def test_the_thread_ends_at_once_when_stopped() -> None:
    turn, stop = threading.RLock(), threading.Event()
    distributor = UrlDistributor(SeedIdQueue[SiteContext](10), [], turn, stop)
    distributor.start()
    stop.set()
    with turn:
        distributor.seeds_changed()
    distributor.join(HANGS)
    assert not distributor.is_alive()


def test_a_queue_that_is_emptied_in_a_moment_holds_more_until_it_is_not() -> None:
    queue = SeedIdQueue[SiteContext](40)
    rooms = []
    for _ in range(6):
        queue.fit(is_short=True)
        rooms.append(queue.room)
    assert rooms == [80, 160, 320, 500, 500, 500]
    assert queue.room_with(0) == 500
    for _ in range(6):
        queue.fit(is_short=False)
    assert queue.room == 40
