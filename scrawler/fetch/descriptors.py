"""How many files and sockets this process may have open."""

from __future__ import annotations

import contextlib


def raise_file_limit(wanted: int) -> int:
    """Raise the soft limit of open files towards `wanted`, as far as the system lets; return the limit now in force.

    A limit that is higher already stays. Where there is no such limit (Windows), `wanted` is returned.
    """
    try:
        import resource
    except ImportError:
        return wanted
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return wanted
    target = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if target > soft:
        # macOS refuses more than kern.maxfilesperproc even below its hard limit: the limit stays as it is there.
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (target, hard))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def file_limit() -> int | None:
    """Return how many files and sockets this process may have open; None where there is no such limit."""
    try:
        import resource
    except ImportError:
        return None
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return None if soft == resource.RLIM_INFINITY else soft
