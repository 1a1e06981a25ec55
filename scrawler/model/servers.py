"""When a server may be asked: from the store to the machines that share it."""

from __future__ import annotations

from typing import NamedTuple


class Slot(NamedTuple):
    """A time reserved for one request to a server, in seconds of `time.monotonic()`; not begun in it, it is lost."""

    begin: float
    end: float
