"""Gzip members: what is in them comes back, and what is packed already is not packed again."""

from __future__ import annotations

import gzip
import random
import zlib

import brotli
import pytest
import zstandard

from scrawler.archive.gzipping import (
    GZIP,
    from_zlib_stream,
    is_packed,
    isal_member,
    stored_member,
    zlib_member,
    zlib_stream,
)
from tests.tables import each

PAGE = b"<!DOCTYPE html>" + b"".join(b"<p>Word %d of a page.</p>" % number for number in range(3_000))
NOISE = random.Random(1).randbytes(200_000)
HTML = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"


@pytest.mark.parametrize("make", [isal_member, zlib_member, stored_member])
@pytest.mark.parametrize("data", [b"", b"x", PAGE, NOISE[:0xFFFF], NOISE[:0x10000], NOISE, NOISE[: 2 * 0xFFFF]])
def test_a_member_gives_back_what_is_in_it(make: type[object], data: bytes) -> None:
    member = bytes(make(data))  # type: ignore[call-arg, call-overload]
    assert gzip.decompress(member) == data
    inflate = zlib.decompressobj(GZIP)
    assert inflate.decompress(member + b"next") == data
    assert inflate.eof
    assert inflate.unused_data == b"next"


@pytest.mark.parametrize("length", [0, 1, 63, 64, 5_000])
def test_a_stream_gives_back_what_is_in_it(length: int) -> None:
    data = PAGE[:length]
    stream = zlib_stream(data)
    assert type(stream) is bytes
    assert zlib.decompress(stream) == from_zlib_stream(stream) == data


def test_stored_bytes_take_little_more_than_themselves() -> None:
    assert len(stored_member(NOISE)) <= len(NOISE) + 18 + 5 * 4


@each(
    ("head", "body", "packed"),
    [
        (HTML, PAGE, False),
        (HTML, gzip.compress(NOISE), True),
        (HTML, zlib.compress(PAGE * 9), True),
        (HTML, zstandard.compress(NOISE), True),
        (b"HTTP/1.1 200 OK\r\ncontent-encoding:  br\r\n\r\n", brotli.compress(NOISE, quality=1), True),
        (HTML, brotli.compress(NOISE, quality=1), False),  # nothing says so
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: br\r\n\r\n", PAGE, False),  # what says so is wrong
        (b"HTTP/1.1 200 OK\r\nX-Content-Encoding: br\r\n\r\n", NOISE, False),
        (HTML, gzip.compress(b"short"), False),
        (HTML, "Привет, мир! ".encode() * 999, False),
        (HTML, b"\x89PNG\r\n\x1a\n" + NOISE, True),
        (HTML, b"\xff\xd8\xff\xe0" + NOISE, True),
        (HTML, b"", False),
    ],
)
def test_a_body_is_packed_that_begins_so_or_whose_head_says_so(head: bytes, body: bytes, packed: bool) -> None:
    assert is_packed(head, body) is packed
