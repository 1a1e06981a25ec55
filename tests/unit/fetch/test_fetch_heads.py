"""The heads that the part in C reads: it says of them what Python does, or nothing."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrawler.fetch import wire

pytestmark = pytest.mark.skipif(wire.COMPILED is None, reason="the part in C is not compiled")

USUAL = b"HTTP/1.1 200 OK\r\nServer: nginx\r\nDate: Mon, 23 Nov 2026 22:00:00 GMT\r\nvary: a\r\nVary :\tb \r\n\r\n"
_PIECES = (
    *(b"A", b"a", b"Location", b"retry-after", b"refresh", b"vary", b"X-\xe9", b"-", b"x" * 130),
    *(b":", b": ", b" :", b"::", b" ", b"\t", b"\x85", b"\xa0", b"\x1f", b"\0", b"\xe9", b"\r", b"\n", b"\r\n"),
)
LINE = st.one_of(
    st.lists(st.sampled_from(_PIECES), max_size=6).map(lambda pieces: b"".join(pieces) + b"\r\n"),
    st.binary(max_size=30),
    st.sampled_from([b"HTTP/1.1 200 OK\r\n", b"HTTP/2 404 \r\n", b"HTTP/1.1 100 Continue\r\n", b"\r\n", b"\n", b""]),
)


def is_as_python_says(lines: list[bytes]) -> bool:
    """Return whether C has read the lines; it must have read what Python does."""
    before = lines[:]
    found = wire.usual_head(lines)
    assert lines == before
    if found is None:
        return False
    head = b"".join(lines)
    assert found == (head, wire.parse_headers(head)), lines
    assert list(found[1]) == list(wire.parse_headers(head)), lines
    if not wire.status_line(lines[0]).is_interim:
        assert list(wire.final_head(lines)) == lines, lines
    return True


@given(st.lists(LINE, max_size=8), st.booleans())
def test_a_head_is_read_as_python_reads_it(lines: list[bytes], whole: bool) -> None:
    is_as_python_says([b"HTTP/1.1 200 OK\r\n", *lines, b"\r\n"] if whole else lines)


def test_usual_heads_are_read_and_damaged_ones_alike() -> None:
    assert is_as_python_says(USUAL.splitlines(keepends=True))
    rnd = Random(1)
    read = 0
    for _ in range(3_000):
        damaged = bytearray(USUAL)
        for _ in range(rnd.randint(1, 3)):
            damaged[rnd.randrange(len(damaged))] = rnd.randrange(256)
        read += is_as_python_says(bytes(damaged).splitlines(keepends=True))
    assert read > 1_000


@pytest.mark.parametrize(
    "lines",
    [
        [],
        [b"\r\n"],
        [b"HTTP/1.1 200 OK\r\n"],
        [b"HTTP/1.1 200 OK\r\n", b"\r\n", b"Trailer: x\r\n"],
        [b"HTTP/1.1 100 Continue\r\n", b"\r\n", b"HTTP/1.1 200 OK\r\n", b"\r\n"],
        [b"HTTP/1.1 200 OK\r\n", b"A: 1\r\n", b" 2\r\n", b"\r\n"],
        [b"HTTP/1.1 200 OK\r\n", b"A: " + b"x" * (1 << 20), b"\r\n"],
    ],
)
def test_others_are_left_to_python(lines: list[bytes]) -> None:
    assert wire.usual_head(lines) is None


@pytest.mark.parametrize("lines", [(), b"", [b"a\r\n", "b\r\n"], [None]])
def test_what_are_no_lines_is_an_error(lines: object) -> None:
    with pytest.raises(TypeError):
        wire.usual_head(lines)  # type: ignore[arg-type]
