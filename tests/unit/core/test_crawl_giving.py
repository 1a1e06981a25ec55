"""Which sites a machine lets go of when others have fewer."""

from __future__ import annotations

import threading
from typing import Any, cast

from scrawler.core.distribution.distributor import SeedIdQueue
from scrawler.core.distribution.inbox import SelectorInbox
from scrawler.core.machine.crew import Crew
from scrawler.core.party.site import SiteContext
from scrawler.core.seen import ExactSeen, MemoryBudget

NOWHERE: Any = None  # what is submitted, and to which budget: nothing here stands in the queue


class _Site:
    """A site that a collector holds."""

    def __init__(self, *, connected: bool = True, urls_left: int = 0, is_doubtful: bool = False) -> None:
        self.connected = connected
        self.urls_left = urls_left
        self.is_doubtful = is_doubtful
        self.going = False
        self.collector = None


class _Queued(_Site):
    """A site that waits for a collector."""

    count = 1

    def address(self) -> str:
        return "192.0.2.1"

    def take_delta(self, _now: float, released: bool) -> tuple[_Queued, bool]:
        return self, released

    def forget(self) -> None:
        pass


class _NoBudget:
    """What waits for addresses: nobody here."""

    alone = False

    def could_dismiss(self, _address: str) -> bool:
        return False


class _Collector:
    def __init__(self, sites: list[_Site]) -> None:
        self.places = sites


def _crew(*held: list[_Site]) -> Crew:
    turn = threading.RLock()
    crew = Crew(turn, threading.Event(), SeedIdQueue(4), SelectorInbox(turn))
    crew.collectors += cast(Any, [_Collector(sites) for sites in held])
    return crew


def _going(sites: list[_Site]) -> list[bool]:
    return [site.going for site in sites]


def test_those_go_first_that_were_not_asked_yet() -> None:
    sites = [_Site(connected=number != 2) for number in range(4)]
    _crew(sites[:2], sites[2:]).keep_at_most(NOWHERE, NOWHERE, 3)
    assert _going(sites) == [False, False, True, False]


def test_what_goes_already_is_not_counted_among_those_that_stay() -> None:
    sites = [_Site(connected=True) for _ in range(4)]
    crew = _crew(sites)
    for _ in range(2):  # the second time, what goes is not committed yet, and the database knows of four still
        crew.keep_at_most(NOWHERE, NOWHERE, 2)
        assert sum(_going(sites)) == 2


def test_what_is_gone_but_not_committed_is_not_given_twice() -> None:
    """The database counts four, of which two should stay; one has left the collectors meanwhile."""
    sites = [_Site(connected=True) for _ in range(3)]
    _crew(sites).keep_at_most(NOWHERE, NOWHERE, 2)
    assert sum(_going(sites)) == 1


def test_whoever_has_fewer_keeps_them() -> None:
    sites = [_Site(connected=True)]
    _crew(sites).keep_at_most(NOWHERE, NOWHERE, 2)
    assert _going(sites) == [False]


def test_sites_whose_hosts_may_be_dead_stay_where_their_failures_are_counted() -> None:
    sites = [_Site(urls_left=1, is_doubtful=number < 3) for number in range(5)]
    _crew(sites).keep_at_most(NOWHERE, NOWHERE, 0)
    assert _going(sites) == [False, False, False, True, True]
    sites = [_Site(urls_left=10, is_doubtful=number < 1) for number in range(3)]
    _crew(sites).give_urls(1_000)
    assert _going(sites) == [False, True, True]


def test_a_host_may_be_dead_that_fails_or_was_asked_and_has_never_answered() -> None:
    site = SiteContext(1, "a.example", 1, ExactSeen(MemoryBudget(1_000)), more_seeds=False)
    assert not site.is_doubtful, "nobody has asked it"
    site.asked_at = 5.0
    assert site.is_doubtful
    site.slowest_ms = 20
    assert not site.is_doubtful
    site.health.failures["a.example"] = 1
    assert site.is_doubtful


def test_the_largest_sites_go_that_do_not_have_too_many_urls() -> None:
    sites = [_Site(urls_left=urls) for urls in (5_000, 300, 1_200, 900, 0)]
    crew = _crew(sites[:3], sites[3:])
    assert crew.urls_left() == (7_401, False), "a site without any is work as well"
    crew.give_urls(1_600)
    assert _going(sites) == [False, True, True, False, True]
    assert crew.urls_left() == (7_401, True)


def test_half_of_the_sites_go_to_a_machine_that_has_none() -> None:
    """The three largest have a few URLs more than half of all."""
    sites = [_Site(urls_left=urls) for urls in (246, 246, 246, 245, 244, 243)]
    _crew(sites).give_urls(735)
    assert sum(_going(sites)) == 3


def test_one_site_stays_whatever_it_has() -> None:
    sites = [_Site(urls_left=10), _Site(urls_left=10)]
    _crew(sites).give_urls(1_000)
    assert _going(sites) == [True, False]


def test_of_those_in_work_none_goes_where_only_the_queue_is_meant() -> None:
    given: list[Any] = []
    crew = _crew(sites := [_Site(), _Site()])
    for _ in range(3):
        crew.queue.put(cast(Any, _Queued()))
    crew.keep_at_most(given.append, cast(Any, _NoBudget()), 4, queued_only=True)
    assert (len(crew.queue), len(given)) == (2, 1)
    crew.keep_at_most(given.append, cast(Any, _NoBudget()), 1, queued_only=True)
    assert (len(crew.queue), len(given), _going(sites)) == (0, 3, [False, False])
