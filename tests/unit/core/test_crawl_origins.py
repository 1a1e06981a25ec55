"""Addresses of origins: looked up once for all who ask, and again only when they have expired."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise
from math import inf

import pytest
from pydantic import SecretStr

from scrawler.core.asking.origins import Origins
from scrawler.core.party.site import SiteContext
from scrawler.core.rules import HostRules
from scrawler.core.seen import ExactSeen, MemoryBudget
from scrawler.fetch.resolver import Resolver
from scrawler.model.results import Result
from scrawler.settings import Settings
from tests.crawl_rules import crawl_rules
from tests.limits import FAR, HANGS

TTL = 0.3  # seconds


class Bench:
    """Origins on a resolver whose name service is a table."""

    def __init__(self, ttl: float = FAR, hosts: HostRules | None = None) -> None:
        self.asked: list[str] = []
        self.asked_at: list[float] = []
        self.resolver = Resolver(threads=2, ttl=ttl, allow_private=True, look_up=self.look_up)
        self.answers = threading.Semaphore(0)
        self.turn = threading.RLock()
        self.origins = Origins(
            self.turn,
            self.resolver,
            "TestCrawler",
            obey_robots=True,
            rules=crawl_rules(),
            look_again=lambda site: self.answers.release(),
            hosts=hosts,
        )

    def look_up(self, host: str) -> list[str]:
        self.asked.append(host)
        self.asked_at.append(time.monotonic())
        return [] if host.startswith("nowhere") else ["127.0.0.9"]

    def ensure_address(self, site: SiteContext, url: str) -> bool:
        with self.turn:
            return self.origins.ensure_address(site, self.origins.of(site, url), time.monotonic())


@pytest.fixture
def bench() -> Iterator[Bench]:
    bench = Bench()
    with closing(bench.resolver):
        yield bench


def site(number: int = 1) -> SiteContext:
    return SiteContext(number, "a.example", 1, ExactSeen(MemoryBudget(1000)), more_seeds=False)


def test_a_site_asks_once_however_often_it_is_visited(bench: Bench) -> None:
    one = site()
    assert not bench.ensure_address(one, "http://a.example/")
    for _ in range(5):
        bench.ensure_address(one, "http://a.example/x")
    assert bench.answers.acquire(timeout=HANGS)
    assert bench.ensure_address(one, "http://a.example/y")
    assert one.waiting == 0
    assert bench.origins.of(one, "http://a.example/").address == "127.0.0.9"
    assert bench.asked == ["a.example"]


def test_origins_and_sites_of_one_host_share_the_look_up(bench: Bench) -> None:
    one, other = site(1), site(2)
    assert not bench.ensure_address(one, "http://a.example/")
    assert bench.answers.acquire(timeout=HANGS)
    assert bench.ensure_address(one, "https://a.example/")
    assert bench.ensure_address(other, "http://a.example:8080/")
    assert bench.resolver.lookups == 1


def test_an_address_is_asked_for_again_after_its_time_to_live_only() -> None:
    bench, one = Bench(TTL), site()
    with closing(bench.resolver):
        while len(bench.asked_at) < 4:
            if not bench.ensure_address(one, "http://a.example/"):
                assert bench.answers.acquire(timeout=HANGS)
    assert all(later - earlier >= TTL for earlier, later in pairwise(bench.asked_at))


def test_a_name_without_an_address_is_known_as_such(bench: Bench) -> None:
    one = site()
    assert not bench.ensure_address(one, "http://nowhere.example/")
    assert bench.answers.acquire(timeout=HANGS)
    assert bench.ensure_address(one, "http://nowhere.example/")
    assert bench.origins.of(one, "http://nowhere.example/").failure is Result.NO_ADDRESS
    assert bench.asked == ["nowhere.example"]


@pytest.mark.parametrize("name", ["nowhere.localhost", "nowhere.localhost."])
def test_a_proxy_is_not_asked_for_names_of_its_own_loopback(name: str) -> None:
    bench, one = Bench(hosts=HostRules(Settings(proxy=SecretStr("http://p.example:3128")))), site()
    with closing(bench.resolver):
        for host, failure in ((name, Result.NO_ADDRESS), ("nowhere.example", None)):
            assert not bench.ensure_address(one, f"http://{host}/")
            assert bench.answers.acquire(timeout=HANGS)
            assert bench.origins.of(one, f"http://{host}/").failure is failure


def test_of_very_many_hosts_the_older_ones_are_forgotten_but_not_those_that_rest(bench: Bench) -> None:
    """A name server may know as many names as it likes; who asked for a rest keeps it."""
    one, now = site(), time.monotonic()
    for number in range(20_000):
        origin = bench.origins.of(one, f"http://h{number}.a.example/")
        origin.pending = number == 3
        one.due[origin.host] = now + (FAR if number == 5 else -1.0)
        one.health.failures[origin.host] = 1
        one.health.rests[origin.host] = now + (FAR if number == 7 else -1.0)
    for remembered in (one.origins, one.due, one.health.failures, one.health.rests):
        assert len(remembered) <= 2_000
    assert {f"http://h{number}.a.example" for number in (3, 5, 7, 19_999)} <= one.origins.keys()
    assert one.due_at("h5.a.example") == one.due_at("h7.a.example") == now + FAR


@pytest.mark.interpreted("counts the calls of a method")
def test_where_all_have_to_stay_they_are_not_looked_through_for_each_one(bench: Bench) -> None:
    looks = 0

    class Resting(SiteContext):
        def due_at(self, host: str) -> float:
            nonlocal looks
            looks += 1
            return inf

    one = Resting(1, "a.example", 1, ExactSeen(MemoryBudget(1000)), more_seeds=False)
    for number in range(20_000):
        bench.origins.of(one, f"http://h{number}.a.example/")
    assert len(one.origins) == 20_000
    assert looks < 20_000
