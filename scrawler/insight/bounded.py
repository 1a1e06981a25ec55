"""Texts of large pages, read within a bound of CPU time: what reads them may take for ever on one that is made so.

A page that is larger than most is read by a process of its own, a copy of this one, which the system ends. Small pages
are read here: what is quadratic in them is over soon.
"""

from __future__ import annotations

import math
import os
import pickle
import resource
import signal
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

from scrawler.errors import EndlessPageError, ScrawlerError
from scrawler.units import format_seconds

T = TypeVar("T")
_SMALL = 256 << 10  # bytes of a page that is read here


def text_within(seconds: float, size: int, read: Callable[[], T]) -> T:
    """Return what `read` makes of a page of `size` bytes.

    Raises what it raises, and EndlessPageError where that takes more CPU time.
    """
    if size <= _SMALL or not hasattr(os, "fork"):
        return read()
    receiving, sending = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads, none of which the copy has
        child = os.fork()
    if not child:
        _answer(seconds, sending, read)
    os.close(sending)
    try:
        with os.fdopen(receiving, "rb") as answer:
            data = answer.read()
    finally:
        _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        if os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL):
            raise EndlessPageError(f"its text takes more than {format_seconds(seconds)} of CPU time (page_time)")
        raise ScrawlerError(f"its text cannot be read: what reads it has died ({os.WTERMSIG(status)})")
    if not data:
        raise ScrawlerError("its text cannot be read: what reads it has ended without a word")
    good, found = pickle.loads(data)
    if not good:
        raise found
    text: T = found
    return text


def _answer(seconds: float, sending: int, read: Callable[[], object]) -> None:
    """Write what comes of a page, and end the copy of the process without what the first one has to do at its end."""
    try:
        signal.signal(signal.SIGXCPU, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        most = max(1, math.ceil(seconds))
        resource.setrlimit(resource.RLIMIT_CPU, (most, most + 1))
        with os.fdopen(sending, "wb") as out:
            out.write(_packed(read))
    finally:
        os._exit(0)


def _packed(read: Callable[[], object]) -> bytes:
    answer: tuple[bool, Any]
    try:
        answer = True, read()
    except Exception as error:
        answer = False, error
    return pickle.dumps(answer)
