"""What an earlier crawl knows of sites: from the store to the plan."""

from __future__ import annotations

from typing import NamedTuple


class SizedSite(NamedTuple):
    """What an earlier crawl knows of a site."""

    key: str
    requests: tuple[int, ...]  # of each seed that was begun, robots.txt not among them; if it is not done: so far known
    waiting: int  # seeds that were not begun
    pages: int  # fetched for all of them
    response_ms: float | None  # mean over its answers; None: it gave none
    deviation_ms: float  # of these, their standard deviation
    robots: tuple[bytes, ...]  # its robots.txt files, compressed (zlib)
