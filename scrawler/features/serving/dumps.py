"""Packages of resources: ZIP files that are written while they are sent, with their manifest as the last member."""

from __future__ import annotations

import hashlib
import io
import os
import posixpath
import zipfile
from collections.abc import Callable, Iterator

from scrawler.features.serving.catalogue import Resource
from scrawler.features.serving.lists import manifest

PAGE = 5_000  # resources of a package
_BLOCK = 1 << 18

Content = Callable[
    [Resource], int | bytes | None
]  # a descriptor to read, which is closed, or the bytes; None: it is gone


class _Sink(io.RawIOBase):
    """A file that cannot go back, and gives away what was written."""

    def __init__(self) -> None:
        self._written: list[bytes] = []
        self._at = 0

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        piece = bytes(data)  # type: ignore[call-overload]
        self._written.append(piece)
        self._at += len(piece)
        return len(piece)

    def tell(self) -> int:
        return self._at

    def take(self) -> bytes:
        written = b"".join(self._written)
        self._written = []
        return written


def package(base: str, resources: Iterator[Resource], content: Content, at: int) -> Iterator[bytes]:
    """Yield a package; the manifest tells digests and lengths of what was written, not of what was once seen."""
    sink = _Sink()
    entries: list[tuple[Resource, str, str, int]] = []
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED, allowZip64=True) as archive:
        for number, one in enumerate(resources, 1):
            name = f"resources/{number}{_ending(one.path)}"
            source = content(one)
            if source is None:
                continue
            digest, length = hashlib.sha256(), 0
            with archive.open(name, "w", force_zip64=True) as member:
                for block in _blocks(source):
                    digest.update(block)
                    length += len(block)
                    member.write(block)
                    if piece := sink.take():
                        yield piece
            entries.append((one, name, digest.hexdigest(), length))
        archive.writestr("manifest.xml", manifest(base, entries, at))
        yield sink.take()
    yield sink.take()


def _ending(path: str) -> str:
    ending = posixpath.splitext(path)[1]
    return ending if ending.isascii() and ending[1:].isalnum() and len(ending) <= 12 else ""


def _blocks(source: int | bytes) -> Iterator[bytes]:
    if isinstance(source, bytes):
        yield source
        return
    with os.fdopen(source, "rb") as file:
        while block := file.read(_BLOCK):
            yield block
