"""What an agent's thread and its machine tell each other; may be called by any thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

_QUIET = 10.0  # seconds for which a machine is believed to be quiet after it has said so; it says so every few seconds


class Standing:
    """How an agent stands; times are monotonic seconds."""

    def __init__(self, patience: float, rest: float = 0.0, clock: Callable[[], float] = time.monotonic) -> None:
        """Views that differ hold claims up for `patience` seconds at most.

        Once they agree, sites that others have let go of rest for `rest` seconds: nobody tells when they were asked.
        """
        self._patience = patience
        self._rest = rest
        self._clock = clock
        self._lock = threading.Lock()
        self._agreed = False
        self._since = clock()  # views have agreed, or not
        self._quiet_until = 0.0
        self.stirred = 0  # how often something came to do
        self.unagreed = 0  # how often views differed for so long that claims went on
        self._unagreed_now = False
        self.over = False  # all agents agree that all is over

    # -- asked by the machine ------------------------------------------------------------------------------

    def may_claim(self) -> bool:
        """Whether sites may be claimed: all agents of the view have let go of what is another's, or took too long."""
        with self._lock:
            if self.over:
                return True
            waited = self._clock() - self._since
            if self._agreed:
                return waited >= self._rest
            waited_long = waited > self._patience
            if waited_long and not self._unagreed_now:
                self._unagreed_now = True
                self.unagreed += 1
            return waited_long

    def keeps_open(self) -> bool:
        """Whether other agents keep the crawl open; asked when nothing is left here."""
        if self.over:
            return False
        with self._lock:
            self._quiet_until = self._clock() + _QUIET
        return True

    # -- told by the agent's thread ------------------------------------------------------------------------

    def agree(self, agreed: bool) -> bool:
        """Note whether all views are the same; return whether that is news."""
        with self._lock:
            if agreed == self._agreed:
                return False
            self._agreed = agreed
            self._unagreed_now = False
            self._since = self._clock()
            return True

    @property
    def agreed(self) -> bool:
        """Whether all views are the same."""
        return self._agreed

    def stir(self) -> None:
        """Note that there is something to do, or may be."""
        with self._lock:
            self._quiet_until = 0.0
            self.stirred += 1

    @property
    def quiet(self) -> bool:
        """Whether nothing was left here when the machine last looked, and nothing has come since."""
        return self._clock() < self._quiet_until
