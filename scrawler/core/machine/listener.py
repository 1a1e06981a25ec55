"""Listens for URLs from other sites: the thread that looks into the inboxes of the sites that this machine holds.

It reads on the store thread, after all that was submitted before: what a site has listed and handed over is out of its
inbox then, and nothing is read twice but after a kill. It lists nothing itself, the site's collector does.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Protocol

from scrawler.core.party.site import SiteContext
from scrawler.errors import StoreBusyError
from scrawler.model.exchange import Exchanged, WaitingUrl

_LOOK_EVERY = 0.5  # seconds between two looks: URLs come with the checkpoints of other sites, which are seconds apart
_SHARE = 20  # a look that takes long is followed by a pause of so many times that


class Inboxes(Protocol):
    """The part of the store that has URLs for sites."""

    def of_sites(self, keys: Collection[str], limit: int) -> Mapping[str, Sequence[WaitingUrl]]:
        """Return what waits for these sites, by their keys: up to `limit` URLs in all."""

    def open_parties(self, limit: int) -> int:
        """Let parties begin or go on for URLs whose sites nobody has in work; return how many were looked at."""

    def exchanged(self) -> Exchanged:
        """Return the sums over all machines, as they are at one moment."""


class InboxListener(threading.Thread):
    """Brings URLs to the sites that are held, and lets those begin that nobody has, until the machine stops."""

    def __init__(
        self,
        inboxes: Inboxes,
        held_sites: Callable[[], Iterable[SiteContext]],
        read: Callable[[Callable[[], None]], None],
        look_again: Callable[[SiteContext], None],
        seeds_came: Callable[[], None],
        failed: Callable[[BaseException], None],
        turn: threading.RLock,
        stop: threading.Event,
        at_a_time: int,
        into_inboxes: Sequence[Callable[[int], int]] = (),
    ) -> None:
        """Each of `into_inboxes` puts up to so many URLs into inboxes, and returns how many it looked at.

        `held_sites` and `look_again` are called under the turn; `read` does a job on the store thread.
        """
        super().__init__(name="listener")
        self._inboxes = inboxes
        self._held_sites = held_sites
        self._read = read
        self._look_again = look_again
        self._seeds_came = seeds_came
        self._failed = failed
        self._turn = turn
        self._halt = stop
        self._at_a_time = at_a_time
        self._into_inboxes = into_inboxes

    def close(self) -> None:
        """Let it see that the machine stops: what it waits for is set by then."""

    def run(self) -> None:
        """Look until the machine stops; a database that is busy is asked again with the next look."""
        pause = _LOOK_EVERY
        try:
            while not self._halt.wait(pause):
                began = time.monotonic()
                try:
                    self._look()
                except StoreBusyError:
                    continue
                pause = max(_LOOK_EVERY, _SHARE * (time.monotonic() - began))
        except BaseException as error:
            self._failed(error)

    def _look(self) -> None:
        for put in self._into_inboxes:
            if put(self._at_a_time):
                self._seeds_came()
        looked_at = self._at_a_time
        while looked_at >= self._at_a_time and not self._halt.is_set():
            looked_at = self._inboxes.open_parties(self._at_a_time)
            if looked_at:
                self._seeds_came()
        with self._turn:
            sites = {site.key: site for site in self._held_sites() if _listens(site)}
        if not sites:
            return
        done = threading.Event()
        self._read(partial(self._bring, sites, done))
        while not done.wait(_LOOK_EVERY):
            if self._halt.is_set():
                return

    def _bring(self, sites: Mapping[str, SiteContext], done: threading.Event) -> None:
        """Read the inboxes of sites and give them what is there; runs on the store thread.

        What is to be visited again is read once more, when all that its site has done until now is durable: from then
        on the site follows the visits to it.
        """
        followed: dict[str, SiteContext] = {}
        try:
            found = self._inboxes.of_sites(sites, self._at_a_time)
            with self._turn:
                for key, urls in found.items():
                    site = sites[key]
                    if not _listens(site):
                        continue
                    again = [one.url for one in urls if one.known is not None]
                    if any(not site.follows(url) for url in again):
                        if not site.listing:  # else it is looked for again: nothing can be handed over now
                            followed[key] = site
                            site.follow(again)
                            _submit(site)
                    else:
                        site.bring(urls)
                        self._look_again(site)
            if followed:
                self._read(partial(self._bring, followed, done))
        finally:
            if not followed:
                done.set()


def _listens(site: SiteContext) -> bool:
    """Whether a site is in work here, and has listed what was brought before."""
    return site.collector is not None and not (site.arrived or site.lost or site.going or site.leaves_inbox)


def _submit(site: SiteContext) -> None:
    """Hand over what a site has done, to be durable before what is read next."""
    if site.collector is not None:
        site.collector.submit_now(site)


class Arrivals:
    """What keeps a crawl open for URLs that are on their way: inboxes are empty, and twice the sums are the same.

    Between the two looks the seeds are looked at: see Mattern, "Algorithms for distributed termination detection"
    (1987), the four counters. A URL that is taken out of an inbox is in a list by then, so that its seed is open.
    """

    def __init__(self, inboxes: Inboxes, at_a_time: int) -> None:
        self._inboxes = inboxes
        self._at_a_time = at_a_time
        self._sums = Exchanged()

    def on_their_way(self) -> bool:
        """Whether URLs wait in inboxes; those that nobody has in work are opened."""
        self._sums = self._inboxes.exchanged()
        if not self._sums.waiting:
            return False
        self._inboxes.open_parties(self._at_a_time)
        return True

    def came_meanwhile(self) -> bool:
        """Whether any was sent or received since `on_their_way` was asked."""
        return self._inboxes.exchanged() != self._sums
