"""The settings of pages in a browser."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from scrawler.settings.kinds import DAY, ByHost, FeatureSettings, FileName, Own, Program, Seconds


class BrowserSettings(FeatureSettings):
    """Which pages are shown, in which Chromium, and what they may take."""

    browser: Annotated[bool, ByHost()] = Field(
        False, description="Show pages in headless Chromium: run their scripts, and follow the links that these make."
    )
    browser_time: Annotated[Seconds, ByHost()] = Field(
        30.0, ge=1, le=3600, description="Longest time of a page in the browser; then its scripts are stopped."
    )
    browser_requests: Annotated[int, ByHost()] = Field(
        100, ge=0, le=10_000, description="Most requests that a page in the browser may make; others are refused."
    )
    browser_delay: Annotated[Seconds, ByHost()] = Field(
        0.1, ge=0, le=DAY, description="Pause between two requests of pages to a host, if its delay is not shorter."
    )
    browser_pages: int = Field(2, ge=1, le=100, description="Pages that a machine shows in its browser at a time.")
    chromium: Annotated[FileName, Own(), Program()] = Field(
        None, description="Chromium to start; none: the one that is installed, or Playwright's own."
    )
