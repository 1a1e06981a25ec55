"""Freezing a process: the signal alone returns before the threads have stopped."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path


def freeze(pid: int) -> None:
    """Stop a process, and return when none of its threads runs, or is in a call to the kernel that goes on."""
    os.kill(pid, signal.SIGSTOP)
    pause = threading.Event()
    while not set(_states(pid)) <= set("TZX"):
        pause.wait(0.001)


def _states(pid: int) -> list[str]:
    """Return the letter of each thread's state (proc_pid_stat(5))."""
    states = []
    for thread in Path(f"/proc/{pid}/task").iterdir():
        try:
            states.append(thread.joinpath("stat").read_text().rpartition(")")[2].split()[0])
        except (FileNotFoundError, ProcessLookupError):
            continue
    return states
