"""What a page may take while it is shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from scrawler.features.browser.settings import BrowserSettings


@dataclass(frozen=True, slots=True)
class BrowserLimits:
    """How pages of a host are shown in a browser; times in seconds."""

    time: float  # that a page may take
    requests: int  # that a page may make, its own one aside
    delay: float  # between two of them to one host

    @classmethod
    def of(cls, settings: Any) -> BrowserLimits:
        """Return what the settings of a host say."""
        own = BrowserSettings.of(settings)
        return cls(own.browser_time, own.browser_requests, min(own.browser_delay, settings.delay))
