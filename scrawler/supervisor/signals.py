"""What a terminal tells all processes of a group at once: Ctrl-C, and that it was closed."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

_HANGUP = getattr(signal, "SIGHUP", None)  # Windows has none
_MASKS = hasattr(signal, "pthread_sigmask")


def heeds_hangups() -> bool:
    """Whether a closed terminal is to stop this process: not where it was started to ignore that, as by nohup."""
    return _HANGUP is not None and signal.getsignal(_HANGUP) is not signal.SIG_IGN


def feel_hangups() -> None:
    """Let hang-ups come again that `terminal_signals_later` held back, also those of the meantime."""
    if _MASKS and _HANGUP is not None:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {_HANGUP})


@contextmanager
def terminal_signals_later() -> Iterator[None]:
    """Hold Ctrl-C and hang-ups back in the block, after which the caller feels them.

    A process that is made there never feels a Ctrl-C, and a hang-up once it is ready for that.
    """
    if not _MASKS:
        yield
        return
    held_back = {signal.SIGINT} if _HANGUP is None else {signal.SIGINT, _HANGUP}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, held_back)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
