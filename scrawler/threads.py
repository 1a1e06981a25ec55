"""How threads are started, with one heap for all: a system that has no room for one says so in a line for the user."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Protocol

from scrawler.errors import StartError


class Startable(Protocol):
    """A thread, or what has one."""

    def start(self) -> None:
        """Begin to work."""


class Worker(Protocol):
    """What a thread of its own does."""

    def run(self) -> None:
        """Work until the end."""


class WorkerThread(threading.Thread):
    """A thread whose worker is found by who looks at all threads; a worker that is compiled can be no thread itself."""

    def __init__(self, worker: Worker, name: str) -> None:
        super().__init__(target=worker.run, name=name)
        self.worker = worker


_ARENA_MAX = -8  # M_ARENA_MAX in glibc's <malloc.h>

_FEWER = "use fewer (--threads, --dns-threads, --machines), or "


def start(thread: Startable) -> None:
    """Start a thread. Raises StartError; then the caller ends those that it has started before."""
    with thread_starts(_FEWER):
        thread.start()


@contextmanager
def at_work(work: Callable[[threading.Event], object], name: str) -> Iterator[None]:
    """Let a thread work during a block; what it is given is set when the block is over, and then it is waited for.

    Raises StartError.
    """
    over = threading.Event()
    thread = threading.Thread(target=work, args=(over,), name=name)
    start(thread)
    try:
        yield
    finally:
        over.set()
        thread.join()


def share_heap() -> None:
    """Let all threads share one heap of the C library, where that is glibc; none may have been started before.

    Else which of several a thread gets is left to chance, and what is free in one is of no use to the others: with them
    the memory of a crawl of 600 sites was larger by a fifth. Under the interpreter lock threads hardly meet there.
    """
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(_ARENA_MAX, 1)


@contextmanager
def thread_starts(or_else: str = "") -> Iterator[None]:
    """Turn what is raised where a thread cannot be started into a StartError; `or_else`: what the user can do instead.

    In the block stands nothing but the start: others' RuntimeErrors are none of the system's.
    """
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        raise StartError(
            f"the system has no room for another thread ({str(error) or 'out of memory'});"
            f" {or_else}allow more (ulimit -u, ulimit -v)"
        ) from error


@contextmanager
def no_room() -> Iterator[None]:
    """Turn the errors of a system that has no room for a file, or for memory, into a StartError."""
    try:
        yield
    except (OSError, MemoryError) as error:
        raise StartError(f"the system has no room for a machine: {_words(error)}") from error


def _words(error: OSError | MemoryError) -> str:
    return getattr(error, "strerror", None) or str(error) or "out of memory"
