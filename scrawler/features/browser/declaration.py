"""Declares pages in a browser."""

from typing import Any

from scrawler.feature import Feature


def _is_on(settings: Any) -> bool:
    return settings.browser or any(table.get("browser") for table in settings.sites.values())


FEATURE = Feature(
    name="browser",
    about="Shows pages in headless Chromium, and follows the links that their scripts make.",
    is_on=_is_on,
    settings="scrawler.features.browser.settings:BrowserSettings",
    groups={
        "scripts": ("browser", "browser_time", "browser_requests", "browser_delay", "browser_pages", "chromium"),
    },
    hooks={
        "build": "scrawler.features.browser.wrapping:build",
        "validate": "scrawler.features.browser.wrapping:check",
    },
)
