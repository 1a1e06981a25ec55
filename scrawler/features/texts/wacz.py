"""WACZ 1.1.1: WARC files, their index and a list of pages in one ZIP file, as players of archives take them.

The parts go into the file one after the other, so that it can be written to a pipe as well, and each is digested as it
goes: `datapackage.json`, which names them all, comes last. WARC files and the index are stored as they are, for players
read single records out of them (specs.webrecorder.net/wacz/1.1.1).
"""

from __future__ import annotations

import hashlib
import heapq
import json
import os
import shutil
import tempfile
import time
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import IO, Any, BinaryIO, NamedTuple, Self

from scrawler.archive.gzipping import GZIP
from scrawler.dates import iso_date

VERSION = "1.1.1"
_BLOCK = 3_000  # lines of the index that are packed together: what a player reads to find one
_MERGED = 64  # indexes that are open at a time
_READ = 1 << 20
_INDEX = "indexes/index.cdx.gz"


class Described(NamedTuple):
    """What a WACZ file says of itself."""

    title: str
    software: str
    created: int  # UTC milliseconds
    main_url: str = ""  # the page that a player shows first; empty: none
    main_date: int = 0


class WaczWriter:
    """Writes the parts of a WACZ file, in any order, to an open file; `close` writes what names them."""

    def __init__(self, raw: BinaryIO) -> None:
        self._zip = zipfile.ZipFile(raw, "w", allowZip64=True)
        self._parts: list[dict[str, Any]] = []

    def __enter__(self) -> Self:
        """Write it in a block; an error that ends the block leaves nothing that would be written later."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            with suppress(OSError, ValueError):
                self._zip.close()

    def add(self, path: str, chunks: Iterable[bytes], most: int, packed: bool = False) -> None:
        """Add a part of `most` bytes at most, which is packed or stored as it is.

        Only what may be larger than 2 GiB is marked as that: replayweb.page looks for what follows such a mark in the
        wrong place.
        """
        digest, size = hashlib.sha256(), 0
        with self._zip.open(_entry(path, packed), "w", force_zip64=most > zipfile.ZIP64_LIMIT) as out:
            for chunk in chunks:
                digest.update(chunk)
                size += len(chunk)
                out.write(chunk)
        name = path.rpartition("/")[2].lower()  # a data package wants that
        self._parts.append({"name": name, "path": path, "hash": f"sha256:{digest.hexdigest()}", "bytes": size})

    def add_index(self, lines: Iterable[bytes], most: int) -> None:
        """Add the lines of a CDXJ index, `most` bytes in byte order, with the list of its blocks."""
        blocks = [f"!meta 0 {json.dumps({'format': 'cdxj-gzip-1.0', 'filename': 'index.cdx.gz'})}\n"]
        self.add(_INDEX, _packed_blocks(lines, blocks), most)
        listed = "".join(blocks).encode()
        self.add("indexes/index.idx", [listed], len(listed))

    def close(self, described: Described) -> None:
        """Write what names all parts, and the end of the file."""
        package: dict[str, Any] = {
            "profile": "data-package",
            "wacz_version": VERSION,
            "title": described.title,
            "software": described.software,
            "created": iso_date(described.created),
            "modified": iso_date(described.created),
            "resources": self._parts,
        }
        if described.main_url:
            package |= {"mainPageUrl": described.main_url, "mainPageDate": iso_date(described.main_date)}
        text = json.dumps(package, indent=2).encode()
        self._zip.writestr(_entry("datapackage.json", packed=True), text)
        digest = {"path": "datapackage.json", "hash": f"sha256:{hashlib.sha256(text).hexdigest()}"}
        self._zip.writestr(_entry("datapackage-digest.json", packed=True), json.dumps(digest, indent=2))
        self._zip.close()


def _entry(path: str, packed: bool) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(path, time.gmtime()[:6])
    entry.compress_type = zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED
    entry.external_attr = 0o644 << 16
    return entry


def _packed_blocks(lines: Iterable[bytes], listed: list[str]) -> Iterator[bytes]:
    """Yield the lines in gzip members, and list each with the key and the time of its first line."""
    offset = 0
    rest = iter(lines)
    while block := list(islice(rest, _BLOCK)):
        packer = zlib.compressobj(wbits=GZIP)
        data = packer.compress(b"".join(block)) + packer.flush()
        key = block[0].partition(b" {")[0].decode()
        place = {"offset": offset, "length": len(data), "digest": f"sha256:{hashlib.sha256(data).hexdigest()}"}
        listed.append(f"{key} {json.dumps(place)}\n")
        offset += len(data)
        yield data


def merged_lines(indexes: Sequence[Callable[[], IO[bytes]]], folder: Path) -> Iterator[bytes]:
    """Yield the lines of sorted files in byte order; of many, those that come first are merged into temporary files.

    `indexes` open the files, `folder` is where the others are made. Raises OSError.
    """
    with ExitStack() as files:
        streams: list[Iterable[bytes]] = []
        for at in range(0, len(indexes), _MERGED):
            with ExitStack() as group:
                part = [group.enter_context(open_one()) for open_one in indexes[at : at + _MERGED]]
                if len(indexes) <= _MERGED:
                    yield from heapq.merge(*part)
                    return
                merged: IO[bytes] = files.enter_context(tempfile.TemporaryFile(dir=folder))
                merged.writelines(heapq.merge(*part))
            merged.seek(0)
            streams.append(merged)
        yield from heapq.merge(*streams)


class PageList:
    """A list of pages as a WACZ file has it, gathered in a temporary file; use it as a context manager."""

    def __init__(self, name: str, title: str, folder: Path) -> None:
        self._file: IO[bytes] = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115
        self.number = 0
        self._write({"format": "json-pages-1.0", "id": name, "title": title})

    def add(self, url: str, at: int, title: str, text: str = "") -> None:
        """Add a page that was fetched at a time, in UTC milliseconds; an empty title or text is none."""
        self.number += 1
        row = {"id": f"{self.number:x}", "url": url, "ts": iso_date(at), "title": title or url}
        self._write(row | ({"text": text} if text else {}))

    def _write(self, row: dict[str, Any]) -> None:
        self._file.write(json.dumps(row).encode() + b"\n")

    @property
    def size(self) -> int:
        """Bytes of the list."""
        return self._file.seek(0, os.SEEK_END)

    def chunks(self) -> Iterator[bytes]:
        """Yield the list from its begin."""
        self._file.seek(0)
        while data := self._file.read(_READ):
            yield data

    def append(self, other: PageList) -> None:
        """Take over the pages of another list."""
        other._file.seek(0)
        other._file.readline()  # its own header
        shutil.copyfileobj(other._file, self._file, _READ)
        self.number += other.number

    def __enter__(self) -> PageList:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
