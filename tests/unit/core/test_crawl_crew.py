"""What becomes of addresses whose sites a machine has released, where other machines may want to ask them."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from scrawler.core.asking.budget import AddressBudget
from scrawler.core.distribution.distributor import SeedIdQueue
from scrawler.core.distribution.inbox import SelectorInbox
from scrawler.core.machine.crew import Crew
from scrawler.core.party.site import Origin, SiteContext
from scrawler.core.seen import ExactSeen, MemoryBudget
from tests.crawl_rules import crawl_rules


@dataclass
class Holder:
    """A collector as far as it holds sites."""

    sites: dict[int, SiteContext] = field(default_factory=dict)

    @property
    def places(self) -> list[SiteContext]:
        return list(self.sites.values())


class Desk:
    """A crew with one collector, whose sites were all asked once, at an address each; other machines live."""

    def __init__(self, sites: int) -> None:
        turn = threading.RLock()
        self.crew = Crew(turn, threading.Event(), SeedIdQueue[SiteContext](40), SelectorInbox(turn))
        self.holder = Holder({number: _site(number, _address(number)) for number in range(sites)})
        self.crew.collectors.append(cast("Any", self.holder))
        self.budget = AddressBudget(crawl_rules(per_ip=2), lambda site: None)
        for number, site in self.holder.sites.items():
            address = _address(number)
            self.budget.queue_up(site, address, 0.0)
            self.budget.granted({address: 2}, ())
            self.budget.began(site, address)
            self.budget.over(address, 0.0)

    def release(self, number: int, going: bool = False) -> None:
        site = self.holder.sites.pop(number)
        site.going = going
        self.crew.site_released(self.budget, site)


def _address(number: int) -> str:
    return f"192.0.2.{number}"


def _site(number: int, address: str) -> SiteContext:
    site = SiteContext(number, f"h{number}.example", 1, ExactSeen(MemoryBudget(1000)), more_seeds=False)
    origin = f"http://h{number}.example:80"
    site.origins[origin] = Origin(origin, f"h{number}.example", address)
    return site


def test_who_asks_where_is_looked_up_for_many_released_sites_at_a_time() -> None:
    desk = Desk(80)
    for number in range(8):
        desk.release(number)
        assert not desk.budget.left()
    desk.release(8)  # the ninth, of 71 that are left
    assert sorted(desk.budget.left()) == sorted(map(_address, range(9)))


def test_the_last_sites_leave_no_share_behind() -> None:
    desk = Desk(20)
    for number in range(20):
        desk.release(number)
    assert len(desk.budget.left()) == 20


@pytest.mark.parametrize("queued", [True, False])
def test_an_address_that_another_site_asks_is_kept(queued: bool) -> None:
    desk = Desk(2)
    other = _site(9, _address(0))
    if queued:
        desk.crew.queue.put(other)
    else:
        desk.holder.sites[9] = other
    desk.release(0)
    desk.release(1)
    assert desk.budget.left() == [_address(1)]


def test_what_others_wait_for_is_looked_up_at_once() -> None:
    desk = Desk(80)
    desk.release(0)
    desk.release(1, going=True)
    assert sorted(desk.budget.left()) == [_address(0), _address(1)]
