"""Declares archives of earlier crawls."""

from typing import Any

from scrawler.feature import Feature


def _is_on(settings: Any) -> bool:
    return settings.dedup_from is not None


FEATURE = Feature(
    name="earlier",
    about="Asks for pages of an earlier crawl only if they have changed, and refers to what its archive holds.",
    is_on=_is_on,
    settings="scrawler.features.earlier.settings:EarlierSettings",
    groups={"files": ("dedup_from",)},
    hooks={
        "archives": "scrawler.features.earlier.referred:Referred",
        "build": "scrawler.features.earlier.building:build",
        "lost": "scrawler.features.earlier.lost:lost_references",
        "prepare": "scrawler.features.earlier.building:prepare",
        "report": "scrawler.features.earlier.telling:sections",
    },
)
