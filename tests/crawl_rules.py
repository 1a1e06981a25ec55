"""The settings that the crawling threads follow, for tests that build parts of a crawl themselves."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from scrawler.core.rules import CrawlRules
from scrawler.settings import Settings


def crawl_rules(**changes: Any) -> CrawlRules:
    """Return the default ones, but without pauses, retries and traps, and with changes."""
    quick = {"delay": 0.0, "retries": 0, "retry_pause_ms": 0, "traps": False}
    return replace(CrawlRules.of(Settings()), **(quick | changes))
