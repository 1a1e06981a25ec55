"""Who may change the files of one prefix: the process that holds its lock file, `{prefix}.lock`.

A machine holds it from its first file until its last is closed, whoever mends them while he does. A lock for the
prefix, not for each file: rows about a file that is full may still wait for their commit when the next one is open.
The kernel lets go of it when the process ends, however it ends, and keeps it for one that is merely frozen.

Windows has no such lock, nor have some network file systems: there the database's word that a machine is gone has to
do.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
from pathlib import Path

from scrawler import flocks
from scrawler.errors import ArchiveError

SUFFIX = ".lock"
_NOT_SUPPORTED = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)


class PrefixLock:
    """The right to change the files of a prefix, until `release`; made by `take_lock`."""

    def __init__(self, file: io.FileIO | None) -> None:
        self._file = file

    def release(self) -> None:
        """Remove the lock file and let go; calling it again does nothing."""
        file, self._file = self._file, None
        if file is None:
            return
        with contextlib.suppress(OSError), file:
            os.unlink(file.name)  # it is unlocked after that: whoever has opened it finds it gone, and makes another


def take_lock(folder: Path, prefix: str) -> PrefixLock | None:
    """Lock the files of a prefix; None where another process (or another lock of this one) has them.

    Never waits. Raises ArchiveError where the folder refuses.
    """
    if not flocks.SUPPORTED:
        return PrefixLock(None)
    path = folder / (prefix + SUFFIX)
    try:
        while True:
            file = io.FileIO(path, "a", opener=_at_once)
            if not _locked(file):
                file.close()
                return None
            if _is_at(file, path):
                return PrefixLock(file)
            file.close()
    except OSError as error:
        raise ArchiveError(f"cannot write {path}: {error.strerror or error}") from error


def _at_once(name: str, flags: int) -> int:
    """Open a file; a pipe of that name is refused, for to open it would wait until somebody reads it."""
    return os.open(name, flags | os.O_NONBLOCK, 0o666)


def _locked(file: io.FileIO) -> bool:
    try:
        return flocks.try_lock(file.fileno())
    except OSError as error:
        if error.errno not in _NOT_SUPPORTED:
            file.close()
            raise
        return True


def _is_at(file: io.FileIO, path: Path) -> bool:
    """Tell whether the file locked is still the one of that name, which its last holder may have removed."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False
