"""Content decoding: undoes Content-Encoding (RFC 9110, 8.4), never beyond a limit."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import NamedTuple, cast

import brotli
import zstandard
from isal import isal_zlib
from isal.igzip_lib import IsalError

DECODE_ERROR = "decode-error"  # the body is corrupt, cut short, or in an unknown coding
DECODED_TOO_LARGE = "decoded-too-large"
DECODE_RATIO = "decode-ratio"  # the body is so many times larger than what was transferred that it was made to be

_INFLATE_ERROR = cast("type[Exception]", IsalError)  # its type stubs take the class for an instance
_MAX_LAYERS = 3
_RATIO_FLOOR = 4 << 20  # so many bytes are decoded whatever the ratio: small pages can be very repetitive
_MAX_MEMBERS = 100_000  # members of a gzip body, which take 0.2 s; some servers make one of each piece they write
_MAX_FRAMES = 100_000  # those of a body in zstd, which take as long
_MEMBER_SLICE = 4_096  # bytes of input with which each member but the first one begins
_GZIP, _ZLIB, _RAW = 31, 15, -15  # window bits, by which zlib is told the format
_GZIP_MAGIC = b"\x1f\x8b"
_ZSTD_WINDOW = 8 << 20  # bytes, more of which RFC 9659 does not allow for Content-Encoding
_ZSTD_SLICE = 256  # bytes of input at a time, which come to 64 blocks of 128 KB at most
_SALVAGE_SLICE = 512  # bytes of input at a time of what is damaged


class Decoded(NamedTuple):
    """A body without its content codings, or as much of it as could be had; then `note` says why."""

    body: bytes
    note: str = ""


def decode_body(body: bytes, content_encoding: str, limit: int, max_ratio: float = inf) -> Decoded:
    """Undo the codings of a body, the last one first; no layer may be larger than `limit` bytes.

    Nor may one be larger than `max_ratio` times the body as transferred, if that is more than 4 MiB. A body that was
    announced as encoded and visibly is not comes back as it is, with the note.
    """
    codings = [name for part in content_encoding.split(",") if (name := part.strip().lower()) not in ("", "identity")]
    if not codings or not body:
        return Decoded(body)
    if len(codings) > _MAX_LAYERS or not _DECODERS.keys() >= set(codings):
        return Decoded(body, DECODE_ERROR)
    sane = max(_RATIO_FLOOR, len(body) * max_ratio)
    if sane < limit:
        decoded = decode_body(body, content_encoding, int(sane))
        return decoded if decoded.note != DECODED_TOO_LARGE else Decoded(decoded.body, DECODE_RATIO)
    note = ""
    for coding in reversed(codings):
        decoded = _DECODERS[coding](body, limit)
        if not decoded.body and decoded.note and body.lstrip().startswith(b"<"):
            return Decoded(body, decoded.note)
        body, note = decoded.body, note or decoded.note
    return Decoded(body, note)


def _gunzip(body: bytes, limit: int) -> Decoded:
    parts: list[bytes] = []
    room = limit + 1  # one byte more tells "just as much" from "too much"
    position, slice_size = 0, len(body)  # nearly all bodies have one member, which is best taken in one piece
    for _ in range(_MAX_MEMBERS):
        member = _inflate(body, _GZIP, room, position, slice_size)
        parts.append(member.decoded)
        room -= len(member.decoded)
        if room <= 0 or not member.complete:
            return _cut(b"".join(parts), limit, complete=False)
        position, slice_size = member.end, _MEMBER_SLICE
        if not body.startswith(_GZIP_MAGIC, position):  # whatever else follows the last member is padding
            return Decoded(b"".join(parts))
    return Decoded(b"".join(parts), DECODE_ERROR)


def _deflate(body: bytes, limit: int) -> Decoded:
    # "deflate" means the zlib format, but some servers send the bare data; a zlib header can be told (RFC 1950, 2.2).
    has_header = len(body) > 1 and body[0] & 0x0F == 8 and (body[0] << 8 | body[1]) % 31 == 0
    member = _inflate(body, _ZLIB if has_header else _RAW, limit + 1, 0, len(body))
    return _cut(member.decoded, limit, member.complete)


class _Member(NamedTuple):
    decoded: bytes
    complete: bool
    end: int


def _inflate(body: bytes, window_bits: int, room: int, position: int, slice_size: int) -> _Member:
    """Inflate what begins at a position; each slice of the input is twice as large, for what follows is copied."""
    inflater, begin = isal_zlib.decompressobj(window_bits), position
    parts: list[bytes] = []
    left = room
    try:
        while not inflater.eof and left > 0 and position < len(body):
            parts.append(inflater.decompress(body[position : position + slice_size], left))
            left -= len(parts[-1])
            position += slice_size
            slice_size *= 2
    except _INFLATE_ERROR:

        def start() -> Callable[[bytes], bytes]:
            again = isal_zlib.decompressobj(window_bits)
            return lambda part: again.decompress(part, room)

        return _Member(_salvage(body[begin:], start, room), False, len(body))
    return _Member(b"".join(parts), inflater.eof, min(position, len(body)) - len(inflater.unused_data))


def _unbrotli(body: bytes, limit: int) -> Decoded:
    room = limit + 1
    decompressor = brotli.Decompressor()
    try:
        decoded = decompressor.process(body, output_buffer_limit=room)
    except brotli.error:

        def start() -> Callable[[bytes], bytes]:
            again = brotli.Decompressor()
            return lambda part: again.process(part, output_buffer_limit=room)

        return _cut(_salvage(body, start, room), limit, complete=False)
    return _cut(decoded, limit, decompressor.is_finished())


def _unzstd(body: bytes, limit: int) -> Decoded:
    context = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW)
    frame = context.decompressobj()
    parts: list[bytes] = []
    room, frames = limit + 1, 1
    for position in range(0, len(body), _ZSTD_SLICE):
        part = body[position : position + _ZSTD_SLICE]
        try:
            while part:
                if frame.eof:
                    frames += 1
                    frame = context.decompressobj()
                parts.append(frame.decompress(part))
                room -= len(parts[-1])
                part = frame.unused_data
        except zstandard.ZstdError:
            return _cut(b"".join(parts), limit, complete=False)
        if room <= 0 or frames > _MAX_FRAMES:
            break
    return _cut(b"".join(parts), limit, frame.eof and frames <= _MAX_FRAMES)


def _cut(decoded: bytes, limit: int, complete: bool) -> Decoded:
    if len(decoded) > limit:
        return Decoded(decoded[:limit], DECODED_TOO_LARGE)
    return Decoded(decoded, "" if complete else DECODE_ERROR)


def _salvage(body: bytes, start: Callable[[], Callable[[bytes], bytes]], room: int) -> bytes:
    """Decode up to the first error, which costs a decoder all that came in the same call: so in ever smaller parts."""
    good = 0
    parts: list[bytes] = []
    for size in (_SALVAGE_SLICE, 1):
        feed = start()
        parts = [feed(body[:good])]
        room_left = room - len(parts[0])
        position = good
        try:
            while position < len(body) and room_left > 0:
                parts.append(feed(body[position : position + size]))
                room_left -= len(parts[-1])
                position += size
        except (_INFLATE_ERROR, brotli.error):
            good = position
        else:
            break
    return b"".join(parts)


_DECODERS: dict[str, Callable[[bytes, int], Decoded]] = {
    "gzip": _gunzip,
    "x-gzip": _gunzip,
    "deflate": _deflate,
    "br": _unbrotli,
    "zstd": _unzstd,
}
