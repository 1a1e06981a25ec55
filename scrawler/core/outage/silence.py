"""Whether it is this machine's network that is down, not the hosts: a decision that looks only at what it is told.

Hosts die one by one. When many that have answered fail to be reached within a minute, at different addresses, and
nobody answers in between, it is not they who have died. The same holds for names that do not resolve any more.
"""

from __future__ import annotations

from collections import OrderedDict

HOSTS = 10  # at different addresses
WINDOW = 60.0  # seconds in which they fail


class Silence:
    """Hosts that have begun to fail since somebody answered; a host stands for as long as `WINDOW`."""

    def __init__(self) -> None:
        self._failed: OrderedDict[str, float] = OrderedDict()  # address, or name -> when it began

    def __contains__(self, host: str) -> bool:
        """Whether a host has begun to fail."""
        return host in self._failed

    @property
    def begun(self) -> bool:
        """Whether somebody has failed and nobody answered since."""
        return bool(self._failed)

    @property
    def is_outage(self) -> bool:
        """Whether so many have failed that they cannot be the reason."""
        return len(self._failed) >= HOSTS

    def failed(self, host: str, now: float) -> None:
        """Note that a host that has answered before was not reached."""
        self._failed.setdefault(host, now)
        self.forget(now)

    def forget(self, now: float) -> None:
        """Forget those that began to fail too long ago to have to do with the others."""
        while self._failed and next(iter(self._failed.values())) <= now - WINDOW:
            self._failed.popitem(last=False)

    def answered(self) -> None:
        """Note that somebody has answered: it is the hosts."""
        self._failed.clear()
