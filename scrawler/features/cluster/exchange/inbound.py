"""Messages that have come in, and are waited for: filled by a loop, emptied by a thread."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque

from scrawler.features.cluster.exchange.communicator import MAX_MESSAGE

MOST_HELD = 32 * MAX_MESSAGE  # bytes of all messages, also of those of which a part is here
_LEAST = MOST_HELD // 1024  # bytes for which a message counts at least: so there are 1,024 at most


def _cost(length: int) -> int:
    return max(length, _LEAST)


class Inbound:
    """A bounded queue. Room is kept for a message before it is read, and let go when it is taken out."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._changed = threading.Condition()
        self._messages: deque[bytes] = deque()
        self._held = 0  # bytes
        self._starved = False  # somebody waits for room
        self._room = asyncio.Event()
        self._turn = asyncio.Lock()  # a large message waits no longer than those that came after it
        self._woken = False
        self._closed = False
        self._failed: BaseException | None = None

    # -- of the loop ---------------------------------------------------------------------------------------

    async def keep_room(self, length: int) -> None:
        """Wait until a message of this length may be read."""
        async with self._turn:
            while not self._keeps(_cost(length)):
                await self._room.wait()

    def _keeps(self, cost: int) -> bool:
        with self._changed:
            self._room.clear()
            self._starved = self._held + cost > MOST_HELD
            if not self._starved:
                self._held += cost
            return not self._starved

    def give_back(self, length: int) -> None:
        """Say that a message, for which there was room, did not come."""
        with self._changed:
            self._held -= _cost(length)
        self._room.set()

    def put(self, data: bytes) -> None:
        """Add a message, for which there is room."""
        with self._changed:
            self._messages.append(data)
            self._changed.notify()

    def fail(self, error: BaseException) -> None:
        """Let whoever waits know that nothing will come any more, and why."""
        with self._changed:
            self._failed = error
            self._starved = False
            self._changed.notify_all()

    # -- of all threads ------------------------------------------------------------------------------------

    def get(self, until: float) -> bytes | None:
        """Return the next message; None at `until`, in monotonic seconds, when somebody wakes it, and after the end."""
        with self._changed:
            while not (self._messages or self._woken or self._closed):
                if self._failed is not None:
                    raise RuntimeError("the port of the exchange has failed") from self._failed
                left = until - time.monotonic()
                if left <= 0:
                    return None
                self._changed.wait(min(left, threading.TIMEOUT_MAX))
            if self._woken or self._closed:
                self._woken = False
                return None
            data = self._messages.popleft()
            self._held -= _cost(len(data))
            if self._starved:
                self._loop.call_soon_threadsafe(self._room.set)
            return data

    def wake(self) -> None:
        """Let `get` return."""
        with self._changed:
            self._woken = True
            self._changed.notify_all()

    def close(self) -> None:
        """Let all that wait return, and wait no more. To be called before the loop ends."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
