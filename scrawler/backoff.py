"""Pauses between tries, for machines that must not all come back at the same moment."""

from __future__ import annotations

import random


class Backoff:
    """Pauses between nothing and a bound that doubles from `first` to `longest` seconds (full jitter)."""

    def __init__(self, first: float, longest: float) -> None:
        self._bound = first
        self._longest = longest

    def pause(self) -> float:
        """Return the seconds to wait before the next try."""
        bound, self._bound = self._bound, min(self._longest, self._bound * 2)
        return random.uniform(0.0, bound)
