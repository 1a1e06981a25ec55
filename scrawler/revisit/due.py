"""Policies of revisits: how long it is until a URL is visited again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from scrawler.model.terms import Millis
from scrawler.revisit.policy import Bounds, Demand
from scrawler.revisit.schedule import Policy, Visited, next_visit


@dataclass(frozen=True, slots=True)
class Seen:
    """What a policy is told of a URL, with the visit that is just over; times are UTC milliseconds."""

    now: Millis  # of that visit
    last_at: Millis  # of the visit before; 0: there was none
    interval_ms: int  # that the policy has said at the visit before; 0: none
    changed: bool  # whether this visit has found it changed
    visits: int  # with this one
    changes: int  # with this one
    known_since: Millis


class RevisitPolicy(Protocol):
    """Says when a URL is to be visited again. It must not block: it is asked for each page of a crawl that goes on."""

    def interval(self, seen: Seen) -> int:
        """Return the milliseconds from this visit to the next one; 0: never."""


@dataclass(frozen=True, slots=True)
class Off:
    """Nothing is due by itself."""

    def interval(self, seen: Seen) -> int:
        """Return 0."""
        return 0


@dataclass(frozen=True, slots=True)
class Fixed:
    """Each URL is visited again after the same time."""

    every_ms: int

    def interval(self, seen: Seen) -> int:
        """Return that time."""
        return self.every_ms


class Adaptive:
    """A URL that has changed is visited sooner next time, one that has not later, within bounds."""

    def __init__(self, first_ms: int, least_ms: int, most_ms: int) -> None:
        self._first_s = first_ms / 1000
        self._bounds = Demand(0.0, Bounds(least_ms / 1000, max(least_ms, most_ms) / 1000))

    def interval(self, seen: Seen) -> int:
        """Return what `schedule` makes of the interval before, which begins with the setting."""
        page = Visited(0.0, planned_s=seen.interval_ms / 1000, changed=seen.changed if seen.last_at else None)
        return int(next_visit(Policy.ADAPTIVE, page, self._bounds, self._first_s).after_s * 1000)


def make_policy(word: str, interval_ms: int, least_ms: int, most_ms: int) -> RevisitPolicy:
    """Return the policy of a name: off, fixed or adaptive."""
    if word == "fixed":
        return Fixed(interval_ms)
    if word == "adaptive":
        return Adaptive(interval_ms, least_ms, most_ms)
    return Off()
