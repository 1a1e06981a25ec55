"""What the machine's sites have done, on its way to the checkpointer. Guarded by the machine's turn.

There is one clock for the machine: a site is handed over when its oldest change is old, or when it has many. What a
kill costs is bounded by that: the work of `checkpoint_interval` seconds at most, and of `MOST_ANSWERS` answers. Where
many sites have changed, they are handed over evenly, some each second or so. They all began within a second or two, so
that by age alone they would come at once: a commit of 2,000 sites took a second in which nothing could be asked for.
What ends meanwhile goes with the next of them.

Of a site that lists a page part by part nothing is handed over until its end: whoever takes the site over after a kill
finds all of that page, or nothing, and no part of it counts twice.
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Callable
from math import ceil, inf

from scrawler.core.durable.checkpointer import LINGER
from scrawler.core.party.context import SeedContext
from scrawler.core.party.site import SiteContext
from scrawler.core.rules import CrawlRules
from scrawler.model.deltas import SiteDelta

GIVEN = 0.02  # seconds a site that goes to another machine waits for company: that one may have nothing else to do
MOST_ANSWERS = 20_000  # so many answers of all sites together wait in memory
_SOON = 1.5  # seconds after which a machine with little to do hands a site over: people look at the database meanwhile
_SITES_A_SECOND = 12  # so many are handed over; where more have changed, each waits longer and brings more
# (2,000 sites at a page a second: a site of one page costs 400 us, of 15 pages 30 us a page; on five machines of 200
# sites, at a page in 2.4 s, MariaDB has two pages of a site at a time with 25 a second, five with 12)
_AT_A_TIME = 0.25  # seconds within which sites are handed over together, for they are committed together
# So long is it, in seconds, from one time at which some of many sites are handed over, be they old or not, to the next:
# as long as makes so many sites, which is when a commit's own statements cost little beside their rows.
_PACE = (0.5, 7.5)
_AT_ONCE = 150
_PAUSE = 0.5  # seconds between two commits of ends alone, where sites end all the time
_MANY = int(_SOON * _SITES_A_SECOND)  # changed sites; more cannot be handed over while their changes are young
# So many answers are handed over together where they are many. A page took 38 us in commits of 600, and 27 in those of
# 4,000: the fewer commits, the fewer times is a page of an index written. More at once would fill the checkpointer.
_ANSWERS_AT_ONCE = 4_000


class Handover:
    """Hands over the changes of sites: when they are old or many, when a server has asked for something, at their end.

    `submit(delta, seconds)` must not block; for so long the delta may wait to be committed with others. A party with
    `most_unsent` external URLs does not wait.
    """

    def __init__(
        self, submit: Callable[[SiteDelta, float], None], rules: CrawlRules, most_unsent: int = sys.maxsize
    ) -> None:
        self._submit = submit
        self._rules = rules
        self._most_unsent = most_unsent
        self._unsaved: OrderedDict[SiteContext, float] = OrderedDict()  # since when, machine time; the oldest first
        self._answers = 0  # how many answers all these sites hold back
        self._share_at = -inf  # machine time from which on some of many are handed over, be they old or not
        # How many had changed when some of many were handed over last; 0: no more than a few. Those come back soon:
        # without them the others would seem to be few, and be handed over a second later, at half the age allowed.
        self._shared = 0
        self._ends_at = -inf  # machine time at which the ends that were handed over last are committed
        self.next_at = inf  # machine time at which `checkpoint` has something to do; threads ask for it at each turn

    def _longest_age(self) -> float:
        """Return the seconds for which a change may wait now: the longer, the more sites have changed."""
        return min(self._rules.checkpoint_interval, max(_SOON, max(len(self._unsaved), self._shared) / _SITES_A_SECOND))

    def changed(self, site: SiteContext, now: float) -> None:
        """Note that a site may have something to hand over."""
        if site not in self._unsaved and site.has_news:
            self._add(site, now)

    def answered(self, site: SiteContext, party: SeedContext | None, now: float) -> None:
        """Note that an answer, or a part of a long page, has been applied; hand over what must not wait."""
        if site not in self._unsaved:
            if not site.has_news:
                return
            self._add(site, now)
        site.unsaved += 1
        self._answers += 1
        if self._answers >= MOST_ANSWERS:
            self._plan()
        if site.told or (party is not None and self._is_much(party)):
            self.changes(site, now)

    def _is_much(self, party: SeedContext) -> bool:
        """Whether a party has so much to hand over that it does not wait."""
        return party.weight >= self._rules.checkpoint_pages or party.unsent >= self._most_unsent

    def checkpoint(self, now: float) -> None:
        """Hand over the sites whose changes are old, or the oldest of too many, as is to be done at `next_at`."""
        whole = share = self._share(now)
        due = now + _AT_A_TIME - self._longest_age()
        before = self._answers
        may_stay = before - _ANSWERS_AT_ONCE if before >= MOST_ANSWERS else before
        while self._unsaved:
            if share > 0 and before - self._answers >= _ANSWERS_AT_ONCE:
                self._share_at = now + (self._share_at - now) * (whole - share) / whole  # the others of them sooner
                share = 0
            site, since = next(iter(self._unsaved.items()))
            # A site that lists comes back to the end as changed just now: without the first question, whatever the
            # interval is, it would come round for ever.
            if since >= now or (since > due and share <= 0 and self._answers <= may_stay):
                break
            self.changes(site, now)
            share -= 1
        self._plan()

    def _share(self, now: float) -> int:
        """Note how many sites have changed; return how many of many to hand over now, so that none is too old."""
        sites = len(self._unsaved)
        if now < self._share_at:
            return 0
        self._shared = sites if sites > _MANY else 0
        if not self._shared:
            return 0
        age = self._longest_age()
        least, most = _PACE
        pace = min(most, age / 2, max(least, _AT_ONCE * age / sites))
        self._share_at = now + pace
        return ceil(sites * pace / age)

    def changes(self, site: SiteContext, now: float, *, wait: float = LINGER) -> None:
        """Hand over what a site has not yet handed over, unless a page of it is listed in part."""
        self._forget(site)
        if site.listing:
            self._add(site, now)
            return
        site.told = False
        delta = site.take_delta(now)
        if delta is not None and not site.lost:
            self._give(delta, wait)

    def ends(self, site: SiteContext, now: float) -> None:
        """Hand over what a site has not yet handed over, some parties of which have come to their end."""
        self.changes(site, now, wait=self._until_others(site, now))

    def release(self, site: SiteContext, now: float, resting: bool = False) -> None:
        """Give a site back to the database."""
        wait = GIVEN if site.going else self._until_others(site, now)
        self._forget(site)
        delta = site.take_delta(now, released=True, resting=resting)
        if delta is not None and not (site.lost or site.listing):
            self._give(delta, wait)
        site.lost = True  # the database has it back
        site.forget()

    def _give(self, delta: SiteDelta, wait: float) -> None:
        moves = any(one.rehoming for one in delta.seeds)
        self._submit(delta, LINGER if moves else wait)  # a seed that moves can be claimed only then

    def _until_others(self, site: SiteContext, now: float) -> float:
        """Return for how many seconds what is over may wait: many sites are handed over in a while, and it with them.

        One by one the ends of small sites would make a commit a second, whose statements cost more than their rows.
        """
        if site.told or site.going or site.guest_at:  # others may be waiting for it
            return LINGER
        if len(self._unsaved) <= _MANY:
            return self._until_other_ends(now)
        # They take it with them: were it due when they are handed over, it would be committed a moment before them.
        until = min(self._share_at + _AT_A_TIME, self._unsaved.get(site, now) + self._longest_age())
        return max(LINGER, until - now)

    def _until_other_ends(self, now: float) -> float:
        """Return for how many seconds an end waits for others alone: not for long, if there was none just before."""
        if now >= self._ends_at:
            self._ends_at = max(now + LINGER, self._ends_at + _PAUSE)
        return max(LINGER, self._ends_at - now)

    def _add(self, site: SiteContext, now: float) -> None:
        self._unsaved[site] = now
        if len(self._unsaved) in (1, _MANY + 1):  # every other one lets the oldest wait for longer, if it changes that
            self._plan()

    def _forget(self, site: SiteContext) -> None:
        self._unsaved.pop(site, None)
        self._answers -= site.unsaved
        site.unsaved = 0
        self._plan()

    def _plan(self) -> None:
        """Set when the next site is to be handed over."""
        oldest = next(iter(self._unsaved.values()), inf)
        if self._answers >= MOST_ANSWERS or not self._unsaved:
            self.next_at = oldest
            return
        self.next_at = oldest + self._longest_age()
        if self._shared or len(self._unsaved) > _MANY:
            self.next_at = min(self.next_at, self._share_at)
