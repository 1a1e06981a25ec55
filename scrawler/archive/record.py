"""WARC/1.1 records (ISO 28500:2017) as bytes: pure functions, no files.

What is archived differs from what was transferred in one point. Bodies come with their transfer coding removed, so a
`Transfer-Encoding` field would tell a reader to remove it again: its name becomes `X-Archive-Orig-Transfer-Encoding`,
as crawlers of the field do, and with it that of a `Content-Length` beside it, which HTTP says to ignore then
(RFC 9112, 6.3). No field is added: without both, the body ends where the record ends. A `Content-Length` that the
server sent and did not keep stays as sent; `WARC-Truncated` says what happened.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha1
from os import urandom
from typing import Literal, NamedTuple

from scrawler.model import Millis

Truncation = Literal["", "length", "time", "disconnect"]

_REVISIT_PROFILE = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
_CONFORMS_TO = "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"
_MISLEADING_FIELDS = re.compile(rb"^(?=(?:transfer-encoding|content-length)[ \t]*:)", re.IGNORECASE | re.MULTILINE)
_WHITE_LINES = re.compile(rb"\n(?:[ \t]+\r?\n)+")
_BASE32 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".ljust(256)
_VARIANTS = "89ab"


class RevisitOf(NamedTuple):
    """The earlier record that holds the same payload."""

    url: str
    date_ms: Millis


@dataclass(frozen=True, slots=True, eq=False)
class Exchange:
    """One request and its answer. Heads are raw bytes up to and with the blank line; `response_head` is not empty.

    `body` is as transferred, less the transfer coding; `payload_digest` is `digest(body)`. `truncated` says why the
    body is not whole. A revisit has a whole, non-empty payload.
    """

    url: str
    address: str
    date_ms: Millis
    request_head: bytes
    response_head: bytes
    body: bytes
    payload_digest: bytes
    truncated: Truncation = ""
    revisit_of: RevisitOf | None = None


class RecordRef(NamedTuple):
    """Where a response or revisit record is: file name in the archive folder, bytes of its gzip member."""

    file: str
    offset: int
    length: int
    digest: bytes
    revisit: bool


def digest(payload: bytes) -> bytes:
    """Return the 20 bytes of SHA-1 by which payloads are compared."""
    return sha1(payload, usedforsecurity=False).digest()


def base32(digest: bytes) -> str:
    """Write the 20 bytes of a SHA-1 in base 32 (RFC 4648), at a third of the cost of the standard library's way."""
    value = int.from_bytes(digest, "big")
    for low, high, shift in _SPREADS:
        value = value & low | (value & high) << shift
    return value.to_bytes(32, "big").translate(_BASE32).decode()


def _spreads() -> Iterator[tuple[int, int, int]]:
    """Yield masks and shifts that move 32 groups of five bits into 32 bytes, halving all pieces five times."""
    for half in (80, 40, 20, 10, 5):
        spacing = 256 * half // 80  # from one piece, of two halves, to the next
        low = sum(((1 << half) - 1) << at for at in range(0, 256, spacing))
        yield low, low << half, spacing // 2 - half


_SPREADS = tuple(_spreads())


def warc_date(date_ms: Millis) -> str:
    """Write a time as WARC-Date, with milliseconds (WARC/1.1, 5.4)."""
    seconds, millis = divmod(date_ms, 1000)
    return f"{_second(seconds)}.{millis:03d}Z"


def warcinfo(filename: str, info: Mapping[str, str], date_ms: Millis) -> bytes:
    """Build the record that opens a file: `info` tells of software, operator and robots policy."""
    fields = {**info, "format": "WARC File Format 1.1", "conformsTo": _CONFORMS_TO}
    block = "".join(f"{name}: {' '.join(value.split())}\r\n" for name, value in fields.items()).encode()
    head = (
        f"WARC/1.1\r\nWARC-Type: warcinfo\r\nWARC-Record-ID: {_record_ids()[0]}\r\nWARC-Date: {warc_date(date_ms)}\r\n"
        f"WARC-Filename: {filename}\r\nWARC-Block-Digest: sha1:{base32(digest(block))}\r\n"
        f"Content-Type: application/warc-fields\r\nContent-Length: {len(block)}\r\n\r\n"
    )
    return b"".join((head.encode(), block, b"\r\n\r\n"))


def request_and_response(exchange: Exchange) -> tuple[bytes, bytes]:
    """Build the request record and the response (or revisit) record of an exchange."""
    request_id, response_id = _record_ids()
    common = f"WARC-Date: {warc_date(exchange.date_ms)}\r\nWARC-Target-URI: {exchange.url}\r\n"
    if exchange.address:
        common += f"WARC-IP-Address: {exchange.address}\r\n"
    block = exchange.request_head
    head = (
        f"WARC/1.1\r\nWARC-Type: request\r\nWARC-Record-ID: {request_id}\r\n{common}"
        f"WARC-Concurrent-To: {response_id}\r\nWARC-Block-Digest: sha1:{base32(digest(block))}\r\n"
        f"Content-Type: application/http;msgtype=request\r\nContent-Length: {len(block)}\r\n\r\n"
    )
    return b"".join((head.encode(), block, b"\r\n\r\n")), _response(exchange, response_id, common)


def archived_head(head: bytes) -> bytes:
    """Return a response head whose fields describe the body as archived; see the module's text.

    Lines of nothing but white space, which are legal folds but end the head for many a reader, are left out.
    """
    if b"\n " in head or b"\n\t" in head:
        head = _WHITE_LINES.sub(b"\n", head)
    if b"transfer-encoding" in head.lower():
        return _mark_misleading(head)
    return head


def _mark_misleading(head: bytes) -> bytes:
    marked = _MISLEADING_FIELDS.sub(b"X-Archive-Orig-", head)
    return marked if b"\nx-archive-orig-transfer-encoding" in marked.lower() else head  # else it was in a value only


def _response(exchange: Exchange, record_id: str, common: str) -> bytes:
    earlier = exchange.revisit_of
    block_head = archived_head(exchange.response_head)
    block_digest = sha1(block_head, usedforsecurity=False)
    if earlier is None:
        kind, body, extra = "response", exchange.body, ""
        block_digest.update(body)
    else:
        assert exchange.body, "an empty payload is never a revisit"
        assert not exchange.truncated, "only a whole payload is known to be the same"
        kind, body = "revisit", b""
        extra = (
            f"WARC-Profile: {_REVISIT_PROFILE}\r\nWARC-Refers-To-Target-URI: {earlier.url}\r\n"
            f"WARC-Refers-To-Date: {warc_date(earlier.date_ms)}\r\n"
        )
    if exchange.truncated:
        extra += f"WARC-Truncated: {exchange.truncated}\r\n"
    head = (
        f"WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Record-ID: {record_id}\r\n{common}{extra}"
        f"WARC-Payload-Digest: sha1:{base32(exchange.payload_digest)}\r\n"
        f"WARC-Block-Digest: sha1:{base32(block_digest.digest())}\r\n"
        f"Content-Type: application/http;msgtype=response\r\nContent-Length: {len(block_head) + len(body)}\r\n\r\n"
    )
    return b"".join((head.encode(), block_head, body, b"\r\n\r\n"))


def _record_ids() -> tuple[str, str]:
    """Make two random UUIDs (RFC 9562, version 4) from one call to the kernel."""
    text = urandom(32).hex()
    return _uuid_urn(text[:32]), _uuid_urn(text[32:])


def _uuid_urn(text: str) -> str:
    variant = _VARIANTS[int(text[16], 16) & 3]
    return f"<urn:uuid:{text[:8]}-{text[8:12]}-4{text[13:16]}-{variant}{text[17:20]}-{text[20:]}>"


@lru_cache(maxsize=64)
def _second(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
