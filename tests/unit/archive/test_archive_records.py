"""The records that the part in C makes: the very bytes that Python makes, or none."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrawler.archive import record
from scrawler.archive.record import Exchange, RevisitOf, digest
from tests.unit.archive.test_archive_record import EXCHANGE

pytestmark = pytest.mark.skipif(record.COMPILED is None, reason="the part in C is not compiled")

_ID = re.compile(rb"<urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}>")
_PIECES = (
    *(b"HTTP/1.1 200 OK", b"Transfer-Encoding", b"tRANSFER-eNCODING", b"transfer-encodin", b"ransfer-encoding", b"-"),
    *(b"\r\nTransfer-Encoding: x\r\n", b"\nContent-Length \t:1", b"content-length:", b"X-Archive-Orig-", b"A: b"),
    *(b"\r\n", b"\n", b"\r", b" ", b"\t", b":", b"x", b"\xa0", b"\xc2\x85", b"\0", b"~", b"!", b"\x7f"),
)
HEADS = st.one_of(st.lists(st.sampled_from(_PIECES), max_size=12).map(b"".join), st.binary(max_size=40))
URLS = ["http://h/", "http://h/\u00e9", "", "http://h/" + "x" * 70_000]
TEXTS = st.one_of(st.sampled_from(URLS), st.text(max_size=9))


def told_alike(records: tuple[bytes, ...]) -> bytes:
    """Return records in one piece, with numbers for their ids, which are random."""
    found: dict[bytes, int] = {}
    joined = b"\0".join(records)
    return _ID.sub(lambda match: b"<%d>" % found.setdefault(match[0], len(found)), joined)


@given(
    TEXTS, TEXTS, st.integers(0, 253402300799999), HEADS, HEADS, st.binary(max_size=30),
    st.binary(min_size=20, max_size=20),
    st.sampled_from(["", "length"]), st.booleans(),
)  # fmt: skip
def test_they_are_those_that_python_makes(
    url: str, address: str, at: int, asked: bytes, head: bytes, body: bytes, payload: bytes, cut: Any, again: bool
) -> None:
    earlier = RevisitOf("http://earlier/", 1) if again and body and not cut else None
    one = Exchange(url, address, at, asked, head, body, payload, cut, earlier, ("http/1.1", ""))
    try:
        expected = told_alike(record._plain_records(one, False))
    except UnicodeEncodeError:  # half of a UTF-16 pair
        return
    assert told_alike(record.records_of(one)) == expected


@pytest.mark.parametrize("fields", [b"", b"Transfer-Encoding: a\r\n", b"content-length: 5\ntransfer-encoding :x\n"])
def test_a_usual_one_is_made_in_c(fields: bytes) -> None:
    assert record.COMPILED is not None
    random = bytes(range(0, 256, 8))
    one = replace(EXCHANGE, response_head=b"HTTP/1.1 200 OK\r\n" + fields + b"Server: x\r\n\r\n")
    pair = record.COMPILED(
        one.url, one.address, one.date_ms, "", random, "response", "", one.request_head, one.response_head, one.body,
        one.payload_digest,
    )  # fmt: skip
    assert pair is not None
    assert f"WARC-Record-ID: {record._uuid_urn(random.hex()[:32])}\r\n".encode() in pair[0]
    assert f"WARC-Record-ID: {record._uuid_urn(random.hex()[32:])}\r\n".encode() in pair[1]
    assert told_alike(pair) == told_alike(record._plain_records(one, False))


@pytest.mark.parametrize(
    "change",
    [
        {"url": "http://h/\u00e9"},
        {"date_ms": -1},
        {"date_ms": 1 << 50},
        {"response_head": b"HTTP/1.1 200 OK\r\nVary: Transfer-Encoding\r\n\r\n"},
        {"response_head": b"HTTP/1.1 200 OK\r\nA: b\r\n folded\r\n\r\n"},
    ],
)
def test_others_are_left_to_python(change: dict[str, Any]) -> None:
    assert record.COMPILED is not None
    one = replace(EXCHANGE, **change)
    assert record.COMPILED(
        one.url, one.address, one.date_ms, "", bytes(32), "response", "", one.request_head, one.response_head, one.body,
        one.payload_digest,
    ) is None  # fmt: skip


@pytest.mark.parametrize(("random", "payload"), [(b"", digest(b"")), (bytes(33), digest(b"")), (bytes(32), b"short")])
def test_bytes_that_are_too_few_are_an_error(random: bytes, payload: bytes) -> None:
    assert record.COMPILED is not None
    with pytest.raises(ValueError, match="20 are wanted"):
        record.COMPILED("http://h/", "", 0, "", random, "response", "", b"", b"", b"", payload)


def test_a_body_that_is_not_bytes_is_left_to_python() -> None:
    assert record.COMPILED is not None
    body, payload = bytearray(b"x"), digest(b"x")
    assert record.COMPILED("http://h/", "", 0, "", bytes(32), "response", "", b"", b"", body, payload) is None
