"""What places wait for, told from the states of sites."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

import pytest

from scrawler.core.asking.budget import Lines
from scrawler.core.machine.waits import Wait, waits
from scrawler.core.party.context import SeedContext
from scrawler.core.party.site import Origin, Server, SiteContext
from scrawler.core.progress import lines_text
from scrawler.core.seen import ExactSeen, MemoryBudget
from scrawler.model.scope import Scope
from scrawler.model.seeds import Seed
from scrawler.urls.analyzer import UrlAnalyzer
from scrawler.urls.scope import scope_of
from tests.tables import each

NOW = 1_000.0


def looked_up(site: SiteContext) -> None:
    site.origins["http://a.org"] = Origin("http://a.org", "a.org", pending=True)
    site.waiting = 1


def asked(site: SiteContext) -> None:
    site.in_flight = 1
    site.begin_fetching("http://a.org/")


def robots_asked(site: SiteContext) -> None:
    site.in_flight = 1


def store_asked(site: SiteContext) -> None:
    site.waiting = 1


def queues(site: SiteContext) -> None:
    site.queues_at = Server()
    site.wake_at = inf


def pauses(site: SiteContext) -> None:
    site.due["a.org"] = site.wake_at = NOW + 1


def rests(site: SiteContext) -> None:
    pauses(site)
    site.health.rests["a.org"] = site.wake_at = NOW + 30


def rested_elsewhere(site: SiteContext) -> None:
    site.rest_until = site.wake_at = NOW + 30


def tries_again(site: SiteContext) -> None:
    pauses(site)
    site.wake_at = NOW + 60


def comes_back(site: SiteContext) -> None:
    site.comes_back = True
    site.wake_at = inf


def is_due(site: SiteContext) -> None:
    site.wake_at = NOW


CASES = (
    (asked, Wait.ANSWER),
    (robots_asked, Wait.ROBOTS),
    (looked_up, Wait.NAME),
    (store_asked, Wait.STORE),
    (queues, Wait.LINE),
    (pauses, Wait.DELAY),
    (rests, Wait.RESTING),
    (rested_elsewhere, Wait.RESTING),
    (tries_again, Wait.RETRY),
    (comes_back, Wait.PLACE),
    (is_due, Wait.TURN),
)


def _site() -> SiteContext:
    home = "http://a.org/"
    scope = scope_of(home, Scope.HOST)
    party = SeedContext(Seed(1, 1, home, home, 0, 0), UrlAnalyzer(scope), scope, 0.0)
    return SiteContext(1, "a.org", 1, ExactSeen(MemoryBudget(2**20)), False, parties=[party, party])


@each(("let", "expected"), CASES)
def test_a_place_waits_for(let: Callable[[SiteContext], None], expected: Wait) -> None:
    site = _site()
    let(site)
    assert waits([site], NOW, None) == {expected.value: 2}, "its two seeds"


def test_what_holds_the_machine_up_holds_all_places_up_that_wait_for_no_answer() -> None:
    sites = [_site() for _ in range(3)]
    asked(sites[0])
    pauses(sites[1])
    assert waits(sites, NOW, Wait.PAUSED) == {"answer": 2, "paused": 4}


def test_of_very_many_places_some_stand_for_all() -> None:
    sites = [_site() for _ in range(5_000)]
    for site in sites[:3_000]:
        asked(site)
    found = waits(sites, NOW, None)
    assert found == {"answer": pytest.approx(6_000, rel=0.02), "turn": pytest.approx(4_000, rel=0.02)}


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (Lines(3, 1, 0.4), ""),
        (Lines(25, 1, 0.0), "25 sites wait in line at 1 IP address"),
        (Lines(1, 1, 90.0), "1 site waits in line at 1 IP address, about 1.5 min"),
        (Lines(19_999, 1_000, 7_200.0), "19,999 sites wait in line at 1,000 IP addresses, about 2.0 h"),
    ],
)
def test_lines_at_addresses_are_told_by_number_and_time(lines: Lines, told: str) -> None:
    assert lines_text(lines) == told
    assert len(told) <= 64
