"""Crawls of a web with slow pages: how they are made, and what became of them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from experiments.lab.waits import Wait
from scrawler.features.synthweb.spec import WebSpec

PATIENCE = 3.0  # seconds of the first pass


@dataclass(frozen=True)
class Pass:
    """A way to treat slow pages; `patience` 0: in one pass."""

    name: str
    patience: float = PATIENCE  # seconds
    settings: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Trial:
    """One crawl; `scale` shortens patience, timeouts and pauses, as the slow pages of the web are faster."""

    profile: str
    way: Pass
    web: WebSpec
    scale: float = 1.0

    @property
    def name(self) -> str:
        """Name in the tables."""
        return f"{self.profile}: {self.way.name}"


class Course(NamedTuple):
    """What became of a crawl."""

    trial: Trial
    waits: list[Wait]
    truth: frozenset[str]  # pages that a crawler must have that waits until the timeout
    slow: frozenset[str]  # those of them, and later ones, that take longer than the patience
    used: Mapping[str, float]  # of the cores, in per cent, while it ran

    @property
    def fetched(self) -> list[float]:
        """When each page of the truth came, in order of time."""
        first: dict[str, float] = {}
        for wait in self.waits:
            if wait.came and wait.url in self.truth:
                first.setdefault(wait.url, wait.ended)
        return sorted(first.values())

    @property
    def seconds(self) -> float:
        """Length of the crawl, to the last wait."""
        return max((wait.ended for wait in self.waits), default=0.0)

    @property
    def first_pass(self) -> float | None:
        """End of the first pass, where it is one of all parties: the begin of the first second try."""
        again = [wait.began for wait in self.waits if wait.second and wait.url in self.slow]
        whole = (self.trial.way.settings or {}).get("slow_pass") == "crawl"
        return min(again) if whole and again else None

    def by(self, seconds: float) -> int:
        """Pages fetched by a time."""
        return bisect_right(self.fetched, seconds)

    def blocked(self, at: float) -> int:
        """Requests for slow pages under way at a time; in the classic profile each of them blocks a thread."""
        return sum(wait.began <= at < wait.ended and wait.url in self.slow for wait in self.waits)
