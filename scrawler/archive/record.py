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

from scrawler.model.terms import Millis

Truncation = Literal["", "length", "time", "disconnect"]

_SAME_PAYLOAD = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
_NOT_MODIFIED = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
_CONFORMS_TO = "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"
_MISLEADING_FIELDS = re.compile(rb"^(?=(?:transfer-encoding|content-length)[ \t]*:)", re.IGNORECASE | re.MULTILINE)
_ODD_LINE_STARTS = re.compile(rb"\n(?:[^!-~\r]|\r[^\n])")  # any white line begins so: cheaper to look for
_WHITE_LINES = re.compile(  # lines that look empty to readers which strip them as Latin-1, or as UTF-8
    rb"\n(?:(?:[ \t\x0b\x0c\x1c-\x1f\x85\xa0]|\r(?!\n)|\xc2[\x85\xa0]|\xe1\x9a\x80|\xe2\x80[\x80-\x8a\xa8\xa9\xaf]"
    rb"|\xe2\x81\x9f|\xe3\x80\x80)+\r?\n)+"
)
_BASE32 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".ljust(256)
_VARIANTS = {digit: "89ab"[number & 3] for number, digit in enumerate("0123456789abcdef")}
_NO_DIGEST = bytes(20)


class RevisitOf(NamedTuple):
    """The earlier record that holds the same payload."""

    url: str
    date_ms: Millis
    said_by_server: bool = False  # whether it answered 304 Not Modified; otherwise the same bytes came again


@dataclass(slots=True, eq=False)
class Exchange:
    """One request and its answer. Heads are raw bytes up to and with the blank line; `response_head` is not empty.

    `body` is as transferred, less the transfer coding; `payload_digest` is `digest(body)`. `truncated` says why the
    body is not whole. A revisit has a whole, non-empty payload; where the server says that it is the same, there is no
    body, and the digest is that of the earlier one. It is not frozen, which would cost 0.7 us of each page.
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
    protocols: tuple[str, ...] = ()  # such as "h2" and "tls/1.3"; an empty one stands for what is not known
    cipher_suite: str = ""  # its name at the IANA; empty where there is none, or it is not known
    metadata: bytes = b""  # what was found in the answer (application/warc-fields); empty: no record of that


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
    """Write the 20 bytes of a SHA-1, or of four of them, in base 32 (RFC 4648).

    One costs a third of the standard library's way, four cost two.
    """
    value = int.from_bytes(digest, "big")
    for low, high, shift in _SPREADS[len(digest)]:
        value = value & low | (value & high) << shift
    return value.to_bytes(len(digest) // 5 * 8, "big").translate(_BASE32).decode()


def _spreads(size: int) -> Iterator[tuple[int, int, int]]:
    """Yield masks and shifts that move groups of five bits into bytes of their own, halving all pieces again and again.

    `size` is in bytes, five times a power of two.
    """
    half, spread = size * 4, size // 5 * 64
    spacing = spread  # bits from the begin of one piece, which has two halves, to that of the next
    while half >= 5:
        low = sum(((1 << half) - 1) << at for at in range(0, spread, spacing))
        yield low, low << half, spacing // 2 - half
        half, spacing = half // 2, spacing // 2


_SPREADS = {size: tuple(_spreads(size)) for size in (20, 80)}


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


def records_of(exchange: Exchange) -> tuple[bytes, ...]:
    """Build the records of an exchange: metadata if there is any, the request, and last the response (or revisit)."""
    asked, head = exchange.request_head, archived_head(exchange.response_head)
    body, kind, extra = _answer(exchange)
    block = sha1(head, usedforsecurity=False)
    block.update(body)
    metadata = exchange.metadata
    of_metadata = digest(metadata) if metadata else _NO_DIGEST
    digests = base32(b"".join((digest(asked), exchange.payload_digest, block.digest(), of_metadata)))
    request_id, response_id = _record_ids()
    address = f"WARC-IP-Address: {exchange.address}\r\n" if exchange.address else ""
    spoken = _spoken(exchange.protocols, exchange.cipher_suite)
    common = f"WARC-Date: {warc_date(exchange.date_ms)}\r\nWARC-Target-URI: {exchange.url}\r\n{address}{spoken}"
    request = (
        f"WARC/1.1\r\nWARC-Type: request\r\nWARC-Record-ID: {request_id}\r\n{common}"
        f"WARC-Concurrent-To: {response_id}\r\nWARC-Block-Digest: sha1:{digests[:32]}\r\n"
        f"Content-Type: application/http;msgtype=request\r\nContent-Length: {len(asked)}\r\n\r\n"
    )
    response = (
        f"WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Record-ID: {response_id}\r\n{common}{extra}"
        f"WARC-Payload-Digest: sha1:{digests[32:64]}\r\nWARC-Block-Digest: sha1:{digests[64:96]}\r\n"
        f"Content-Type: application/http;msgtype=response\r\nContent-Length: {len(head) + len(body)}\r\n\r\n"
    )
    end = b"\r\n\r\n"
    pair = b"".join((request.encode(), asked, end)), b"".join((response.encode(), head, body, end))
    if not metadata:
        return pair
    found = (
        f"WARC/1.1\r\nWARC-Type: metadata\r\nWARC-Record-ID: {_record_ids()[0]}\r\n"
        f"WARC-Date: {warc_date(exchange.date_ms)}\r\nWARC-Target-URI: {exchange.url}\r\n"
        f"WARC-Concurrent-To: {response_id}\r\nWARC-Block-Digest: sha1:{digests[96:]}\r\n"
        f"Content-Type: application/warc-fields\r\nContent-Length: {len(metadata)}\r\n\r\n"
    )
    return b"".join((found.encode(), metadata, end)), *pair


@lru_cache(maxsize=64)
def _spoken(protocols: tuple[str, ...], cipher_suite: str) -> str:
    fields = [f"WARC-Protocol: {protocol}\r\n" for protocol in protocols if protocol]
    if cipher_suite:
        fields.append(f"WARC-Cipher-Suite: {cipher_suite}\r\n")
    return "".join(fields)


def archived_head(head: bytes) -> bytes:
    """Return a response head whose fields describe the body as archived; see the module's text.

    Lines of nothing but white space, which are legal folds but end the head for many a reader, are left out.
    """
    if _ODD_LINE_STARTS.search(head):
        head = _WHITE_LINES.sub(b"\n", head)
    if b"transfer-encoding" in head.lower():
        return _mark_misleading(head)
    return head


def _mark_misleading(head: bytes) -> bytes:
    marked = _MISLEADING_FIELDS.sub(b"X-Archive-Orig-", head)
    return marked if b"\nx-archive-orig-transfer-encoding" in marked.lower() else head  # in others it is in a value


def _answer(exchange: Exchange) -> tuple[bytes, str, str]:
    """Return the body that stands in the record of the answer, the record's type, and further fields of it."""
    cut = f"WARC-Truncated: {exchange.truncated}\r\n" if exchange.truncated else ""
    earlier = exchange.revisit_of
    if earlier is None:
        return exchange.body, "response", cut
    assert exchange.body or earlier.said_by_server, "an empty payload is never a revisit"
    assert not exchange.truncated, "only a whole payload is known to be the same"
    profile = _NOT_MODIFIED if earlier.said_by_server else _SAME_PAYLOAD
    return (
        b"",
        "revisit",
        f"WARC-Profile: {profile}\r\nWARC-Refers-To-Target-URI: {earlier.url}\r\n"
        f"WARC-Refers-To-Date: {warc_date(earlier.date_ms)}\r\n",
    )


def _record_ids() -> tuple[str, str]:
    """Make two random UUIDs (RFC 9562, version 4) from one call to the kernel."""
    text = urandom(32).hex()
    return _uuid_urn(text[:32]), _uuid_urn(text[32:])


def _uuid_urn(text: str) -> str:
    return f"<urn:uuid:{text[:8]}-{text[8:12]}-4{text[13:16]}-{_VARIANTS[text[16]]}{text[17:20]}-{text[20:]}>"


@lru_cache(maxsize=64)
def _second(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
