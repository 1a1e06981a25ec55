"""What an agent's thread and its machine tell each other; may be called by any thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from math import inf

from scrawler.clocks import boot_clock

_QUIET = 10.0  # seconds for which a machine is believed to be quiet after it has said so; it says so every few seconds


class Standing:
    """How an agent stands; times are seconds of the boot clock."""

    def __init__(
        self, patience: float, rest: float = 0.0, awake: float = inf, clock: Callable[[], float] = boot_clock
    ) -> None:
        """Views that differ hold claims up for `patience` seconds at most.

        Once they agree, sites that others have let go of rest for `rest` seconds: nobody tells when they were asked.
        An agent whose thread has not looked for `awake` seconds is asleep, or was until now.
        """
        self._patience = patience
        self._rest = rest
        self._awake = awake
        self._clock = clock
        self._looked = clock()
        self._refused = False  # somebody was not let ask, and waits to be woken
        self._slept = False  # and it is not known yet how the others stand
        self._reunited = False  # another one has come back, or this one, and may still have sites that it had
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

    def may_ask(self) -> bool:
        """Whether hosts may be asked whose sites are in work here: no other agent can have them in work as well."""
        lets = self._lets_ask()
        if not lets:
            self._refused = True
        return lets

    def lets_again(self) -> bool:
        """Whether hosts may be asked which others were not let ask: told once, to the agent's thread, which wakes them.

        A thread that was late for a moment is asleep to whoever asks just then, and to itself it may not have slept.
        """
        if not (self._refused and self._lets_ask()):
            return False
        self._refused = False
        return True

    def _lets_ask(self) -> bool:
        is_asleep = self._clock() - self._looked > self._awake
        return not (self._slept or self._reunited or is_asleep)

    def keeps_open(self) -> bool:
        """Whether other agents keep the crawl open; asked when nothing is left here."""
        if self.over:
            return False
        with self._lock:
            self._quiet_until = self._clock() + _QUIET
        return True

    # -- told by the agent's thread ------------------------------------------------------------------------

    def look(self) -> None:
        """Note that the thread is awake."""
        self._looked = self._clock()

    def sleep(self) -> None:
        """Note that this agent slept: it may ask nobody before `wake`. To be called before `look`."""
        self._slept = True

    def wake(self) -> None:
        """Note that it is known how the others stand."""
        self._slept = False
        self._reunited = True

    def reunite(self) -> None:
        """Note that another agent has come, or come back: nobody is asked before `is_settled`."""
        self._reunited = True

    def is_settled(self) -> bool:
        """Whether hosts may be asked again since the last call: views agree, or have differed for too long."""
        with self._lock:
            if not self._reunited:
                return False
            waited = self._clock() - self._since
            self._reunited = waited < self._rest if self._agreed else waited <= self._patience
            return not self._reunited

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
