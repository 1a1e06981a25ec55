"""Clocks of this host."""

from __future__ import annotations

import time

_BOOT = getattr(time, "CLOCK_BOOTTIME", None)


def boot_clock() -> float:
    """Return seconds by a clock that goes on while the process, or the whole computer, sleeps."""
    return time.clock_gettime(_BOOT) if _BOOT is not None else time.monotonic()
