"""The politeness clock: when a host may be asked again."""

from __future__ import annotations

import math

from scrawler.model import Millis


def next_due(finished_at: Millis, delay: float, crawl_delay: float | None = None, cap: float = 60.0) -> Millis:
    """Return when the next request is due: the longer of both delays after the last one finished.

    `delay` is the user's, `crawl_delay` that of robots.txt (None: none given), both in seconds. `cap` bounds the
    site's wish alone, so that it cannot hold a seed for ever; the user's own delay is never shortened.
    """
    wished = 0.0 if crawl_delay is None else min(crawl_delay, cap)
    return finished_at + math.ceil(max(delay, wished, 0.0) * 1000)


def slow_pause(elapsed: float, delay: float, factor: float, cap: float) -> float:
    """Return the pause that a host's last answer asks for, which took `elapsed`: `factor` times that, up to `cap`.

    All in seconds. A slow server is asked less often (as by Heritrix's delay factor). With `delay` 0 there is none:
    that says to ask as fast as the server answers.
    """
    return min(elapsed * factor, cap) if delay > 0 else 0.0
