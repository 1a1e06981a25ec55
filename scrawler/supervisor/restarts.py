"""When a machine that died is started again, and when it is given up."""

from __future__ import annotations

FAILURES = 5  # a machine that fails so often in a row is given up
_RAN_WELL = 60.0  # seconds after which a failure is the first one again
_FIRST_PAUSE = 1.0  # seconds, doubled with each further failure


class Restarts:
    """Counts the failures in a row of one machine.

    A life in which it fetched a page, or which lasted a minute, was no failure to start: the count begins anew. So a
    machine that is killed again and again gets on, and one that dies of what is left to do is given up in the end.
    """

    def __init__(self) -> None:
        self._failures = 0

    def pause(self, ran: float, fetched: bool) -> float | None:
        """Return the seconds before it is started again, after `ran` seconds of life; None: it is given up."""
        self._failures = 1 if fetched or ran >= _RAN_WELL else self._failures + 1
        return None if self._failures >= FAILURES else _FIRST_PAUSE * 2 ** (self._failures - 1)
