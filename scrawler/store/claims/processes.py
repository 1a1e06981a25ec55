"""Processes as the table machine names them, so that their own host can tell at once which of them are gone.

The name holds boot id, pid namespace, pid and start time: two containers with the same host name do not judge each
other's processes, and a pid that was given anew is not taken for the one before. This is Linux; elsewhere, and where
/proc does not show this process's own pids, nothing can be told and the lease decides.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

_PROC = Path("/proc")
_GONE = "ZXx"  # states of processes that have ended: zombies, dead


def identify(pid: int) -> str:
    """Return the name of a process that this one can see, empty where it cannot be told from others."""
    stat = _stat(pid)
    return f"{_namespace()} {pid} {stat[1]}" if _namespace() and stat else ""


def runs(process: str) -> bool | None:
    """Tell whether the process with this name (of `identify`) runs; None: cannot be told from here."""
    name = process.rsplit(" ", 2)
    if not _namespace() or name[0] != _namespace() or len(name) != 3 or not name[1].isdecimal():
        return None
    _, pid, started = name
    stat = _stat(int(pid))
    if stat is None:
        return None if _exists(int(pid)) else False
    return stat[1] == started and stat[0] not in _GONE


def ran_here(process: str) -> bool:
    """Tell whether a process with this name ran on this host since that was started, in whatever namespace.

    The kernel draws its boot id at random, so who never was on this host cannot have made up such a name.
    """
    boot = _namespace().partition(" ")[0]
    return bool(boot) and process.partition(" ")[0] == boot


@cache
def _namespace() -> str:
    """Return what the pids of this process are unique in: a boot of a kernel, and a pid namespace of it."""
    try:
        if os.readlink(_PROC / "self") != str(os.getpid()):
            return ""  # this /proc is that of another pid namespace
        boot = (_PROC / "sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {os.readlink(_PROC / 'self/ns/pid')}"
    except OSError:
        return ""


def _stat(pid: int) -> tuple[str, str] | None:
    """Return state and start time (clock ticks since boot) of a process, None where they cannot be read: proc(5)."""
    try:
        text = (_PROC / str(pid) / "stat").read_text()
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()  # they stand behind the command's name, which may hold anything
    return fields[0], fields[19]


def _exists(pid: int) -> bool:
    """Ask the kernel whether there is a process, for /proc may hide those of other users."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
