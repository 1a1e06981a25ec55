"""What a planned crawl is like: its sites, and the rules by which they are asked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from heapq import heappop, heappush
from math import inf, log, sqrt
from statistics import NormalDist
from typing import Any, NamedTuple

from scrawler.core.distribution.competition import FreeCompetition
from scrawler.errors import SettingsError
from scrawler.fetch.politeness import pause, slow_pause
from scrawler.settings import Settings

# Seconds of one core, measured on pages of 14 KB of the synthetic web, 40 sites of 200 pages without delay, and 1,500
# sites of one page; the parts differ by what parses a page.
CPU_PER_REQUEST = {"scanner": 0.0006, "lexbor": 0.0007, "html5lib": 0.0042}
CPU_PER_SEED = 0.001  # seconds of a core to claim a seed, take it up, ask for robots.txt and let go of it
ROWS_PER_REQUEST = 2.0  # rows of page and all other tables (candidate, relation, ...) on the same webs
DATABASE_ROWS = 50_000.0  # rows/s of SQLite or MariaDB in batches: about two thirds of the best ever measured

DISTRIBUTOR = "distributor"
# Ways of free competition, by the names of their settings; who compares others adds them.
COMPETITIONS: dict[str, type[FreeCompetition[Any]]] = {"free": FreeCompetition}

_NORMAL = NormalDist()
_FASTEST = 1e-4  # seconds; no answer is there at once
_JITTER = 0.1  # response times vary by this share, up and down
_GOLDEN = (5**0.5 - 1) / 2  # multiples of the golden ratio are spread evenly
_CYCLES = 64  # rounds of requests after which the rate of a site with several in flight is taken as steady


class Manners(NamedTuple):
    """How a site is asked."""

    delay: float
    delay_factor: float
    delay_cap: float
    per_site: int
    robots: bool

    @classmethod
    def of(cls, settings: Settings) -> Manners:
        """Return what settings say."""
        return cls(*(getattr(settings, name) for name in cls._fields))


class PlannedSite(NamedTuple):
    """A site to crawl: the requests that each of its seeds takes, robots.txt not among them; times in seconds."""

    requests: tuple[int, ...]
    response: float  # mean time from a request to the end of its answer
    crawl_delay: float = 0.0  # the Crawl-delay of its robots.txt
    deviation: float = 0.0  # standard deviation of the response time
    manners: Manners | None = None  # where its host has settings of its own
    answers: bool = True  # what is asked of a host that does not answer is no request that is done; `response` is spent

    @property
    def total(self) -> int:
        """Requests of all seeds."""
        return sum(self.requests)


class Pace(NamedTuple):
    """How fast a site may be asked if nothing else holds it up, in seconds."""

    busy: float  # seconds that a request is in flight
    cycle: float  # mean seconds from one request to the next


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRules:
    """The settings that decide how long a crawl takes, and what its machines can do; times in seconds."""

    delay: float = 1.0
    delay_factor: float = 2.0
    delay_cap: float = 30.0
    per_site: int = 1
    robots: bool = True
    machines: int = 1
    threads: int = 20
    seeds_per_thread: int = 10
    distribution: str = DISTRIBUTOR
    blocking: bool = False  # whether a thread downloads one page at a time
    cores: int = 1  # cores that all machines share
    cpu_per_request: float = CPU_PER_REQUEST["scanner"]
    cpu_per_seed: float = CPU_PER_SEED
    database_rows: float = DATABASE_ROWS
    supply: float = 0.0  # sites that become known in a second, from the first one on; 0: all are known at first
    together: bool = False  # sites that are claimed together are queued together: no address has to be found first
    haste: float = 1.0  # the pauses of hosts with settings of their own are so many times as long as these say

    def of(self, site: PlannedSite) -> PlanRules:
        """Return the rules that hold for a site: these, unless its host has settings of its own."""
        own = site.manners
        if own is None:
            return self
        own = own._replace(delay=own.delay * self.haste, delay_factor=own.delay_factor * self.haste)
        return replace(self, **own._asdict())

    def pause(self, site: PlannedSite) -> float:
        """Return the mean pause after an answer, by the crawl's own rule."""
        return self.of(site)._pause(site)

    def _pause(self, site: PlannedSite) -> float:
        least = pause(self.delay, site.crawl_delay)
        if not site.deviation:
            return max(least, slow_pause(site.response, self.delay, self.delay_factor, self.delay_cap))
        if not self.delay:
            return least
        factor, cap = self.delay_factor, self.delay_cap
        slow = longer(site.response, site.deviation, factor, least)
        return least + slow - (longer(site.response, site.deviation, factor, cap) if cap > least else slow)

    def pace(self, site: PlannedSite) -> Pace:
        """Return the pace that politeness allows."""
        busy, rest = max(site.response, _FASTEST), self.pause(site)
        rules = self.of(site)
        at_once = 1 if self.blocking else rules.per_site
        if at_once == 1:
            return Pace(busy, busy + rest)
        if not rest:
            return Pace(busy, busy / at_once)
        return Pace(busy, _cycle(busy, pause(rules.delay, site.crawl_delay), rest, at_once))

    def seconds(self, site: PlannedSite) -> float:
        """Return how long a site takes if nothing but politeness holds it up."""
        busy, cycle = self.pace(site)
        return (self.requests(site) - 1) * cycle + busy

    def requests(self, site: PlannedSite) -> int:
        """Return how many requests a site takes, with that for its robots.txt."""
        return site.total + self.of(site).robots

    def cost(self, site: PlannedSite) -> float:
        """Return the seconds of a core that a request takes, with its part of what each seed takes."""
        seeds = len(site.requests) * self.cpu_per_seed / max(1, self.requests(site))
        return self.cpu_per_request + seeds

    @property
    def processor(self) -> float:
        """Seconds of CPU that a machine gets in a second: the interpreter lock leaves it one core at most."""
        return min(1.0, self.cores / self.machines)

    @property
    def database_share(self) -> float:
        """Seconds of the database's time, which all machines share, that a machine's request takes."""
        return ROWS_PER_REQUEST / self.database_rows * self.machines

    @property
    def database_bound(self) -> bool:
        """Whether the database, and not the processor, is the first to have no time left."""
        return self.database_share > self.cpu_per_request / self.processor

    @property
    def places(self) -> int:
        """Seeds that all threads hold at most."""
        return self.machines * self.threads * self.seeds_per_thread


def plan_rules(settings: Settings, *, cores: int, cpu_per_request: float | None, database_rows: float) -> PlanRules:
    """Return the rules by the settings of a crawl on `cores` cores; `cpu_per_request` None: as measured for its parts.

    `database_rows` is how many rows a second the database takes. Of a part of another package it is not known what it
    takes, or whether it blocks: it is taken for what the default part is.

    Raises:
        SettingsError: seeds are distributed by a part of another package.
    """
    if settings.distribution != DISTRIBUTOR and settings.distribution not in COMPETITIONS:
        known = f"{', '.join(COMPETITIONS)} and {DISTRIBUTOR}"
        raise SettingsError(f"--distribution {settings.distribution} cannot be planned, only {known}")
    if cpu_per_request is None:
        cpu_per_request = CPU_PER_REQUEST.get(settings.extractor, CPU_PER_REQUEST["scanner"])
    return PlanRules(
        delay=settings.delay,
        delay_factor=settings.delay_factor,
        delay_cap=settings.delay_cap,
        per_site=settings.per_site,
        robots=settings.robots,
        machines=settings.machines,
        threads=settings.threads,
        seeds_per_thread=settings.seeds_per_thread,
        distribution=settings.distribution,
        blocking=settings.downloader == "requests",
        cores=cores,
        cpu_per_request=cpu_per_request,
        database_rows=database_rows,
    )


def longer(mean: float, deviation: float, factor: float, than: float) -> float:
    """Return by how much `factor` times a time is longer than another one, on the average (0 where it is not).

    The time has a lognormal distribution: what comes out is the formula of a call option's price.
    """
    if not (factor and mean):
        return 0.0
    sigma = sqrt(log(1 + (deviation / mean) ** 2))
    mean *= factor
    high = (log(mean / than) + sigma * sigma / 2) / sigma
    return mean * _NORMAL.cdf(high) - than * _NORMAL.cdf(high - sigma)


def _cycle(response: float, between: float, rest: float, at_once: int) -> float:
    """Return the mean time from one request to the next with several in flight.

    The next one starts `between` after the last one started, `rest` after the last one ended, and when fewer than
    `at_once` are in flight; it is played through, for answers and starts interlock. Response times vary a little: if
    they did not, an answer would come at the very moment of a start each time, and which is first makes a difference.
    """
    ends: list[float] = []
    due, started = 0.0, -inf
    wanted = _CYCLES * at_once
    half = 0.0
    for number in range(wanted):
        while ends and (ends[0] <= due or len(ends) == at_once):
            due = max(due, heappop(ends) + rest)
        started = due
        if number == wanted // 2:
            half = started
        heappush(ends, started + response * (1 + _JITTER * (2 * (number * _GOLDEN % 1) - 1)))
        due = started + between
    return (started - half) / (wanted - 1 - wanted // 2)
