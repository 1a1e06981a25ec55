"""Seeds: from the store to the machine, and with their ends and counts back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from operator import attrgetter


class SeedState(StrEnum):
    """Life of a seed: ready (waits for a machine) -> active (a party in work) -> done (has an end reason).

    With slow_pass "crawl" a party of which only the slow lane is left waits as slow, and is then active again.
    """

    READY = "ready"
    ACTIVE = "active"
    SLOW = "slow"
    DONE = "done"


class EndReason(StrEnum):
    """Why a seed is done."""

    COMPLETED = "completed"  # every listed URL has its final result
    COVERED = "covered"  # its URL was fetched already for another seed of the site
    MAX_DEPTH = "max-depth"  # all is fetched, but links below the depth limit were left out
    ENDLESS = "endless"  # its pages led to made-up ones without an end, which were left out; all else is fetched
    MAX_PAGES = "max-pages"
    MAX_BYTES = "max-bytes"
    MAX_TIME = "max-time"
    NO_ADDRESS = "no-address"  # the name has no address
    PRIVATE_ADDRESS = "private-address"  # loopback, private or reserved, and not allowed
    DEAD = "dead"  # no connection, timeout, cut: the seed URL, or too many URLs in a row
    PUSHED_BACK = "pushed-back"  # its site has refused too many times in a row: 429, 503, 403, a wall, cut connections
    HTTP_ERROR = "http-error"  # the seed URL answered with 4xx or 5xx
    UNWANTED_TYPE = "unwanted-type"  # the seed URL has a media type that is not accepted
    ROBOTS_DENIED = "robots-denied"  # robots.txt forbids the seed URL
    ROBOTS_UNAVAILABLE = "robots-unavailable"  # robots.txt answered 5xx (RFC 9309, 2.3.1.4)
    CRAWL_DELAY = "crawl-delay"  # robots.txt asks for a longer pause than is kept
    REDIRECTED = "redirected"  # the seed's redirects loop, are too many, or leave http
    OUTSIDE_BOUNDARY = "outside-boundary"  # the seed redirects to what may not enter the crawl
    SEEN_MEMORY = "seen-memory"  # the ceiling of the machine's seen filters was reached
    ELSEWHERE = "elsewhere"  # its site is another agent's, which has crawled it
    SKIPPED = "skipped"  # the user wants nothing of it now
    INTERNAL_ERROR = "internal-error"  # too many of its answers met a fault of this program


@dataclass(slots=True)
class SeedCounts:
    """Counts of one seed ("fetched for this seed").

    pages + redirects + not_modified + http_errors + failures + denied + unwanted + trapped = page rows.
    """

    requests: int = 0  # attempts, good or bad, robots.txt not among them
    pages: int = 0  # final result fetched
    redirects: int = 0
    http_errors: int = 0
    failures: int = 0  # too-large, cut, timeout, connect-failed, ...
    denied: int = 0  # robots-denied, robots-unavailable
    unwanted: int = 0  # unwanted-type
    trapped: int = 0  # trap
    retries: int = 0
    bytes: int = 0  # body bytes over the wire, all attempts
    listed: int = 0  # URLs appended to the party's list
    revisits: int = 0  # pages whose payload was archived before
    candidates: int = 0  # external links handed back
    near_duplicates: int = 0  # pages with the flag of this name
    noindex: int = 0  # pages with the flag of this name
    nofollow: int = 0  # pages with the flag of this name
    assets: int = 0  # URLs listed as images, scripts or styles
    sitemap_urls: int = 0  # URLs listed from sitemaps
    pushed_back: int = 0  # answers by which its site refused: 429, 503, and what was found to be a refusal of all
    slowed: int = 0  # URLs put off to the slow lane
    slow_pages: int = 0  # pages fetched in the slow lane
    wait_ms: int = 0  # time in which something could have been fetched, but for politeness
    internal_errors: int = 0  # answers that met a fault of this program, those of robots.txt among them
    not_modified: int = 0  # not-modified
    saved: int = 0  # bytes of bodies that did not come again (304), or that an earlier crawl has archived

    def copy(self) -> SeedCounts:
        """Return the same numbers, to be kept as they are now."""
        return SeedCounts(*_numbers(self))


_numbers = attrgetter(*(one.name for one in fields(SeedCounts)))  # so a copy takes a fifth of `dataclasses.replace`


@dataclass(frozen=True, slots=True)
class Seed:
    """A row of the table seed, as a machine needs it."""

    id: int
    site_id: int
    url: str  # its normalised URL, as it was imported
    home_url: str  # where the party starts: url, or where its redirects led
    rehomed: int  # redirects followed to get there, across sites
    hops: int  # 0: given by the user; n: found n sites away
    state: SeedState = SeedState.READY
    end_reason: EndReason | None = None
    counts: SeedCounts = field(default_factory=SeedCounts)
    verdicts: Mapping[str, int] = field(default_factory=dict)  # URL verdict reason -> times
    elapsed_ms: int = 0  # time in work so far, for max_time
    slow_pass: bool = False  # whether its slow lane has waited, and is to be fetched now
    base_depth: int = 0  # links from a user's seed to its own URL, where that came from another site
    reopened: int = 0  # times that it went on after its end, for URLs that came from other sites
    round: int = 0  # how many times its URLs were visited again
