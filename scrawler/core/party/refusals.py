"""Whether a site has begun to refuse: what its answers say, one after the other, of one origin. No I/O.

A single 403 says nothing: the page may be for members. A row of refusals where there were pages before says little
more, for a folder may be for members. What tells is a page that was good: if it is refused as well by now, it is the
site that refuses; if it is still good, the refusals are the pages' own. So the answers of such a row are held, the
good page is asked for once more, and its answer decides. As a refusal counts a status of 4xx that is not about the URL
alone, one page under many URLs, be it empty, and one target of all redirects: walls that ask "are you human?" often
answer 200. So does a connection that is ended before a word was said, from the third in a row on. (Nutch slows down for
each 403; StormCrawler leaves it out, for it is so often the page's own.) Where a site is taken up again, the good page
is the first that its seed had: else the first page of a wall would be taken for it.
"""

from __future__ import annotations

import re
import zlib
from contextlib import suppress
from enum import Enum, auto
from typing import Final
from urllib.parse import quote

from scrawler.archive.record import digest
from scrawler.core.party.decisions import location_of, shuts_door
from scrawler.fetch.downloader import Response
from scrawler.model.replaced import EarlierPages
from scrawler.model.results import Result

ROW: Final = 8  # refusals in a row after which a good page is asked for
SHORT_ROW: Final = 3  # ... where nothing else is left to ask for
_LARGEST: Final = 1 << 18  # bytes; a longer body is no wall's, and is not held
_FIRST_FREE: Final = 16  # refusals that are believed once a good page was still good; doubled each time
_MOST_FREE: Final = 64
_ABOUT_URL: Final = frozenset({404, 410, 429})  # of 4xx: there is no such page; or the site says itself that it refuses
_NEAR: Final = 128  # bytes by which pages differ in length that are perhaps one
_LOOKS_A_PAGE: Final = 1 / 256  # pages that are compared without success: that takes longer than all else here
_MOST_LOOKS: Final = 4.0
_HEAD: Final = 2048  # bytes of a page that are compared
_TAIL: Final = 64  # bytes at the end of a page: where it is zipped, its checksum is among them
_ECHOES: Final = 1024  # bytes from which on a page may be a wall's that repeats the URL
_ZIPPED: Final = frozenset({"gzip", "x-gzip", "deflate"})
_AS_BEFORE: Final = 16  # bytes by which a page may differ in length from its earlier visit, and be the same
_LOCATION: Final = 200  # characters of where a redirect leads that are told
_TOKEN: Final = re.compile(rb"[0-9a-fA-F]{8,}|[\w+/=-]{20,}")  # what walls put into each answer: ids, times, signatures
_MAY_HOLD_TOKEN: Final = re.compile(rb"[\w+/=-]{8,}")  # looked for first: that takes half the time


class Says(Enum):
    """What an answer says of its site."""

    WELL = auto()  # it serves
    NOTHING = auto()
    REFUSES = auto()  # it may be that it serves nobody


class Refusals:
    """What the last answers of an origin were; `good` is the URL of a page that it gave, empty before it has."""

    __slots__ = (
        "_before",
        "_free",
        "_good_whole",
        "_length",
        "_location",
        "_looks",
        "_next_free",
        "_print",
        "_tail",
        "_was",
        "first",
        "good",
        "good_print",
        "problem",
    )

    def __init__(self, before: EarlierPages | None = None) -> None:
        """Begin; `before` is what was fetched of the origin earlier."""
        self._before = before
        self.good = "" if before is None else before.good
        self.good_print = 0
        self._good_whole = 0  # as good_print, with the URL where it names it: as a shell does that has all links
        self.problem = ""  # the last refusal, in words
        self.first = ""  # the URL of the first page, or redirect, of those that are alike: it was taken for its own
        self._location = ""  # where the last answer redirected to
        self._length = -1  # of the last page
        self._print = 0  # of the last page; 0: not looked at
        self._tail = 0  # hash of the last bytes of the last page
        self._was = b""  # the digest of the visit before, of the last page
        self._looks = _MOST_LOOKS
        self._free = 0
        self._next_free = _FIRST_FREE

    @property
    def firsts(self) -> tuple[str, ...]:
        """The URLs whose pages a wall may have given before it was known for one."""
        return (self.first,) if self._before is None else (self.first, self._before.last)

    def read(self, response: Response, is_page: bool, was: bytes | None) -> Says:
        """Take in an answer; `was` is the digest of the last visit's page, None where this is the first visit."""
        if response.result is Result.FETCHED:
            return self._read_page(response, was) if is_page else Says.NOTHING
        if response.result is Result.REDIRECT:
            return self._read_redirect(response, was) if is_page else Says.NOTHING
        if shuts_door(response):
            self.problem = "connections cut"
            return Says.REFUSES
        if is_refusal(response.status):
            self.problem = f"HTTP status {response.status}"
            return Says.REFUSES if len(response.body) <= _LARGEST else Says.NOTHING
        return Says.NOTHING if response.status >= 500 or not response.status else Says.WELL

    def take_good(self, response: Response, was: bytes | None, below: bool = True) -> None:
        """Keep a page that is good as the one that is asked for again: a page of a first visit, below the home page.

        Until there is one, the first page is what others are compared with: many sites give one page for all URLs.
        """
        if was is not None or response.result is not Result.FETCHED or not response.body:
            return
        if below:
            self.good = response.request.url
        if below or not self.good_print:
            self.good_print = print_of(response)
            self._good_whole = print_of(response, echoes=True)

    def is_believed(self) -> bool:
        """Tell whether a refusal is taken for the page's own, since a good page was still good a moment ago."""
        self._free -= 1
        return self._free >= 0

    def believe(self) -> None:
        """Note that the refusals were the pages' own."""
        self._free = self._next_free
        self._next_free = min(2 * self._next_free, _MOST_FREE)

    def still_refuses(self, response: Response) -> bool:
        """Tell from the answer of the page that was good whether the site refuses."""
        if not response.status or is_refusal(response.status) or response.status in (429, 503):
            return True
        if response.result is Result.REDIRECT:
            return self._location != "" and _target_of(response) == self._location
        if response.result is not Result.FETCHED or not self._print:
            return False
        now = print_of(response)
        return now == self._print and now != self.good_print and not self._is_as_before(response)

    def _is_as_before(self, response: Response, nearly: bool = True) -> bool:
        """Tell whether the page that was good earlier has come again; then it is what others are compared with.

        `nearly`: or one that is as long, as pages have something of their own each time.
        """
        before, body = self._before, response.body
        if before is None:
            return False
        is_near = nearly and abs(len(body) - before.length) <= _AS_BEFORE
        if not is_near and digest(body) != before.digest:
            return False
        self.good_print = print_of(response)
        self._good_whole = print_of(response, echoes=True)
        return True

    def _read_page(self, response: Response, was: bytes | None) -> Says:
        body = response.body
        length = len(body)
        self._location = ""
        before, self._length = self._length, length
        tail, self._tail = self._tail, hash(body[-_TAIL:])
        earlier, self._was = self._was, was or b""
        same = length == before and tail == self._tail
        self._looks = min(self._looks + _LOOKS_A_PAGE, _MOST_LOOKS)
        is_near = before - _NEAR <= length <= before + _NEAR and self._looks >= 1.0
        if not (same or is_near):
            self._print = 0
            self.first = response.request.url
            return Says.WELL
        last, self._print = self._print, print_of(response)
        if last != self._print and not (same and last == 0):  # of one length they may be two pages all the same
            if not same:
                self._looks -= 1.0
            self.first = response.request.url
            return Says.WELL
        had_own = was is None or was != earlier
        if not self.good_print:
            self._is_as_before(response, nearly=False)
        if self._print == self.good_print or not had_own:
            return Says.WELL
        if self._good_whole == print_of(response, echoes=True):
            return Says.WELL
        self.problem = "one page for all URLs"
        return Says.REFUSES

    def _read_redirect(self, response: Response, was: bytes | None) -> Says:
        last, self._location = self._location, _target_of(response)
        self._length = -1
        self._print = 0
        is_none = was == b""  # it was no page before either
        if is_none or last != self._location:
            self.first = response.request.url
            return Says.WELL
        self.problem = f"redirects to {location_of(response)[:_LOCATION]}"
        return Says.REFUSES


def is_refusal(status: int) -> bool:
    """Tell whether a status may be said to a crawler, and not of a URL."""
    return (400 <= status < 500 and status not in _ABOUT_URL) or status >= 600


def _target_of(response: Response) -> str:
    """Return where a redirect leads, less what it says of the URL that redirects."""
    target = location_of(response)
    path = response.request.url.split("/", 3)[-1]
    if not path:
        return target
    return target.replace(quote(path, safe=""), "").replace(quote(path), "").replace(path, "")


def print_of(response: Response, echoes: bool = False) -> int:
    """Return what the beginning of a page says, less what a wall makes anew for each answer; never 0.

    With `echoes` the page's own URL counts where it names that.
    """
    head = response.body[:_HEAD]
    if response.headers.get("content-encoding", "").strip().lower() in _ZIPPED:
        with suppress(zlib.error):  # what is damaged is compared as it is
            head = zlib.decompressobj(47).decompress(response.body, _HEAD)
    if len(head) >= _ECHOES and not echoes:
        path = response.request.url.split("/", 3)[-1]
        if path:
            head = head.replace(path.encode("latin-1", "replace"), b"")
    return hash(_MAY_HOLD_TOKEN.sub(_without_tokens, head)) or 1


def _without_tokens(match: re.Match[bytes]) -> bytes:
    return _TOKEN.sub(b"", match[0])
