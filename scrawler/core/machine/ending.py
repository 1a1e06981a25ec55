"""How a machine comes to its end: why, and for how long it waits."""

from __future__ import annotations

import threading
import time
from math import inf

from scrawler.core.distribution.distributor import Distribution
from scrawler.core.distribution.inbox import SelectorInbox
from scrawler.core.machine.crew import Crew
from scrawler.core.party.site import SiteContext
from scrawler.core.rules import CrawlRules
from scrawler.errors import StoreBusyError
from scrawler.model.machines import ENDING, Command


class Stopping(threading.Event):
    """Set once a machine comes to its end; to those who ask, as soon as its user wants that.

    The machine's main thread may be waiting for the turn, or for a commit to be over, when the user asks: on a busy
    computer it took seconds to pass that on.
    """

    def __init__(self, asked: threading.Event) -> None:
        super().__init__()
        self._asked = asked

    def is_set(self) -> bool:
        """Return whether everything is to come to its end."""
        return super().is_set() or self._asked.is_set()


class Ending:
    """Lets all threads come to their end, once: an order or the user says so, no seed is left, or a thread failed.

    `stopping` is set when it begins; `error` is the first failure.
    """

    def __init__(
        self, crew: Crew, distribution: Distribution[SiteContext], inbox: SelectorInbox, rules: CrawlRules
    ) -> None:
        self._crew = crew
        self._distribution = distribution
        self._inbox = inbox
        self._rules = rules
        self.stopping: threading.Event = crew.stopping
        self.error: BaseException | None = None
        self.ended = False  # no seed is left
        self.at = inf  # the deadline, machine time
        self.held: list[int] = []  # seeds that each collector held when it began
        self._begun = False  # `stop` was called
        self._command = Command.RUN

    def failed(self, error: BaseException) -> None:
        """Note the first failure and stop, without waiting for what is in flight."""
        self.error = self.error or error
        self.hurry()
        self.stop()
        if isinstance(error, StoreBusyError):
            self.at = time.monotonic()  # the database has been waited for long enough

    def crawl_ended(self) -> None:
        """Note that no seed is left."""
        self.ended = True
        self.stop()

    def obey(self, command: Command) -> None:
        """Stop, if that is the order."""
        self._command = command
        if command in ENDING:
            self.stop()

    def stop(self) -> None:
        """Let every thread come to its end; those that hold the turn, or wait for it, see that before it is ours."""
        if not self._begun:
            self._begun = True
            self.at = time.monotonic() + self.grace()
        self.stopping.set()
        self._crew.wake()
        with self._crew.turn:
            self.held = self.held or self._crew.held()
            self._distribution.seeds_changed()
            self._inbox.look_again()

    def hurry(self) -> None:
        """Let nobody wait for what is in flight."""
        with self._crew.turn:
            self._crew.hurry()

    def grace(self) -> float:
        """Return the seconds for which threads that come to their end wait for what is in flight."""
        if self._command is Command.DRAIN:
            return inf
        if self._command is Command.REMOVE:
            return 0.0
        return self._rules.stop_timeout
