"""What features tell of how a crawl stands: they offer it at the place "status"."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from scrawler.api.bare import BareCrawl
from scrawler.feature import hooked


class Standing(NamedTuple):
    """What is told of a feature: values for programs, by name, and lines for people, by what stands before them."""

    values: Mapping[str, Any] = {}
    lines: Mapping[str, str] = {}


class TellStanding(Protocol):
    """Tells how a crawl stands, as far as a feature knows."""

    def __call__(self, crawl: BareCrawl, /) -> Standing:
        """Raises StoreError."""
        ...


def standing(crawl: BareCrawl) -> Standing:
    """Return what all features tell of a crawl."""
    values: dict[str, Any] = {}
    lines: dict[str, str] = {}
    for tell in hooked("status"):
        told: Standing = tell(crawl)
        values.update(told.values)
        lines.update(told.lines)
    return Standing(values, lines)
