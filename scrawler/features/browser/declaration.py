"""Declares pages in a browser."""

from scrawler.feature import Feature, on_for_any_host

FEATURE = Feature(
    name="browser",
    about="Shows pages in headless Chromium, and follows the links that their scripts make.",
    is_on=lambda settings: on_for_any_host(settings, "browser"),
    settings="scrawler.features.browser.settings:BrowserSettings",
    groups={
        "scripts": ("browser", "browser_time", "browser_requests", "browser_delay", "browser_pages", "chromium"),
    },
    hooks={
        "build": "scrawler.features.browser.wrapping:build",
        "validate": "scrawler.features.browser.wrapping:check",
    },
)
