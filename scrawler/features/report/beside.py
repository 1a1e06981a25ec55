"""Work beside other work: while a database reads, whether it is in this process or not, Python has nothing to do."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")


@contextmanager
def beside(work: Callable[[], T]) -> Iterator[Callable[[], T]]:
    """Let another thread work while the block does; gives what waits for its result, or raises what it has raised.

    The thread is over with the block. Where the system has no room for one, the work is done when its result is wanted.
    """
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # whoever wants the result has it
            future.set_exception(error)

    thread = threading.Thread(target=run, name="beside")
    try:
        thread.start()
    except (RuntimeError, MemoryError):
        yield work
        return
    try:
        yield future.result
    finally:
        thread.join()
