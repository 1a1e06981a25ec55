"""Each check decides one thing: go, wait, ask for something else first, refuse, or let the party leave."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import closing
from math import inf
from typing import Any

import pytest

from scrawler.core.asking.budget import AddressBudget
from scrawler.core.asking.checks import Answer, Checks, First, Leave, Refuse
from scrawler.core.asking.origins import Origins
from scrawler.core.outage.standstill import Standstill, StandstillPorts
from scrawler.core.party.context import SeedContext
from scrawler.core.party.entries import Entry
from scrawler.core.party.parties import Choice
from scrawler.core.party.site import Origin, SiteContext
from scrawler.core.seen import ExactSeen, MemoryBudget
from scrawler.fetch.resolver import Resolver
from scrawler.fetch.robots import RobotsRules
from scrawler.model.lanes import NORMAL
from scrawler.model.results import Result
from scrawler.model.seeds import EndReason, Seed
from scrawler.urls.analyzer import UrlAnalyzer
from scrawler.urls.scope import scope_of
from tests.crawl_rules import crawl_rules

HOME = "http://a.example/"


class Desk:
    """The checks of a machine whose name service knows nobody, for one site with one seed."""

    def __init__(self, **rules: Any) -> None:
        self.rules = crawl_rules(**rules)
        turn = threading.RLock()
        self.resolver = Resolver(threads=1, ttl=60, allow_private=True, look_up=lambda host: [])
        ports = StandstillPorts(lambda: [self.site], lambda site: None, lambda: None)
        self.standstill = Standstill(self.rules, turn, self.resolver, ports)
        self.origins = Origins(turn, self.resolver, "TestCrawler", True, self.rules, lambda site: None)
        self.budget = AddressBudget(self.rules, lambda site: None)
        self.budget.alone = True
        self.faults: list[str] = []
        tell = lambda url, fault: self.faults.append(f"{url} {fault.text}")  # noqa: E731
        self.checks = Checks(self.origins, self.budget, self.standstill, self.rules, tell)
        scope = scope_of(HOME, self.rules.scope)
        self.party = SeedContext(Seed(1, 1, HOME, HOME, 0, 0), UrlAnalyzer(scope), scope, 0.0)
        self.site = SiteContext(1, "a.example", 1, ExactSeen(MemoryBudget(2**20)), False, parties=[self.party])
        self.origin = self.origins.of(self.site, HOME)
        self.origin.address, self.origin.expires_at = "192.0.2.1", inf
        self.obey("")

    def obey(self, robots: str, status: int = 200) -> None:
        self.origin.robots = RobotsRules.parse(status, robots.encode(), "TestCrawler")

    def ask(self, path: str = "page", depth: int = 1, origin: Origin | None = None) -> Answer:
        choice = Choice(self.party, self.party.lane(NORMAL), Entry(HOME + path, depth, depth))
        return self.checks.ask(self.site, choice, origin or self.origin, time.monotonic())


@pytest.fixture
def desk() -> Iterator[Desk]:
    made = Desk()
    with closing(made.resolver):
        yield made


def test_what_nothing_speaks_against_is_asked_for(desk: Desk) -> None:
    assert desk.ask() is None


def test_what_has_killed_a_process_is_refused_before_anything_else(desk: Desk) -> None:
    desk.site.condemned = {HOME + "page": "it ate all memory"}
    desk.origin.address = ""
    assert desk.ask() == Refuse(Result.INTERNAL_ERROR, "it ate all memory")


def test_what_the_check_of_a_feature_raises_ends_its_url_alone(desk: Desk) -> None:
    def fails(site: SiteContext, choice: Choice, origin: Origin, now: float) -> Answer:
        if choice.entry.url == HOME + "bad":
            raise ValueError("no good")
        return None

    tell = lambda url, fault: desk.faults.append(url)  # noqa: E731
    desk.checks = Checks(desk.origins, desk.budget, desk.standstill, desk.rules, tell, [fails])
    refused = desk.ask("bad")
    assert isinstance(refused, Refuse)
    assert refused.result is Result.INTERNAL_ERROR
    assert desk.faults == [HOME + "bad"]
    assert desk.ask("good") is None


def test_a_name_is_looked_up_first(desk: Desk) -> None:
    desk.origin.expires_at = 0.0
    assert desk.ask() == inf
    assert desk.site.waiting == 1


def test_a_party_whose_own_name_is_gone_leaves_and_another_host_is_refused(desk: Desk) -> None:
    desk.origin.failure, desk.origin.detail = Result.NO_ADDRESS, "no such name"
    assert desk.ask() == Leave(EndReason.NO_ADDRESS, "no such name")
    assert desk.ask(depth=0) == Refuse(Result.NO_ADDRESS, "no such name"), "then the seed's own URL says so"
    desk.party.home_host = "www.a.example"
    assert desk.ask() == Refuse(Result.NO_ADDRESS, "no such name")


def test_a_host_that_has_not_answered_for_long_is_not_asked(desk: Desk) -> None:
    desk.site.health.failures["a.example"] = desk.rules.max_failures
    answer = desk.ask()
    assert isinstance(answer, Refuse)
    assert answer.result is Result.CONNECT_FAILED


def test_a_pause_is_waited_for_and_counts_as_politeness(desk: Desk) -> None:
    desk.site.due["a.example"] = time.monotonic() + 1_000
    assert desk.ask() == desk.site.due["a.example"]
    assert desk.site.held_since > 0


def test_an_address_that_is_busy_is_waited_for(desk: Desk) -> None:
    for _ in range(desk.rules.per_ip):
        assert desk.ask() is None
        desk.budget.began(desk.site, "192.0.2.1")
    assert desk.ask() == inf


def test_robots_txt_is_asked_for_first_and_once(desk: Desk) -> None:
    desk.origin.robots = None
    answer = desk.ask()
    assert isinstance(answer, First)
    assert answer.request.url == HOME + "robots.txt"
    assert desk.ask() == inf, "it is on its way"


def test_where_robots_txt_has_killed_a_process_nothing_is_allowed(desk: Desk) -> None:
    desk.origin.robots = None
    desk.site.condemned = {HOME + "robots.txt": "it ate all memory"}
    assert desk.ask() == Refuse(Result.ROBOTS_UNAVAILABLE, "robots.txt: it ate all memory")


def test_robots_txt_refuses(desk: Desk) -> None:
    desk.obey("User-agent: *\nDisallow: /private")
    assert desk.ask("public") is None
    refused = desk.ask("private")
    assert isinstance(refused, Refuse)
    assert refused.result is Result.ROBOTS_DENIED
    assert "/private" in refused.detail


def test_a_party_leaves_for_too_long_a_crawl_delay_of_its_own_host_alone(desk: Desk) -> None:
    desk.obey("User-agent: *\nCrawl-delay: 100000")
    answer = desk.ask()
    assert isinstance(answer, Leave)
    assert answer.reason is EndReason.CRAWL_DELAY
    desk.party.home_host = "www.a.example"
    refused = desk.ask()
    assert isinstance(refused, Refuse)
    assert refused.result is Result.ROBOTS_DENIED


@pytest.mark.interpreted("there are no broken objects of compiled classes")
def test_a_fault_of_ours_refuses_the_url_and_is_told(desk: Desk) -> None:
    broken = RobotsRules.__new__(RobotsRules)  # has nothing of what it is asked for
    desk.origin.robots = broken
    answer = desk.ask()
    assert isinstance(answer, Refuse)
    assert answer.result is Result.INTERNAL_ERROR
    assert desk.faults == [f"{HOME}page {answer.detail}"]


def test_checks_of_features_come_behind_what_has_killed_and_before_what_sends_anything(desk: Desk) -> None:
    asked: list[str] = []

    def spares(site: SiteContext, choice: Choice, origin: Origin, now: float) -> Answer:
        asked.append(choice.entry.url)
        return Refuse(Result.SPARED, "nothing new") if "known" in choice.entry.url else None

    tell = lambda url, fault: None  # noqa: E731
    desk.checks = Checks(desk.origins, desk.budget, desk.standstill, desk.rules, tell, [spares])
    desk.site.condemned = {HOME + "killer": "it has killed a process"}
    assert desk.ask("known") == Refuse(Result.SPARED, "nothing new")
    assert desk.ask("new") is None
    assert desk.ask("killer") == Refuse(Result.INTERNAL_ERROR, "it has killed a process")
    assert asked == [HOME + "known", HOME + "new"]
