"""The collectors of one machine, and the sites that are here: theirs, and those of the queue."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection
from itertools import chain

from scrawler.core.asking.budget import AddressBudget
from scrawler.core.collecting.collector import UrlCollector
from scrawler.core.distribution.distributor import SeedIdQueue
from scrawler.core.distribution.inbox import SelectorInbox
from scrawler.core.party.site import SiteContext
from scrawler.core.progress import Totals
from scrawler.model.deltas import SiteDelta

_OF_THOSE_HERE = 1 / 8  # so many sites are released before it is looked up which addresses are asked no more
_MORE = 1 / 16  # of the URLs that are too many: so many more may go with them


def look_again(site: SiteContext) -> None:
    """Visit a site for which something has come. Called under the turn."""
    if site.collector is not None:
        site.collector.look_again(site)
        site.collector.wake()


class Crew:
    """What goes to all collectors, and what is asked of all of them.

    It is called under the turn, but for `committed`, `give_back`, `totals` and `wake`. It begins empty: whoever starts
    collectors puts them into `collectors`, and those that come to their end into `retired`.
    """

    def __init__(
        self,
        turn: threading.RLock,
        stopping: threading.Event,
        queue: SeedIdQueue[SiteContext],
        inbox: SelectorInbox,
    ) -> None:
        self.turn = turn
        self.stopping = stopping
        self.queue = queue
        self._inbox = inbox
        self.collectors: list[UrlCollector] = []
        self.retired: list[UrlCollector] = []
        self._released: dict[str, bool] = {}  # addresses whose sites were released, and whether others wait for that

    @property
    def every(self) -> tuple[UrlCollector, ...]:
        """All collectors, also those that come to their end."""
        return (*self.collectors, *self.retired)

    def wake(self) -> None:
        """Let each collector look what has come."""
        for collector in self.every:
            collector.wake()

    def hurry(self) -> None:
        """Let nobody wait for what is in flight."""
        for collector in self.every:
            collector.hurry()

    def go_on(self) -> None:
        """Let the collectors and the selector look for what they may do now."""
        for collector in self.every:
            collector.go_on()
        self._inbox.look_again()

    def committed(self, lost: Collection[int], was_full: bool) -> None:
        """Drop the sites whose lease was lost; let collectors that waited for room go on."""
        with self.turn:
            for collector in self.every:
                for site_id in lost:
                    if (site := collector.places.get(site_id)) is not None:
                        collector.drop(site)
                if was_full:
                    collector.unblocked()
            if lost or was_full:
                self._inbox.look_again()

    def sites(self) -> list[SiteContext]:
        """Return the sites that are here."""
        return [*(site for collector in self.every for site in collector.places), *self.queue]

    def held_sites(self) -> list[SiteContext]:
        """Return the sites that the collectors hold, but for those that come to their end."""
        return [site for collector in self.collectors for site in collector.places]

    def held(self) -> list[int]:
        """Return how many seeds each collector holds, or held when it let go of them at its end."""
        return [collector.held or collector.held_at_end for collector in self.collectors]

    def has_sites(self) -> bool:
        """Whether any site is here, or is to come into the queue."""
        to_come = len(self.queue) + self.queue.reserved + self.queue.late
        return to_come > 0 or any(len(collector.places) for collector in self.every)

    def free_places(self) -> int:
        """Return how many seeds the collectors have room for."""
        return sum(max(0, collector.room) for collector in self.collectors)

    def site_released(self, budget: AddressBudget, site: SiteContext) -> None:
        """Let others have the share of its address, unless sites here ask there as well.

        To find out takes a look at all sites that are here, so it is done for many that were released together.
        """
        if budget.alone or self.stopping.is_set():
            return
        address = site.address()
        if not budget.could_dismiss(address):
            return
        # Only a site that is given back, as `going` says, may be waited for: others have nothing left to ask.
        self._released[address] = site.going or self._released.get(address, False)
        here = len(self.queue) + sum(len(collector.places) for collector in self.collectors)
        if site.going or len(self._released) >= _OF_THOSE_HERE * here:
            self._dismiss(budget)

    def _dismiss(self, budget: AddressBudget) -> None:
        """Let others have the shares of addresses whose sites were released, where no site here asks."""
        released, self._released = self._released, {}
        here = chain(self.held_sites(), self.queue)
        asked = {origin.address for site in here for origin in site.origins.values()}
        for address, waited_for in released.items():
            if address not in asked:
                budget.dismiss(address, time.monotonic(), waited_for=waited_for)

    def keep_at_most(
        self, submit: Callable[[SiteDelta], None], budget: AddressBudget, number: int, queued_only: bool = False
    ) -> None:
        """Let go of what is more than so many sites: at once of those in the queue, of those in work when inactive.

        With `queued_only` those in work stay. Sites whose hosts may be dead stay in any case.
        """
        with self.turn:
            staying = sorted((site for site in self.held_sites() if not site.going), key=lambda site: site.connected)
            beyond = len(staying) + len(self.queue) - number
            while beyond > 0 and len(self.queue):
                self._give_back_queued(self.queue.take_last(), submit, budget)
                beyond -= 1
            if queued_only:
                return
            may_go = [site for site in staying if not site.is_doubtful]
            for site in may_go[: max(0, beyond)]:  # those first that were not asked yet: no connection is lost
                site.going = True
                look_again(site)

    def urls_left(self) -> tuple[int, bool]:
        """Return about how many URLs are still to be fetched at the sites that are here, and whether some are to go."""
        with self.turn:
            sites = self.sites()
            return sum([max(1, site.urls_left) for site in sites]), any(site.going for site in sites)

    def give_urls(self, number: int) -> None:
        """Let go of sites that have so many URLs left, when they are inactive: of the largest for which that is enough.

        A few more may go with them: of six sites nearly of one size, the three largest. One site stays at least.
        """
        number += int(number * _MORE)
        with self.turn:
            staying = sorted(
                (site for site in self.held_sites() if not site.going), key=lambda site: site.urls_left, reverse=True
            )
            may_go = len(staying) - 1
            for site in staying:
                if may_go > 0 and not site.is_doubtful and (urls := max(1, site.urls_left)) <= number:
                    number -= urls
                    may_go -= 1
                    site.going = True
                    look_again(site)

    def give_back_others(
        self, submit: Callable[[SiteDelta], None], budget: AddressBudget, may_stay: Callable[[SiteContext], bool]
    ) -> None:
        """Let go of the sites that may not stay with this machine, as `keep_at_most` does."""
        with self.turn:
            for site in self.queue.take_those(lambda site: not may_stay(site)):
                self._give_back_queued(site, submit, budget)
            for site in self.held_sites():
                if not site.going and not may_stay(site):
                    site.going = True
                    look_again(site)

    def _give_back_queued(self, site: SiteContext, submit: Callable[[SiteDelta], None], budget: AddressBudget) -> None:
        site.going = True
        self.site_released(budget, site)  # its share was asked for when it came into the queue
        give_back(site, submit)

    def totals(self) -> Totals:
        """Add up the counts of all collectors."""
        parts = [collector.totals for collector in self.every]
        return Totals(
            sum(part.requests for part in parts),
            sum(part.pages for part in parts),
            sum(part.bytes for part in parts),
            sum(part.errors for part in parts),
        )


def give_back(site: SiteContext, submit: Callable[[SiteDelta], None]) -> None:
    """Give a site that no collector holds back to the database."""
    delta = site.take_delta(time.monotonic(), released=True)
    if delta is not None:
        submit(delta)
    site.forget()
