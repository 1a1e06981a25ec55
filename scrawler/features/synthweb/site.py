"""One site of the synthetic web: how many pages it has, how they hang together, how fast it answers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import NormalDist

from scrawler.features.synthweb.spec import WebSpec

FANOUT = 3  # children in the tree that leads to every page of a section: 40 pages are 3 deep, 1,000,000 are 13
PARETO_SHAPE = 1.2  # shape of the distribution of site sizes, near to what is measured on the real web
SPREAD = 2_654_435_769  # 2^32 over the golden ratio: its multiples are spread evenly (Knuth, volume 3, section 6.4)
_MASK = (1 << 64) - 1
_MASK_32 = (1 << 32) - 1


def mix(*numbers: int, begun: int = 0) -> int:
    """Hash small integers into 64 well-spread bits (multiply and shift, as in splitmix64).

    What is `begun` was made of those that come before.
    """
    value = begun
    for number in numbers:
        value = (value + number + 0x9E3779B97F4A7C15) & _MASK
        value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _MASK
        value ^= value >> 31
    return value


@dataclass(frozen=True, slots=True)
class Site:
    """Pages are numbered from 0, the home page; they fall into sections, each reached through its first page.

    Section 0 starts at the home page. Section 1, if there, links to section 0 but not the other way round; section 2
    is closed: no link leads into it or out of it inside the site. An alias has the pages of the site it redirects to.
    """

    index: int
    authority: str  # host, and port if it is not 80, as a URL has them
    pages: int
    starts: tuple[int, ...]  # first page of each section
    alias_of: int | None
    latency_s: float
    slow_share: float  # share of its pages that take seconds
    disallows_private: bool
    has_robots: bool
    dead: bool  # whether its host never answers

    def section(self, page: int) -> tuple[int, int, int]:
        """Return number, first page and size of the page's section."""
        starts = self.starts
        for number in range(len(starts) - 1, 0, -1):
            if page >= starts[number]:
                end = starts[number + 1] if number + 1 < len(starts) else self.pages
                return number, starts[number], end - starts[number]
        return 0, 0, starts[1] if len(starts) > 1 else self.pages

    def private(self, page: int) -> bool:
        """Whether the page is in /private/, which some sites' robots.txt disallows; never a section's first page."""
        return page % 29 == 11 and page not in self.starts

    def children(self, page: int) -> Iterator[int]:
        """Yield the pages below `page` in its section's tree.

        Private pages are leaves: what would hang below one hangs below its parent too, so that every other page stays
        reachable for a crawler that obeys robots.txt.
        """
        _, start, size = self.section(page)
        waiting = [page - start]
        while waiting:
            first = waiting.pop() * FANOUT + 1
            for local in range(first, min(first + FANOUT, size)):
                yield start + local
                if self.private(start + local):
                    waiting.append(local)


class SiteSizes:
    """Bounded Pareto sizes with the mean that the spec asks for, dealt to sites in a fixed shuffled order."""

    def __init__(self, spec: WebSpec) -> None:
        self._sites = spec.sites
        self._mean = spec.mean_pages
        self._high = float(spec.max_pages or 50 * spec.mean_pages)
        self._equal = spec.equal or spec.sites == 1 or self._high == spec.mean_pages
        self._low = 0.0 if self._equal else self._fit_low()
        self._seed = spec.seed

    def pages(self, site: int) -> int:
        """Return how many pages the site has, at least 1."""
        if self._equal:
            return self._mean
        return max(1, round(self._quantile((self._rank(site) + 0.5) / self._sites)))

    def _rank(self, site: int) -> int:
        """Shuffle without a table: a Feistel network permutes a power of four, walked until it is within range."""
        half = (max(1, self._sites - 1).bit_length() + 1) // 2
        mask = (1 << half) - 1
        while True:
            left, right = site >> half, site & mask
            for turn in range(4):
                left, right = right, left ^ (mix(self._seed, right, turn, 1) & mask)
            site = left << half | right
            if site < self._sites:
                return site

    def _quantile(self, share: float) -> float:
        tail = 1 - share * (1 - (self._low / self._high) ** PARETO_SHAPE)
        return self._low / float(tail ** (1 / PARETO_SHAPE))

    def _fit_low(self) -> float:
        """Find the smallest size for which the distribution has the wanted mean, by halving."""
        low, high = self._mean * 1e-6, float(self._mean)
        for _ in range(60):
            middle = (low + high) / 2
            if _pareto_mean(middle, self._high) < self._mean:
                low = middle
            else:
                high = middle
        return low


def _pareto_mean(low: float, high: float) -> float:
    shape = PARETO_SHAPE
    scale = low**shape / (1 - (low / high) ** shape)
    mean: float = scale * shape / (shape - 1) * (low ** (1 - shape) - high ** (1 - shape))
    return mean


def section_starts(spec: WebSpec, pages: int) -> tuple[int, ...]:
    """Divide a site's pages into the main section and, if it is large enough, an open and a closed hidden one."""
    hidden = int(pages * spec.hidden)
    if hidden == 0:
        return (0,)
    main = pages - hidden
    closed = hidden // 2
    return (0, main, pages - closed) if closed else (0, main)


def latency_s(spec: WebSpec, site: int) -> float:
    """Draw the site's mean latency in seconds from a lognormal distribution with the spec's mean."""
    if spec.latency_ms == 0:
        return 0.0
    share = (mix(spec.seed, site, 2) >> 11) / (1 << 53)
    normal = NormalDist().inv_cdf(min(max(share, 1e-9), 1 - 1e-9))
    return spec.latency_ms / 1000 * math.exp(spec.latency_spread * normal - spec.latency_spread**2 / 2)


def dead_rule(spec: WebSpec) -> tuple[int, int]:
    """Return (start, least) of what `is_dead` reckons with."""
    return mix(spec.seed, 7) & _MASK_32, _MASK_32 + 1 - round(spec.dead_share * (_MASK_32 + 1))


def is_dead(spec: WebSpec, site: int) -> bool:
    """Tell whether a site's host never answers: its place on a ring, which multiples of an odd number fill evenly.

    In 32 bits, and with no more than one multiplication and one sum, for the kernel reckons it too (`unanswered`).
    """
    start, least = dead_rule(spec)
    return site * SPREAD + start & _MASK_32 >= least


def slow_share(spec: WebSpec, site: int) -> float:
    """Return the share of the site's pages that are slow: the same in all sites that have such, 0 in the others."""
    has_some = math.floor((site + 1) * spec.slow_sites + 0.5) > math.floor(site * spec.slow_sites + 0.5)
    return spec.slow_share / spec.slow_sites if has_some else 0.0


def slow_s(spec: WebSpec, site: int, page: int, share: float) -> float:
    """Draw whether a page of a site with this share of slow pages is one: then its answering time in seconds, else 0.

    Half the mean for sure, so that a crawler's patience can be chosen below all slow pages and above all others.
    """
    draw = mix(spec.seed, site, page, 6)
    if draw >> 44 >= share * (1 << 20):
        return 0.0
    rest = ((draw & 0xFFFFFFFF) + 0.5) / (1 << 32)
    return spec.slow_ms / 1000 * (0.5 - 0.5 * math.log(rest))
