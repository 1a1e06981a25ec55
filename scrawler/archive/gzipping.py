"""Gzip members, one for each record, made by ISA-L where it is installed and by zlib elsewhere.

Measured on documentation pages, records of 51 KB: ISA-L level 0 57 us and 11.8 KB, level 1 67 us and 11.0 KB, level 2
71 us and 10.9 KB, level 3 132 us and 10.5 KB. Other window and buffer sizes of ISA-L gain nothing. The record of a
request, of 640 bytes, takes 1 us and 610 bytes with level 0, 7 us and 450 bytes with others: they make a Huffman code.
Other libraries are slower: for records of 37 KB level 1 takes 51 us and 7.9 KB with ISA-L, 99 us and 7.5 KB with
libdeflate, 83 us and 9.6 KB with zlib-ng.

A body that its server has compressed, as most do, cannot get smaller: such a record is put into a member as it is. For
a body of 10 KB that takes 1 us where level 1 takes 25, and makes the member 0.4 % larger.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Callable, Iterator
from typing import Final

try:
    from isal import isal_zlib
except ImportError:  # there is neither a wheel nor a compiler for this platform
    isal_zlib = None  # type: ignore[assignment]

Compress = Callable[[bytes], bytes]

GZIP: Final = 31  # wbits that ask zlib for a gzip wrapper around a window of 32 KB

_library = zlib if isal_zlib is None else isal_zlib  # both have the same functions; levels mean another thing
_compress: Final[Callable[[bytes, int, int], bytes]] = _library.compress
_crc32: Callable[[bytes], int] = _library.crc32
_HEADER = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"  # deflate, no name, no time, no system (RFC 1952)
_BLOCK = struct.Struct("<BHH")  # of stored bytes: whether it is the last, the length, and that inverted (RFC 1951)
_LONGEST_BLOCK = 0xFFFF
_END = struct.Struct("<II")
_STREAM = b"x\x01"  # how a zlib stream begins
_TINY: Final = 64  # bytes

_SHORT: Final = 1_024
_TELLING: Final = 64  # bytes at the beginning of a body; text has hardly any beyond ASCII among them
_WORTH: Final = 2_048  # bytes of a body: in shorter ones the head counts, which does get smaller
_PACKED: Final = (  # how packed bodies begin: gzip, zlib, zstd, PNG, JPEG, GIF, WOFF2, zip, xz
    *(b"\x1f\x8b\x08", b"x\x01", b"x\x9c", b"x\xda", b"(\xb5/\xfd", b"\x89PNG", b"\xff\xd8\xff"),
    *(b"GIF8", b"wOF2", b"PK\x03\x04", b"\xfd7zXZ"),
)
_BROTLI: Final = re.compile(rb"\ncontent-encoding[ \t]*:[ \t]*br\b", re.IGNORECASE)  # begins in no way of its own


def isal_member(data: bytes) -> bytes:
    """Compress to one gzip member with ISA-L, level 1; short records, such as those of requests, with level 0."""
    return _compress(data, 0 if len(data) < _SHORT else 1, GZIP)


def zlib_member(data: bytes) -> bytes:
    """Compress to one gzip member with zlib, level 6."""
    return zlib.compress(data, 6, wbits=GZIP)


gzip_member: Compress = zlib_member if isal_zlib is None else isal_member


def zlib_stream(data: bytes) -> bytes:
    """Compress a few KB to a zlib stream (RFC 1950): ISA-L makes it as small as zlib's level 1, in a fifth of the time.

    It takes bytes alone: where memory fails, ISA-L does not let go of what it reads, and no bytearray could grow then.
    What it makes is cut from a buffer of 16 KB. A copy is returned, for streams are kept: each would leave the rest of
    its buffer as a hole in the heap, in which the next buffer has no room. The list of one URL, as most seeds of a long
    list have it, does not get smaller: it is put into a stream as it is, in an eighth of the time.
    """
    if len(data) < _TINY:
        return b"".join((_STREAM, *_stored(data), zlib.adler32(data).to_bytes(4, "big")))
    return b"".join((_compress(data, 1, zlib.MAX_WBITS), b""))


from_zlib_stream: Compress = _library.decompress  # ISA-L takes two thirds of the time


def is_packed(head: bytes, body: bytes) -> bool:
    """Tell whether the body of an answer is compressed already; `head` is the answer's, with its fields."""
    start = body[:_TELLING]
    if len(body) < _WORTH or start.isascii():
        return False
    return start.startswith(_PACKED) or _BROTLI.search(head) is not None


def stored_member(data: bytes) -> bytes:
    """Make a gzip member of bytes as they are."""
    return b"".join((_HEADER, *_stored(data), _END.pack(_crc32(data), len(data) & 0xFFFFFFFF)))


def _stored(data: bytes) -> Iterator[bytes | memoryview]:
    """Yield blocks of deflate that hold the bytes as they are, each behind its header."""
    rest = memoryview(data)
    while True:
        block, rest = rest[:_LONGEST_BLOCK], rest[_LONGEST_BLOCK:]
        yield _BLOCK.pack(not rest, len(block), len(block) ^ _LONGEST_BLOCK)
        yield block
        if not rest:
            return
