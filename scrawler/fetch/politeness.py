"""The politeness clock: when a host may be asked again."""

from __future__ import annotations

import math


def pause(delay: float, crawl_delay: float | None = None) -> float:
    """Return the pause after a request, in seconds, rounded up to milliseconds: the longer of both delays.

    `delay` is the user's, `crawl_delay` that of robots.txt (None: none given), both in seconds. A site that asks for
    more than the user lets it is not crawled at all: nothing is cut short here.
    """
    longer = max(delay, crawl_delay or 0.0)
    return math.ceil(longer * 1000) / 1000 if longer > 0 else 0.0


def slow_pause(elapsed: float, delay: float, factor: float, cap: float) -> float:
    """Return the pause that a host's last answer asks for, which took `elapsed`: `factor` times that, up to `cap`.

    All in seconds. A slow server is asked less often (as by Heritrix's delay factor). With `delay` 0 there is none:
    that says to ask as fast as the server answers.
    """
    return min(elapsed * factor, cap) if delay > 0 else 0.0
