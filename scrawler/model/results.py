"""What came of a URL: from the downloaders and the pipeline to the page rows, and to all who read them."""

from __future__ import annotations

from enum import IntFlag, StrEnum
from typing import Final


class Result(StrEnum):
    """What came of a download attempt, and, once final, of a URL."""

    FETCHED = "fetched"  # a whole answer with 2xx has come
    REDIRECT = "redirect"  # 3xx with a Location that is not empty
    TOO_MANY_REDIRECTS = "too-many-redirects"  # 3xx with a Location, at the end of a chain that is followed no further
    HTTP_ERROR = "http-error"  # a whole answer with another status has come
    NOT_MODIFIED = "not-modified"  # 304: the page is as it was at the last visit, which the request had named
    TOO_LARGE = "too-large"  # body stopped at max_body; what came is archived as truncated
    CUT = "cut"  # connection lost, or fewer bytes than announced
    TIMEOUT = "timeout"
    CONNECT_FAILED = "connect-failed"
    TLS_FAILED = "tls-failed"
    BAD_ANSWER = "bad-answer"  # what came is not HTTP
    NO_ADDRESS = "no-address"
    PRIVATE_ADDRESS = "private-address"
    ROBOTS_DENIED = "robots-denied"
    ROBOTS_UNAVAILABLE = "robots-unavailable"
    UNWANTED_TYPE = "unwanted-type"  # its Content-Type is not accepted; the body was not downloaded
    SPARED = "spared"  # not asked for again: the change lists of its server, which proved true, do not name it
    TRAP = "trap"  # not asked for: its pattern has brought nothing new for long
    INTERNAL_ERROR = "internal-error"  # a fault of this program met its answer; the detail says which, and where

    @property
    def answered(self) -> bool:
        """Whether the server gave a whole HTTP answer."""
        return self in _ANSWERED


_ANSWERED: Final = (Result.FETCHED, Result.REDIRECT, Result.HTTP_ERROR, Result.NOT_MODIFIED)
# The page is there, now or from the last visit.
AS_EXPECTED = frozenset({Result.FETCHED, Result.NOT_MODIFIED, Result.SPARED})
NO_ERROR: Final = frozenset(  # all others count as errors
    {Result.FETCHED, Result.REDIRECT, Result.NOT_MODIFIED, Result.SPARED, Result.UNWANTED_TYPE, Result.TRAP}
)
# Where no whole head came: the server, the name or the network may be at fault.
UNREACHED: Final = frozenset({Result.CONNECT_FAILED, Result.TLS_FAILED, Result.TIMEOUT, Result.CUT, Result.BAD_ANSWER})
# What is tried again within a visit of the site, and what may have passed by the time a user asks for it again.
TRIED_AGAIN = (UNREACHED - {Result.TLS_FAILED}) | {Result.NO_ADDRESS}
MAY_PASS = UNREACHED | {Result.NO_ADDRESS, Result.PRIVATE_ADDRESS, Result.INTERNAL_ERROR}
# What a user may ask for again by its result (`run --retry urls`): all that failed, or was left out.
WANTED_AGAIN = frozenset(Result) - AS_EXPECTED - {Result.REDIRECT}
# Which of a seed's counts (`SeedCounts`) a final result adds to; all others are failures.
COUNTED_AS: Final = {
    Result.FETCHED: "pages",
    Result.REDIRECT: "redirects",
    Result.HTTP_ERROR: "http_errors",
    Result.NOT_MODIFIED: "not_modified",
    Result.SPARED: "not_modified",
    Result.ROBOTS_DENIED: "denied",
    Result.ROBOTS_UNAVAILABLE: "denied",
    Result.UNWANTED_TYPE: "unwanted",
    Result.TRAP: "trapped",
}
GONE: Final = (404, 410)  # the statuses that say so


class PageFlag(IntFlag):
    """What else is to be said of a page."""

    NOINDEX = 1  # its robots meta or X-Robots-Tag forbids to index it
    NOFOLLOW = 2  # its robots meta or X-Robots-Tag forbids to follow its links
    INSECURE = 4  # fetched over TLS whose certificate was not checked
    SLOW = 8  # fetched in the slow lane
    ASSET = 16  # listed as an image, script or style of a page
    SITEMAP = 32  # asked for, or read, as a sitemap
    NEAR_DUPLICATE = 64  # says nearly what an earlier page of its pattern says
    TRUNCATED = 128  # only the beginning of its body came, whose links were read
    SHOWN = 256  # shown in a browser: its links are those of the document that its scripts made
    RELEVANT = 512  # its text has to do with the crawl's topic
    NEW = 1024  # found after the first round of its seed
    CHANGED = 2048  # another payload than that of the last visit
    GONE = 4096  # 404 or 410, for the second time in a row
    BACK = 8192  # there again after that
    MOVED = 16384  # a permanent redirect, which was none before, or led elsewhere
    CHANGE_LIST = 32768  # read as a change list of ResourceSync
    EARLIER = 65536  # its payload is in the archive of an earlier crawl (`dedup_from`)
    FAILING = 131072  # an error, as 404 or 500, for the first time, of a page that was there before
    WAITING = 262144  # listed to be asked for again: its row stays until an answer comes that takes its place
    LET_BE = 524288  # its payload is gone from the archive of an earlier crawl, and the user has accepted that
