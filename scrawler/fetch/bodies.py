"""How much of bodies a machine holds while they come, all downloads together.

A body that is small takes what it needs. One that grows asks for room, twice at most: for some, and then for all that
it may need. What has room for all can always come to its end, so that nobody waits for ever: who finds no room is
paused, and reads on when others are over. Where a body holds room, and hardly anything comes any more, it gives way.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic
from typing import Final

FREE: Final = 256 << 10  # bytes that each body may have without being asked for
SOME: Final = 2 << 20  # bytes that one has at first that needs more, unless it says how many it needs
LOOK_EVERY: Final = 0.2  # seconds after which those look again that wait for room
IDLE = 5.0  # seconds in which something has to come, while others wait ...
LEAST: Final = 20_000  # ... namely so many bytes
STALLED: Final = "stopped, for hardly anything came any more, and others waited for its memory"
_MOST: Final = 256 << 20  # bytes
_HURRY: Final = 1.0  # seconds between calls to those that hold room


class BodyRoom:
    """The room of a machine for bodies that come; any thread may ask it."""

    def __init__(self, most: int = _MOST) -> None:
        """Let bodies hold so many bytes together, or a single one, however large that is."""
        self._lock = threading.Lock()
        self._most_some = most // 4
        self._most_all = most - self._most_some
        self._some = 0  # bytes of those that have some ...
        self._all = 0  # ... and of those that have all that they may need
        self._hurried_at = 0.0
        self._wakes: list[Callable[[], None]] = []
        self.waiting = 0  # bodies that wait for room

    def take(self, held: int, wanted: int) -> bool:
        """Let a body that holds so many bytes have more; returns False where there is no room."""
        with self._lock:
            of_some = held if held <= SOME else 0
            if wanted <= SOME:
                if self._some + wanted - held > self._most_some:
                    return False
                self._some += wanted - held
                return True
            more = wanted - (held - of_some)
            if self._all and self._all + more > self._most_all:
                return False
            self._all += more
            self._some -= of_some
            return True

    def give_back(self, held: int) -> None:
        """Give back what a body holds."""
        with self._lock:
            if held <= SOME:
                self._some -= held
            else:
                self._all -= held

    def join(self, wake: Callable[[], None]) -> None:
        """Note what is to be called when others wait for room."""
        with self._lock:
            self._wakes.append(wake)

    def leave(self, wake: Callable[[], None]) -> None:
        """Call that no more."""
        with self._lock:
            if wake in self._wakes:
                self._wakes.remove(wake)

    def wait(self, number: int) -> None:
        """Note that more bodies wait for room, or fewer."""
        with self._lock:
            self.waiting += number

    def hurry(self) -> None:
        """Let those that hold room look whether their bodies still come; a call a second does something."""
        with self._lock:
            now = monotonic()
            if now < self._hurried_at + _HURRY:
                return
            self._hurried_at = now
            wakes = tuple(self._wakes)
        for wake in wakes:
            wake()
