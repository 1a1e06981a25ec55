"""Waiting for sockets: epoll where there is one, the platform's best selector elsewhere, and a way to be woken."""

from __future__ import annotations

import contextlib
import select
import selectors
import socket
from typing import Protocol

READ = 1
WRITE = 4
# What epoll calls EPOLLIN and EPOLLOUT; errors and hang-ups are reported beyond these two.


class _Poll(Protocol):
    def register(self, fd: int, events: int) -> None: ...
    def modify(self, fd: int, events: int) -> None: ...
    def unregister(self, fd: int) -> None: ...
    def poll(self, timeout: float) -> list[tuple[int, int]]: ...
    def close(self) -> None: ...


class SelectorPoll:
    """The few calls of `select.epoll` that the Poller makes, for systems without it."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()

    def register(self, fd: int, events: int) -> None:
        """Watch `fd`."""
        self._selector.register(fd, self._mask(events))

    def modify(self, fd: int, events: int) -> None:
        """Watch `fd` for other events."""
        self._selector.modify(fd, self._mask(events))

    def unregister(self, fd: int) -> None:
        """Watch `fd` no more."""
        self._selector.unregister(fd)

    def poll(self, timeout: float) -> list[tuple[int, int]]:
        """Return what is ready within `timeout` seconds."""
        return [
            (key.fd, (mask & selectors.EVENT_READ and READ) | (mask & selectors.EVENT_WRITE and WRITE))
            for key, mask in self._selector.select(timeout)
        ]

    def close(self) -> None:
        """Free the selector."""
        self._selector.close()

    @staticmethod
    def _mask(events: int) -> int:
        return (events & READ and selectors.EVENT_READ) | (events & WRITE and selectors.EVENT_WRITE)


class Poller:
    """Watches sockets for one thread; any thread can end its wait with `wake`."""

    def __init__(self, poll: _Poll | None = None) -> None:
        self._poll: _Poll = poll or (select.epoll() if hasattr(select, "epoll") else SelectorPoll())
        # A socket pair, not an eventfd: it is the same on every system and costs nothing until it is used.
        self._wake_reader, self._wake_writer = socket.socketpair()
        self._wake_reader.setblocking(False)
        self._wake_writer.setblocking(False)
        self._wake_fd = self._wake_reader.fileno()
        self._poll.register(self._wake_fd, READ)
        self._watched: set[int] = set()

    def watch(self, fd: int, events: int) -> None:
        """Watch `fd` for READ, WRITE or both, until `forget`, which must come before the descriptor is closed."""
        if fd in self._watched:
            self._poll.modify(fd, events)
        else:
            self._poll.register(fd, events)
            self._watched.add(fd)

    def forget(self, fd: int) -> None:
        """Watch `fd` no more; a descriptor that is not watched is none of its business."""
        if fd in self._watched:
            self._watched.remove(fd)
            self._poll.unregister(fd)

    def wait(self, seconds: float) -> list[tuple[int, int]]:
        """Return (fd, events) of the sockets that are ready within `seconds`; empty when woken or over."""
        ready = self._poll.poll(seconds)
        for index, (fd, _events) in enumerate(ready):
            if fd == self._wake_fd:
                with contextlib.suppress(BlockingIOError):
                    self._wake_reader.recv(4096)
                del ready[index]
                break
        return ready

    def wake(self) -> None:
        """End the wait of now, or the next one, at once; callable from any thread, even after `close`."""
        # Full: the thread will wake anyway. Closed: nobody waits any more.
        with contextlib.suppress(OSError):
            self._wake_writer.send(b"w")

    def close(self) -> None:
        """Free all descriptors."""
        self._poll.close()
        self._wake_reader.close()
        self._wake_writer.close()
