"""Spans of time, such as that of a request from when it came to when it was answered; used by experiments, too."""

from __future__ import annotations

from collections.abc import Iterable


def most_at_once(spans: Iterable[tuple[float, float]]) -> int:
    """Return how many spans (begin, end) there are at a time at most.

    At the same moment one ends before another begins.
    """
    steps = sorted(step for begin, end in spans for step in ((begin, 1), (end, -1)))
    now = most = 0
    for _, step in steps:
        now += step
        most = max(most, now)
    return most
