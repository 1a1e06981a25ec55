"""Declares the hidden web."""

from typing import Any

from scrawler.feature import Feature


def _is_on(settings: Any) -> bool:
    return settings.hidden or any(table.get("hidden") for table in settings.sites.values())


FEATURE = Feature(
    name="hidden",
    about="Asks the search forms of a site for words of its own pages, and follows what they bring: the hidden web.",
    is_on=_is_on,
    settings="scrawler.features.hidden.settings:HiddenSettings",
    groups={"crawl": ("hidden", "hidden_queries")},
    version=1,
    hooks={
        "build": "scrawler.features.hidden.step:build",
        "report": "scrawler.features.hidden.telling:sections",
        "why": "scrawler.features.hidden.telling:facts",
    },
)
