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
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha1
from os import urandom
from typing import Final, Literal, NamedTuple

from scrawler.compiled import compiled_part
from scrawler.model.terms import Millis

Truncation = Literal["", "length", "time", "disconnect"]

_SAME_PAYLOAD: Final = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
_NOT_MODIFIED: Final = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
_CONFORMS_TO = "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"
_MISLEADING_FIELDS = re.compile(rb"^(?=(?:transfer-encoding|content-length)[ \t]*:)", re.IGNORECASE | re.MULTILINE)
_MARK = b"X-Archive-Orig-"
_MARKED_FIELDS = re.compile(b"^" + _MARK + rb"(?=(?i:transfer-encoding|content-length)[ \t]*:)", re.MULTILINE)
_ODD_LINE_STARTS = re.compile(rb"\n(?:[^!-~\r]|\r[^\n])")  # any white line begins so: cheaper to look for
_WHITE_LINES = re.compile(  # lines that look empty to readers which strip them as Latin-1, or as UTF-8
    rb"\n(?:(?:[ \t\x0b\x0c\x1c-\x1f\x85\xa0]|\r(?!\n)|\xc2[\x85\xa0]|\xe1\x9a\x80|\xe2\x80[\x80-\x8a\xa8\xa9\xaf]"
    rb"|\xe2\x81\x9f|\xe3\x80\x80)+\r?\n)+"
)
_BASE32: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".ljust(256)
_VARIANTS = {digit: "89ab"[number & 3] for number, digit in enumerate("0123456789abcdef")}
_END = b"\r\n\r\n"  # of a record

_part = compiled_part("scrawler.archive._records")
COMPILED: Callable[..., tuple[bytes, bytes] | None] | None = None if _part is None else _part.pair


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
    body, and the digest is that of the earlier one. It is not frozen, which would cost 0.7 us of each page, nor is what
    makes it a dataclass's own, which mypyc does not compile.
    """

    url: str
    address: str
    date_ms: Millis
    request_head: bytes
    response_head: bytes
    body: bytes
    payload_digest: bytes
    truncated: Truncation
    revisit_of: RevisitOf | None
    protocols: tuple[str, ...]  # such as "h2" and "tls/1.3"; an empty one stands for what is not known
    cipher_suite: str  # its name at the IANA; empty where there is none, or it is not known
    metadata: bytes  # what was found in the answer (application/warc-fields); empty: no record of that
    rendered: bytes  # the document that a browser made of it (HTML in UTF-8); empty: no record of that

    def __init__(
        self,
        url: str,
        address: str,
        date_ms: Millis,
        request_head: bytes,
        response_head: bytes,
        body: bytes,
        payload_digest: bytes,
        truncated: Truncation = "",
        revisit_of: RevisitOf | None = None,
        protocols: tuple[str, ...] = (),
        cipher_suite: str = "",
        metadata: bytes = b"",
        rendered: bytes = b"",
    ) -> None:
        self.url = url
        self.address = address
        self.date_ms = date_ms
        self.request_head = request_head
        self.response_head = response_head
        self.body = body
        self.payload_digest = payload_digest
        self.truncated = truncated
        self.revisit_of = revisit_of
        self.protocols = protocols
        self.cipher_suite = cipher_suite
        self.metadata = metadata
        self.rendered = rendered


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
    """Write the 20 bytes of a SHA-1 in base 32 (RFC 4648), in a third of the standard library's time."""
    value = int.from_bytes(digest, "big")
    for low, high, shift in _SPREADS:
        value = value & low | (value & high) << shift
    return value.to_bytes(32, "big").translate(_BASE32).decode()


def _spreads() -> Iterator[tuple[int, int, int]]:
    """Yield masks and shifts that move groups of five bits into bytes of their own, halving all pieces again and again.

    There are 160 bits, which are to take up 256.
    """
    half, spread = 80, 256
    spacing = spread  # bits from the begin of one piece, which has two halves, to that of the next
    while half >= 5:
        low = sum(((1 << half) - 1) << at for at in range(0, spread, spacing))
        yield low, low << half, spacing // 2 - half
        half, spacing = half // 2, spacing // 2


_SPREADS: Final = tuple(_spreads())


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
        f"WARC-Filename: {filename}\r\n{_block_digest(block)}"
        f"Content-Type: application/warc-fields\r\nContent-Length: {len(block)}\r\n\r\n"
    )
    return b"".join((head.encode(), block, _END))


def records_of(exchange: Exchange, block_digests: bool = False) -> tuple[bytes, ...]:
    """Build the records of an exchange: metadata, what was rendered, the request, and last the response (or revisit).

    A payload always has its digest. With `block_digests` so has each block: the heads are in it as well.
    """
    if COMPILED is not None and not (block_digests or exchange.metadata or exchange.rendered):
        body, kind, extra = _answer(exchange)
        spoken = _spoken(exchange.protocols, exchange.cipher_suite)
        pair = COMPILED(  # it makes nothing of a head that is not to be archived as it came
            exchange.url, exchange.address, exchange.date_ms, spoken, urandom(32), kind, extra,
            exchange.request_head, exchange.response_head, body, exchange.payload_digest,
        )  # fmt: skip
        if pair is not None:
            return pair
    return _plain_records(exchange, block_digests)


def _plain_records(exchange: Exchange, block_digests: bool) -> tuple[bytes, ...]:
    """Do the same in Python."""
    head = archived_head(exchange.response_head)
    body, kind, extra = _answer(exchange)
    block_digest = _block_digest if block_digests else _no_block_digest
    request_id, response_id = _record_ids()
    dated = f"WARC-Date: {warc_date(exchange.date_ms)}\r\nWARC-Target-URI: {exchange.url}\r\n"
    address = f"WARC-IP-Address: {exchange.address}\r\n" if exchange.address else ""
    common = f"{dated}{address}{_spoken(exchange.protocols, exchange.cipher_suite)}"
    asked = exchange.request_head
    request = (
        f"WARC/1.1\r\nWARC-Type: request\r\nWARC-Record-ID: {request_id}\r\n{common}"
        f"WARC-Concurrent-To: {response_id}\r\n{block_digest(asked)}"
        f"Content-Type: application/http;msgtype=request\r\nContent-Length: {len(asked)}\r\n\r\n"
    )
    response = (
        f"WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Record-ID: {response_id}\r\n{common}{extra}"
        f"WARC-Payload-Digest: sha1:{base32(exchange.payload_digest)}\r\n{block_digest(head, body)}"
        f"Content-Type: application/http;msgtype=response\r\nContent-Length: {len(head) + len(body)}\r\n\r\n"
    )
    pair = b"".join((request.encode(), asked, _END)), b"".join((response.encode(), head, body, _END))
    metadata, rendered = exchange.metadata, exchange.rendered
    if not (metadata or rendered):
        return pair
    others = []
    if metadata:
        found = (
            f"WARC/1.1\r\nWARC-Type: metadata\r\nWARC-Record-ID: {_record_ids()[0]}\r\n{dated}"
            f"WARC-Concurrent-To: {response_id}\r\n{block_digest(metadata)}"
            f"Content-Type: application/warc-fields\r\nContent-Length: {len(metadata)}\r\n\r\n"
        )
        others.append(b"".join((found.encode(), metadata, _END)))
    if rendered:  # WARC/1.1, 6.8: another form of the content of another record
        made = (
            f"WARC/1.1\r\nWARC-Type: conversion\r\nWARC-Record-ID: {_record_ids()[0]}\r\n{dated}"
            f"WARC-Refers-To: {response_id}\r\n{block_digest(rendered)}"
            f"Content-Type: text/html; charset=utf-8\r\nContent-Length: {len(rendered)}\r\n\r\n"
        )
        others.append(b"".join((made.encode(), rendered, _END)))
    return *others, *pair


def _block_digest(*parts: bytes) -> str:
    """Return the field that tells the SHA-1 of a block, which `parts` make up."""
    hashed = sha1(usedforsecurity=False)
    for part in parts:
        hashed.update(part)
    return f"WARC-Block-Digest: sha1:{base32(hashed.digest())}\r\n"


def _no_block_digest(*parts: bytes) -> str:
    return ""


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


def sent_head(head: bytes) -> bytes:
    """Return the response head that was archived with the names that its server gave the fields."""
    return _MARKED_FIELDS.sub(b"", head)


def _mark_misleading(head: bytes) -> bytes:
    marked = _MISLEADING_FIELDS.sub(_MARK, head)
    return marked if b"\nx-archive-orig-transfer-encoding" in marked.lower() else head  # in others it is in a value


def _answer(exchange: Exchange) -> tuple[bytes, str, str]:
    """Return the body that stands in the record of the answer, the record's type, and further fields of it."""
    earlier = exchange.revisit_of
    if earlier is None:
        cut = f"WARC-Truncated: {exchange.truncated}\r\n" if exchange.truncated else ""
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
