"""Files for users, which appear under their name only when they are complete; "-" is standard output.

A file is written beside its place, as `.NAME.PID.part`, and renamed at the end. It is locked while it is written: so a
later writer knows one that a killed process left, and removes it.
"""

from __future__ import annotations

import gzip
import io
import os
import re
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, BinaryIO, cast

import zstandard

from scrawler.errors import ScrawlerError
from scrawler.flocks import lock_if_possible
from scrawler.seeds.files import STANDARD

# Folders whose names stand for open files: one that is renamed to such a name would not reach whoever reads there.
_OPEN_FILES = ("/dev/fd/", "/dev/std", "/proc/")
_LINKS = 40  # so many symbolic links are followed, as Linux does


@contextmanager
def open_output(name: str) -> Iterator[IO[str]]:
    """Open a file for UTF-8 text, packed by its name (.gz, .zst), that appears under its name only when complete.

    After an error nothing is left. Behind a symbolic link its target is replaced. What is no regular file, such as a
    device or a pipe, is written directly, and so is standard output.
    Raises ScrawlerError when it cannot be written; a closed pipe stays a BrokenPipeError.
    """
    if name == STANDARD:
        yield sys.stdout
        sys.stdout.flush()
        return
    with open_bytes(name) as raw, _packed(raw, Path(name).suffix.lower()) as stream:
        yield stream


@contextmanager
def open_bytes(name: str) -> Iterator[BinaryIO]:
    """Open a file for bytes as they are; all else is as `open_output` does it."""
    if name == STANDARD:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    if name.endswith(os.sep):  # a Path would forget it, and name a file that nobody has asked for
        raise ScrawlerError(f"{name}: cannot be written: it is the name of a folder")
    try:
        target = _target(Path(name))
        written = _written_directly if _is_open_or_special(target) else _replaced
        with written(target) as raw:
            yield raw
    except BrokenPipeError:
        raise
    except OSError as error:
        raise ScrawlerError(f"{name}: cannot be written: {error.strerror or error}") from error


def _is_open_or_special(target: Path) -> bool:
    """Tell what must not be replaced by a file of that name."""
    if str(target).startswith(_OPEN_FILES):
        return True
    return target.exists() and not target.is_file()


def _target(path: Path) -> Path:
    """Return what a path leads to, through links, but not through those to open files."""
    path = Path(os.path.abspath(path))
    for _ in range(_LINKS):
        if not path.is_symlink() or str(path).startswith(_OPEN_FILES):
            break
        path = Path(os.path.abspath(path.parent / path.readlink()))
    return path


@contextmanager
def _written_directly(path: Path) -> Iterator[BinaryIO]:
    with path.open("wb") as raw:
        yield raw


@contextmanager
def _replaced(path: Path) -> Iterator[BinaryIO]:
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove_left(path)
    part, raw = _new_part(path)
    held = os.dup(raw.fileno())  # whoever wraps `raw` closes it, but the lock has to stay until the file has its name
    try:
        with raw:
            yield raw
        part.replace(path)
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        os.close(held)


def _new_part(path: Path) -> tuple[Path, BinaryIO]:
    """Make the file beside the place of `path`, locked, with the rights of what it will replace."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    while True:
        raw = open(part, "wb")  # noqa: SIM115
        lock_if_possible(raw.fileno())
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(raw.fileno()), part.stat()):  # it was not removed before it was locked
                break
        raw.close()
    with suppress(FileNotFoundError):
        os.chmod(part, stat.S_IMODE(path.stat().st_mode))
    return part, raw


def _remove_left(path: Path) -> None:
    """Remove what killed processes left of earlier files of this name.

    Who writes one holds its lock, on whichever host he is; where files cannot be locked, nothing is removed.
    """
    left = re.compile(rf"\.{re.escape(path.name)}\.(\d+)\.part")
    names: list[str] = []
    with suppress(OSError):
        names = os.listdir(path.parent)
    for name in names:
        match = left.fullmatch(name)
        if match is None or _lives(int(match[1])):
            continue
        with suppress(OSError), open(path.with_name(name), "r+b") as file:
            if lock_if_possible(file.fileno()):
                os.unlink(file.name)


def _lives(pid: int) -> bool:
    """Tell whether another process with this number runs on this host."""
    if pid == os.getpid():
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


@contextmanager
def _packed(raw: BinaryIO, suffix: str) -> Iterator[IO[str]]:
    binary: BinaryIO = raw
    if suffix == ".gz":
        binary = cast("BinaryIO", gzip.GzipFile(filename="", fileobj=raw, mode="wb", compresslevel=6, mtime=0))
    elif suffix == ".zst":
        binary = zstandard.ZstdCompressor().stream_writer(raw, closefd=False)
    with io.TextIOWrapper(binary, encoding="utf-8", errors="backslashreplace", newline="") as text:
        yield text
