"""What fails while it may be the network: held back, and judged without a look at all sites."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from scrawler.core.outage.silence import HOSTS, WINDOW
from scrawler.core.outage.standstill import _MOST_HELD, Standstill, StandstillPorts
from scrawler.core.party.flights import RobotsFlight
from scrawler.core.party.site import Origin, SiteContext
from scrawler.core.rules import CrawlRules
from scrawler.core.seen import ExactSeen, MemoryBudget
from scrawler.fetch.downloader import Request, Response
from scrawler.fetch.resolver import Resolver
from scrawler.model.results import Result
from scrawler.settings import Settings


class Nobody:
    """The collector of all sites here."""

    def look_again(self, site: SiteContext) -> None: ...

    def wake(self) -> None: ...

    def submit_now(self, site: SiteContext) -> None: ...

    def add_parties(self, site: SiteContext, parties: object, more: bool) -> None: ...


@dataclass
class Line:
    """A standstill, and sites at addresses of their own."""

    standstill: Standstill
    sites: list[SiteContext]
    looks: list[int] = field(default_factory=list)  # at all sites

    def site(self, number: int, answers: bool = True) -> SiteContext:
        """Add a site, which answers."""
        site = SiteContext(number, f"h{number}.example", 1, ExactSeen(MemoryBudget(1000)), more_seeds=False)
        site.collector = Nobody()
        site.origins["o"] = Origin(f"http://{site.key}", site.key, f"192.0.2.{number}")
        self.sites.append(site)
        if answers:
            site.slowest_ms = 1
            self.standstill.witnesses.answered(site.address(), site)
        return site

    def fails(self, site: SiteContext, now: float, started_at: int = 0) -> bool:
        """Let a request fail; return whether that is held back."""
        return self._ends(site, now, Result.CONNECT_FAILED, 0, started_at)

    def answers(self, site: SiteContext, now: float, started_at: int) -> None:
        """Let a request that began at a time in milliseconds be answered."""
        assert not self._ends(site, now, Result.FETCHED, 200, started_at)

    def _ends(self, site: SiteContext, now: float, result: Result, status: int, started_at: int) -> bool:
        (origin,) = site.origins.values()
        flight = RobotsFlight(site, origin, f"{origin.origin}/robots.txt")
        request = Request(flight.url, origin.address, flight)
        response = Response(request, result, status, started_at=started_at, elapsed_ms=10)
        return self.standstill.holds(response, site, origin, now)


@pytest.fixture
def line() -> Iterator[Line]:
    sites: list[SiteContext] = []
    looks: list[int] = []

    def all_sites() -> list[SiteContext]:
        looks.append(len(sites))
        return sites

    turn = threading.RLock()
    resolver = Resolver(threads=1)
    ports = StandstillPorts(all_sites, lambda site: None, lambda: None)
    yield Line(Standstill(CrawlRules.of(Settings()), turn, resolver, ports), sites, looks)
    resolver.close()


def test_whether_it_may_be_the_line_is_known_without_a_look_at_all_sites(line: Line) -> None:
    sites = [line.site(number) for number in range(3 * HOSTS)]
    for second in range(HOSTS - 1):
        assert line.fails(sites[second], float(second))
        line.standstill.look(float(second))
    assert (line.looks, line.standstill.resting) == ([], False)
    assert line.fails(sites[-1], float(HOSTS))
    assert line.standstill.resting


def test_where_few_hosts_are_well_it_is_they_who_fail(line: Line) -> None:
    sites = [line.site(number) for number in range(HOSTS - 1)]
    fresh = [line.site(number, answers=False) for number in range(HOSTS, 3 * HOSTS)]
    assert not any(line.fails(site, 0.0) for site in (*sites, *fresh))


def test_sites_that_are_gone_or_failing_are_no_witnesses(line: Line) -> None:
    sites = [line.site(number) for number in range(HOSTS + 1)]
    sites[0].collector = None
    assert line.fails(sites[1], 0.0)
    sites[2].health.failures[sites[2].key] = 1
    assert not line.fails(sites[3], WINDOW)


def test_one_address_is_one_witness(line: Line) -> None:
    for number in range(2 * HOSTS):
        site = line.site(number, answers=False)
        site.origins["o"].address = "192.0.2.1"
        site.slowest_ms = 1
        line.standstill.witnesses.came(site)
    assert not line.fails(site, 0.0)


def test_what_answered_an_earlier_owner_is_a_witness(line: Line) -> None:
    sites = [line.site(number, answers=False) for number in range(HOSTS)]
    for site in sites:
        line.standstill.witnesses.came(site)
    assert not line.fails(sites[0], 0.0), "it has never answered"
    for site in sites:
        site.slowest_ms = 7
        line.standstill.witnesses.came(site)
    assert line.fails(sites[0], 10.0)


def test_only_the_newest_witnesses_are_remembered(line: Line) -> None:
    """However many there are; old ones that have died do not keep others out."""
    old = [line.site(number) for number in range(200)]
    for site in old:
        site.health.failures[site.key] = 1
    assert not line.fails(old[0], 0.0)
    new = [line.site(number) for number in range(200, 200 + HOSTS)]
    assert line.fails(new[0], 10.0)
    assert len(line.standstill.witnesses._sites) <= 100


def test_an_answer_that_was_asked_for_before_somebody_failed_says_nothing(line: Line) -> None:
    """It may have come before the network went down, and have waited until it was read."""
    sites = [line.site(number) for number in range(2 * HOSTS)]
    assert line.fails(sites[0], 0.0, started_at=1_000)
    line.answers(sites[1], 0.0, started_at=1_005)
    assert (line.standstill.suspected, line.standstill.released) == (True, [])
    line.answers(sites[1], 0.0, started_at=1_011)
    assert (line.standstill.suspected, len(line.standstill.take_released())) == (False, 1)
    assert line.fails(sites[2], 0.0, started_at=2_000)
    line.answers(sites[1], 0.0, started_at=1_500)
    assert line.standstill.suspected


def test_what_is_held_back_is_bounded(line: Line) -> None:
    """Hosts of which none has ever answered fail by the thousand, all within a minute."""
    for number in range(2 * HOSTS):
        line.site(number)
    assert line.fails(line.sites[0], 0.0)
    fresh = line.site(99, answers=False)
    for _ in range(_MOST_HELD - 2):
        assert line.fails(fresh, 1.0)
    assert line.standstill.released == []
    assert line.fails(fresh, 1.0)
    assert len(line.standstill.take_released()) == _MOST_HELD
    assert (fresh.waiting, line.sites[0].waiting) == (0, 0)


def test_names_that_are_held_back_are_bounded(line: Line) -> None:
    for number in range(2 * HOSTS):
        line.site(number)
    known, fresh = line.sites[0], line.site(99, answers=False)
    assert line.standstill.holds_name(known, known.origins["o"], 0.0)
    for _ in range(_MOST_HELD - 1):
        assert not fresh.origins["o"].sure
        assert line.standstill.holds_name(fresh, fresh.origins["o"], 1.0)
    assert fresh.origins["o"].sure
