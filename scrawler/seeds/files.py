"""Finding, opening, unpacking and writing of seed files; "-" is standard input or output."""

from __future__ import annotations

import gzip
import io
import os
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import StrEnum
from importlib.resources import files as package_files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import IO, BinaryIO, cast

import zstandard

from scrawler.errors import InputError, ScrawlerError

STANDARD = "-"
_SNIFFED = 8192  # bytes in which a binary file shows itself by a NUL
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_PACKED = (".gz", ".zst")


class Format(StrEnum):
    """How a seed file is written."""

    TXT = "txt"
    CSV = "csv"
    JSONL = "jsonl"


def format_of(name: str) -> Format:
    """Tell the format by the name, less .gz or .zst; whatever is neither .csv nor .jsonl is txt."""
    path = Path(name)
    suffix = Path(path.stem).suffix if path.suffix.lower() in _PACKED else path.suffix
    return {".csv": Format.CSV, ".jsonl": Format.JSONL, ".ndjson": Format.JSONL}.get(suffix.lower(), Format.TXT)


def find_input(name: str, input_dir: Path) -> Traversable:
    """Find a seed file: as it is named, then, for a bare name, in `input_dir`, then among the samples on board.

    Raises InputError when there is none.
    """
    path = Path(name)
    if path.exists():
        return path
    if path.name != name:
        raise InputError(f"{name}: no such file")
    for folder in (input_dir, package_files("scrawler.input_urls")):
        found = folder / name
        if found.is_file():
            return found
    raise InputError(f"{name}: no such file, neither here nor in {input_dir} nor among the samples")


@contextmanager
def open_input(name: str, input_dir: Path) -> Iterator[io.BufferedReader]:
    """Open a seed file for reading, gzip and zstd unpacked (known by their first bytes, so on standard input too).

    Raises InputError for what cannot be read or unpacked, then or while it is read, and for a binary file.
    """
    try:
        with _open_raw(name, input_dir) as raw, _unpacked(raw, name) as stream:
            if b"\0" in stream.peek(_SNIFFED)[:_SNIFFED]:
                raise InputError(f"{name}: a binary file (or UTF-16), not UTF-8 text with a URL a line")
            yield stream
    except (EOFError, gzip.BadGzipFile, zlib.error, zstandard.ZstdError) as error:
        raise InputError(f"{name}: broken archive ({error}); seeds before the break may be imported already") from error
    except BrokenPipeError:  # of standard output or error, not of the file
        raise
    except OSError as error:
        raise InputError(f"{name}: cannot be read: {error.strerror}") from error


@contextmanager
def _open_raw(name: str, input_dir: Path) -> Iterator[io.BufferedReader]:
    if name == STANDARD:
        yield cast("io.BufferedReader", sys.stdin.buffer)
        return
    with find_input(name, input_dir).open("rb") as stream:
        yield cast("io.BufferedReader", stream)


@contextmanager
def _unpacked(raw: io.BufferedReader, name: str) -> Iterator[io.BufferedReader]:
    magic = raw.peek(4)
    if magic.startswith(_GZIP) or name.endswith(".gz"):
        with gzip.GzipFile(fileobj=raw) as unpacked:
            yield io.BufferedReader(cast("io.RawIOBase", unpacked))
    elif magic.startswith(_ZSTD) or name.endswith(".zst"):
        with zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True, closefd=False) as reader:
            yield io.BufferedReader(cast("io.RawIOBase", reader))
    else:
        yield raw


@contextmanager
def open_output(name: str) -> Iterator[IO[str]]:
    """Open a file for UTF-8 text, packed by its name (.gz, .zst), that appears under its name only when complete.

    It is written beside its place and renamed at the end; after an error nothing is left. Standard output is
    written directly. Raises ScrawlerError when it cannot be written; a closed pipe stays a BrokenPipeError.
    """
    if name == STANDARD:
        yield sys.stdout
        sys.stdout.flush()
        return
    path = Path(name)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with open(part, "wb") as raw, _packed(raw, path.suffix.lower()) as stream:
                yield stream
            part.replace(path)
        finally:
            with suppress(OSError):
                part.unlink(missing_ok=True)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise ScrawlerError(f"{name}: cannot be written: {error.strerror or error}") from error


@contextmanager
def _packed(raw: BinaryIO, suffix: str) -> Iterator[IO[str]]:
    binary: BinaryIO = raw
    if suffix == ".gz":
        binary = cast("BinaryIO", gzip.GzipFile(filename="", fileobj=raw, mode="wb", compresslevel=6, mtime=0))
    elif suffix == ".zst":
        binary = zstandard.ZstdCompressor().stream_writer(raw, closefd=False)
    with io.TextIOWrapper(binary, encoding="utf-8", newline="") as text:
        yield text
