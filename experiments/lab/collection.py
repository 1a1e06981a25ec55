"""A collection of copies of pages that change, over days of virtual time: visited by a policy, within a budget."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from random import Random
from statistics import fmean
from typing import NamedTuple

import numpy as np

from scrawler.features.revisit.policies.estimator import DAY_S, UNKNOWN, Checks, SiteRates, estimate
from scrawler.features.revisit.policies.policy import Bounds, Demand, age_s, freshness
from scrawler.features.revisit.policies.schedule import Policy, Visited, next_visit
from scrawler.features.synthweb.changes import Changes, PageChanges
from scrawler.features.synthweb.spec import WebSpec

SITE_PAGES = 200
_BOUNDS = Bounds(3_600.0, 365 * DAY_S)


class Web(NamedTuple):
    """Pages that change, and how often they can be visited."""

    name: str
    pages: int
    days: int
    every_days: float  # the budget: so often on the average can each page be visited
    spec: WebSpec


class Arm(NamedTuple):
    """A policy, and whether it knows how often pages change, or learns it."""

    policy: Policy
    knows: bool

    @property
    def name(self) -> str:
        """What it is called in tables."""
        if self.policy not in (Policy.PROPORTIONAL, Policy.OPTIMAL):
            return str(self.policy)
        return f"{self.policy}, {'true rates' if self.knows else 'learned'}"


class Course(NamedTuple):
    """What came of an arm, day by day."""

    visits: int
    fresh: list[float]  # share of the copies that are up to date
    ages: list[float]  # mean age of copies in days


def run(web: Web, arm: Arm) -> Course:
    """Visit the pages of a web by a policy, as often as the budget allows: always the page that is due first.

    What is there at the beginning is fetched then. Visits come at equal times, so that all policies have as many,
    whatever they ask for; who is not due yet is visited early, and who is due waits where the policy asks for too much.
    """
    pages = _pages(web)
    collection = Collection(pages, arm, web.pages / (web.every_days * DAY_S))
    pause = web.every_days * DAY_S / web.pages
    fresh, ages, visits = list[float](), list[float](), 0
    for day in range(1, web.days + 1):
        while (visits + 1) * pause <= day * DAY_S:
            visits += 1
            collection.visit(visits * pause)
        stale_s = collection.stale_s(day * DAY_S)
        fresh.append(float((stale_s == 0).mean()))
        ages.append(float(stale_s.mean()) / DAY_S)
    return Course(visits, fresh, ages)


class Home:
    """The home page of a site: it leads to all others, and changes as well when one of them comes or goes."""

    def __init__(self, own: PageChanges, others: Sequence[PageChanges], days: int) -> None:
        """Take its own changes, the other pages, and the time that counts."""
        ends = (end for page in others for end in page.life if 0.0 < end < days * DAY_S)
        self._own = own
        self._turns = sorted(ends)
        self.rate = own.rate + len(self._turns) / (days * DAY_S)
        self.life = own.life

    def next(self, after: float) -> float:
        """Return the time of the next change, later than `after`."""
        turn = bisect_right(self._turns, after)
        own = self._own.next(after)
        return min(own, self._turns[turn]) if turn < len(self._turns) else own


def _pages(web: Web) -> list[PageChanges | Home]:
    """Return the pages of all sites, of which the first of each is its home page."""
    changes = Changes(web.spec)
    found: list[PageChanges | Home] = []
    for first in range(0, web.pages, SITE_PAGES):
        count = min(SITE_PAGES, web.pages - first)
        others = [changes.of(first // SITE_PAGES, page, is_leaf=True) for page in range(1, count)]
        found += [Home(changes.of(first // SITE_PAGES, 0), others, web.days), *others]
    return found


class Collection:
    """Copies of pages, and when each is due; a page's state is what a database would hold of it.

    A page that comes is found by the next visit to its site's home page, and visited then; one that is found gone is
    visited no more.
    """

    def __init__(self, pages: Sequence[PageChanges | Home], arm: Arm, budget: float) -> None:
        """Fetch all pages at time 0, and spread the first visits over the time that a round takes."""
        self._pages = pages
        self._arm = arm
        self._born = np.array([page.life.born for page in pages])
        self._gone = np.array([page.life.gone for page in pages])
        self._held = (self._born <= 0.0) & (self._gone > 0.0)  # of what there are copies
        # When each copy ceases to be up to date; what there is no copy of is not since it came.
        self._stale_at = np.where(self._held, [min(page.next(0.0), page.life.gone) for page in pages], self._born)
        self._awaited: dict[int, list[int]] = {}  # pages that come, by site, the last first
        for page in np.flatnonzero(self._born > 0.0)[np.argsort(-self._born[self._born > 0.0])]:
            self._awaited.setdefault(int(page) // SITE_PAGES, []).append(int(page))
        self._visited = [0.0] * len(pages)
        self._checks = [Checks()] * len(pages)
        self._moments = [SiteRates()] * len(pages)
        self._sites = [SiteRates()] * (len(pages) // SITE_PAGES + 1)
        first = [max(page.rate, 1e-10) if arm.knows else UNKNOWN.mean for page in pages]
        self._rates = first
        self._demand = Demand(budget, _BOUNDS)
        held = [int(page) for page in np.flatnonzero(self._held)]
        for page in held:
            self._demand.add(first[page], 1.0)
        random = Random(1)
        self._due = []
        for page in held:
            due = next_visit(arm.policy, Visited(first[page]), self._demand)
            self._due.append((random.random() * due.after_s, page))
        heapify(self._due)

    def stale_s(self, now: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """Return how long each page that is there, or of which there is a copy, has not been up to date."""
        counted = self._held | ((self._born <= now) & (self._gone > now))
        return np.maximum(0.0, now - self._stale_at[counted])

    def visit(self, now: float) -> None:
        """Visit the page that is due first."""
        _, page = heappop(self._due)
        if self._gone[page] <= now:
            self._leave(page)
            return
        if not self._held[page]:
            self._held[page] = True
            self._demand.add(self._rates[page], 1.0)
        elif not self._arm.knows:
            self._learn(page, now - self._visited[page], bool(self._stale_at[page] <= now))
        after_s = next_visit(self._arm.policy, Visited(self._rates[page]), self._demand).after_s
        self._visited[page] = now
        self._stale_at[page] = min(self._pages[page].next(now), self._gone[page])
        heappush(self._due, (now + after_s, page))
        if page % SITE_PAGES == 0:
            self._find(page // SITE_PAGES, now)

    def _find(self, site: int, now: float) -> None:
        """Find the pages that have come to a site: they are visited next."""
        awaited = self._awaited.get(site, [])
        while awaited and self._born[awaited[-1]] <= now:
            heappush(self._due, (0.0, awaited.pop()))

    def _leave(self, page: int) -> None:
        """Drop the copy of a page that is gone, if there is one."""
        if self._held[page]:
            self._held[page] = False
            self._demand.remove(self._rates[page], 1.0)

    def _learn(self, page: int, interval: float, changed: bool) -> None:
        site, checks = page // SITE_PAGES, self._checks[page].checked(interval, changed)
        moments = SiteRates().replaced(None, checks)
        self._sites[site] = self._sites[site].swapped(self._moments[page], moments)
        self._moments[page] = moments
        self._checks[page] = checks
        rate = estimate(checks, self._sites[site].prior()).per_s
        self._demand.replace(self._rates[page], rate, 1.0)
        self._rates[page] = rate


def theory(web: Web, policy: Policy) -> dict[str, float]:
    """Return freshness and age that the closed forms give for Poisson processes of known rates."""
    rates = [max(page.rate, 1e-10) for page in _pages(web)]
    demand = Demand(web.pages / (web.every_days * DAY_S), _BOUNDS)
    for rate in rates:
        demand.add(rate, 1.0)
    intervals = [next_visit(policy, Visited(rate), demand).after_s for rate in rates]
    return {
        "freshness in theory": fmean(map(freshness, rates, intervals)),
        "age in theory, days": fmean(map(age_s, rates, intervals)) / DAY_S,
    }
