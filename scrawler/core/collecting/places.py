"""The sites of a collector: those that have places, and those that only wait. Guarded by the machine's turn.

A place is for a site with which there is something to do. A site that only waits gives its place up for as long as it
does: for the next try at a host that has failed, for its turn at an IP address that others share, for the look-up of a
name, or for a host that has never answered, or takes long for each answer. The pause between two requests to a site
that answers is no such waiting, nor is the moment until the database has said how much of a new address is this
machine's: in that moment all new sites would give their places up, and others would be moved into them.

A site comes back when its host has answered and there is more to ask for. It goes on once there is a place for it, the
first that came back first, and before further seeds are taken in; until then it holds nothing that others wait for.
Some things need no place, and are done at once: the tries at a host that has not answered, a request whose turn at an
address has come, and the end of what is over.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from itertools import chain, islice
from math import ceil, inf
from typing import Final

from scrawler.core.party.site import SiteContext
from scrawler.core.rules import CrawlRules

# Seconds, first and longest, for which a site keeps its place while a host has not answered that never did before; in
# between it is so many times what first answers have taken of late: behind a narrow line all of them take long.
SOON: Final = 1.0
_LATEST: Final = 10.0
_TIMES: Final = 4.0
_WEIGHT: Final = 1 / 16  # of the newest first answer in that
_LONG: Final = 5.0  # seconds; a shorter wait is not worth to give a place up
_ORIGINS: Final = 20  # of a site that are looked at; a domain may have thousands


_MOST_UNASKED: Final = 50_000  # sites of a machine that may wait without a place and a connection, at 10 KB each
_OPENINGS: Final = 5  # times as many seeds as there are places, at most, while openings count for little
_NEWEST: Final = 1 / 32  # weight of the newest opening


class WaitingRoom:
    """How many sites of a machine may wait without a place, and what its collectors have seen of hosts.

    Each takes memory, and a descriptor while it is asked: so those that are asked are counted, up to `most`, and those
    that are not. Openings for which there is no whole place count as asked.
    """

    def __init__(self, most: int, most_unasked: int = _MOST_UNASKED) -> None:
        self.most = most
        self.taken = 0
        self.most_unasked = most_unasked
        self.unasked = 0
        self.over = 0  # seeds that collectors hold beyond their places
        self.soon = SOON
        self.needed = 1.0  # part of the openings of late that came to need a place
        self._usual = SOON / _TIMES  # seconds that a first answer takes

    @property
    def left(self) -> int:
        """How many more may be beyond the places and be asked."""
        return max(0, self.most - self.taken - self.over)

    def answered_first(self, seconds: float) -> None:
        """Note how long the first answer of a host has taken."""
        self._usual += _WEIGHT * (min(seconds, _LATEST) - self._usual)
        self.soon = min(_LATEST, max(SOON, _TIMES * self._usual))

    def opened(self, needs_place: bool) -> None:
        """Note what an opening has come to."""
        self.needed += _NEWEST * (needs_place - self.needed)


class Places:
    """Which sites have places; `held` counts the seeds that do."""

    def __init__(self, rules: CrawlRules, room: WaitingRoom) -> None:
        self._rules = rules
        self.room = room
        self.sites: dict[int, SiteContext] = {}  # that have places
        self.aside: dict[int, SiteContext] = {}  # that have none
        self.back: OrderedDict[int, SiteContext] = OrderedDict()  # of these, those that wait for one
        self.held = 0
        self._opening = 0  # seeds of these whose sites are at their opening
        self._asked: set[int] = set()  # sites that have none, and count as asked
        self._over = 0  # seeds of these for which there is no whole place, as the room knows of them

    @property
    def free(self) -> int:
        """Seeds for which there are places; below 0 where more openings than expected have come to need theirs."""
        capacity = self._rules.capacity
        taken = self.held - self._opening + ceil(self.room.needed * self._opening)
        within = max(0, capacity - self.held) + self.room.left
        return min(capacity - taken, _OPENINGS * capacity - self.held, within)

    def __len__(self) -> int:
        return len(self.sites) + len(self.aside)

    def __iter__(self) -> Iterator[SiteContext]:
        """Yield all sites."""
        return chain(self.sites.values(), self.aside.values())

    def get(self, site_id: int) -> SiteContext | None:
        """Return a site by its id."""
        return self.sites.get(site_id) or self.aside.get(site_id)

    def add(self, site: SiteContext) -> None:
        """Give a site a place."""
        site.is_opening = not has_pages(site)
        self.sites[site.id] = site
        self._count(site, site.count)

    def remove(self, site: SiteContext) -> bool:
        """Forget a site; returns whether it was here."""
        if self.sites.pop(site.id, None) is not None:
            self._count(site, -site.count)
            return True
        if self.aside.pop(site.id, None) is None:
            return False
        self.back.pop(site.id, None)
        self._count_asked(site, is_asked=False)
        self.room.unasked -= 1
        site.is_aside = False
        site.comes_back = False
        return True

    def changed(self, site: SiteContext, more: int) -> None:
        """Note that a site has so many seeds more, or fewer."""
        if not site.is_aside:
            self._count(site, more)

    def _count(self, site: SiteContext, more: int) -> None:
        self.held += more
        over = max(0, self.held - self._rules.capacity)
        self.room.over += over - self._over
        self._over = over
        if site.is_opening:
            self._opening += more

    def goes_on(self, site: SiteContext) -> None:
        """Note that a site has brought a page and has more to do: it needs its place from now on."""
        site.is_opening = False
        if not site.is_aside:
            self._opening -= site.count
        self.room.opened(needs_place=True)

    def ends(self, site: SiteContext) -> bool:
        """Forget a site that is let go of; returns whether it was here."""
        if site.is_opening:
            self.room.opened(needs_place=False)
        return self.remove(site)

    def give_up(self, site: SiteContext) -> bool:
        """Let a site that only waits go without a place; returns whether there was room to wait."""
        if site.is_aside or not self._has_room(site):
            return False
        self.remove(site)
        self.aside[site.id] = site
        self.room.unasked += 1
        site.is_aside = True
        self.recount(site)
        return True

    def _has_room(self, site: SiteContext) -> bool:
        if site.in_flight:
            return self.room.left + min(site.count, self._over) >= 1
        return self.room.unasked < self.room.most_unasked

    def may_ask(self, site: SiteContext) -> bool:
        """Whether a site may be asked: not where it has no place, and others use all connections."""
        return not site.is_aside or site.id in self._asked or self.room.left >= 1

    def recount(self, site: SiteContext) -> None:
        """Note whether a site that has no place is asked now."""
        if site.is_aside:
            self._count_asked(site, is_asked=site.in_flight > 0)

    def _count_asked(self, site: SiteContext, *, is_asked: bool) -> None:
        if is_asked is (site.id in self._asked):
            return
        if is_asked:
            self._asked.add(site.id)
            self.room.taken += 1
            self.room.unasked -= 1
        else:
            self._asked.remove(site.id)
            self.room.taken -= 1
            self.room.unasked += 1

    def comes_back(self, site: SiteContext) -> None:
        """Note that a site needs a place again; it keeps its turn if it has come back before."""
        self.back[site.id] = site
        site.comes_back = True

    @property
    def first_back(self) -> SiteContext | None:
        """The site that has waited for a place for longest, if there is one."""
        return next(iter(self.back.values())) if self.back else None

    @property
    def has_place_for_first(self) -> bool:
        """Whether there is a place for the first site that has come back."""
        site = self.first_back
        return site is not None and self.free >= min(max(1, site.count), self._rules.capacity)

    def let_back(self) -> SiteContext | None:
        """Give the first site that has come back its place, and return it; None if there is none, or no place."""
        site = self.first_back
        if site is None or not self.has_place_for_first:
            return None
        self.remove(site)
        self.add(site)
        return site


def only_waits(site: SiteContext, at: float, now: float, soon: float) -> bool:
    """Tell whether a site that was just visited has nothing to do but to wait; `at` is when it is visited next.

    A request of `soon` seconds ago is waited for; inf: whoever is asked has a place.
    """
    if site.going or site.listing or site.queued or site.arrived:
        return False
    if site.in_flight:
        return is_patient(site) and now >= site.asked_at + soon
    if site.waiting:
        # Whoever has answered keeps its place for a name: that may be out of date again before it has another one.
        return not site.slowest_ms and any(origin.pending for origin in islice(site.origins.values(), _ORIGINS))
    if site.queues_at is not None:
        return not site.queues_at.is_new
    return at != inf and at - now > max(_LONG, site.pause)


def look_after(site: SiteContext, now: float, soon: float) -> float:
    """Return when to see whether a request that was just made keeps its site waiting; inf: that need not be seen."""
    if not (site.in_flight and is_patient(site)) or now >= site.asked_at + soon:
        return inf
    return site.asked_at + soon


def has_pages(site: SiteContext) -> bool:
    """Whether a seed of the site that is in work has brought a page, under whatever owner."""
    return any(party.counts.pages for party in site.parties)


def is_patient(site: SiteContext) -> bool:
    """Whether a host may let its site wait for long: it never answered, fails, or is known to be slow."""
    return not site.slowest_ms or site.asked_slowly or bool(site.health.failures)
