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
