"""The downloader interface: requests go in, responses come out, nobody is called back.

A collector owns one downloader and alone uses it, except for `wake`. It calls in turn
`start` (any number of times), `wait` (the only call that blocks) and `completed`; it goes back to `completed` without
a `wait` while it is `ready`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from scrawler.faults import Fault
from scrawler.fetch.bodies import BodyRoom
from scrawler.fetch.given import GivenCookies
from scrawler.mime import media_type
from scrawler.model.proxy import Proxy
from scrawler.model.results import Result
from scrawler.model.terms import Millis
from scrawler.urls.scope import origin

# The detail of a BAD_ANSWER whose Content-Length is no number, or several different ones. The first is no error to
# browsers (Fetch standard, "extract a length"): the body ends with the connection then. RFC 9112 (6.3) has the answer
# discarded. The URL is asked once more with `ignore_length`; several different ones are an error by both, and stay so.
INVALID_LENGTH = "Invalid Content-Length: value"  # libcurl's words

UNASKED = "bytes that nobody asked for came with it"  # the detail of a BAD_ANSWER that was another request's, perhaps

_CONDITIONS = ("if-match", "if-modified-since", "if-none-match", "if-range", "if-unmodified-since")


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """What a downloader needs of the settings; times in seconds, sizes in bytes."""

    user_agent: str
    connect_timeout: float
    timeout: float  # seconds that a whole download may take
    max_body: int
    connections: int = field(compare=False)  # kept open at most; a downloader heeds those that it was made with
    tls_verify: bool = True
    accept: tuple[str, ...] = ()  # media ranges that the Accept header prefers; none: HTML, but anything goes
    max_head: int = 128 * 1024  # bytes of all heads of an answer, interim ones included
    proxy: Proxy | None = None  # it is asked instead of the address of a request
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)  # what the user gives besides the usual ones
    cookies: GivenCookies | None = field(default=None, repr=False)
    certificate: tuple[str, str] | None = None  # files of a client's certificate and its key
    ca_file: str = ""  # authorities that are trusted; empty: those of the downloader
    archives_secrets: bool = False  # whether the archive shows what the user gave
    bodies: BodyRoom | None = field(default=None, compare=False, repr=False)  # of its machine; None: it has its own

    @property
    def is_plain(self) -> bool:
        """Whether hosts are asked without anything that the user gave for some of them."""
        return self == self.plain()

    def plain(self) -> FetchLimits:
        """Return the same without anything that is for some hosts alone."""
        return replace(self, proxy=None, headers=(), cookies=None, certificate=None)


class Request(NamedTuple):
    """One HTTP GET of one hop; redirects are never followed by a downloader."""

    url: str
    address: str  # IP address to connect to; the URL's host is used for Host and TLS only
    tag: Any = None  # what the response hands back untouched; whoever reads it looks of which type it is
    max_body: int = 0  # bytes over the wire; 0: the downloader's own limit
    timeout: float = 0.0  # seconds of the whole download; 0: the downloader's own limit
    cookie: str = ""  # value of the Cookie header, its bytes read as Latin-1; empty: none is sent
    accept: tuple[str, ...] = ()  # media ranges outside which the body of a 2xx answer is not downloaded; none: all
    headers: tuple[tuple[str, str], ...] = ()  # its own, of other names than those of all requests
    ignore_length: bool = False  # whether Content-Length says nothing of the body: see `INVALID_LENGTH`
    limits: FetchLimits | None = None  # how its host is asked, where that is not as the downloader asks all others

    @property
    def is_conditional(self) -> bool:
        """Whether the server is asked to send the body under a condition only (RFC 9110, 13.1)."""
        return any(name.lower() in _CONDITIONS for name, _ in self.headers)

    def redirected(self, url: str, address: str, tag: object, limits: FetchLimits | None = None) -> Request:
        """Return the request for where this one was redirected to; `limits` are those of that host.

        What it says for itself goes along within one origin only, for it may be a secret between the two; a condition
        speaks of the URL that was asked for, and never does.
        """
        same = origin(url) == origin(self.url)
        kept = tuple(one for one in self.headers if same and one[0].lower() not in _CONDITIONS)
        here = self._replace(url=url, address=address, tag=tag, limits=limits)
        return here._replace(headers=kept, cookie="", ignore_length=False)


class Protocols(NamedTuple):
    """By which protocols an answer came, as WARC records name them; what is not known is empty."""

    http: str  # "http/1.1", "h2"
    tls: str = ""  # "tls/1.3"
    cipher: str = ""  # the cipher suite's name at the IANA


class Document(NamedTuple):
    """A document that was made of a page: its links are the page's then."""

    html: bytes  # in UTF-8; empty where none could be made
    url: str  # its base; scripts may change that within the origin
    links: tuple[str, ...] = ()  # where its scripts wanted to lead


class Recalled(NamedTuple):
    """What a server meant that answered that nothing had changed: what it sent an earlier crawl, by its record."""

    head: bytes  # of the answer that came, for the archive
    digest: bytes  # of the body
    payload_url: str  # of the record that holds it
    payload_at: Millis


class Response(NamedTuple):
    """What came of a Request. `body` is as transferred, less chunking: still gzip if it was gzip.

    `head` holds the raw bytes of the final status line and headers up to and with the blank line (interim 1xx
    heads are left out), as HTTP/1.1 text even if HTTP/2 was spoken. `headers` has lower-case names; for a
    repeated header the values joined with ", " (so cookies are read from `head`). `result` is FETCHED, REDIRECT,
    HTTP_ERROR, NOT_MODIFIED or UNWANTED_TYPE (then `body` is empty), or a failure. What a downloader itself cannot cope
    with is one too, and no exception: see `met`. What was recalled has the body that came to an earlier crawl.
    """

    request: Request
    result: Result
    status: int = 0
    head: bytes = b""
    headers: Mapping[str, str] = MappingProxyType({})
    body: bytes = b""
    request_head: bytes = b""  # the request as it was sent, for the archive
    started_at: Millis = 0
    elapsed_ms: int = 0
    detail: str = ""  # what went wrong, in one line
    protocols: Protocols | None = None  # None where no head came
    fault: Fault | None = None  # a fault of this program that it has met; its `result` is INTERNAL_ERROR
    document: Document | None = None  # where one was to be made of the page
    further: tuple[Response, ...] = ()  # answers to what the page asked for meanwhile, in order
    recalled: Recalled | None = None  # where head and body are those of an earlier crawl; its status is 304

    def disbelieved(self) -> Response:
        """Return what is left of an answer that may be another one than that to its request."""
        return Response(
            self.request, Result.BAD_ANSWER, started_at=self.started_at, elapsed_ms=self.elapsed_ms, detail=UNASKED
        )

    def met(self, fault: Fault) -> Response:
        """Return the answer as it is once it has met a fault of this program."""
        return self._replace(result=Result.INTERNAL_ERROR, detail=fault.text, fault=fault)

    @property
    def content_type(self) -> str:
        """Media type without parameters, lower case, of several the last valid one; empty when none was sent."""
        return media_type(self.headers.get("content-type", "")).essence


class Downloader(Protocol):
    """Fetches URLs for one collector thread; it is made with FetchLimits.

    One may have a list `doubted` as well: requests whose answers `completed` has returned last, and which are not
    believed since a `start` has found what nobody asked for on their connection. Whoever reads it empties it.
    """

    at_once: bool  # whether each request goes out with `start`; otherwise they queue, and go out one by one

    def start(self, request: Request) -> None:
        """Take a request; never blocks, never raises for what the web does."""

    @property
    def in_flight(self) -> int:
        """How many requests have gone out and are not over."""

    def wait(self, seconds: float, begin: bool = True) -> None:
        """Block until something may have completed, `wake` was called, or the time is over.

        Without `begin`, requests that did not go out with `start` do not go out here. The only call made outside the
        machine's turn; it does no Python work that matters.
        """

    def ready(self) -> bool:
        """Return whether `completed` may have something new already; never blocks."""

    def completed(self) -> list[Response]:
        """Return the responses that are there now, in order of completion; never blocks."""

    def cancel(self) -> list[Request]:
        """Give up all requests in flight and return them."""

    def wake(self) -> None:
        """Make a `wait` return at once, now or next time; callable from any thread."""

    def close(self) -> None:
        """Close all connections; the downloader is not used again."""
