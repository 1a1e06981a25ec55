"""Seed ID Queue and URL Distributor (paper 004, section 3.3, Figures 4 and 5).

The algorithm of Figure 5: while the queue has seeds, hand them to the collectors in turn; else, when the collector
with the fewest seeds is below the average, move an inactive seed from the fullest collector to the emptiest.

Deviations, and why:
* As printed the rule never settles: with 9, 9 and 10 seeds the emptiest is always below the average, and a seed would
  move for ever. A move needs a difference of at least two and must make it smaller.
* What is dealt out and moved is a site with all its active seeds, for they share one politeness clock; with one seed
  a site, as usual, that is the seed.
* A collector gets as many seeds of a site as it has room for. The others are set aside with the site and follow when
  there is room; they block nobody. 500 seeds of one host thus keep one collector busy, not twenty idle.
* A site that was not asked yet moves before one that was: the connection stays with the thread that has opened it, and
  a site that moves is connected to anew, with TLS by another handshake.
* If the fullest collector has no site that can move, the next fullest gives one: a site with very many seeds, which
  is too large to move, does not keep the others from being level.
* The loop sleeps until something has changed. A move that waits for an inactive site is made at the moment when a site
  becomes inactive, by the thread that sees it: without a delay between requests that moment is short.

What is decided here knows neither threads nor clocks: `UrlDistributor` is the thread that lets a `SeedDealer` work in a
machine, and the planner (scrawler/features/plan) lets one work on virtual time, with sites and collectors of its own.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Sized
from typing import Generic, Protocol, TypeVar


class DealtSite(Protocol):
    """A site as the distribution sees it: some seeds, which are dealt out and moved together."""

    @property
    def count(self) -> int:
        """How many of its seeds count as held by its collector."""

    @property
    def set_aside(self) -> Sized:
        """Its seeds for which there was no room at the collector yet."""

    @property
    def inactive(self) -> bool:
        """Whether it can move."""

    @property
    def connected(self) -> bool:
        """Whether it was asked by the collector that holds it, so that a move costs a connection."""


S = TypeVar("S", bound=DealtSite)


class Collecting(Protocol[S]):
    """A collector as the distribution sees it."""

    @property
    def sites(self) -> Mapping[int, S]:
        """The sites that it holds, by id."""

    @property
    def held(self) -> int:
        """Seeds held now."""

    @property
    def room(self) -> int:
        """Seeds that may still be given to it."""

    @property
    def waiting(self) -> S | None:
        """The first inactive site of those that wait for a place there; None: there is none."""

    @property
    def lets_in(self) -> bool:
        """Whether there is a place for the first one of these there, so that its thread lets it in."""

    def take_in(self, site: S) -> None:
        """Receive a site, from the queue or from another collector."""

    def give_away(self, site: S) -> None:
        """Let go of an inactive site, so that another collector can take it in."""

    def wake(self) -> None:
        """Let it look for seeds."""


_MOST_AT_ONCE = 500  # sites claimed in one transaction


class SeedIdQueue(Generic[S]):
    """Claimed seeds of this machine, by site, that no collector holds yet. Guarded by the machine's turn."""

    def __init__(self, capacity: int, on_taken: Callable[[], None] = lambda: None) -> None:
        """Make a queue of so many sites; `on_taken` is called when one was taken out."""
        self._least = capacity
        self._capacity = capacity
        self._sites: deque[S] = deque()
        self.reserved = 0  # places for sites that wait for their address
        self.late = 0  # sites that have waited for theirs so long that none is kept for them
        self._on_taken = on_taken

    def __len__(self) -> int:
        return len(self._sites)

    def __iter__(self) -> Iterator[S]:
        """Yield the sites, the first one first."""
        return iter(self._sites)

    @property
    def room(self) -> int:
        """Sites that may still be claimed."""
        return self._capacity - len(self._sites) - self.reserved

    def room_with(self, free: int) -> int:
        """Return how many sites to claim when collectors have so many `free` places: 0 until it is worth asking.

        Many sites at once cost the database little more than one.
        """
        room = self.room + free
        return min(room, _MOST_AT_ONCE) if room * 2 >= self._capacity else 0

    def fit(self, *, is_short: bool) -> None:
        """Hold twice as many sites where it was emptied in a moment, else half as many; never fewer than at first."""
        wanted = 2 * self._capacity if is_short else self._capacity // 2
        self._capacity = min(max(self._least, wanted), max(self._least, _MOST_AT_ONCE))

    def put(self, site: S) -> None:
        """Add a site at the end; its place was reserved."""
        self.reserved -= 1
        self._sites.append(site)

    def take(self) -> S:
        """Remove the first site."""
        site = self._sites.popleft()
        self._on_taken()
        return site

    def take_last(self) -> S:
        """Remove the last site."""
        site = self._sites.pop()
        self._on_taken()
        return site

    def take_those(self, which: Callable[[S], bool]) -> list[S]:
        """Remove the sites for which `which` holds."""
        taken: list[S] = []
        kept: deque[S] = deque()
        for site in self._sites:
            (taken if which(site) else kept).append(site)
        self._sites = kept
        if taken:
            self._on_taken()
        return taken

    @property
    def seeds(self) -> int:
        """Seeds in the queue."""
        return sum(len(site.set_aside) for site in self._sites)


def queue_capacity(threads: int) -> int:
    """Return how many sites the queue of a machine with so many collectors holds."""
    return max(2 * threads, 40)


class Distribution(Protocol[S]):
    """How seeds come from the queue to the collectors; called under the turn, except start and join.

    It is made once for a machine, with the queue, the collectors (a list that may grow and shrink), the turn, and the
    event that says that the machine stops.
    """

    def start(self) -> None:
        """Begin to work."""

    def join(self) -> None:
        """Wait until it has ended."""

    def seeds_changed(self) -> None:
        """Seeds came into the queue, ended, or moved."""

    def site_inactive(self, collector: Collecting[S]) -> None:
        """A site of this collector could be moved now."""

    def wants_site(self, collector: Collecting[S]) -> bool:
        """Whether a move waits for an inactive site of this collector: then it lets its sites become inactive."""

    def help_yourself(self, collector: Collecting[S]) -> None:
        """A collector looks for seeds."""


def choose_move(counts: Sequence[int], stuck: Collection[int] = ()) -> tuple[int, int] | None:
    """Return (from, to) if the emptiest collector is below the average by Figure 5 and a move can help.

    `from` is the fullest collector but for those that are `stuck`: none of their sites can move now.
    """
    sources = [number for number in range(len(counts)) if number not in stuck]
    if not sources:
        return None
    source, fewest = max(sources, key=counts.__getitem__), min(counts)
    if fewest >= sum(counts) / len(counts) or counts[source] - fewest < 2:
        return None
    return source, counts.index(fewest)


class SeedDealer(Generic[S]):
    """Deals seeds out in turn, then keeps the collectors balanced: what the URL Distributor decides, step by step."""

    def __init__(self, queue: SeedIdQueue[S], collectors: Sequence[Collecting[S]]) -> None:
        self.moves = 0
        self._queue = queue
        self._collectors = collectors
        self._next = 0  # whose turn it is
        self._short_of: set[Collecting[S]] = set()  # a move waits for an inactive site of one of these

    def step(self) -> bool:
        """Deal all sites for which there is room, or move one; returns whether there may be more to do."""
        return self._let_in() or self._deal() or self._rebalance()

    def site_inactive(self, collector: Collecting[S]) -> None:
        """Make the moves that have waited for that."""
        if collector in self._short_of:
            while self._rebalance():
                pass

    def wants_site(self, collector: Collecting[S]) -> bool:
        """Whether a move waits for a site of this collector."""
        return collector in self._short_of

    def _let_in(self) -> bool:
        """Move a site that waits for a place to a collector that has room; returns whether it did."""
        for source in self._collectors:
            site = source.waiting
            if site is None:
                continue
            if source.lets_in:
                source.wake()
                continue
            for target in self._collectors:
                if target.room >= max(1, site.count):
                    source.give_away(site)
                    target.take_in(site)
                    self.moves += 1
                    return True
        return False

    def _deal(self) -> bool:
        """Give each site of the queue to the next collector in turn that has room; returns whether there was one."""
        dealt = False
        while len(self._queue) and (collector := self._next_with_room()) is not None:
            collector.take_in(self._queue.take())
            dealt = True
        return dealt

    def _next_with_room(self) -> Collecting[S] | None:
        number = len(self._collectors)
        for step in range(number):
            collector = self._collectors[(self._next + step) % number]
            if collector.room > 0:
                self._next = (self._next + step + 1) % number
                return collector
        return None

    def _rebalance(self) -> bool:
        """Move one inactive site from the fullest collector that has one to the emptiest; returns whether it did."""
        counts = [] if len(self._queue) else [collector.held for collector in self._collectors]
        stuck: list[int] = []
        short_of: set[Collecting[S]] = set()
        while (move := choose_move(counts, stuck)) is not None:
            source, target = self._collectors[move[0]], self._collectors[move[1]]
            difference = counts[move[0]] - counts[move[1]]
            sites = [site for site in source.sites.values() if 0 < site.count < difference]
            site = next((site for site in sites if not site.connected and site.inactive), None)
            site = site or next((site for site in sites if site.inactive), None)
            if site is not None:
                source.give_away(site)
                target.take_in(site)
                self.moves += 1
                return True
            stuck.append(move[0])
            if sites:
                short_of.add(source)
        self._short_of = short_of
        return False


class UrlDistributor(threading.Thread, Generic[S]):
    """Lets a dealer work whenever something has changed, under the machine's turn."""

    def __init__(
        self,
        queue: SeedIdQueue[S],
        collectors: Sequence[Collecting[S]],
        turn: threading.RLock,
        stop: threading.Event,
    ) -> None:
        super().__init__(name="distributor")
        self._dealer = SeedDealer(queue, collectors)
        self._halt = stop
        self._changed = threading.Condition(turn)

    @property
    def moves(self) -> int:
        """Sites moved so far."""
        return self._dealer.moves

    def run(self) -> None:
        """Deal and balance until stopped."""
        with self._changed:
            while not self._halt.is_set():
                if not self._dealer.step():
                    self._changed.wait()

    def seeds_changed(self) -> None:
        """Look again."""
        self._changed.notify()

    def site_inactive(self, collector: Collecting[S]) -> None:
        """Make the moves that have waited for that."""
        self._dealer.site_inactive(collector)

    def wants_site(self, collector: Collecting[S]) -> bool:
        """Whether a move waits for a site of this collector."""
        return self._dealer.wants_site(collector)

    def help_yourself(self, collector: Collecting[S]) -> None:
        """Nothing: seeds are dealt out here."""
