"""HTTP/1.1 as text: the request head that is sent, the answer's head that is kept, the result it stands for."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from http import HTTPStatus
from typing import Final, NamedTuple

from scrawler.compiled import compiled_part
from scrawler.fetch.downloader import FetchLimits, Protocols, Request, Response
from scrawler.fetch.given import MASK
from scrawler.fetch.suites import iana_name
from scrawler.mime import media_type
from scrawler.model.results import Result
from scrawler.urls.ports import is_refused_port

ACCEPT = "text/html,application/xhtml+xml,*/*;q=0.8"
ACCEPT_ENCODING = "gzip, deflate, br, zstd"
ACCEPT_REST = "*/*;q=0.1"  # with it a server has a robots.txt, or an error page, for somebody who wants PDF files
MAX_LINES = 1000  # lines of all heads of one answer, interim ones included; pages send about 100 at most
CLOSE = "Connection: close"  # a header line
SPARE_BODY = 64 * 1024  # bytes of an unwanted body that are read, for a new connection would cost more

BLANK = (b"\r\n", b"\n")  # the line that ends a head

_LINE_END = re.compile(r"[\r\n\0]")
_HTTP1 = re.compile(rb"HTTP/1\.\d \d{3}[ \r\n]")
_STATUS_LINE: Final = 64  # bytes of a status line that are looked at: what comes behind them is the reason phrase
_HTTP_NAMES = {"HTTP/2": "h2", "HTTP/2.0": "h2", "HTTP/3": "h3"}
_REDIRECTS: Final = frozenset((301, 302, 303, 307, 308))
_SINGLE = frozenset(("location", "refresh", "retry-after"))  # fields whose values make no list (RFC 9110, 5.2 and 5.3)
_LENGTH_DIGITS = 19  # digits of a Content-Length: as many as fit 64 bits; Python refuses to read a few thousand
_PHRASES = {status.value: status.phrase for status in HTTPStatus}

Head = tuple[bytes, dict[str, str]]  # a head in one piece, and its fields as `parse_headers` reads them

_part = compiled_part("scrawler.fetch._heads")
COMPILED: Callable[[list[bytes]], Head | None] | None = None if _part is None else _part.read


class StatusLine(NamedTuple):
    """What the first line of a head says."""

    status: int  # three digits; 0 where there is none, or one that there cannot be
    is_interim: bool  # whether it is that of a 1xx head, after which another one comes (RFC 9110, 15.2)
    is_http1: bool  # whether every reader of HTTP/1.1 knows it for one of its own
    http: str  # "http/1.1", "h2"


NO_STATUS = StatusLine(0, False, True, "")
NO_TLS = "", ""


class RequestTarget(NamedTuple):
    """Where a URL points, exactly as it is written: nothing is decoded, encoded or folded."""

    scheme: str
    authority: str  # the Host header; the scheme's own port is left out of a normalised URL
    path: str  # path and query

    @property
    def host(self) -> str:
        """Host without port and without the brackets of an IPv6 address."""
        if self.authority.startswith("["):
            return self.authority[1:].partition("]")[0]
        return self.authority.partition(":")[0]


def split_url(url: str) -> RequestTarget | None:
    """Split a normalised absolute URL; None for what no downloader asks for.

    That is what is not http, has credentials, or names a port where another service listens.
    """
    if not url.isascii():
        return None
    if "#" in url:
        url = url.partition("#")[0]
    slash = url.find("/", len("https://"))
    server = _split_server(url if slash < 0 else url[:slash])
    if server is None:
        return None
    return RequestTarget(server[0], server[1], "/" if slash < 0 else url[slash:])


@lru_cache(maxsize=4_096)  # the pages of a site are at one server, or a few
def _split_server(url: str) -> tuple[str, str] | None:
    """Return scheme and authority of a URL that ends with its authority; None for a server that is not asked."""
    scheme, separator, authority = url.partition("://")
    if not separator or scheme not in ("http", "https"):
        return None
    if not authority or "/" in authority or "@" in authority or "?" in authority:
        return None
    if ":" in authority and is_refused_port(authority):
        return None
    return scheme, authority


def header_lines(user_agent: str, accept: Collection[str] = ()) -> list[tuple[str, str]]:
    """Return the headers that follow Host, in the order in which they are sent; Cookie follows them."""
    return [("User-Agent", user_agent), ("Accept", _accepted(accept)), ("Accept-Encoding", ACCEPT_ENCODING)]


def _accepted(accept: Collection[str]) -> str:
    if not accept:
        return ACCEPT
    return ",".join(accept if "*/*" in accept else (*accept, ACCEPT_REST))


def sent_lines(limits: FetchLimits) -> list[tuple[str, str]]:
    """Return the headers that follow Host: the usual ones, and those that the user gave, in place of usual ones."""
    given = {name.lower() for name, _ in limits.headers}
    usual = header_lines(limits.user_agent, limits.accept)
    return [line for line in usual if line[0].lower() not in given] + list(limits.headers)


def archived_lines(limits: FetchLimits) -> str:
    """Return the same as they are archived, each ended by CRLF: values that the user gave are masked."""
    given = set() if limits.archives_secrets else {name for name, _ in limits.headers}
    return "".join(f"{name}: {MASK if name in given else value}\r\n" for name, value in sent_lines(limits))


def request_head(target: RequestTarget, headers: str, request: Request) -> bytes:
    """Return the head of a GET as it is archived; `headers` are the lines after Host, each ended by CRLF."""
    limits = request.limits
    if request.cookie or request.headers or (limits is not None and limits.cookies is not None):
        own = own_headers(request, target)
        if limits is not None and limits.cookies is not None and not limits.archives_secrets:
            own = [(name, MASK if name == "Cookie" else value) for name, value in own]
        headers += "".join(f"{name}: {value}\r\n" for name, value in own)
    return f"GET {target.path} HTTP/1.1\r\nHost: {target.authority}\r\n{headers}\r\n".encode("latin-1", "replace")


def own_headers(request: Request, target: RequestTarget) -> Sequence[tuple[str, str]]:
    """Return the headers that one request has behind those of all. Raises ValueError for one with a line end in it."""
    cookie, limits = request.cookie, request.limits
    if limits is not None and limits.cookies is not None:
        cookie = limits.cookies.header(target.scheme, target.host, target.path, cookie)
    own = (("Cookie", cookie), *request.headers) if cookie else request.headers
    if any(_LINE_END.search(name) or _LINE_END.search(value) for name, value in own):
        raise ValueError("a header of a request's own holds the end of a line")
    return own


def usual_head(lines: list[bytes]) -> Head | None:
    """Return what the lines of an answer are if they are one head as nearly all are; None for all others.

    That is read in one pass where its part in C is compiled; all others are read by the functions below.
    """
    return None if COMPILED is None else COMPILED(lines)


def final_head(lines: Sequence[bytes]) -> Sequence[bytes]:
    """Return the lines from the last status line to its blank line: no interim 1xx heads, no trailers.

    `lines` are as they came, each with its line end.
    """
    if lines and lines[-1] == BLANK[0] and lines.index(BLANK[0]) == len(lines) - 1 and BLANK[1] not in lines:
        return [] if status_line(lines[0]).is_interim else lines  # nearly all have one head, and nothing behind it
    start = 0
    for index, line in enumerate(lines):
        if line in BLANK:
            if not status_line(lines[start]).is_interim:
                return lines[start : index + 1]
            start = index + 1
    return lines[start:]


def status_line(line: bytes) -> StatusLine:
    """Read the first line of a head, as libcurl does: "200OK" is 200."""
    return _read_status_line(line[:_STATUS_LINE])


@lru_cache(maxsize=256)  # nearly all answers begin with the same few
def _read_status_line(line: bytes) -> StatusLine:
    words = line.split(None, 2)
    http = words[0].decode("latin-1") if words else ""
    word = words[1] if len(words) > 1 else b""
    digits = word[:3]
    valid = len(digits) == len(b"200") and digits.isdigit() and digits >= b"100" and not word[3:4].isdigit()
    return StatusLine(
        int(digits) if valid else 0,
        word[:1] == b"1" and digits != b"101",
        _HTTP1.match(line) is not None,
        _HTTP_NAMES.get(http, http.lower()),
    )


@lru_cache(maxsize=256)
def protocols_of(http: str, tls: tuple[str, str] = NO_TLS) -> Protocols:
    """Return by which protocols a head came; `tls` is the version and the cipher suite, as OpenSSL calls them."""
    version, cipher = tls
    tls_version = version.replace("TLSv", "tls/") if version != "TLSv1" else "tls/1.0"
    return Protocols(http, tls_version, iana_name(cipher))


def as_http1(head: Sequence[bytes], first: StatusLine) -> bytes:
    """Join the lines of a head; a status line that no reader of HTTP/1.1 knows, as that of HTTP/2, becomes one."""
    if first.is_http1:
        return b"".join(head)
    status = f"HTTP/1.1 {first.status} {_PHRASES.get(first.status, '')}\r\n".encode()
    return b"".join((status, *head[1:]))


def parse_headers(head: bytes) -> dict[str, str]:
    """Return the headers below the status line: names in lower case, repeated values joined with ", ".

    Of a field that says one thing, as Location does, the first value counts: joined they would name a URL of nobody's.
    """
    text = head.decode("latin-1")
    lines = text.split("\n")[1:]
    if "\n " in text or "\n\t" in text:
        return _parse_folded(lines)
    headers: dict[str, str] = {}
    for line in lines:
        name, separator, value = line.partition(":")
        if separator:
            name = name.rstrip().lower()
            if name not in headers:
                headers[name] = value.strip()
            elif name not in _SINGLE:
                headers[name] += f", {value.strip()}"
    return headers


def _parse_folded(lines: list[str]) -> dict[str, str]:
    """Do the same for a head some lines of which go on with the one before (RFC 9112, 5.2)."""
    headers: dict[str, str] = {}
    name = ""
    for line in lines:
        if line[:1] in (" ", "\t") and line.strip():
            if name:
                headers[name] += " " + line.strip()
            continue
        name, separator, value = line.partition(":")
        if not separator:
            name = ""
            continue
        name = name.rstrip().lower()
        if name not in headers:
            headers[name] = value.strip()
        elif name in _SINGLE:
            name = ""  # of a line that is dropped what is folded behind it goes as well
        else:
            headers[name] += f", {value.strip()}"
    return headers


def header_values(head: bytes, name: str) -> list[str]:
    """Return each value of a header that may be repeated, such as Set-Cookie; `name` is in lower case."""
    values: list[str] = []
    ours = False
    for line in head.decode("latin-1").split("\n")[1:]:
        if line[:1] in (" ", "\t"):
            if ours and line.strip():
                values[-1] += " " + line.strip()
            continue
        field, separator, value = line.partition(":")
        ours = bool(separator) and field.rstrip().lower() == name
        if ours:
            values.append(value.strip())
    return values


def unwanted_type(head: Sequence[bytes], accept: Collection[str]) -> str:
    """Return the media type of a 2xx answer that is in none of the media ranges (RFC 9110, 12.5.1), else "".

    An answer that names no media type, or none that is valid, may be of any.
    """
    if not (accept and head) or status_line(head[0]).status // 100 != 2:
        return ""
    named = media_type(", ".join(header_values(b"".join(head), "content-type"))).essence
    main, slash, _ = named.partition("/")
    fits = not slash or named in accept or f"{main}/*" in accept or "*/*" in accept
    return "" if fits else named


def head_problem(size: int, lines: int, limit: int) -> str:
    """Return what is wrong with a head of `size` bytes in `lines` lines, if it is too large, else ""."""
    if size > limit:
        return f"head of more than {limit} bytes"
    return f"head of more than {MAX_LINES} lines" if lines > MAX_LINES else ""


def result_of(status: int, headers: dict[str, str], request: Request) -> Result:
    """Return what a whole answer with this status stands for.

    A 304 is one only to a request that has asked for it: to another one it tells nothing.
    """
    if 200 <= status < 300:
        return Result.FETCHED
    if status in _REDIRECTS and headers.get("location"):  # an empty Location leads nowhere: browsers show the body
        return Result.REDIRECT
    if status == HTTPStatus.NOT_MODIFIED and request.is_conditional:
        return Result.NOT_MODIFIED
    return Result.HTTP_ERROR


def announced_length(lines: Iterable[bytes]) -> int | None:
    """Return the Content-Length among header lines, or None where there is none that makes sense."""
    for line in lines:
        if line[:15].lower() == b"content-length:":
            text = line[15:].strip()
            return int(text) if text.isdigit() and len(text) <= _LENGTH_DIGITS else None
    return None


def lengths_differ(headers: Mapping[str, str]) -> bool:
    """Tell whether Content-Length has several values that are not the same; a comma alone makes none."""
    values = map(str.strip, headers.get("content-length", "").split(","))
    return len(set(filter(None, values))) > 1


def refused(request: Request) -> Response:
    """Return the response to a request that cannot be made, so that it ends as any other."""
    return Response(request, Result.CONNECT_FAILED, detail="not a URL that can be requested")
