"""URL Selector: claims seeds from the database into the Seed ID Queue (paper 004, section 3.2).

A seed enters the queue when its host's address is known: waiting for DNS holds no collector's place. The selector
also brings further seeds of sites that are held already, and notices that the crawl has ended.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeVar

from scrawler.backoff import Backoff
from scrawler.core.asking.origins import Origins
from scrawler.core.distribution.balance import sites_to_give, urls_to_give
from scrawler.core.distribution.distributor import SeedIdQueue
from scrawler.core.distribution.inbox import SelectorInbox
from scrawler.core.distribution.openers import Opener, kept_open_by
from scrawler.core.party.site import Origin, SiteContext
from scrawler.core.party.takeup import SiteTaker
from scrawler.errors import StoreBusyError
from scrawler.fetch.resolver import Resolution, Resolver
from scrawler.model.claims import ClaimedSite, HeldSites
from scrawler.model.deltas import SiteDelta
from scrawler.model.seeds import Seed, SeedState
from scrawler.model.terms import Millis

T = TypeVar("T")

_LOOK_AGAIN = 2.0  # seconds after which the database is asked again without a reason
# A machine that has just run out of work, or has just begun, asks sooner: after a twentieth of the time since then.
_LOOK_SOON = 0.03  # seconds, at the soonest
_OF_TIME_WAITED = 0.05
_SETTLED = 0.2  # seconds after which whoever has taken what was given has told how many URLs it has now
_TELL = 0.1  # by so much, of what was told, URLs that are left must have changed to be told again
_RESOLVER_FULL = 0.05  # seconds to wait for room in the queue of the resolver
_LATE = 1.0  # seconds after which no place in the queue is kept for a site whose address is looked up
_MOST_LATE = 5_000  # such sites
_HURRIED = 0.5  # seconds; a machine that claims all it has room for so soon after the last time claims more each time
_TOGETHER = 100  # so many sites that were taken up are queued at a time
_LONG = 0.1  # seconds after which fewer are queued, too
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0  # bounds of the pauses between tries on a busy database, in seconds


class Claims(Protocol):
    """The part of the store that gives out sites and seeds."""

    def claim(
        self,
        sites: int,
        seeds_per_site: int,
        *,
        machines: int,
        seats_elsewhere: int,
        by_urls: bool,
        longest_rest: Millis,
    ) -> list[ClaimedSite]:
        """Claim up to so many sites, no more than a fair share among so many machines; none that still rests.

        `seats_elsewhere` is how many seeds the other machines can hold, `by_urls` whether shares are counted in URLs.
        """

    def more(self, site_id: int, token: int, limit: int) -> Sequence[Seed]:
        """Claim further seeds of a site that is held."""

    def held(self) -> HeldSites | None:
        """Return how many sites each machine at work owns; None while there are sites to claim."""

    def tell_urls_left(self, urls: int) -> None:
        """Tell other machines how many URLs are left here."""

    def states_left(self) -> Set[SeedState]:
        """Tell in which states but done there are seeds."""


@dataclass(frozen=True, slots=True)
class SelectorPorts:
    """What the selector asks of the rest of its machine and of the store; the first four are called under the turn."""

    holding: Callable[[], bool]  # whether anything of this machine is in work or not yet durable
    held_sites: Callable[[], list[SiteContext]]  # what its collectors hold
    free_places: Callable[[], int]  # seeds that its collectors have room for
    may_claim: Callable[[], bool]  # whether sites may be claimed now
    keep_at_most: Callable[[int], None]  # let go of what is more than so many sites
    keep_queued_at_most: Callable[[int], None]  # the same, but those that are in work stay
    by_urls: Callable[[], bool]  # whether machines share URLs evenly, and not sites: there is no delay
    urls_left: Callable[[], tuple[int, bool]]  # how many URLs are left here, and whether some are to go
    give_urls: Callable[[int], None]  # let go of sites with so many URLs
    give_back_untaken: Callable[[SiteDelta], None]  # let go of one that was claimed only; called under the turn
    sites_with_ready: Callable[[Sequence[int]], Collection[int]]  # which sites, by id, have ready seeds
    look_at_deaths: Callable[[], None]  # note what has killed machines, before sites of theirs are taken up
    openers: Sequence[Opener]  # what else can keep the crawl open when no seed is left
    last_openers: Sequence[Opener]  # the same, asked after the seeds were looked at once more
    expect: Callable[[str], None]  # a site that asks an address will begin soon; called under the turn
    queued: Callable[[], None]  # the queue has seeds
    ended: Callable[[], None]  # no seed is left
    failed: Callable[[BaseException], None]


def look_again_after(waited: float) -> float:
    """Return the seconds after which the database is asked again by a machine that has waited, or lived, for so long.

    A twentieth of that time at most is lost when the last machine at work finds the end of the crawl, or other work.
    """
    return min(max(_LOOK_SOON, _OF_TIME_WAITED * waited), _LOOK_AGAIN)


class UrlSelector(threading.Thread):
    """Keeps the Seed ID Queue filled; `machines` share the crawl, and the others can hold `seats_elsewhere` seeds."""

    def __init__(
        self,
        claims: Claims,
        taker: SiteTaker,
        queue: SeedIdQueue[SiteContext],
        resolver: Resolver,
        origins: Origins,
        turn: threading.RLock,
        stop: threading.Event,
        inbox: SelectorInbox,
        seeds_per_site: int,
        machines: int,
        ports: SelectorPorts,
        balances: bool = True,
    ) -> None:
        """Make the thread; `balances` says whether this machine gives sites to one that has fewer."""
        super().__init__(name="selector")
        self._claims = claims
        self._taker = taker
        self._queue = queue
        self._resolver = resolver
        self._origins = origins
        self._halt = stop
        self._inbox = inbox
        self._seeds_per_site = seeds_per_site
        self.machines = machines
        self.seats_elsewhere = 0
        self.sites_are_free = False  # as the last heartbeat has heard; those come first, before sites are given away
        self._balances = balances
        self._ports = ports
        self._began = time.monotonic()
        self._busy_at = self._began  # when this machine was last seen to hold anything
        self._give_at = self._began  # monotonic seconds before which no URLs are given
        self._filled_at = self._began  # monotonic seconds of the last claim that brought as many sites as were wanted
        self._share_at = self._began  # monotonic seconds of the next look at what other machines have
        self._turn = turn
        self._nameless: set[SiteContext] = set()  # sites whose first address is being looked up
        self._asked: deque[tuple[float, SiteContext]] = deque()  # when names were asked for, the first one first
        self._late: set[SiteContext] = set()  # those of them for which no place is kept any more
        self._answered: deque[tuple[SiteContext, Origin, Resolution]] = deque()  # names that are not queued yet
        self._somebody_queues = False  # a thread is about to queue them
        self._kept_open_by = ""  # why the crawl was not over when this machine last looked
        self._openers = (
            Opener("sites are in work on this machine", self._is_at_work),
            Opener("seeds are ready, or in work on other machines", self._is_work_left),
            *ports.openers,
            # Last, for another machine may have opened it between our look and our try, which then found nothing.
            Opener("seeds came meanwhile", lambda: bool(claims.states_left())),
            *ports.last_openers,
        )

    def run(self) -> None:
        """Claim until stopped or until nothing is left."""
        try:
            while not self._halt.is_set():
                with self._inbox.changed:
                    self._inbox.changed.wait_for(self._has_work, self._rhythm())
                    self._let_names_wait()
                    hungry, seeds_came = self._inbox.take()
                    may_claim = self._ports.may_claim()
                    room = self._room() if may_claim else 0
                if self._halt.is_set():
                    return
                self._resolver.keep_up()
                if seeds_came:
                    self._look_at_held()
                self._feed(hungry)
                if may_claim:
                    self._share()
                if room > 0 and not self._fill(room) and not hungry and self._patiently(self._is_over):
                    self._ports.ended()
                    return
        except BaseException as error:
            if not (isinstance(error, StoreBusyError) and self._halt.is_set()):
                self._ports.failed(error)

    def _patiently(self, work: Callable[[], T]) -> T:
        """Do `work` until the database is free to, or until stopped: what is claimed must come into the queue."""
        backoff = Backoff(_FIRST_PAUSE, _LONGEST_PAUSE)
        while True:
            try:
                return work()
            except StoreBusyError:
                if self._halt.wait(backoff.pause()):
                    raise

    def _rhythm(self) -> float:
        """Return the seconds after which the database is asked again at the latest."""
        now = time.monotonic()
        if not self._ports.holding():
            return look_again_after(now - self._busy_at)
        self._busy_at = now
        return min(max(_LOOK_SOON, self._share_at - now), _LOOK_AGAIN) if self._shares else _LOOK_AGAIN

    def _has_work(self) -> bool:
        inbox = self._inbox
        return self._halt.is_set() or inbox.came or bool(inbox.hungry) or (inbox.news and self._room() > 0)

    def _room(self) -> int:
        """Return how many sites to claim now."""
        return self._queue.room_with(self._ports.free_places())

    def _let_names_wait(self) -> None:
        """Keep no places in the queue any longer for sites whose name servers do not answer: others shall come in."""
        before = time.monotonic() - _LATE
        while self._asked and self._asked[0][0] <= before and len(self._late) < _MOST_LATE:
            site = self._asked.popleft()[1]
            if site in self._nameless:
                self._late.add(site)
                self._queue.reserved -= 1
                self._queue.late += 1

    def _look_at_held(self) -> None:
        """Ask for the seeds that were added to held sites."""
        with self._turn:
            ids = [site.id for site in self._ports.held_sites()]
        found = self._patiently(lambda: self._ports.sites_with_ready(ids))
        with self._turn:
            for site in self._ports.held_sites():
                if site.id in found:
                    self._inbox.ask_more(site)

    def _feed(self, hungry: list[SiteContext]) -> None:
        """Bring further seeds to sites that are held; a site of which there are none is let go."""
        for site in hungry:
            seeds = self._patiently(partial(self._claims.more, site.id, site.token, self._seeds_per_site))
            parties = self._patiently(partial(self._taker.further, site, seeds))
            with self._turn:
                site.answer_came()
                if site.collector is not None:
                    site.collector.add_parties(site, parties, more=len(seeds) >= self._seeds_per_site)

    def _share(self) -> None:
        """Give sites back for a machine that has fewer, when none is left to claim.

        A machine that has just begun looks sooner, for those of another may all be small, and a crawl over within
        seconds. What a heartbeat has heard is too old for that.
        """
        now = time.monotonic()
        if not self._shares or now < self._share_at:
            return
        every = look_again_after(now - self._began)
        self._share_at = now + every
        if every >= _LOOK_AGAIN and self.sites_are_free:
            return
        with suppress(StoreBusyError):
            by_urls, held = self._ports.by_urls(), self._claims.held()
            if held is not None and (number := sites_to_give(held)):
                keep_at_most = self._ports.keep_queued_at_most if by_urls else self._ports.keep_at_most
                # What stays is told, not what goes: some may be gone already, and not be committed yet.
                keep_at_most(held.by_machine[held.me] - number)
            if by_urls:
                self._share_urls(held, now)

    def _share_urls(self, held: HeldSites | None, now: float) -> None:
        """Tell others how many URLs are left here, and give them what is too much, once all that was given is taken."""
        left, are_going = self._ports.urls_left()
        if held is None or are_going:
            self._give_at = now + _SETTLED
        if held is None or held.me not in held.urls:
            return
        if abs(left - held.urls[held.me]) > _TELL * held.urls[held.me]:
            self._claims.tell_urls_left(left)
        if now >= self._give_at and (number := urls_to_give(held._replace(urls={**held.urls, held.me: left}))):
            self._ports.give_urls(number)

    @property
    def _shares(self) -> bool:
        """Whether this machine may have to give sites to others."""
        return self._balances and self.machines > 1

    def _fill(self, room: int) -> int:
        """Claim sites for the free places of the queue; returns how many came."""
        longest = self._taker.longest_rest_ms
        try:
            claimed = self._claims.claim(
                room,
                self._seeds_per_site,
                machines=self.machines,
                seats_elsewhere=self.seats_elsewhere,
                by_urls=self._ports.by_urls(),
                longest_rest=longest,
            )
        except StoreBusyError:
            return 1  # another program writes: asked again after a while
        self._fit_queue(len(claimed) >= room)
        untaken = deque(one for one in claimed if one.seeds)
        for empty in (one for one in claimed if not one.seeds):  # left by the dead: to rest, and no more
            with self._turn:
                self._ports.give_back_untaken(self._taker.untaken(empty))
        try:
            if any(site.after_death for site in claimed):
                self._patiently(self._ports.look_at_deaths)
            self._take_up(untaken)
        finally:
            with self._turn:
                for left in untaken:
                    self._ports.give_back_untaken(self._taker.untaken(left))
        if claimed:
            if self._ports.by_urls():
                self._share_at = time.monotonic()  # others wait for what is told of that
            with self._turn:
                self._inbox.news = True  # there may be more
        return len(claimed)

    def _fit_queue(self, is_filled: bool) -> None:
        """Let the queue hold more where sites come to their end as fast as they are claimed: a claim has its price.

        Not where other machines may want the sites.
        """
        now = time.monotonic()
        is_short = is_filled and self.machines == 1 and now - self._filled_at < _HURRIED
        with self._turn:
            self._queue.fit(is_short=is_short)
        if is_filled:
            self._filled_at = now

    def _take_up(self, untaken: deque[ClaimedSite]) -> None:
        """Make the contexts of sites, and queue them, many at a time; stop when the machine does."""
        taken: list[SiteContext] = []
        since = time.monotonic()
        try:
            self._patiently(partial(self._taker.look_ahead, untaken))
            while untaken and not self._halt.is_set():
                taken.append(self._patiently(partial(self._taker.take_up, untaken[0], self._seeds_per_site)))
                untaken.popleft()
                if len(taken) >= _TOGETHER or time.monotonic() - since > _LONG:
                    ready, taken, since = taken, [], time.monotonic()
                    self._enqueue(ready)
        finally:
            self._taker.forget_ahead()
            self._enqueue(taken)

    def _enqueue(self, sites: list[SiteContext]) -> None:
        """Put sites into the queue, each as soon as the address of its first seed's host is known.

        What is known at once goes in with one turn for all: while collectors are busy, a turn takes 10 ms to get.
        """
        origins = [self._origins.of(site, site.set_aside[0].seed.home_url) for site in sites]
        with self._turn:
            self._queue.reserved += len(sites)
            self._nameless.update(sites)
            now = time.monotonic()
            self._asked += [(now, site) for site in sites]
        self._somebody_queues = True
        for site, origin in zip(sites, origins, strict=True):
            while not self._resolver.resolve(origin.host, partial(self._named, site, origin)):
                self._queue_answered()
                if self._halt.wait(_RESOLVER_FULL):
                    return  # those that are not queued are given back at the end
        self._queue_answered()

    def _named(self, site: SiteContext, origin: Origin, _host: str, resolution: Resolution) -> None:
        """Note that the address of a site is known, on whatever thread; whoever has the turn first queues all."""
        self._answered.append((site, origin, resolution))
        if not self._somebody_queues:
            self._somebody_queues = True
            self._queue_answered()

    def _queue_answered(self) -> None:
        with self._turn:
            self._somebody_queues = False  # first: what is noted from now on may come too late for this one
            came = False
            while self._answered:
                site, origin, resolution = self._answered.popleft()
                if site in self._nameless:
                    self._nameless.remove(site)
                    self._is_named(site)
                    self._origins.hear(origin, resolution)
                    self._origins.follow_rules(site)  # they may have changed while it was taken up
                    self._queue.put(site)
                    self._ports.expect(origin.address)
                    came = True
            if came:
                self._ports.queued()

    def _is_named(self, site: SiteContext) -> None:
        """Keep a place again for a site whose address has come late."""
        if site in self._late:
            self._late.remove(site)
            self._queue.late -= 1
            self._queue.reserved += 1

    def take_nameless(self) -> set[SiteContext]:
        """Hand over the sites whose addresses are not known yet: they do not come into the queue. Under the turn."""
        nameless, self._nameless = self._nameless, set()
        self._late.clear()
        self._queue.late = 0
        return nameless

    def _is_over(self) -> bool:
        """Whether the crawl has ended; if not, note what keeps it open."""
        self._kept_open_by = kept_open_by(self._openers)
        return not self._kept_open_by

    @property
    def kept_open_by(self) -> str:
        """Why the crawl is not over: what this machine sees at once, else what it found when it last looked."""
        at_work = self._openers[0]
        return at_work.name if at_work.is_open() else self._kept_open_by

    def _is_at_work(self) -> bool:
        with self._turn:
            return self._ports.holding() or self._inbox.news

    def _is_work_left(self) -> bool:
        left = self._claims.states_left()
        return SeedState.READY in left or SeedState.ACTIVE in left
