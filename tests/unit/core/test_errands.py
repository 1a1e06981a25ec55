"""What is asked of a host on behalf of others waits for its clock, and for its turn there."""

from __future__ import annotations

import sys
import time
from types import FrameType

import pytest

from scrawler.core.asking.errands import Errands
from scrawler.core.party.site import Origin, SiteContext
from scrawler.core.seen import ExactSeen, MemoryBudget
from scrawler.fetch.downloader import Request, Response
from scrawler.model.results import Result

HOST = "rules.example"
URL = f"http://{HOST}/robots.txt"
OTHER = f"http://{HOST}/other.txt"


class Holder:
    """A collector that holds sites."""

    def look_again(self, site: SiteContext) -> None: ...
    def wake(self) -> None: ...
    def submit_now(self, site: SiteContext) -> None: ...
    def add_parties(self, site: SiteContext, parties: list[object], more: bool) -> None: ...


class Bench:
    def __init__(self) -> None:
        self.called: list[SiteContext] = []
        self.errands = Errands(self.called.append)
        self.number = 0

    def site(self, host: str = "", due: float = 0.0) -> SiteContext:
        self.number += 1
        made = SiteContext(self.number, host or f"{self.number}.example", 1, ExactSeen(MemoryBudget(1_000)), False)
        made.collector = Holder()
        if host:
            made.origins[f"http://{host}"] = Origin(f"http://{host}", host)
            made.due[host] = due
            self.errands.meet(made, f"http://{host}/", host)
        return made

    def wait(self, site: SiteContext, now: float, url: str = URL) -> float:
        return self.errands.wait_for(site, url, now)

    def ask(self, site: SiteContext, now: float, url: str = URL) -> None:
        assert self.wait(site, now, url) == 0.0
        self.errands.began(site, url, now)


@pytest.fixture
def bench() -> Bench:
    return Bench()


def answer(body: bytes = b"text") -> Response:
    return Response(Request(URL, "127.0.0.1"), Result.FETCHED, 200, body=body)


def test_one_asks_and_all_others_wait_for_its_answer(bench: Bench) -> None:
    first, second, third = bench.site(), bench.site(), bench.site()
    bench.ask(first, 0.0)
    assert bench.wait(second, 1.0) > 1.0
    assert bench.wait(third, 1.0) > 1.0
    bench.errands.over(first, URL, 3.0, 2.0)
    bench.errands.answered(URL, answer(), True, 2.0)
    assert bench.called == [second, third]
    found = bench.errands.answer(URL, 2.0)
    assert found is not None
    assert found.body == b"text"
    assert bench.errands.answer(URL, 2.0 + 23 * 3600) is found
    assert bench.errands.answer(URL, 2.0 + 25 * 3600) is None


def test_what_says_nothing_serves_a_short_time(bench: Bench) -> None:
    bench.errands.answered(URL, answer(), False, 0.0)
    assert bench.errands.answer(URL, 50.0) is not None
    assert bench.errands.answer(URL, 70.0) is None


def test_what_says_nothing_does_not_serve_whoever_tries_again(bench: Bench) -> None:
    bench.errands.answered(URL, answer(), False, 10.0)
    assert bench.errands.answer(URL, 20.0, since=10.5) is None
    assert bench.errands.answer(URL, 20.0, since=9.0) is not None, "others have tried since"
    bench.errands.answered(URL, answer(), True, 30.0)
    assert bench.errands.answer(URL, 40.0, since=35.0) is not None


def test_who_asks_is_forgotten_after_a_while_if_nobody_tells_of_the_end(bench: Bench) -> None:
    first, second = bench.site(), bench.site()
    bench.ask(first, 0.0)
    assert bench.wait(second, 50.0)
    bench.ask(second, 100.0)


def test_a_host_without_a_site_is_asked_one_by_one_with_pauses(bench: Bench) -> None:
    first, second, third = bench.site(), bench.site(), bench.site()
    bench.ask(first, 0.0)
    assert bench.wait(second, 0.5, OTHER) > 0.5
    assert bench.wait(third, 0.5, OTHER + "?") > 0.5
    bench.errands.over(first, URL, 2.0, 1.0)
    assert bench.called == [second]
    assert bench.wait(second, 1.0, OTHER) == 2.0
    assert bench.wait(third, 2.5, OTHER + "?") > 2.5, "it is the turn of another one"
    bench.ask(second, 2.5, OTHER)


def test_who_is_here_no_more_keeps_nobody_waiting(bench: Bench) -> None:
    first, second, third = bench.site(), bench.site(), bench.site()
    bench.ask(first, 0.0)
    bench.wait(second, 0.5, OTHER)
    bench.wait(third, 0.5, OTHER + "?")
    second.collector = None
    bench.errands.over(first, URL, 2.0, 1.0)
    assert bench.called == [third]
    bench.ask(third, 2.0, OTHER + "?")


def test_a_site_of_the_crawl_and_others_ask_its_host_by_turns(bench: Bench) -> None:
    owner, first, second = bench.site(HOST, due=5.0), bench.site(), bench.site()
    owner.asked_at = 4.0
    owner.in_flight = 1
    assert 4.0 < bench.wait(first, 4.0) < 4.2, "it is looked at soon whether the answer is there"
    owner.in_flight = 0
    assert bench.wait(first, 4.5) == 5.0
    assert owner.due_at(HOST) > 5.0, "it lets the other one go first"
    bench.ask(first, 5.0)
    assert owner.due_at(HOST) > 60.0, "and waits until that is over"
    bench.errands.over(first, URL, 7.0, 6.0)
    assert owner.due_at(HOST) == 7.0
    assert owner in bench.called
    assert bench.wait(second, 6.0, OTHER) > 7.0, "now it is the turn of the site"
    owner.asked_at = 7.0
    owner.due[HOST] = 9.0
    assert bench.wait(second, 8.0, OTHER) == 9.0


def test_a_turn_that_was_missed_is_over(bench: Bench) -> None:
    owner, first = bench.site(HOST, due=5.0), bench.site()
    owner.asked_at = 4.0
    assert bench.wait(first, 4.5) == 5.0
    owner.asked_at = 5.2
    owner.due[HOST] = 7.0
    assert bench.wait(first, 5.5) == 7.0
    assert bench.wait(first, 7.0) == 0.0


def test_what_pages_need_waits_for_the_site_whose_host_is_asked(bench: Bench) -> None:
    owner, page = bench.site(HOST, due=5.0), bench.site()
    owner.pause = 2.0
    owner.asked_at = 4.0
    beside = bench.errands.turn_beside
    assert beside(owner, URL, HOST, 0.0) == 0.0
    assert beside(page, "http://nobody.example/x.js", "nobody.example", 0.0) == 0.0
    assert beside(page, URL, HOST, 4.5) == 5.0
    assert beside(page, URL, HOST, 5.0) == 0.0
    assert beside(page, URL, HOST, 5.0) > 5.0, "one thing at a time"
    bench.errands.over_beside(page, URL, HOST, 6.0)
    assert owner.due_at(HOST) == 8.0


def test_a_site_that_comes_finds_the_clock_of_its_host_and_takes_it_along(bench: Bench) -> None:
    first = bench.site()
    bench.ask(first, 0.0)
    bench.errands.over(first, URL, 2.0, 1.0)
    owner = bench.site(HOST)
    assert owner.due_at(HOST) == 2.0
    assert bench.errands.owner(URL) is owner
    owner.forget()
    assert bench.errands.owner(URL) is None


def test_a_host_is_lent_to_another_machine_between_two_requests_of_its_site(bench: Bench) -> None:
    owner, page = bench.site(HOST, due=5.0), bench.site()
    owner.asked_at = 4.0
    owner.in_flight = 1
    assert bench.errands.lend(URL, HOST, 0.0, 4.0) is None
    assert owner.due_at(HOST) > 6.0, "it begins nothing else before that"
    owner.in_flight = 0
    assert bench.errands.lend(URL, HOST, 0.0, 6.0) == 9.0 - 6.0
    assert owner.due_at(HOST) > 60.0
    assert bench.errands.lend(OTHER, HOST, 0.0, 7.0) is None, "to one at a time"
    assert bench.wait(page, 7.0, OTHER) > 7.0
    bench.errands.lent_is_over(URL, HOST, 11.5, 10.0)
    assert owner.due_at(HOST) == 11.5
    assert owner in bench.called
    assert page in bench.called


def test_a_host_is_lent_whose_site_waits_for_a_place_and_one_that_rests_is_not(bench: Bench) -> None:
    errands = bench.errands
    assert errands.lend(URL, HOST, 3.0, 1.0) == 3.0, "as long as its row says"
    owner = bench.site(HOST)
    assert owner.due_at(HOST) > 60.0, "which comes meanwhile"
    errands.lent_is_over(URL, HOST, 7.0, 5.0)
    assert owner.due_at(HOST) == 7.0
    owner.due[HOST] = 600.0
    assert errands.lend(URL, HOST, 0.0, 8.0) is None
    first = bench.site()
    bench.ask(first, 8.0, "http://nobody.example/robots.txt")
    assert errands.lend("http://nobody.example/x", "nobody.example", 0.0, 8.0) is None, "it is asked here"


def test_a_site_need_not_rest_longer_than_what_was_asked_of_its_host_before_it_came(bench: Bench) -> None:
    new, old = bench.site(HOST, due=60.0), bench.site("old.example", due=60.0)
    old.asked_at = 1.0
    for host in (HOST, "old.example", "nobody.example"):
        bench.errands.asked_elsewhere(f"http://{host}/robots.txt", host, 3.0)
    assert new.due_at(HOST) == 3.0
    assert old.due_at("old.example") == 60.0, "it has a clock of its own by now"
    assert bench.called == [new]


def test_what_is_kept_is_bounded(bench: Bench) -> None:
    for number in range(3_000):
        bench.errands.answered(f"{URL}?{number}", answer(bytes(10_000)), True, 0.0)
    kept = [number for number in range(3_000) if bench.errands.answer(f"{URL}?{number}", 1.0) is not None]
    assert 500 < len(kept) < 1_000
    assert kept[-1] == 2_999


def test_of_many_hosts_those_are_forgotten_where_nothing_goes_on(bench: Bench) -> None:
    """Hosts that must not be asked as yet stay, however many; what a host costs does not grow with their number."""
    errands = bench.errands
    now = time.monotonic()
    for number in range(10_000):
        errands.forget(bench.site(f"{number}.example", due=now + 50))
    first = bench.site("0.example")
    assert first.due_at("0.example") >= now + 50, "its clock has outlived it"
    steps = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal steps
        steps += event in ("call", "c_call")

    more = [bench.site(f"more{number}.example", due=now + 50) for number in range(1_000)]
    sys.setprofile(count)
    for one in more:
        errands.forget(one)
    sys.setprofile(None)
    assert steps < 50 * len(more)
    later = now + 100
    for number in range(15_000):
        url = f"http://later{number}.example/"
        site = bench.site()
        errands.wait_for(site, url, later)
        errands.leave(site, url)
    assert bench.site("0.example").due_at("0.example") == 0.0
