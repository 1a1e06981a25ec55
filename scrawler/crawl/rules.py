"""The settings that the crawling threads follow, in one object for all: it can be changed while they run."""

from __future__ import annotations

from dataclasses import dataclass, fields

from scrawler.crawl.decisions import SeedLimits
from scrawler.model import Scope


@dataclass(slots=True)
class CrawlRules:
    """Times in seconds unless the name says otherwise. Guarded by the machine's turn."""

    scope: Scope
    delay: float
    per_site: int
    retries: int
    retry_pause_ms: int
    limits: SeedLimits
    capacity: int  # seeds that a collector holds at most
    checkpoint_interval: float
    checkpoint_rows: int
    stop_timeout: float
    per_ip: int = 8
    delay_per_ip: float = 0.0
    delay_factor: float = 0.0
    delay_cap: float = 30.0
    max_crawl_delay: float = 60.0
    max_retry_after: float = 3600.0
    max_pushbacks: int = 5
    max_failures: int = 10
    timeout: float = 60.0
    patience: float = 0.0
    slow_timeout: float = 100.0
    slow_delay: float = 3.0
    slow_per_site: int = 1
    slow_pass: str = "party"  # or "crawl"
    obey_meta: bool = True
    cookies: bool = True
    accept: tuple[str, ...] = ()  # media ranges; none: all
    insecure: bool = False
    sitemaps: str = "off"  # or "seed", "also"
    www: bool = False  # www.example.org and example.org are one site
    traps: bool = False
    trap_pages: int = 50
    trap_yield: float = 0.1
    near_duplicates: str = "off"  # or "doubt", "all"

    @property
    def most_in_flight(self) -> int:
        """Requests that a site may have in flight, in whatever lane."""
        return max(self.per_site, self.slow_per_site)

    def timeout_of(self, slow: bool) -> float:
        """Return the seconds that a request, of the slow lane or not, may take; 0: the downloader's own limit."""
        if slow:
            return self.slow_timeout
        return self.patience if self.patience < self.timeout else 0.0

    def change_to(self, other: CrawlRules) -> None:
        """Take over all that another one says."""
        for field in fields(self):
            setattr(self, field.name, getattr(other, field.name))
