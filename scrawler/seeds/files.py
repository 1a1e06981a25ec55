"""Finding and opening of seed files; "-" is standard input."""

from __future__ import annotations

import io
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from importlib.resources import files as package_files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TYPE_CHECKING, cast

from scrawler.errors import InputError, ScrawlerError, SettingsError
from scrawler.seeds.unpacking import BROKEN, unpacked

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

STANDARD = "-"
_SNIFFED = 8192  # a binary file shows itself by a NUL in so many bytes at its beginning
_BUFFER = 1 << 16  # bytes that are read at a time
_PACKED = (".gz", ".zst")
_KNOWN = ".txt, .csv and .jsonl, plain or packed as .gz or .zst,"
_TABLES = (".parquet", ".json", ".tsv", ".xls", ".xlsx", ".ods", ".db", ".sqlite")
_DOCUMENTS = (".xml", ".html", ".htm", ".warc")
_ARCHIVES = (".bz2", ".xz", ".7z", ".zip", ".tar", ".tgz")
_NO_SEED_FILES = frozenset((*_TABLES, *_DOCUMENTS, *_ARCHIVES))


class Format(StrEnum):
    """How a seed file is written."""

    TXT = "txt"
    CSV = "csv"
    JSONL = "jsonl"
    PARQUET = "parquet"  # written alone


READ = (Format.TXT, Format.CSV, Format.JSONL)  # formats of seed files
_FORMATS = {
    "": Format.TXT,
    ".txt": Format.TXT,
    ".csv": Format.CSV,
    ".jsonl": Format.JSONL,
    ".ndjson": Format.JSONL,
}


def read_as(name: str) -> Format:
    """Tell by its name how a seed file is to be read; names say little, so most are txt, of which each line is judged.

    Raises InputError where the name says that it is something else.
    """
    ending = _ending(name)
    if ending in _NO_SEED_FILES:
        raise InputError(f"{name}: seeds are read from {_KNOWN} or, with --format, from a file of any name")
    return _FORMATS.get(ending, Format.TXT)


def written_as(name: str) -> Format:
    """Tell by its name how a seed file is to be written. Raises SettingsError where the name says nothing known."""
    written = Format.PARQUET if name.lower().endswith(".parquet") else _FORMATS.get(_ending(name))
    if written is None:
        raise SettingsError(
            f"{name}: only {_KNOWN} and .parquet can be written; `scrawler export --format` writes to any name"
        )
    return written


def _ending(name: str) -> str:
    """Return the last suffix of a name, less .gz or .zst."""
    path = Path(name)
    suffix = Path(path.stem).suffix if path.suffix.lower() in _PACKED else path.suffix
    return suffix.lower()


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


def is_input(path: Path, name: str, input_dir: Path) -> bool:
    """Tell whether a path leads to the very seed file that is to be read, by whatever name or link.

    Raises InputError as `find_input` does.
    """
    try:
        given = path.stat()
        read = os.fstat(sys.stdin.fileno()) if name == STANDARD else os.stat(str(find_input(name, input_dir)))
    except (OSError, io.UnsupportedOperation):
        return False
    return stat.S_ISREG(given.st_mode) and os.path.samestat(given, read)


@contextmanager
def open_input(name: str, input_dir: Path) -> Iterator[io.BufferedReader]:
    """Open a seed file for reading, gzip and zstd unpacked (known by their first bytes, so on standard input too).

    Raises InputError for what cannot be read or unpacked, then or while it is read, and for a binary file.
    """
    try:
        with _open_raw(name, input_dir) as raw:
            stream = unpacked(raw, name)
            if b"\0" in stream.peek(_SNIFFED)[:_SNIFFED]:
                raise InputError(f"{name}: a binary file (or UTF-16), not UTF-8 text with a URL a line")
            yield stream
    except BROKEN as error:
        raise InputError(f"{name}: broken archive ({error}); seeds before the break may be imported already") from error


@contextmanager
def _open_raw(name: str, input_dir: Path) -> Iterator[io.BufferedReader]:
    if name == STANDARD:
        yield io.BufferedReader(_SeedFile(cast("io.BufferedReader", sys.stdin.buffer), name), _BUFFER)
        return
    with mapped(InputError, "cannot be read"):
        stream = cast("io.BufferedReader", find_input(name, input_dir).open("rb"))
    with stream:
        yield io.BufferedReader(_SeedFile(stream, name), _BUFFER)


class _SeedFile(io.RawIOBase):
    """A file whose own errors are told as such: what else fails while it is open is not its fault."""

    def __init__(self, file: io.BufferedReader, name: str) -> None:
        self._file = file
        self._name = name

    def readable(self) -> bool:
        """Say yes, as io wants it."""
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Read some bytes; 0 at the end. Raises InputError."""
        with mapped(InputError, "cannot be read", self._name):
            return self._file.readinto1(buffer)


@contextmanager
def mapped(kind: type[ScrawlerError], problem: str, name: str | Path | None = None) -> Iterator[None]:
    """Say in one line what the system says of a file: its name (None: as the system has it), the problem, and why."""
    try:
        yield
    except OSError as error:
        raise kind(f"{name or error.filename}: {problem}: {error.strerror}") from error
