"""Locks on open files, by which others tell that a process lives: the kernel lets go of them when it ends, however."""

from __future__ import annotations

import errno
import os

try:
    import fcntl
except ImportError:  # Windows has no such module
    fcntl = None  # type: ignore[assignment]

SUPPORTED = fcntl is not None


def try_lock(file: int) -> bool:
    """Lock a file, by its descriptor, until it is closed; False where another one has it.

    Never waits. Raises OSError where it cannot be locked at all, as on some network file systems.
    """
    if fcntl is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def lock_if_possible(file: int) -> bool:
    """Lock a file as `try_lock` does; False as well where it cannot be locked at all."""
    try:
        return try_lock(file)
    except OSError:
        return False
