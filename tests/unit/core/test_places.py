"""Which sites of a collector have places, and which wait without one."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

import pytest

from scrawler.core.collecting.places import SOON, Places, WaitingRoom, look_after, only_waits
from scrawler.core.party.context import SeedContext
from scrawler.core.party.site import Origin, Server, SiteContext
from scrawler.core.seen import ExactSeen, MemoryBudget
from scrawler.fetch.downloader import Request
from scrawler.model.scope import Scope
from scrawler.model.seeds import Seed
from scrawler.urls.analyzer import UrlAnalyzer
from scrawler.urls.scope import scope_of
from tests.crawl_rules import crawl_rules
from tests.tables import each

NOW = 1_000.0


def site(number: int = 1, seeds: int = 1) -> SiteContext:
    home = "http://a.org/"
    scope = scope_of(home, Scope.HOST)
    parties = [SeedContext(Seed(1, 1, home, home, 0, 0), UrlAnalyzer(scope), scope, 0.0) for _ in range(seeds)]
    made = SiteContext(number, "a.org", 1, ExactSeen(MemoryBudget(2**20)), more_seeds=False, parties=parties)
    made.asked_at = NOW
    return made


def retries(one: SiteContext) -> float:
    return NOW + 10


def pauses(one: SiteContext) -> float:
    return NOW + 1


def keeps_a_long_delay(one: SiteContext) -> float:
    one.pause = 30.0
    return NOW + 30


def queues(one: SiteContext) -> float:
    one.queues_at = Server()
    return inf


def asks_for_a_share(one: SiteContext) -> float:
    one.queues_at = Server(is_new=True)
    return inf


def looks_a_name_up(one: SiteContext) -> float:
    one.origins["http://a.org"] = Origin("http://a.org", "a.org", pending=True)
    one.waiting = 1
    return inf


def looks_a_name_up_again(one: SiteContext) -> float:
    one.slowest_ms = 100
    return looks_a_name_up(one)


def reads_the_store(one: SiteContext) -> float:
    one.waiting = 1
    return inf


def was_just_asked(one: SiteContext) -> float:
    one.in_flight = 1
    return inf


def never_answers(one: SiteContext) -> float:
    one.in_flight = 1
    one.asked_at = NOW - SOON
    return inf


def answers(one: SiteContext) -> float:
    one.slowest_ms = 100
    return never_answers(one)


def takes_long(one: SiteContext) -> float:
    one.asked_slowly = True
    return answers(one)


def fails(one: SiteContext) -> float:
    one.health.failures["a.org"] = 1
    return answers(one)


def has_something_to_do(one: SiteContext) -> float:
    one.queued.append(Request("http://a.org/robots.txt", "192.0.2.1", None))
    return NOW + 10


def goes(one: SiteContext) -> float:
    one.going = True
    return NOW + 10


WAITS = (retries, queues, looks_a_name_up, never_answers, takes_long, fails)
LOOKS = (asks_for_a_share, looks_a_name_up_again, reads_the_store)
WORKS = (pauses, keeps_a_long_delay, *LOOKS, was_just_asked, answers, has_something_to_do, goes)


@pytest.mark.parametrize("let", WAITS)
def test_a_site_only_waits_that(let: Callable[[SiteContext], float]) -> None:
    one = site()
    assert only_waits(one, let(one), NOW, SOON)


@each("let", WORKS)
def test_a_site_needs_its_place_that(let: Callable[[SiteContext], float]) -> None:
    one = site()
    assert not only_waits(one, let(one), NOW, SOON)


def test_where_requests_queue_in_the_downloader_nobody_is_waited_for_yet() -> None:
    one = site()
    assert not only_waits(one, never_answers(one), NOW, inf)
    assert look_after(one, NOW - SOON, inf) == inf


def test_it_is_looked_after_once_whether_a_host_that_never_answered_does() -> None:
    one = site()
    one.in_flight = 1
    assert look_after(one, NOW, SOON) == NOW + SOON
    assert look_after(one, NOW + SOON, SOON) == inf, "there was no room to wait: it keeps its place"


def test_who_only_waits_gives_its_places_up_and_has_them_again() -> None:
    places = Places(crawl_rules(capacity=3), room := WaitingRoom(5))
    one, other = site(1, seeds=2), site(2)
    places.add(one)
    places.add(other)
    assert (places.free, places.held) == (0, 3)

    assert places.give_up(one)
    assert (places.free, room.unasked, list(places.sites), set(places)) == (2, 1, [2], {one, other})
    one.parties.pop()
    places.changed(one, -1)
    assert places.free == 2, "who has no place frees none with an end"
    assert places.let_back() is None, "it still waits"

    places.comes_back(one)
    assert places.let_back() is one
    assert (places.free, room.unasked, one.is_aside, one.comes_back) == (1, 0, False, False)
    places.changed(one, 1)
    assert places.free == 0


def aside(places: Places, *sites: SiteContext) -> None:
    for one in sites:
        places.add(one)
        assert places.give_up(one)


def test_who_comes_back_waits_for_a_place_the_first_one_first() -> None:
    places = Places(crawl_rules(capacity=2), WaitingRoom(9))
    one, two, three = site(1), site(2, seeds=2), site(3)
    aside(places, one, two, three)
    for holder in (site(4), site(5)):
        places.add(holder)
    for returning in (one, two, three, one):
        places.comes_back(returning)
    assert places.let_back() is None

    places.remove(places.sites[4])
    assert [places.let_back(), places.let_back()] == [one, None]
    places.remove(places.sites[5])
    assert places.let_back() is None, "there is room for the third, but the second needs two places"
    places.remove(one)
    assert [places.let_back(), places.let_back()] == [two, None]
    assert places.held == 2


@pytest.mark.parametrize(
    ("seeds", "capacity"), [(5, 2), (0, 1)], ids=["more seeds than places: all", "no seed in work: one"]
)
def test_how_many_places_must_be_free_for_who_comes_back(seeds: int, capacity: int) -> None:
    places = Places(crawl_rules(capacity=capacity), WaitingRoom(9))
    one, holder = site(1, seeds=seeds), site(2)
    aside(places, one)
    places.comes_back(one)
    places.add(holder)
    assert places.let_back() is None
    places.remove(holder)
    assert places.let_back() is one


def test_who_is_let_go_of_waits_for_no_place() -> None:
    places = Places(crawl_rules(capacity=1), room := WaitingRoom(9))
    one, other = site(1), site(2)
    aside(places, one, other)
    places.comes_back(one)
    places.comes_back(other)
    assert places.ends(one)
    assert [places.let_back(), places.let_back()] == [other, None]
    assert (room.unasked, one.comes_back) == (0, False)


def test_only_so_many_wait_without_a_place() -> None:
    places = Places(crawl_rules(capacity=3), WaitingRoom(1))
    for number in (1, 2):
        places.add(asked(number))
    assert places.give_up(places.sites[1])
    assert not places.give_up(places.sites[2])
    assert not places.give_up(places.aside[1]), "it has none to give up"
    assert places.remove(places.aside[1])
    assert places.give_up(places.sites[2])
    assert not places.remove(site(3))


def test_where_first_answers_take_long_they_are_waited_for_as_long() -> None:
    room = WaitingRoom(1)
    room.answered_first(0.05)
    assert room.soon == SOON
    for _ in range(100):
        room.answered_first(1.5)
    assert room.soon == pytest.approx(6.0, rel=0.05)
    for _ in range(100):
        room.answered_first(60.0)
    assert room.soon == 10.0
    for _ in range(100):
        room.answered_first(0.1)
    assert room.soon == SOON


def test_an_opening_counts_as_the_part_of_a_place_that_openings_of_late_came_to_need() -> None:
    places = Places(crawl_rules(capacity=10), room := WaitingRoom(100))
    for number in range(10):
        places.add(site(number))
    assert places.free == 0, "so far all are thought to be real"
    for _ in range(100):
        room.opened(needs_place=False)
    assert places.free == 9

    for number in (0, 1):
        places.sites[number].parties[0].counts.pages = 1
        places.goes_on(places.sites[number])
    assert places.free == 7
    assert places.ends(places.sites[0])
    assert places.ends(places.sites[2])
    assert places.free == 8
    for number in range(10, 60):
        places.add(site(number))
    assert places.free < 0, "however few of them are real, five times the places are all"


def test_where_all_sites_are_real_no_more_are_in_work_than_there_are_places() -> None:
    places = Places(crawl_rules(capacity=2), WaitingRoom(1))
    for number in range(100):
        places.add(site(number))
        places.goes_on(places.sites[number])
        assert places.free == 1
        places.ends(places.sites[number])


def asked(number: int) -> SiteContext:
    """Return a site that is asked."""
    one = site(number)
    one.in_flight = 1
    return one


def test_openings_beyond_the_places_take_of_what_may_wait() -> None:
    """Each may have a connection: there are no more of them than descriptors."""
    room = WaitingRoom(3)
    places, others = Places(crawl_rules(capacity=2), room), Places(crawl_rules(capacity=2), room)
    for _ in range(100):
        room.opened(needs_place=False)
    for number in range(4):
        assert places.free > 0
        places.add(asked(number))
    assert (room.over, room.left) == (2, 1)
    aside(others, asked(10))
    assert (room.left, places.free) == (0, 0)
    others.add(asked(11))
    assert others.free == 1, "it has a place"
    assert not others.give_up(others.sites[11]), "there is no room to wait"
    assert places.give_up(places.sites[0]), "it is beyond the places already"
    assert (room.taken, room.over, room.left) == (2, 1, 0)
    for number in (1, 2, 3):
        places.remove(places.sites[number])
    assert (room.over, room.left) == (0, 1)


def test_who_is_not_asked_waits_beyond_all_connections_and_is_asked_in_a_place_then() -> None:
    room = WaitingRoom(1, 3)
    places = Places(crawl_rules(capacity=9), room)
    hangs, retries, waits = asked(1), site(2), site(3)
    aside(places, hangs, retries, waits)
    assert (room.taken, room.unasked, room.left) == (1, 2, 0)
    assert places.may_ask(hangs)
    assert not places.may_ask(retries), "the one connection hangs"
    places.comes_back(retries)
    assert places.let_back() is retries
    assert places.may_ask(retries)
    hangs.in_flight = 0
    places.recount(hangs)
    assert (room.taken, room.unasked, room.left) == (0, 2, 1)
    assert places.may_ask(waits)
    aside(places, site(4))
    places.add(site(5))
    assert not places.give_up(places.sites[5]), "no more than three wait"
    for one in list(places):
        places.remove(one)
    assert (room.taken, room.unasked) == (0, 0)
