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

    def change_to(self, other: CrawlRules) -> None:
        """Take over all that another one says."""
        for field in fields(self):
            setattr(self, field.name, getattr(other, field.name))
