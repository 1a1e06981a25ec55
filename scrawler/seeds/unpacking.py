"""Unpacking of seed files: gzip, and zstd with its end checked, in bounded memory."""

from __future__ import annotations

import gzip
import io
import zlib
from typing import TYPE_CHECKING, cast

import zstandard

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

BROKEN = (EOFError, gzip.BadGzipFile, zlib.error, zstandard.ZstdError)  # what a broken archive raises while it is read

_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_SKIPPABLE = b"\x2a\x4d\x18"  # bytes 2 to 4 of a frame without data, such as those with which pzstd's files begin
_PACKED_READ = 1024  # bytes read at a time: a block of 4 bytes can stand for 128 KiB, so this for 32 MiB


def unpacked(raw: io.BufferedReader, name: str) -> io.BufferedReader:
    """Return a stream of what is in a file, packed or not: by its first bytes, or by its name.

    It raises one of BROKEN where the file ends within an archive, or something else follows one.
    """
    magic = raw.peek(4)
    if magic.startswith(_GZIP) or name.lower().endswith(".gz"):
        return io.BufferedReader(cast("io.RawIOBase", gzip.GzipFile(fileobj=raw)))
    if magic.startswith(_ZSTD) or magic[1:4] == _SKIPPABLE or name.lower().endswith(".zst"):
        return io.BufferedReader(_ZstdReader(raw))
    return raw


class _ZstdReader(io.RawIOBase):
    """Reads frames one after the other, and knows whether the file ends with a whole one (RFC 8878, 3).

    The library's own stream reader takes any end for the end.
    """

    def __init__(self, raw: io.BufferedReader) -> None:
        self._raw = raw
        self._frame: zstandard.ZstdDecompressionObj | None = None
        self._packed = b""
        self._out = memoryview(b"")

    def readable(self) -> bool:
        """Say yes, as io wants it."""
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Read some bytes; 0 at the end. Raises EOFError, ZstdError."""
        while not self._out and self._unpack_some():
            pass
        wanted = memoryview(buffer)
        size = min(len(wanted), len(self._out))
        wanted[:size] = self._out[:size]
        self._out = self._out[size:]
        return size

    def _unpack_some(self) -> bool:
        """Unpack a piece, which may come to nothing; tell whether there was one."""
        self._packed = self._packed or self._raw.read(_PACKED_READ)
        if not self._packed:
            if self._frame is not None:
                raise EOFError("it ends before its last frame does")
            return False
        if self._frame is None:
            self._frame = zstandard.ZstdDecompressor().decompressobj()
        self._out = memoryview(self._frame.decompress(self._packed))
        self._packed = b""
        if self._frame.eof:
            self._packed, self._frame = self._frame.unused_data, None
        return True
