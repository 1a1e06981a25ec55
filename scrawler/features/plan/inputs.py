"""Puts together what is known of sites, and what is assumed of the others, into the sites of a plan."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from statistics import median
from typing import NamedTuple

from scrawler.core.rules import tables_of_site
from scrawler.features.plan.rules import Manners, PlannedSite
from scrawler.features.plan.sizes import AssumedSizes, drawn
from scrawler.fetch.robots_text import MAX_ROBOTS, read_robots
from scrawler.model.sizes import SizedSite
from scrawler.settings import Settings, of_tables
from scrawler.units import counted

RESPONSE = 0.5  # seconds; assumed where no answer is known
SIZES = AssumedSizes(40, spread=True)  # assumed where no site is known


@dataclass(frozen=True, slots=True)
class Limits:
    """What the settings say of single sites and seeds."""

    product_token: str
    max_crawl_delay: float
    max_pages: int | None

    def seed(self, requests: int) -> int:
        """Return how many requests a seed takes that would take so many."""
        return requests if self.max_pages is None else min(requests, self.max_pages)

    def crawl_delay(self, robots: Iterable[bytes]) -> float:
        """Return the longest Crawl-delay of robots.txt files (compressed) that is kept, 0 if there is none."""
        longest = 0.0
        for packed in robots:
            body = zlib.decompressobj().decompress(packed, MAX_ROBOTS) if packed else b""
            if b"delay" in body.lower():
                asked = read_robots(body, self.product_token).crawl_delay or 0.0
                longest = max(longest, asked if asked <= self.max_crawl_delay else 0.0)
        return longest


class OwnRules(NamedTuple):
    """What holds for a site whose host has settings of its own."""

    limits: Limits
    manners: Manners


@dataclass(slots=True)
class Inputs:
    """The sites of a plan, in the order in which they are claimed."""

    keys: list[str] = field(default_factory=list)
    sites: list[PlannedSite] = field(default_factory=list)
    pages: float = 0.0
    assumed: bytearray = field(default_factory=bytearray)  # 1 for each site whose size is assumed
    sizes: str = ""  # what was assumed, in words
    response: float | None = None  # what was assumed of sites whose response time is not known

    def add(self, key: str, site: PlannedSite, pages: float, assumed: bool) -> None:
        """Add a site."""
        self.keys.append(key)
        self.sites.append(site)
        self.assumed.append(assumed)
        self.pages += pages

    @property
    def seeds(self) -> int:
        """How many seeds they have."""
        return sum(len(site.requests) for site in self.sites)

    def part(self, numbers: Iterable[int]) -> Inputs:
        """Return only the sites with these numbers."""
        made = Inputs(sizes=self.sizes, response=self.response)
        for number in numbers:
            made.add(self.keys[number], self.sites[number], 0.0, bool(self.assumed[number]))
        return made

    def scaled(self, factor: float) -> list[PlannedSite]:
        """Return the sites, those of assumed sizes so many times as large."""
        return [
            site._replace(requests=tuple(max(1, round(size * factor)) for size in site.requests)) if assumed else site
            for site, assumed in zip(self.sites, self.assumed, strict=True)
        ]


class Gatherer:
    """Makes the sites of a plan from those that an earlier crawl knows, and from assumptions on the others.

    `sizes` and `response` (seconds) are assumed of sites of which nothing is known; if they are None, sizes like those
    of the known sites, and the median of their response times. `own` returns what holds for a site, by its key, whose
    host has settings of its own.
    """

    def __init__(
        self,
        known: Iterable[SizedSite],
        limits: Limits,
        sizes: AssumedSizes | None,
        response: float | None,
        own: Callable[[str], OwnRules | None] = lambda key: None,
    ) -> None:
        self._known = {site.key: site for site in known}
        self._limits = limits
        self._own = own
        begun = [sum(site.requests) for site in self._known.values() if site.requests]
        self._begun = [] if sizes else begun
        self._sizes = sizes or SIZES
        measured = [site.response_ms / 1000 for site in self._known.values() if site.response_ms is not None]
        self._response = response or (median(measured) if measured else RESPONSE)

    def all_known(self) -> Inputs:
        """Return all sites of the earlier crawl, with all their seeds."""
        return self.sites({key: len(site.requests) + site.waiting for key, site in self._known.items()})

    def sites(self, wanted: Mapping[str, int]) -> Inputs:
        """Return sites by their keys, each with so many seeds."""
        made = Inputs()
        strangers = sum(not self._is_sized(key) for key in wanted)
        sizes = drawn(self._begun) if self._begun else self._sizes.pages(strangers)
        if strangers:
            known = counted(len(self._begun), "known site")
            made.sizes = f"sizes like those of {known}" if self._begun else str(self._sizes)
        for key, seeds in wanted.items():
            if self._is_sized(key):
                self._add(made, key, _shares(self._known[key], seeds), self._known[key].pages)
            else:
                size = next(sizes)
                self._add(made, key, _split(size, seeds), size)
        return made

    def _is_sized(self, key: str) -> bool:
        return key in self._known and bool(self._known[key].requests)

    def _add(self, made: Inputs, key: str, requests: tuple[int, ...], pages: int) -> None:
        """Add a site that takes so many requests if there is no limit, of which so many are pages."""
        site, response, delay, deviation = self._known.get(key), self._response, 0.0, 0.0
        if site is None or site.response_ms is None:
            made.response = response
        else:
            response, deviation = site.response_ms / 1000, site.deviation_ms / 1000
        own = self._own(key)
        limits, manners = (self._limits, None) if own is None else own
        if site is not None and (manners is None or manners.robots):
            delay = limits.crawl_delay(site.robots)
        cut = tuple(map(limits.seed, requests))
        share = sum(cut) / max(1, sum(requests))
        made.add(key, PlannedSite(cut, response, delay, deviation, manners), pages * share, not self._is_sized(key))


def own_rules(settings: Settings, product_token: str) -> Callable[[str], OwnRules | None]:
    """Return a function that says what holds for a site, by its key, whose host has settings of its own."""

    @cache
    def of_tables_named(names: tuple[str, ...]) -> OwnRules:
        merged = of_tables(settings, names)
        return OwnRules(Limits(product_token, merged.max_crawl_delay, merged.max_pages), Manners.of(merged))

    def own(key: str) -> OwnRules | None:
        names = tables_of_site(settings, key)
        return of_tables_named(names) if names else None

    return own


def _shares(site: SizedSite, seeds: int) -> tuple[int, ...]:
    """Return the requests of so many seeds of a known site; whatever seeds they are, they find the same pages."""
    if seeds == len(site.requests):
        return site.requests
    return _split(sum(site.requests), seeds)


def _split(total: int, parts: int) -> tuple[int, ...]:
    least, more = divmod(total, parts)
    return (least + 1,) * more + (least,) * (parts - more)
