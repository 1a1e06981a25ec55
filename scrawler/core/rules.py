"""The settings that the crawling threads follow, in one object for all: it can be changed while they run.

`CrawlRules` is a view of `Settings`: a field has the name of its setting, and takes its value from there.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from scrawler.model.scope import Scope
from scrawler.model.terms import Millis
from scrawler.settings import Settings


@dataclass(frozen=True, slots=True)
class SeedLimits:
    """Limits of one seed; None means no limit."""

    max_depth: int
    max_pages: int | None = None
    max_bytes: int | None = None
    max_time_ms: int | None = None


@dataclass(slots=True, kw_only=True)
class CrawlRules:
    """Times in seconds unless the name says otherwise. Guarded by the machine's turn."""

    scope: Scope
    delay: float
    per_site: int
    retries: int
    depth_buffer: int  # entries of a lane that are kept in memory to be read
    checkpoint_interval: float
    checkpoint_pages: int
    stop_timeout: float
    per_ip: int
    delay_per_ip: float
    delay_factor: float
    delay_cap: float
    max_crawl_delay: float
    max_retry_after: float
    max_pushbacks: int
    max_failures: int
    outage_patience: float
    timeout: float
    patience: float
    slow_timeout: float
    slow_delay: float
    slow_per_site: int
    slow_pass: str  # "party" or "crawl"
    obey_meta: bool
    cookies: bool
    accept: tuple[str, ...]  # media ranges; none: all
    insecure: bool
    sitemaps: str  # "off", "seed" or "also"
    traps: bool
    trap_pages: int
    trap_yield: float
    near_duplicates: str  # "off", "doubt" or "all"
    # What several settings say together, or in another unit.
    retry_pause_ms: int
    limits: SeedLimits
    capacity: int  # seeds that a collector holds at most
    www: bool  # www.example.org and example.org are one site
    most_in_flight: int = field(init=False)  # requests that a site may have, in whatever lane
    longest_retry_ms: Millis = field(init=False)  # pause of a URL before its last retry
    longest_rest_ms: Millis = field(init=False)  # of a site, whatever it asks for and however it fails

    @classmethod
    def of(cls, settings: Settings) -> CrawlRules:
        """Return the rules that settings make."""
        max_time_ms = None if settings.max_time is None else int(settings.max_time * 1000)
        derived: dict[str, Any] = {
            "retry_pause_ms": int(settings.retry_pause * 1000),
            "limits": SeedLimits(settings.max_depth, settings.max_pages, settings.max_bytes, max_time_ms),
            "capacity": settings.seeds_per_thread,
            "www": "www" in settings.normalise,
        }
        named = (one.name for one in fields(cls) if one.init and one.name not in derived)
        return cls(**{name: getattr(settings, name) for name in named}, **derived)

    def __post_init__(self) -> None:
        """Compute what is asked for with each request.

        A stored time that is farther off than the longest pause of its kind was never owed: the clock was set back
        after it was written.
        """
        self.most_in_flight = max(self.per_site, self.slow_per_site)
        self.longest_retry_ms = retry_pause_ms(self.retries + 1, self.retry_pause_ms)
        pauses = self.delay, self.slow_delay, self.delay_cap, self.max_crawl_delay, self.max_retry_after
        self.longest_rest_ms = max(int(max(pauses) * 1000), self.longest_retry_ms)

    def change_to(self, other: CrawlRules) -> None:
        """Take over all that another one says."""
        for one in fields(self):
            setattr(self, one.name, getattr(other, one.name))


def retry_pause_ms(attempt: int, first_pause_ms: int) -> int:
    """Pause before the next attempt: doubled each time, the same for all entries of one retry lane."""
    return int(first_pause_ms * 2 ** (attempt - 1))
