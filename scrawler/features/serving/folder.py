"""A folder whose files are published: which there are, and how one is opened.

Nothing outside of the folder can be reached: a path is opened a segment at a time, each without following a symbolic
link, from the folder's own descriptor on. What begins with a dot is not published, nor is what is no plain file.
"""

from __future__ import annotations

import errno
import mimetypes
import os
import stat
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, unquote_to_bytes

from scrawler.errors import ScrawlerError

INDEX = "index.html"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_DEEPEST = 40  # folders one in another
_LONGEST_PATH = 2_048  # characters of a path in a URL: longer ones are refused, and not published
_UNUSABLE = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EACCES, errno.ENAMETOOLONG, errno.ENXIO, errno.EPERM}


class FolderError(ScrawlerError):
    """The folder cannot be published."""


class FileInFolder(NamedTuple):
    """A file that is published: its path in a URL, and what tells whether it is as it was."""

    path: str
    size: int
    mtime_ns: int
    inode: int


class Folder:
    """A folder of files."""

    def __init__(self, path: Path) -> None:
        """Open the folder. Raises FolderError."""
        self.path = path
        self.unreadable: list[str] = []  # folders in it that the last walk could not read
        self._lock = threading.Lock()  # guards the descriptor
        try:
            self._descriptor = os.open(path, _FOLDER)
        except OSError as error:
            raise FolderError(f"cannot publish {path}: {error.strerror}") from error

    def close(self) -> None:
        """Close the folder."""
        os.close(self._descriptor)

    def files(self) -> Iterator[FileInFolder]:
        """Yield all files, a folder at a time; one that goes meanwhile is left out.

        What stands in a folder that cannot be read is not known: see `unreadable`.
        """
        self.unreadable = []
        folders: list[tuple[bytes, ...]] = [()]
        while folders:
            names = folders.pop()
            for name, status in self._entries(names):
                if stat.S_ISDIR(status.st_mode):
                    if len(names) < _DEEPEST:
                        folders.append((*names, name))
                elif stat.S_ISREG(status.st_mode):
                    path = url_path((*names, name))
                    if len(path) <= _LONGEST_PATH:
                        yield FileInFolder(path, status.st_size, stamp_of(status), status.st_ino)

    def _entries(self, names: tuple[bytes, ...]) -> Iterator[tuple[bytes, os.stat_result]]:
        descriptor = self._open(names, os.O_RDONLY | os.O_DIRECTORY)
        if descriptor is None:
            there = self._open(names, getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY)
            if there is not None:
                os.close(there)
                self.unreadable.append(url_path((*names, b"")))
            return
        try:
            with os.scandir(descriptor) as entries:
                for entry in entries:
                    name = os.fsencode(entry.name)
                    if is_shown(name):
                        with suppress(FileNotFoundError, PermissionError):
                            yield name, os.stat(entry.name, dir_fd=descriptor, follow_symlinks=False)
        finally:
            os.close(descriptor)

    def open(self, path: str) -> int | None:
        """Open what a URL's path names, for reading; None where that is no file that is published."""
        names = names_of(path)
        if names is None:
            return None
        descriptor = self._open(names, os.O_RDONLY | os.O_NONBLOCK)  # a pipe without a writer would block
        if descriptor is not None and not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            return None
        return descriptor

    def is_folder(self, path: str) -> bool:
        """Tell whether a URL's path names a folder that has an index file."""
        descriptor = self.open(f"{path}/")
        if descriptor is not None:
            os.close(descriptor)
        return descriptor is not None

    def _open(self, names: tuple[bytes, ...], flags: int) -> int | None:
        """Open what stands behind names, each in the one before."""
        at = self._root()
        for index, name in enumerate(names):
            wanted = flags if index == len(names) - 1 else os.O_RDONLY | os.O_DIRECTORY
            try:
                below = os.open(name, wanted | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=at)
            except OSError as error:
                if error.errno in _UNUSABLE:
                    return None
                raise
            finally:
                os.close(at)
            at = below
        return at

    def _root(self) -> int:
        """Return a descriptor of the folder: of the one that has its name now, or, where none has, as it was."""
        with self._lock:
            with suppress(OSError):
                if not os.path.samestat(os.stat(self.path), os.fstat(self._descriptor)):
                    fresh = os.open(self.path, _FOLDER)
                    os.close(self._descriptor)
                    self._descriptor = fresh
            return os.dup(self._descriptor)


def is_shown(name: bytes) -> bool:
    """Tell whether a name may be published."""
    return not name.startswith(b".")


def url_path(names: tuple[bytes, ...]) -> str:
    """Return the path of a file in a URL; an index file has that of its folder."""
    if names[-1] == INDEX.encode():
        names = (*names[:-1], b"")
    return "/".join(quote(name, safe="-._~!$&'()*+,;=:@") for name in names)


def names_of(path: str) -> tuple[bytes, ...] | None:
    """Return the names of the folders and of the file of a URL's path; None where it can be none of ours."""
    if len(path) > _LONGEST_PATH:
        return None
    names = tuple(map(unquote_to_bytes, path.split("/")))
    if names[-1] == b"":
        names = (*names[:-1], INDEX.encode())
    usable = all(name and is_shown(name) and not (b"/" in name or b"\0" in name) for name in names)
    return names if usable and len(names) <= _DEEPEST + 1 else None


def type_of(path: str) -> tuple[str, str | None]:
    """Return the media type of a file by its path in a URL, and its coding as of what is packed."""
    name = path.rsplit("/", 1)[-1] or INDEX
    kind, coding = mimetypes.guess_type(f"./{name}")  # without a folder, a name with a colon would be a URL
    return kind or "application/octet-stream", coding


def stamp_of(status: os.stat_result) -> int:
    """Return when a file was changed, in nanoseconds, as the database can keep it: a date after 2262 is that year."""
    return min(status.st_mtime_ns, 2**63 - 1)
