"""Files that somebody has named, for reading: only regular ones, for a pipe that nobody writes to never ends."""

from __future__ import annotations

import errno
import os
import stat
from typing import BinaryIO

NOT_REGULAR = "not a regular file"
_NO_WAITING = getattr(os, "O_NONBLOCK", 0)  # Windows has no such flag, and no such pipes


def open_regular(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a file for reading, without waiting for anybody.

    Raises OSError, whose `strerror` says why, for what cannot be read, is no regular file, or has a NUL in its path.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | _NO_WAITING)
    except ValueError as error:
        raise OSError(errno.EINVAL, "no path of a file holds a NUL", os.fspath(path)) from error
    try:
        _check(os.fstat(descriptor).st_mode, path)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_regular(path: str | os.PathLike[str]) -> bytes:
    """Read all of a file, as `open_regular` opens it."""
    with open_regular(path) as file:
        return file.read()


def _check(mode: int, path: str | os.PathLike[str]) -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, NOT_REGULAR, os.fspath(path))
