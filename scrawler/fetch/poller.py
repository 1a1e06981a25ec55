"""Waiting for sockets: epoll where there is one, the platform's best selector elsewhere, and a way to be woken."""

from __future__ import annotations

import contextlib
import select
import selectors
import socket
from typing import Final, Protocol

READ = 1
WRITE = 4
# What epoll calls EPOLLIN and EPOLLOUT; errors and hang-ups are reported beyond these two.

# Sockets of which it is told at once that they are ready: what others have sent waits in the system, for as a batch of
# pages it would take the memory of all of them.
_AT_ONCE: Final = 32


class _Poll(Protocol):
    def register(self, fd: int, events: int) -> None: ...
    def modify(self, fd: int, events: int) -> None: ...
    def unregister(self, fd: int) -> None: ...
    def poll(self, timeout: float, maxevents: int) -> list[tuple[int, int]]: ...
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

    def poll(self, timeout: float, maxevents: int) -> list[tuple[int, int]]:
        """Return what is ready within `timeout` seconds: all of it, as it is not told in turn."""
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
    """Watches sockets for one thread; any thread can end its wait with `wake`.

    libcurl watches and forgets the same kept-alive sockets with every request. epoll drops a closed descriptor by
    itself, so there a forgotten one stays registered, as idle, until it is watched again or something happens to it.
    """

    def __init__(self, poll: _Poll | None = None) -> None:
        self._keeps = poll is None and hasattr(select, "epoll")
        self._poll: _Poll = poll or (select.epoll() if self._keeps else SelectorPoll())
        # A socket pair, not an eventfd: it is the same on every system and costs nothing until it is used.
        try:
            reader, writer = socket.socketpair()
        except OSError:
            self._poll.close()
            raise
        reader.setblocking(False)
        writer.setblocking(False)
        self._wake_reader = reader
        self._wake_writer = writer
        self._wake_fd = self._wake_reader.fileno()
        self._woken = False  # whether the wait of now, or the next one, is to end
        self._poll.register(self._wake_fd, READ)
        self._registered: dict[int, int] = {}  # descriptor -> events, for idle ones as well
        self._idle: set[int] = set()

    def opened(self, fd: int) -> None:
        """Note that `fd` is a new socket's: what was registered under this number was closed."""
        self._registered.pop(fd, None)
        self._idle.discard(fd)

    def watch(self, fd: int, events: int) -> None:
        """Watch `fd` for READ, WRITE or both, until `forget`, which must come before the descriptor is closed.

        A number that may have been another socket's since must have been `opened`.
        """
        self._idle.discard(fd)
        before = self._registered.get(fd)
        if before == events:
            return
        if before is None:
            self._poll.register(fd, events)
        else:
            self._poll.modify(fd, events)
        self._registered[fd] = events

    def forget(self, fd: int) -> None:
        """Watch `fd` no more; for a descriptor that is not watched nothing is done."""
        if fd not in self._registered:
            return
        if self._keeps:
            self._idle.add(fd)
        else:
            self._unregister(fd)

    def is_watched(self, fd: int) -> bool:
        """Whether somebody waits for a descriptor to become ready."""
        return fd in self._registered and fd not in self._idle

    def wait(self, seconds: float) -> list[tuple[int, int]]:
        """Return (fd, events) of what is ready within `seconds`; empty when over, woken, or an idle one was closed."""
        watched = []
        for fd, events in self._poll.poll(seconds, _AT_ONCE):
            if fd in self._idle:
                self._unregister(fd)  # a server has closed a connection that nobody uses
            elif fd == self._wake_fd:
                with contextlib.suppress(BlockingIOError):
                    self._wake_reader.recv(4096)
                self._woken = False  # only now: who finds itself spared a call until then is heeded after this wait
            else:
                watched.append((fd, events))
        return watched

    def wake(self) -> None:
        """End the wait of now, or the next one, at once; callable from any thread, even after `close`."""
        if not self._woken:  # else it is woken already, as when many sites are dealt out at once
            self._woken = True
            with contextlib.suppress(OSError):  # where the pair is closed, nobody waits any more
                self._wake_writer.send(b"w")

    def close(self) -> None:
        """Free all descriptors."""
        self._poll.close()
        self._wake_reader.close()
        self._wake_writer.close()

    def _unregister(self, fd: int) -> None:
        del self._registered[fd]
        self._idle.discard(fd)
        self._poll.unregister(fd)
