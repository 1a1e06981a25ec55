"""Answers of HTTP as no server should give them: each case is one, made from the seed and its number alone."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable
from enum import Enum
from functools import partial
from random import Random
from typing import NamedTuple

import brotli
import zstandard

from tests.fuzz import documents
from tests.fuzz.mutate import TOKENS, damaged, maybe


class After(Enum):
    """What becomes of the connection behind an answer."""

    KEEP = 1
    CLOSE = 2
    RESET = 3


class Reply(NamedTuple):
    """What a server says, piece by piece, and does then."""

    pieces: tuple[bytes, ...]
    after: After


class Role(Enum):
    """What a case answers for."""

    PAGE = "page"
    SEED = "seed"
    ROBOTS = "robots"
    SITEMAP = "sitemap"


_REASONS = ("OK", "", "\xff\xfe", "Found " * 50, "O\tK", "\0")
_STATUS_LINES = (
    "HTTP/1.1 200 OK", "HTTP/1.1 200 OK", "HTTP/1.1 200 OK", "HTTP/1.0 200 OK", "HTTP/1.1 200", "HTTP/1.1 200OK",
    "HTTP/2 200", "HTTP/2 x", "HTTP/3 200 OK", "HTTP/1.1", "HTTP/1.1 ", "HTTP/1.1  200  OK", "HTTP/1.1\t200\tOK",
    "ICY 200 OK", "http/1.1 200 ok", "HTTP/1.2 200 OK", "HTTP/11.1 200 OK", "HTTP/1.1 99 x", "HTTP/1.1 1000 x",
    "HTTP/1.1 000 x", "HTTP/1.1 2.0 x", "HTTP/1.1 -200 x", "HTTP/1.1 +20 x", "HTTP/1.1 2_0 x", "HTTP/0.9 200 OK",
    "HTTP/1.1 \xb2\xb3\xb9 x", "HTTP/1.1 20", "HTTP", "", " ", "HTTP/1.1 200\rOK", "RTSP/1.0 200 OK", "HTTP/2.0 200 OK",
)  # fmt: skip
_STATUSES = (200, 201, 204, 205, 206, 226, 299, 300, 304, 305, 306, 400, 401, 403, 404, 407, 410, 416, 451, 500, 501)
_REDIRECTS = (301, 302, 303, 307, 308, 300, 304, 399)
_MOST_HEADERS = 12
_ODD_HEADERS = (
    "Content-Type: text/html", "Content-Type: text/html; charset={c}", "Content-Type: html", "Content-Type:",
    'Content-Type: text/html; charset="{c}', "Content-Type: text/html charset=utf-8", "Content-Type: application/xml",
    "Content-Type: application/xhtml+xml", "Content-Type: text/plain", "Content-Type: ;;;", "Content-Type: a/b, c/d;e",
    "Content-Type: image/png", "Link: <{u}>; rel=canonical", "Link: <{u}>; rel=\"canonical\", <{u}", "Link: <<>>;;=",
    'Link: <{u}>; rel="canonical;', "Refresh: 0;url={u}", "Refresh: {u}", "Refresh: 1e9;url='{u}",
    "Content-Location: {u}", "X-Robots-Tag: noindex", "X-Robots-Tag: SCrawler-fuzz: nofollow, noindex",
    "X-Robots-Tag: unavailable_after: {d}", "X-Robots-Tag: max-snippet:-1, :,,", "Retry-After: 0", "Retry-After: {d}",
    "Retry-After: -99999999999", "Retry-After: " + "9" * 5000, "Last-Modified: {d}", "Date: {d}", "ETag: \"", "Age: -1",
    "Set-Cookie: a=b", "Set-Cookie: a=b; expires={d}; path=/; domain=.fuzz.test", "Set-Cookie: =", "Set-Cookie: ;;;",
    "Set-Cookie: a=b; max-age=" + "9" * 5000, "Set-Cookie: a=\x01", "Set-Cookie: \xe4=\xff; Domain=test",
    "Set-Cookie: __Host-a=b; secure", "Set-Cookie: a=b; Max-Age=-0; Path=" + "/" * 2000, "Set-Cookie: " + "x" * 9000,
    "Set-Cookie: a=b; Expires=Thu, 99 Jan 99999 99:99:99 GMT", "Set-Cookie: a=b; Domain=.; Path", "Set-Cookie: a",
    "Set-Cookie2: a=b", "Content-Encoding: {e}", "Content-Encoding: {e}, {e}", "Content-Encoding: ,",
    "Content-Range: bytes 0-1/2", "Connection: close", "Connection: upgrade", "Upgrade: h2c",
    "Keep-Alive: timeout=-1", "Trailer: x", "Alt-Svc: h2=\":1\"", "Strict-Transport-Security: max-age=x", "Vary: *",
    ": no name", " folded", "\tfolded: x", "\xff: \xff", "X: " + "y" * 3000, "X" * 300 + ": y", "X:", "X : y",
    "Content-Disposition: attachment; filename*=UTF-8''%ff", "WWW-Authenticate: Basic realm=\""
)  # fmt: skip
_BROKEN_HEADERS = (  # which libcurl refuses, mostly
    "no colon", "A\0B: c", "Server: \r x", "Content-Length: {n}", "Content-Length: 5, 5", "Location: {u}", "\x0b",
    "Transfer-Encoding: identity", "Transfer-Encoding: gzip, chunked", "Transfer-Encoding: x", "Content-Length: {d}",
)  # fmt: skip
_DATES = (
    "Wed, 21 Oct 2015 07:28:00 GMT", "Wednesday, 21-Oct-15 07:28:00 GMT", "Wed Oct 21 07:28:00 2015", "0", "-1", "now",
    "Wed, 31 Feb 9999 25:61:61 +9999", "Thu, 01 Jan 0000 00:00:00 GMT", "2015-10-21T07:28:00Z", "99 Foo 99999", "1e400",
    "Sat, 01 Jan 2000 00:00:00 +2400", "Fri, 31 Dec 9999 23:59:59 -0001", "Mon, 01 Jan 1 00:00:00 GMT", "21 Oct 68",
)  # fmt: skip
_ENCODINGS = ("gzip", "deflate", "br", "zstd", "x-gzip", "identity", "GZIP", "compress", "nosuch", "", "gzip;q=1")


def reply(role: Role, chance: Random) -> Reply:
    """Return the answer of one case."""
    body, coding = _coded(chance, _body(role, chance))
    framed, framing = _framed(chance, body)
    head = _head(role, chance, [*coding, *framing])
    head = maybe(chance, head, 0.12)
    whole = _interim(chance) + head + framed + _stray(chance)
    if chance.random() < 0.05:
        whole = damaged(chance, whole)
    after = After.KEEP if _can_wait(chance, framing, whole) else After.CLOSE
    if chance.random() < 0.02:
        after = After.RESET
    return Reply(_pieces(chance, whole), after)


def _can_wait(chance: Random, framing: list[bytes], whole: bytes) -> bool:
    """Whether the connection is kept: rarely where the client may wait for more, until its patience is over."""
    return bool(framing) and chance.random() < (0.5 if whole.endswith(b"\r\n\r\n") else 0.25)


def _body(role: Role, chance: Random) -> bytes:
    if chance.random() < 0.85:
        if role is Role.ROBOTS:
            return documents.robots(chance)
        if role is Role.SITEMAP:
            return documents.sitemap(chance)
    return chance.choice(documents.PAGES)(chance)


def _coded(chance: Random, body: bytes) -> tuple[bytes, list[bytes]]:
    """Put a body into content codings, right or wrong ones; return it with its header."""
    if chance.random() < 0.6:
        return body, []
    names = chance.choices(_ENCODINGS, weights=[9, 6, 6, 6, 1, 1, 1, 1, 1, 1, 1], k=chance.choice((1, 1, 1, 1, 2, 5)))
    for name in names:
        body = maybe(chance, _compress(chance, name, body), 0.25)
    if chance.random() < 0.1:
        return body, []
    return body, [b"Content-Encoding: " + ", ".join(names).encode()]


def _compress(chance: Random, name: str, body: bytes) -> bytes:
    if chance.random() < 0.1:
        return body
    if chance.random() < 0.02:
        body *= chance.randint(1, 2000)
    coders: dict[str, Callable[[bytes], bytes]] = {
        "gzip": partial(gzip.compress, mtime=0),
        "x-gzip": lambda data: gzip.compress(data, mtime=0) + gzip.compress(b"more", mtime=0),
        "GZIP": partial(gzip.compress, mtime=0),
        "deflate": lambda data: zlib.compress(data)[chance.choice((0, 2)) :],
        "br": lambda data: brotli.compress(data, quality=1),
        "zstd": zstandard.ZstdCompressor(write_content_size=chance.random() < 0.5).compress,
    }
    return coders[name](body) if name in coders else body


def _framed(chance: Random, body: bytes) -> tuple[bytes, list[bytes]]:
    """Tell the body's length, or not, or wrongly; return it as sent with its headers."""
    kind = chance.randrange(25)
    if kind < 14:
        return body, [b"Content-Length: %d" % len(body)]
    if kind < 17:
        return body, []
    if kind == 17:
        wrong = (len(body) + 7, max(0, len(body) - 7), 0, -1, 2**31, 2**63, 2**64, 10**30)
        return body, [b"Content-Length: %d" % chance.choice(wrong)]
    if kind == 18:
        odd = (b"", b"x", b"0x5", b"5, 5", b"5,6", b"+5", b" ", b"1_0", b"\xb2", b"5 5", b"5.0")
        return body, [b"Content-Length: " + chance.choice(odd)]
    if kind == 19:
        return _chunked(chance, body), [b"Transfer-Encoding: chunked", b"Content-Length: %d" % len(body)]
    return maybe(chance, _chunked(chance, body), 0.3), [b"Transfer-Encoding: chunked"]


def _chunked(chance: Random, body: bytes) -> bytes:
    parts = []
    while body:
        size = chance.choice((1, 7, 100, 4000))
        part, body = body[:size], body[size:]
        extension = chance.choice((b"", b"", b"", b";a=b", b' ; a="b', b" ", b";" * 100))
        parts.append(b"%x%s\r\n%s\r\n" % (len(part), extension, part))
        if len(parts) == 50:
            break
    end = (b"0\r\n\r\n",) * 6 + (
        b"0\r\nSet-Cookie: t=r\r\nLocation: /case/1\r\n\r\n",
        b"",
        b"0\r\n",
        b"-1\r\n",
        b"f" * 40,
    )
    return b"".join(parts) + chance.choice((*end, b"g\r\n\r\n", b"0" * 200 + b"\r\n\r\n", b"0\n\n"))


def _head(role: Role, chance: Random, lines: list[bytes]) -> bytes:
    status = _status_line(role, chance)
    values = {"c": chance.choice(documents.CHARSETS), "d": chance.choice(_DATES), "e": chance.choice(_ENCODINGS)}
    if chance.random() < 0.6 and role in (Role.PAGE, Role.SEED):
        lines.append(b"Content-Type: text/html; charset=" + values["c"].encode())
    for _ in range(min(chance.randint(0, _MOST_HEADERS), chance.randint(0, _MOST_HEADERS))):
        odd = chance.choice(_BROKEN_HEADERS if chance.random() < 0.03 else _ODD_HEADERS)
        filled = odd.format(**values, u=documents.url(chance), n=chance.randrange(3000)) if "{" in odd else odd
        lines.append(filled.encode(chance.choice(("latin-1", "utf-8")), "replace"))
    if b" 30" in status and chance.random() < 0.9:
        lines.append(b"Location: " + _location(chance).encode("utf-8", "replace"))
    chance.shuffle(lines)
    if chance.random() < 0.01:
        lines += [b"X-Many: %d" % number for number in range(chance.randint(100, 3000))]
    end = chance.choice((b"\r\n",) * 9 + (b"\n", b"\r", b"\n\r"))
    return status + end + b"".join(line + end for line in lines) + chance.choice((end,) * 19 + (b"",))


def _status_line(role: Role, chance: Random) -> bytes:
    kind = chance.random()
    if kind < 0.65:
        return b"HTTP/1.1 200 OK"
    if kind < 0.78:
        return b"HTTP/1.1 %d Found" % chance.choice(_REDIRECTS)
    if kind < 0.85:
        reason = chance.choice(_REASONS).encode("latin-1")
        return b"HTTP/1.1 %d %s" % (chance.choice(_STATUSES), reason)
    if kind < 0.855:
        return chance.choice((b"HTTP/1.1 429 Slow", b"HTTP/1.1 503 Later", b"HTTP/1.1 101 Switching Protocols"))
    if kind < 0.93:
        return chance.choice(_STATUS_LINES).encode("latin-1")
    return maybe(chance, b"HTTP/1.1 %d OK" % chance.randrange(100, 1000), 0.3)


def _location(chance: Random) -> str:
    if chance.random() < 0.2:
        return f"http://s{chance.randrange(40)}.fuzz.test{documents.url(chance)}"
    return documents.url(chance)


def _interim(chance: Random) -> bytes:
    """Return what comes before the answer's own head: mostly nothing."""
    if chance.random() < 0.88:
        return b""
    one = (
        b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 103 Early Hints\r\nLink: </x>; rel=preload\r\n\r\n",
        b"HTTP/1.1 103 E\r\n\r\n\r\n", b"HTTP/1.1 102 P\r\nSet-Cookie: i=j\r\n\r\n", b"HTTP/1.1 199 x\r\n\r\n",
        b"HTTP/1.1 100\r\nContent-Length: 5\r\n\r\n", b"HTTP/1.1 100 Continue\n\n", b"\r\n", b"\n", b" \r\n",
        b"HTTP/1.0 100 x\r\nLocation: /case/2\r\n\r\n", b"HTTP/1.1 101 x\r\nUpgrade: x\r\n\r\n",
    )  # fmt: skip
    return maybe(chance, b"".join(chance.choices(one, k=chance.choice((1, 1, 2, 3, 40)))), 0.3)


def _stray(chance: Random) -> bytes:
    """Return what comes behind the answer, on a kept connection before the next one: mostly nothing."""
    if chance.random() < 0.9:
        return b""
    return chance.choice((b"\r\n", b"\n", b"\r\n\r\n", b"x", b"HTTP/1.1 200 OK\r\n\r\n", *TOKENS))


def _pieces(chance: Random, whole: bytes) -> tuple[bytes, ...]:
    if chance.random() < 0.7 or len(whole) < 3:
        return (whole,)
    cuts = sorted(chance.sample(range(1, len(whole)), min(len(whole) - 1, chance.randint(1, 4))))
    return tuple(whole[start:end] for start, end in zip([0, *cuts], [*cuts, len(whole)], strict=True))
