"""The politeness clock: when a host may be asked again."""

from __future__ import annotations

import math

from scrawler.model import Millis


def next_due(finished_at: Millis, delay: float, crawl_delay: float | None = None) -> Millis:
    """Return when the next request is due: the longer of both delays after the last one finished.

    `delay` is the user's, `crawl_delay` that of robots.txt (None: none given), both in seconds. A site that asks for
    more than the user lets it is not crawled at all: nothing is cut short here.
    """
    return finished_at + math.ceil(max(delay, crawl_delay or 0.0, 0.0) * 1000)
