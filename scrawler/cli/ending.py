"""How a command ends that is told to by a signal: in order, so that what it has for itself, as a folder, goes too.

A signal raises an exception in the main thread, wherever that is at work. In what Python calls by itself (when a weak
reference dies, as each import lets one die, or an object is collected) an exception leads nowhere: Python drops it, and
tells `sys.unraisablehook`. The command would go on as if nobody had told it to end, so it is raised again soon after.
"""

from __future__ import annotations

import signal
import sys
import threading
from types import FrameType
from typing import TYPE_CHECKING

from scrawler.supervisor.signals import heeds_hangups

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

_BY_SIGNAL = 128  # and its number, as a shell says it
_AGAIN = 0.05  # seconds after which what was dropped is raised again


class _Told:
    """What the command was told last."""

    end: BaseException | None = None


def heed_signals() -> None:
    """Let commands end in order that are told to; those that crawl, or serve, take the signals for themselves."""
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _end_in_order)
    if heeds_hangups() and signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:
        signal.signal(signal.SIGHUP, _end_in_order)
    sys.unraisablehook = _dropped


def _end_in_order(number: int, frame: FrameType | None) -> None:
    """End as after an error; a second signal kills."""
    signal.signal(number, signal.SIG_DFL)
    _Told.end = SystemExit(_BY_SIGNAL + number)
    raise _Told.end


def _dropped(what: UnraisableHookArgs) -> None:
    """Take in that Python has dropped an exception: an end that was wanted comes again, all else is told as ever."""
    if issubclass(what.exc_type, KeyboardInterrupt):
        _Told.end = KeyboardInterrupt()
    elif _Told.end is None or what.exc_value is not _Told.end:
        sys.__unraisablehook__(what)
        return
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGALRM, _end_again)
        signal.setitimer(signal.ITIMER_REAL, _AGAIN)


def _end_again(number: int, frame: FrameType | None) -> None:
    if _Told.end is not None:
        raise _Told.end
