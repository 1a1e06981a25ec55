"""How much memory the processes of Chromium take, and the end of one that takes too much.

Chromium bounds what scripts may fill with objects, but neither their buffers nor the document that they make. Each page
has a process of its own, so the end of that is the end of the page alone. Linux tells what a process takes; elsewhere
nothing is bounded.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

MOST = 1_000_000_000  # bytes that a process may take, those of the program itself among them
_LOOK_EVERY = 0.2  # seconds, in which a script fills some hundred MB
_REMEMBERED = 100  # ends
_PROC = Path("/proc")


class MemoryWatch:
    """Ends the processes below another one that take too much memory, for as long as pages are shown."""

    def __init__(self, root: Callable[[], int | None], most: int | None = None) -> None:
        """Look at what is below the process `root()`; None: there is none."""
        self._root = root
        self.most = MOST if most is None else most
        self._pages = 0
        self._task: asyncio.Task[None] | None = None
        self._ended: deque[float] = deque(maxlen=_REMEMBERED)  # when, by the clock of the loop

    def begin(self) -> float:
        """Note that a page is shown; return the time."""
        self._pages += 1
        if self._task is None or self._task.done():
            self._task = asyncio.ensure_future(self._look())
        return asyncio.get_running_loop().time()

    def end(self) -> None:
        """Note that a page is shown no more."""
        self._pages -= 1

    def has_ended_since(self, time: float) -> bool:
        """Tell whether a process was ended since a time."""
        return any(at >= time for at in self._ended)

    async def _look(self) -> None:
        while self._pages > 0:
            root = self._root()
            for pid in _below(root) if root is not None else ():
                if _resident(pid) > self.most:
                    self._ended.append(asyncio.get_running_loop().time())
                    with suppress(OSError):
                        os.kill(pid, signal.SIGKILL)
            await asyncio.sleep(_LOOK_EVERY)


def _below(root: int) -> list[int]:
    """Return all processes that a process has begun, and that these have."""
    found, new = list[int](), [root]
    while new:
        new = [child for pid in new for child in _children(pid)]
        found += new
    return found


def _children(pid: int) -> list[int]:
    children: list[int] = []
    with suppress(OSError):  # it has ended meanwhile, or this is no Linux
        for thread in (_PROC / str(pid) / "task").iterdir():
            with suppress(OSError, ValueError):
                children += map(int, (thread / "children").read_text().split())
    return children


def _resident(pid: int) -> int:
    """Return how many bytes a process has in memory, 0 where that is not known."""
    try:
        return int((_PROC / str(pid) / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0
