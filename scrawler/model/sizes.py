"""What an earlier crawl knows of sites: from the store to the plan."""

from __future__ import annotations

from typing import NamedTuple


class SizedSite(NamedTuple):
    """What an earlier crawl knows of a site."""

    key: str
    requests: tuple[int, ...]  # what each seed that was begun has asked for so far, without robots.txt
    waiting: int  # so many seeds were not begun
    pages: int  # pages that were fetched for all seeds
    response_ms: float | None  # mean time of its answers; None where it gave none
    deviation_ms: float  # standard deviation of that time
    robots: tuple[bytes, ...]  # its robots.txt files, compressed (zlib)


class SiteLeft(NamedTuple):
    """What is left of a site while its crawl goes on."""

    sized: SizedSite
    asked: int  # requests of all its seeds that are behind it
    unfinished: int  # seeds that are not done
    rests: float  # seconds for which it is left alone yet


class CrawlLeft(NamedTuple):
    """Sites of a crawl that goes on: all of them, or one of every `step`, and those in work with the most left."""

    sites: tuple[SiteLeft, ...]
    step: int
    machines: int  # that live
    ended: int = 0  # seeds that have ended within the last minute ...
    ended_in: float = 0.0  # ... and the seconds since the first of them
