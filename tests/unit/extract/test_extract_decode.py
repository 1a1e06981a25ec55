"""Content decoding: what was encoded comes back, what is broken is told, and nothing grows beyond its limit."""

from __future__ import annotations

import gzip
import random
import subprocess
import sys
import zlib
from collections.abc import Callable

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from scrawler.extract.decode import Decoded, decode_body
from tests.limits import HANGS

LIMIT = 1_000_000
PAGE = b"<html>" + b"".join(b"<p>paragraph %d</p>" % n for n in range(5_000)) + b"</html>"


def raw_deflate(data: bytes) -> bytes:
    compressor = zlib.compressobj(6, zlib.DEFLATED, -15)
    return compressor.compress(data) + compressor.flush()


ENCODERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": lambda data: brotli.compress(data, quality=4),
    "zstd": zstandard.compress,
}
each_coding = pytest.mark.parametrize("coding", ENCODERS)


@each_coding
def test_round_trip(coding: str) -> None:
    for data in (b"", b"x", PAGE):
        assert decode_body(ENCODERS[coding](data), coding.upper(), LIMIT) == Decoded(data)


def test_variants() -> None:
    assert decode_body(raw_deflate(PAGE), "deflate", LIMIT) == Decoded(PAGE)
    assert decode_body(gzip.compress(PAGE) + gzip.compress(b"more"), "gzip", LIMIT) == Decoded(PAGE + b"more")
    assert decode_body(gzip.compress(PAGE) + b"\0" * 100, "gzip", LIMIT) == Decoded(PAGE)
    two_frames = zstandard.compress(PAGE) + zstandard.compress(b"more")
    assert decode_body(two_frames, "zstd", LIMIT) == Decoded(PAGE + b"more")
    streamed = zstandard.ZstdCompressor(write_content_size=False).compressobj()
    assert decode_body(streamed.compress(PAGE) + streamed.flush(), "zstd", LIMIT) == Decoded(PAGE)


def test_identity_costs_nothing() -> None:
    for coding in ("", "identity", " Identity , "):
        assert decode_body(PAGE, coding, 10).body is PAGE


def test_stacked_codings_are_undone_last_first() -> None:
    body = brotli.compress(gzip.compress(PAGE), quality=4)
    assert decode_body(body, "gzip, br", LIMIT) == Decoded(PAGE)
    assert decode_body(gzip.compress(body), "gzip, identity, br,gzip", LIMIT) == Decoded(PAGE)
    too_many = gzip.compress(gzip.compress(gzip.compress(gzip.compress(PAGE))))
    assert decode_body(too_many, "gzip,gzip,gzip,gzip", LIMIT) == Decoded(too_many, "decode-error")


@each_coding
def test_cut_short(coding: str) -> None:
    whole = ENCODERS[coding](PAGE)
    body, note = decode_body(whole[: len(whole) // 2], coding, LIMIT)
    assert note == "decode-error"
    assert PAGE.startswith(body)
    if coding != "zstd":  # its blocks are all or nothing
        assert len(body) > len(PAGE) // 4


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
def test_wrong_checksum_loses_nothing(coding: str) -> None:
    whole = bytearray(ENCODERS[coding](PAGE))
    whole[-6 if coding == "gzip" else -1] ^= 0xFF
    assert decode_body(bytes(whole), coding, LIMIT) == Decoded(PAGE, "decode-error")


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br"])  # zstd need not notice: here it has no checksum
def test_corrupt_in_the_middle(coding: str) -> None:
    whole = bytearray(ENCODERS[coding](PAGE))
    middle = len(whole) // 2
    whole[middle : middle + 40] = b"\xff" * 40
    body, note = decode_body(bytes(whole), coding, LIMIT)
    assert note == "decode-error"
    assert body.startswith(PAGE[: len(PAGE) // 4])


@each_coding
def test_what_was_never_encoded_comes_back(coding: str) -> None:
    assert decode_body(PAGE, coding, LIMIT) == Decoded(PAGE, "decode-error")
    assert decode_body(b"", coding, LIMIT) == Decoded(b"")


def test_unknown_coding() -> None:
    assert decode_body(PAGE, "utf-8", LIMIT) == Decoded(PAGE, "decode-error")


@each_coding
def test_limit(coding: str) -> None:
    body = ENCODERS[coding](PAGE)
    assert decode_body(body, coding, len(PAGE)) == Decoded(PAGE)
    assert decode_body(body, coding, len(PAGE) - 1) == Decoded(PAGE[:-1], "decoded-too-large")
    assert decode_body(body, coding, 10) == Decoded(PAGE[:10], "decoded-too-large")


@pytest.mark.parametrize("coding", [*ENCODERS, "gzip, br", "gzip, gzip, gzip"])
def test_ratio(coding: str) -> None:
    """What decodes to more than so many times its size is cut there, but not before 4 MiB."""
    floor, large = 4 << 20, bytes(20_000_000)

    def encoded(data: bytes) -> bytes:
        for name in coding.split(", "):
            data = ENCODERS[name](data)
        return data

    small = encoded(large)
    assert decode_body(small, coding, 1 << 30) == Decoded(large)
    ratio = 1000 if coding == "gzip, gzip, gzip" else 300  # gzip alone does not reach 1,032
    size = max(floor, ratio * len(small))
    assert size < len(large)
    assert decode_body(small, coding, 1 << 30, ratio) == Decoded(large[:size], "decode-ratio")
    assert decode_body(small, coding, 1_000_000, ratio) == Decoded(large[:1_000_000], "decoded-too-large")
    assert decode_body(encoded(large[:floor]), coding, 1 << 30, 2) == Decoded(large[:floor])


@pytest.mark.parametrize("size", [1, 4_095, 12_288, 30_000])
def test_a_body_of_many_members(size: int) -> None:
    pieces = [random.Random(number).randbytes(size) for number in range(150)]
    encoded, whole = b"".join(map(gzip.compress, pieces)), b"".join(pieces)
    assert decode_body(encoded, "gzip", 10 * LIMIT) == Decoded(whole)
    assert decode_body(encoded + b"\0" * 5_000, "gzip", 10 * LIMIT) == Decoded(whole)
    cut = decode_body(encoded[:-9], "gzip", 10 * LIMIT)
    assert (whole.startswith(cut.body), cut.note) == (True, "decode-error")


def test_more_members_than_any_server_makes() -> None:
    body, note = decode_body(gzip.compress(b"x") * 120_000, "gzip", LIMIT)
    assert (set(body), note) == ({ord("x")}, "decode-error")
    frame = zstandard.ZstdCompressor().compress(b"x")
    body, note = decode_body(frame * 120_000, "zstd", LIMIT)
    assert (set(body), note) == ({ord("x")}, "decode-error")
    assert decode_body(frame * 90_000, "zstd", LIMIT) == Decoded(b"x" * 90_000)


_BOMBS = """
import resource, sys, zlib, brotli, zstandard
from scrawler.extract.decode import decode_body
size, limit = 1 << 20, 10_000_000
zeros = bytes(size)
def packed(compress, finish):
    return b"".join([*(compress(zeros) for _ in range(256)), finish()])
z = zlib.compressobj(1, zlib.DEFLATED, 31); d = zlib.compressobj(1)
b = brotli.Compressor(quality=1); s = zstandard.ZstdCompressor(level=1).compressobj()
bombs = {
    "gzip": packed(z.compress, z.flush), "deflate": packed(d.compress, d.flush),
    "br": packed(b.process, b.finish), "zstd": packed(s.compress, s.flush),
}
bombs["gzip, zstd"] = zstandard.compress(bombs["gzip"])
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 120_000_000,) * 2)
for coding, bomb in bombs.items():
    decoded = decode_body(bomb, coding, limit)
    assert (len(decoded.body), decoded.note) == (limit, "decoded-too-large"), (coding, len(decoded.body), decoded.note)
    print(coding, len(bomb))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits the memory of a process as Linux does")
def test_bombs_of_256_megabytes_in_120() -> None:
    done = subprocess.run([sys.executable, "-c", _BOMBS], capture_output=True, text=True, timeout=HANGS)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 5


@given(
    st.binary(max_size=200), st.sampled_from([*ENCODERS, "gzip, br", "deflate, zstd", "br, br, br"]), st.integers(0, 99)
)
def test_never_raises(body: bytes, coding: str, limit: int) -> None:
    decoded = decode_body(body, coding, limit)
    assert len(decoded.body) <= max(limit, len(body))


@given(st.binary(max_size=2_000), st.integers(0, 1_999), st.integers(1, 255), st.sampled_from(list(ENCODERS)))
def test_one_wrong_byte_never_raises(data: bytes, where: int, change: int, coding: str) -> None:
    body = bytearray(ENCODERS[coding](data))
    body[where % len(body)] ^= change
    assert len(decode_body(bytes(body), coding, LIMIT).body) <= LIMIT
