"""The queue for an address: first come, first served, and nothing is lost of what may be asked."""

from __future__ import annotations

import time
from collections import Counter, deque
from math import inf

import pytest

from scrawler.core.asking.budget import AddressBudget
from scrawler.core.party.site import SiteContext
from scrawler.core.seen import ExactSeen, MemoryBudget
from scrawler.model.servers import Slot
from tests.crawl_rules import crawl_rules

HERE, THERE = "192.0.2.1", "192.0.2.2"


class Desk:
    """A budget, and the sites that it has called, each once until it comes."""

    def __init__(self, per_ip: int = 2, delay_per_ip: float = 0.0) -> None:
        self.rules = crawl_rules(per_ip=per_ip, delay_per_ip=delay_per_ip)
        self.called: dict[SiteContext, None] = {}
        self.asked: list[None] = []  # of the database, so many times
        self.budget = AddressBudget(self.rules, self.called.setdefault, lambda: self.asked.append(None))
        self.budget.granted(None, ())

    def comes(self, site: SiteContext, address: str = HERE) -> bool:
        """Let a site ask, as a visit does; returns whether it began."""
        self.called.pop(site, None)
        if self.budget.queue_up(site, address, 0.0):
            return False
        self.budget.began(site, address)
        return True


def sites(number: int) -> list[SiteContext]:
    return [SiteContext(n, "", 1, ExactSeen(MemoryBudget(1000)), more_seeds=False) for n in range(number)]


def test_who_came_first_is_served_first() -> None:
    desk = Desk()
    first, second, third, fourth, fifth = sites(5)
    assert [desk.comes(one) for one in (first, second, third, fourth)] == [True, True, False, False]
    assert not desk.called
    desk.budget.over(HERE, 0.0)
    assert list(desk.called) == [third]
    assert not desk.comes(fifth), "it is the turn of another one, who has not come yet"
    assert not desk.comes(fourth)
    assert desk.comes(third)
    desk.budget.over(HERE, 0.0)
    desk.budget.over(HERE, 0.0)
    assert list(desk.called) == [fourth, fifth]
    assert desk.comes(fifth)
    assert desk.comes(fourth)


def test_a_site_in_the_queue_has_its_share_when_it_begins() -> None:
    desk = Desk()
    desk.budget.expect(HERE)
    assert not desk.asked, "who lives alone asks nothing"
    desk.budget.shared()
    for address in (HERE, THERE, THERE, ""):
        desk.budget.expect(address)
    assert desk.budget.unknown == {HERE, THERE}
    desk.budget.granted({HERE: 2, THERE: 2}, ())
    times = len(desk.asked)
    (site,) = sites(1)
    assert desk.comes(site)
    assert len(desk.asked) == times
    desk.budget.over(HERE, time.monotonic())
    now = time.monotonic()
    desk.budget.tidy(now + 50)
    assert desk.budget.left() == []
    desk.budget.tidy(now + 70)
    assert sorted(desk.budget.left()) == [HERE, THERE], "it has not begun, and others may have the share"


@pytest.mark.parametrize("shares", [None, {HERE: 1}, {HERE: 0}], ids=["alone", "a share", "none"])
def test_all_who_wait_for_the_first_answer_look_again_when_it_is_there(shares: dict[str, int] | None) -> None:
    desk = Desk(per_ip=1)
    desk.budget.shared()
    three = sites(3)
    assert [desk.comes(one) for one in three] == [False] * 3
    assert all(one.queues_at is not None and one.queues_at.is_new for one in three)
    desk.budget.granted(shares, ())
    assert set(desk.called) == set(three)
    assert not any(one.queues_at is not None and one.queues_at.is_new for one in three)
    desk.called.clear()
    desk.budget.granted(shares, ())
    assert three[1] not in desk.called, "later answers call those whose turn it is"


def test_nobody_is_starved_by_those_that_come_again_at_once() -> None:
    desk = Desk(per_ip=3)
    waiting, asking, served = deque(sites(20)), deque[SiteContext](), Counter[int]()
    for _ in range(2000):
        waiting.extend(desk.called)
        while waiting:
            one = waiting.popleft()
            if desk.comes(one):
                asking.append(one)
                served[one.id] += 1
        desk.budget.over(HERE, 0.0)
        waiting.append(asking.popleft())  # before those that were called
    assert len(served) == 20
    assert max(served.values()) - min(served.values()) <= 1


def test_the_next_is_called_when_one_leaves_the_line() -> None:
    desk = Desk(per_ip=1)
    first, second, third, fourth = sites(4)
    assert [desk.comes(one) for one in (first, second, third, fourth)] == [True, False, False, False]
    desk.budget.leave(third)
    assert not desk.called
    desk.budget.over(HERE, 0.0)
    desk.called.clear()
    desk.budget.leave(second)
    assert list(desk.called) == [fourth]
    assert fourth.queues_at is not None
    assert desk.comes(fourth)
    desk.budget.over(HERE, 0.0)
    assert {one.queues_at for one in (first, second, third, fourth)} == {None}


def test_a_site_stands_in_one_line() -> None:
    desk = Desk(per_ip=1)
    here, there, torn, other = sites(4)
    assert desk.comes(here)
    assert desk.comes(there, THERE)
    assert [desk.comes(torn), desk.comes(other), desk.comes(torn, THERE)] == [False] * 3
    desk.budget.over(HERE, 0.0)
    assert list(desk.called) == [other]
    desk.budget.over(THERE, 0.0)
    assert list(desk.called) == [other, torn]


def test_more_requests_start_as_soon_as_settings_say_so_and_fewer_too() -> None:
    desk = Desk(per_ip=1)
    one, two, three, four = sites(4)
    assert [desk.comes(site) for site in (one, two, three)] == [True, False, False]
    desk.rules.per_ip = 3
    desk.budget.tidy(0.0)
    assert [desk.comes(site) for site in list(desk.called)] == [True, True]
    desk.rules.per_ip = 1
    assert not desk.comes(four)
    desk.budget.over(HERE, 0.0)
    desk.budget.over(HERE, 0.0)
    assert not desk.called
    desk.budget.over(HERE, 0.0)
    assert desk.comes(four)


def test_with_a_pause_requests_go_one_at_a_time_each_in_its_slot() -> None:
    desk = Desk(per_ip=8, delay_per_ip=60)
    one, two, three = sites(3)
    assert desk.budget.queue_up(one, HERE, 0.0) == inf
    assert desk.budget.slots_wished(0.0) == {HERE: 60.0}
    assert desk.budget.queue_up(two, HERE, 0.0) == inf
    now = time.monotonic()
    desk.budget.reserved({HERE: Slot(now + 1000, now + 1001)})
    assert list(desk.called) == [one]
    assert desk.budget.queue_up(one, HERE, 0.0) == now + 1000
    assert desk.budget.queue_up(two, HERE, 0.0) == inf
    desk.budget.reserved({HERE: Slot(now - 1, now + 1000)})
    assert desk.comes(one)
    assert not desk.comes(three)
    assert not desk.budget.wishes, "only once it is over"
    desk.budget.over(HERE, now)
    assert not desk.comes(two)
    assert desk.budget.slots_wished(now) == {HERE: pytest.approx(60)}
    desk.budget.reserved({HERE: Slot(now - 2, now - 1)})
    assert not desk.comes(two), "that slot is lost"
    assert list(desk.budget.wishes) == [HERE]


def test_the_first_in_line_asks_again_for_what_other_machines_have_ever_more_rarely() -> None:
    desk = Desk()
    desk.budget.granted({}, ())
    one, two = sites(2)
    assert desk.budget.queue_up(one, HERE, 0.0) == inf
    assert desk.budget.queue_up(two, HERE, 0.0) == inf
    assert len(desk.asked) == 1
    for tries, pause in enumerate((0.1, 0.2, 0.4, 0.8, 1.6, 2.0, 2.0), 2):
        desk.called.clear()
        before = time.monotonic()
        desk.budget.granted({HERE: 0}, ())
        after = time.monotonic()
        assert list(desk.called) == ([one, two] if tries == 2 else [one]), "the first answer is for all who wait"
        at = desk.budget.queue_up(one, HERE, after)
        assert before <= at - pause <= after
        assert desk.budget.queue_up(two, HERE, at) == inf
        assert desk.budget.queue_up(one, HERE, at) == inf
        assert len(desk.asked) == tries
    desk.called.clear()
    desk.budget.leave(one)
    assert list(desk.called) == [two], "the next one goes on to ask"
    desk.budget.granted({HERE: 1}, ())
    assert desk.comes(two)


def test_an_address_is_not_dismissed_before_its_pause_is_over() -> None:
    desk = Desk(delay_per_ip=5)
    desk.budget.granted({}, ())
    (one,) = sites(1)
    desk.budget.queue_up(one, HERE, 0.0)
    desk.budget.granted({HERE: 2}, ())
    desk.budget.reserved({HERE: Slot(0.0, inf)})
    assert desk.comes(one)
    desk.budget.over(HERE, 100.0)
    desk.budget.dismiss(HERE, 104.0, waited_for=True)
    assert not desk.budget.left()
    desk.budget.tidy(104.9)
    assert not desk.budget.left()
    desk.budget.tidy(105.0)
    assert desk.budget.left() == [HERE]


def test_what_is_dismissed_while_it_is_asked_is_let_go_after_that() -> None:
    desk, now = Desk(), time.monotonic()
    desk.budget.granted({}, ())
    one, two = sites(2)
    desk.budget.queue_up(one, HERE, 0.0)
    desk.budget.granted({HERE: 2}, ())
    assert desk.comes(one)
    desk.budget.dismiss(HERE, now, waited_for=True)
    desk.budget.over(HERE, now)
    assert desk.budget.left() == [HERE]
    desk.budget.queue_up(two, THERE, now)
    desk.budget.leave(two)
    desk.budget.dismiss(THERE, now, waited_for=True)
    assert THERE in desk.budget.servers, "its share is on the way"
    desk.budget.granted({THERE: 2}, [HERE])
    assert desk.budget.left() == [THERE]
    assert len(desk.asked) == 2, "asked for HERE and THERE; that they were let go is told with what comes next"


def test_what_is_waited_for_is_told_at_once() -> None:
    desk = Desk()
    desk.budget.granted({}, ())
    for site, address, waited_for in zip(sites(2), (HERE, THERE), (False, True), strict=True):
        desk.budget.queue_up(site, address, 0.0)
        desk.budget.granted({address: 2}, ())
        assert desk.comes(site, address)
        desk.budget.over(address, 10.0)
        before = len(desk.asked)
        desk.budget.dismiss(address, 10.0, waited_for=waited_for)
        assert len(desk.asked) - before == waited_for
    assert sorted(desk.budget.left()) == [HERE, THERE]


def test_who_comes_again_keeps_the_share() -> None:
    desk = Desk()
    desk.budget.granted({}, ())
    one, two = sites(2)
    desk.budget.queue_up(one, HERE, 0.0)
    desk.budget.granted({HERE: 2}, ())
    assert desk.comes(one)
    desk.budget.dismiss(HERE, 10.0, waited_for=True)
    assert desk.comes(two)
    desk.budget.over(HERE, 10.0)
    desk.budget.over(HERE, 10.0)
    assert not desk.budget.left()


def test_servers_are_forgotten_once_they_have_not_been_asked_for_long() -> None:
    desk = Desk()
    (one,) = sites(1)
    assert desk.comes(one)
    desk.budget.tidy(1000.0)
    assert list(desk.budget.servers) == [HERE]
    desk.budget.over(HERE, 1000.0)
    desk.budget.tidy(1010.0)
    assert list(desk.budget.servers) == [HERE]
    desk.budget.tidy(1100.0)
    assert not desk.budget.servers


def test_lines_are_told_by_number_and_time() -> None:
    desk = Desk(per_ip=1)
    assert desk.budget.lines(0.0) == (0, 0, 0.0)
    first, *others = sites(5)
    assert desk.comes(first)
    assert [desk.comes(one) for one in others] == 4 * [False]
    assert desk.budget.lines(1.0) == (4, 1, 0.0), "no request was over since they wait"
    desk.budget.over(HERE, 3.0)
    assert desk.budget.lines(3.0) == (4, 1, 4 * 2 * 3.0), "a request takes 3 s, and a site two of them"
    for one in others:
        desk.budget.leave(one)
    assert desk.budget.lines(4.0) == (0, 0, 0.0)
