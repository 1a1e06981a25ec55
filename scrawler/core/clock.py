"""The database's clock, as a machine knows it: by it machines tell each other when a site may be asked again."""

from __future__ import annotations

import time
from math import ceil, isinf

from scrawler.model.terms import Millis


class DatabaseClock:
    """UTC milliseconds by this machine's clock, put right by what heartbeats bring back."""

    def __init__(self) -> None:
        self._ahead: float = 0.0  # milliseconds
        self._known_to = float("inf")  # how well, in milliseconds

    def now(self) -> Millis:
        """Return the time by the database's clock."""
        return int(time.time() * 1000 + self._ahead)

    @property
    def doubt(self) -> Millis:
        """How far off `now` may be; nobody shall be asked earlier for that."""
        return 0 if isinf(self._known_to) else ceil(self._known_to)

    def compare(self, asked_at: float, said: Millis) -> None:
        """Take in what the database's clock said between `asked_at` (`time.time()`) and now."""
        now = time.time()
        precision = (now - asked_at) * 500
        if precision < 0:
            return  # this machine's clock was set back meanwhile
        if precision <= max(self._known_to, 100.0):  # a slow answer says little
            self._ahead = said - (asked_at + now) * 500
            self._known_to = precision
