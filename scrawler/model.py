"""Data that travels between stages: states, reasons, seeds, lanes, page rows, deltas.

Times are UTC integer milliseconds. URLs are normalised absolute strings. A *position* counts a
party's entries from 0 in the order in which they were listed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import IntFlag, StrEnum
from hashlib import blake2b
from operator import attrgetter
from typing import Any, NamedTuple

Millis = int

BEAT_EVERY: Millis = 2_000  # between two heartbeats of a machine
SITEMAP_LANE = -3  # kind of the lane of a party's sitemaps
REFETCH_LANE = 1_000_000  # kinds from here on: URLs whose records were lost, asked for again for the archive alone

LEASE: Millis = 15_000  # after its last heartbeat, by the database's clock, for which a machine is believed to live


def url_hash(url: str) -> bytes:
    """Return the 16 bytes by which the database knows a URL (BLAKE2b; collisions cannot be made at will)."""
    return blake2b(url.encode("utf-8", "surrogatepass"), digest_size=16).digest()


class Scope(StrEnum):
    """What is internal to a party: the seed's host, its registrable domain, or its URL prefix."""

    HOST = "host"
    DOMAIN = "domain"
    PREFIX = "prefix"


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
    MAX_DEPTH = "max-depth"  # all fetched, but links below the depth limit were left out
    MAX_PAGES = "max-pages"
    MAX_BYTES = "max-bytes"
    MAX_TIME = "max-time"
    NO_ADDRESS = "no-address"  # the name has no address
    PRIVATE_ADDRESS = "private-address"  # loopback, private or reserved, and not allowed
    DEAD = "dead"  # no connection, timeout, cut: the seed URL, or too many URLs in a row
    PUSHED_BACK = "pushed-back"  # too many answers of 429 or 503 in a row
    HTTP_ERROR = "http-error"  # the seed URL answered with 4xx or 5xx
    UNWANTED_TYPE = "unwanted-type"  # the seed URL has a media type that is not accepted
    ROBOTS_DENIED = "robots-denied"  # robots.txt forbids the seed URL
    ROBOTS_UNAVAILABLE = "robots-unavailable"  # robots.txt answered 5xx (RFC 9309, 2.3.1.4)
    CRAWL_DELAY = "crawl-delay"  # robots.txt asks for a longer pause than is kept
    REDIRECTED = "redirected"  # the seed's redirects loop, are too many, or leave http
    SEEN_MEMORY = "seen-memory"  # the ceiling of the machine's seen filters was reached
    INTERNAL_ERROR = "internal-error"  # too many of its answers met a fault of this program


class MachineState(StrEnum):
    """Life of a machine: the first three say of themselves that they live, the others own nothing for long."""

    RUNNING = "running"
    PAUSED = "paused"  # starts no request, keeps its sites
    STOPPING = "stopping"  # finishes what is in hand, takes nothing up
    STOPPED = "stopped"  # ended by itself
    DEAD = "dead"  # its process is gone or its lease is over: others take its sites over


class Command(StrEnum):
    """What a machine is told to do, from the mildest to the strongest."""

    RUN = "run"
    PAUSE = "pause"  # start no request; keep the lease and the sites
    STOP = "stop"  # end cleanly: finish what is in hand within the deadline, save it, give the sites back
    DRAIN = "drain"  # take no more sites up, give those it has back, and end; the others go on
    REMOVE = "remove"  # end at once; its lease is not prolonged any more, so that it is dead soon even if it hangs


ENDING = (Command.STOP, Command.DRAIN, Command.REMOVE)


class Result(StrEnum):
    """What came of a download attempt, and, once final, of a URL."""

    FETCHED = "fetched"  # a whole answer with 2xx
    REDIRECT = "redirect"  # 3xx with a Location that is not empty
    HTTP_ERROR = "http-error"  # any other whole answer
    TOO_LARGE = "too-large"  # body stopped at max_body; what came is archived as truncated
    CUT = "cut"  # connection lost, or fewer bytes than announced
    TIMEOUT = "timeout"
    CONNECT_FAILED = "connect-failed"
    TLS_FAILED = "tls-failed"
    BAD_ANSWER = "bad-answer"  # not HTTP
    NO_ADDRESS = "no-address"
    PRIVATE_ADDRESS = "private-address"
    ROBOTS_DENIED = "robots-denied"
    ROBOTS_UNAVAILABLE = "robots-unavailable"
    UNWANTED_TYPE = "unwanted-type"  # its Content-Type is not accepted; the body was not downloaded
    TRAP = "trap"  # not asked for: its pattern has brought nothing new for long
    INTERNAL_ERROR = "internal-error"  # a fault of this program met its answer; the detail says which, and where

    @property
    def answered(self) -> bool:
        """Whether the server gave a whole HTTP answer."""
        return self in _ANSWERED


_ANSWERED = (Result.FETCHED, Result.REDIRECT, Result.HTTP_ERROR)
NO_ERROR = frozenset({Result.FETCHED, Result.REDIRECT, Result.UNWANTED_TYPE, Result.TRAP})  # all others count as errors


class PageFlag(IntFlag):
    """What else is to be said of a page."""

    NOINDEX = 1  # its robots meta or X-Robots-Tag forbids to index it
    NOFOLLOW = 2  # ... to follow its links
    INSECURE = 4  # fetched over TLS whose certificate was not checked
    SLOW = 8  # fetched in the slow lane
    ASSET = 16  # listed as an image, script or style of a page
    SITEMAP = 32  # asked for, or read, as a sitemap
    NEAR_DUPLICATE = 64  # says nearly what an earlier page of its pattern says
    TRUNCATED = 128  # only the beginning of its body came, whose links were read


@dataclass(slots=True)
class SeedCounts:
    """Counts of one seed ("fetched for this seed").

    pages + redirects + http_errors + failures + denied + unwanted + trapped = page rows.
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
    near_duplicates: int = 0  # pages flagged so
    noindex: int = 0  # pages flagged so
    nofollow: int = 0  # pages flagged so
    assets: int = 0  # URLs listed as images, scripts or styles
    sitemap_urls: int = 0  # URLs listed from sitemaps
    pushed_back: int = 0  # answers of 429 or 503
    slowed: int = 0  # URLs put off to the slow lane
    slow_pages: int = 0  # pages fetched there
    wait_ms: int = 0  # time in which something could have been fetched, but for politeness
    internal_errors: int = 0  # answers that met a fault of this program, those of robots.txt among them

    def copy(self) -> SeedCounts:
        """Return the same numbers, to be kept as they are now."""
        return SeedCounts(*_numbers(self))


_numbers = attrgetter(*(one.name for one in fields(SeedCounts)))  # a fifth of what `dataclasses.replace` costs


@dataclass(frozen=True, slots=True)
class Seed:
    """A row of the table seed, as a machine needs it."""

    id: int
    site_id: int
    url: str  # as imported (normalised)
    home_url: str  # where the party starts: url, or where its redirects led
    rehomed: int  # redirects followed to get there, across sites
    hops: int  # 0: given by the user; n: found n sites away
    state: SeedState = SeedState.READY
    end_reason: EndReason | None = None
    counts: SeedCounts = field(default_factory=SeedCounts)
    verdicts: Mapping[str, int] = field(default_factory=dict)  # URL verdict reason -> times
    elapsed_ms: int = 0  # time in work so far, for max_time
    slow_pass: bool = False  # it has waited with its slow lane, which is to be fetched now


class LaneState(NamedTuple):
    """A lane as the database keeps it: a list that only grows, and a cursor that only moves forward.

    `seed_id` is the seed that listed the entries, `holder_id` the seed that fetches them now.
    `kind` tells how its entries came there (see core/party/depth.py): 0 is the normal lane. `cursor` is the lowest
    position not finished; `ahead` lists finished positions beyond it.
    """

    seed_id: int
    kind: int
    holder_id: int
    cursor: int
    length: int
    ahead: tuple[int, ...] = ()


class ChunkRow(NamedTuple):
    """Entries `first` .. `first + count - 1` of a lane, compressed (the Depth URL File)."""

    seed_id: int
    kind: int
    seq: int
    first: int
    count: int  # type: ignore[assignment]  # hides tuple.count, which nobody wants here
    data: bytes


class PageRow(NamedTuple):
    """The final result of one URL; `warc_file` is empty where nothing was archived."""

    seed_id: int  # fetched for this seed
    url_hash: bytes
    url: str
    depth: int
    lane_seed: int  # listed by this seed ...
    position: int  # ... at this position of its normal lane; -1, -2, ...: of that of its sitemaps
    result: str  # a Result
    status: int  # HTTP status, 0 for none
    content_type: str  # media type without parameters, lower case
    length: int  # body bytes over the wire
    digest: bytes  # SHA-1 of the payload, 20 bytes, or empty
    attempts: int
    fetched_at: Millis
    elapsed_ms: int
    warc_file: str
    warc_offset: int
    warc_length: int
    revisit: int  # 1 if the record is a revisit
    detail: str  # redirect target, or what went wrong; at most 1,000 characters
    flags: int = 0  # of PageFlag
    simhash: int = 0  # of the visible text, signed 64 bits; 0: not computed


class CdxRow(NamedTuple):
    """A response or revisit record, as the index beside its WARC file has it; `mime` is without parameters."""

    url: str
    date_ms: Millis
    mime: str
    status: int
    digest: bytes
    length: int
    offset: int
    file: str
    revisit: int  # 1: it is a revisit


class LossKind(StrEnum):
    """How a WARC file lost records that page rows refer to."""

    MISSING = "missing"  # the file is not in its folder
    CUT = "cut"  # it is shorter than it was
    DAMAGED = "damaged"  # what stands there is no record, or another one


class LossState(StrEnum):
    """What the user has said of records that are gone, as all commands tell it."""

    GONE = "gone from the archive"
    ACCEPTED = "gone and accepted"


UNCOUNTED = -1  # revisits of a loss: they are counted later, which takes longer


class Loss(NamedTuple):
    """A WARC file that does not hold any more what page rows say."""

    warc_file: str
    kind: LossKind
    records: int  # response and revisit records that are gone
    revisits: int  # records in other files that refer to payloads which stood in these alone
    accepted: bool = False

    @property
    def state(self) -> LossState:
        """Whether the user wants them back."""
        return LossState.ACCEPTED if self.accepted else LossState.GONE


class CandidateRow(NamedTuple):
    """An external URL found `count` times since the last checkpoint by one seed."""

    seed_id: int
    url_hash: bytes
    url: str
    depth: int  # of the page where it was first found
    count: int  # type: ignore[assignment]


class RelationRow(NamedTuple):
    """A page says that another URL stands for it: "canonical", or "redirect"."""

    url_hash: bytes  # of the page
    kind: str
    seed_id: int
    target: str


class PatternRow(NamedTuple):
    """What the URLs of one pattern have yielded so far; `evidence` says in words why it is capped, else empty.

    A pattern is that of a URL (see `urls.patterns`), or "links as on URL": pages with these links, led to by such.
    """

    seed_id: int
    pattern_hash: bytes
    pattern: str
    fetched: int
    exact: int  # of these, with a payload known before
    near: int  # of these, with a text like an earlier one and no new word
    refused: int  # URLs not asked for, or not listed, because it is capped
    evidence: str


class RejectionRow(NamedTuple):
    """A link that was not listed, kept as a sample: a few for each seed and reason."""

    seed_id: int
    url_hash: bytes
    reason: str
    url: str
    evidence: str  # the page on which it stands, the limit, ...


class SitemapRow(NamedTuple):
    """A URL as a sitemap lists it."""

    seed_id: int
    url_hash: bytes
    lastmod: Millis  # 0: not said
    sitemap: str  # URL of the sitemap


SUSPECTED, CONDEMNED = 1, 2  # blame; with that of all deaths together from CONDEMNED on a URL is not asked for again


class SuspectRow(NamedTuple):
    """A URL that stood in a slot of a machine when that died (see core/blame/deaths.py)."""

    site_id: int
    url_hash: bytes
    machine_id: int
    url: str
    blame: int
    detail: str  # of what it died


class RobotsRow(NamedTuple):
    """The robots.txt of one origin as last had; `body` is compressed (zlib), at most 500 KiB unpacked."""

    origin_hash: bytes
    origin: str  # scheme://host[:port]
    site_id: int
    fetched_at: Millis
    status: int  # 0: no whole answer
    detail: str  # what went wrong
    body: bytes


class RobotsRecord(NamedTuple):
    """The record of an answer to a request for a robots.txt, or for where one redirects."""

    warc_file: str
    warc_offset: int
    warc_length: int
    url: str
    fetched_at: Millis
    status: int
    content_type: str  # media type without parameters, lower case
    digest: bytes  # SHA-1 of the payload, 20 bytes


@dataclass(frozen=True, slots=True)
class Rehoming:
    """A seed moves to the site to which its URL redirects."""

    home_url: str
    site_key: str
    rehomed: int


@dataclass(slots=True)
class SeedDelta:
    """All that changed for one seed since its last checkpoint; counts and verdicts are absolute.

    In a polite crawl nearly every page brings one: it is not frozen, for that would cost 1 us.
    """

    seed_id: int
    pages: tuple[PageRow, ...]
    lanes: tuple[LaneState, ...]
    chunks: tuple[ChunkRow, ...]  # new ones, and a tail chunk written again with more entries
    candidates: tuple[CandidateRow, ...]
    counts: SeedCounts
    verdicts: Mapping[str, int]
    elapsed_ms: int
    state: SeedState = SeedState.ACTIVE
    end_reason: EndReason | None = None
    end_detail: str = ""
    rehoming: Rehoming | None = None  # then state is READY again
    relations: tuple[RelationRow, ...] = ()
    patterns: tuple[PatternRow, ...] = ()  # absolute, as the counts
    rejections: tuple[RejectionRow, ...] = ()
    sitemap_urls: tuple[SitemapRow, ...] = ()
    jar: bytes | None = None  # the party's cookies, if they changed


@dataclass(slots=True)
class SiteDelta:
    """What one site's holder hands to the checkpointer; it commits only while `token` is the site's."""

    site_id: int
    token: int
    seeds: tuple[SeedDelta, ...]
    next_due_at: Millis  # politeness clock, travels with the site
    address: str = ""
    released: bool = False  # the machine lets go of the site
    pause_ms: int = 0  # between two requests
    slowest_ms: int = 0  # its slowest answer so far; 0: it has given none
    pushbacks: int = 0  # in a row
    resting: bool = False  # released, and taken up by nobody before next_due_at
    robots: tuple[RobotsRow, ...] = ()
    robots_records: tuple[RobotsRecord, ...] = ()

    @property
    def lets_go(self) -> bool:
        """Whether with its commit something may be there to claim, or the crawl be over."""
        return self.released or any(seed.state is not SeedState.ACTIVE for seed in self.seeds)


@dataclass(frozen=True, slots=True)
class ClaimedSite:
    """A site that this machine now owns, with the seeds it is to crawl first."""

    id: int
    key: str
    token: int
    next_due_at: Millis
    seeds: tuple[Seed, ...]
    fresh: bool  # no party of it was ever begun: no lanes, no chunks to read
    pause_ms: int = 0  # between two requests, as its last owner kept
    pushbacks: int = 0  # in a row
    slowest_ms: int = 0  # its slowest answer so far; 0: it has given none
    after_death: bool = False  # its owner did not give it back: it may have been asked after the last checkpoint
    silent_since: Millis = 0  # after death: its owner can have asked nothing later, by the database's clock


class Slot(NamedTuple):
    """A time reserved for one request to a server, in seconds of `time.monotonic()`; not begun in it, it is lost."""

    begin: float
    end: float


@dataclass(frozen=True, slots=True)
class WorkLeft:
    """Seeds of the crawl by state: the crawl has ended when all but done are 0."""

    ready: int
    active: int
    done: int
    slow: int = 0


@dataclass(frozen=True, slots=True)
class Orders:
    """What a heartbeat brings back.

    `settings` hold over the machine's own (key -> value as in Settings). A `revision` other than the last one says that
    seeds or settings were changed: look again. `machines` counts those that live now, this one among them. `now` is
    the time by the database's clock.
    """

    alive: bool  # False: it was declared dead, others may own its sites; nothing that it holds is its own any more
    command: Command
    settings: Mapping[str, Any]
    revision: int
    machines: int
    now: Millis


class SizedSite(NamedTuple):
    """What an earlier crawl knows of a site."""

    key: str
    requests: tuple[int, ...]  # of each seed that was begun, robots.txt not among them; if it is not done: so far known
    waiting: int  # seeds that were not begun
    pages: int  # fetched for all of them
    response_ms: float | None  # mean over its answers; None: it gave none
    deviation_ms: float  # of these, their standard deviation
    robots: tuple[bytes, ...]  # its robots.txt files, compressed (zlib)
