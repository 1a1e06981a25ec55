"""How long the first pass waits for a page before it is put off. Guarded by the machine's turn."""

from __future__ import annotations

from typing import Final

from scrawler.core.rules import CrawlRules
from scrawler.fetch.downloader import Response
from scrawler.model.results import Result

_WINDOW: Final = 32  # answers of the first pass, from one judgement to the next
_MANY = 8  # of them given up: to wait for longer costs less than to ask for them again
_FEW = 4  # of them that take more than half the time


class Patience:
    """Waits for `patience`, and for longer where it is the network that is slow, not a page here and there.

    Behind a network so narrow that the answers of all sites together take longer than that, a fixed patience throws
    away what has half come, again and again, and the network carries what nobody keeps. Other than by slow pages,
    nearly all answers are late then: when a quarter of them is given up, and of those that come half take more than
    half the time, patience is doubled, up to `timeout`; when few are late, it is halved again. Where nothing comes at
    all, the same is done: on a network of which each has its share, all may come too late at once, and where nobody
    answers, nobody is kept waiting.
    """

    def __init__(self, rules: CrawlRules) -> None:
        self._rules = rules
        self._base = rules.patience  # the settings, as they were when the counts below began
        self._limit = rules.timeout
        self._times = 1  # patience is multiplied by this
        self._timeout = self._waits_for()
        self._come = 0
        self._given_up = 0
        self._late = 0

    def timeout(self, own: CrawlRules | None = None) -> float:
        """Return the seconds that a request of the first pass may take; 0: the downloader's own limit.

        `own` are the rules of a site that has some: it is waited for as they say.
        """
        rules = self._rules
        if own is not None and own.patience != rules.patience:
            return own.patience if own.patience < own.timeout else 0.0
        if rules.patience != self._base:  # the setting was changed
            self._base = rules.patience
            self._times = 1
            self._come = self._given_up = self._late = 0
            self._timeout = self._waits_for()
        if rules.timeout != self._limit:
            self._limit = rules.timeout
            self._timeout = self._waits_for()
        if own is None or own.timeout == rules.timeout:
            return self._timeout
        patience = self._base * self._times
        return patience if patience < own.timeout else 0.0

    def _waits_for(self) -> float:
        return min(self._base * self._times, self._limit) if self._base < self._limit else 0.0

    def note(self, response: Response, own: CrawlRules | None = None) -> None:
        """Take in how a request of the first pass has ended, unless its site is waited for by rules of its `own`."""
        if own is not None and own.patience != self._rules.patience:
            return
        timeout = self.timeout()
        if not timeout or not response.request_head:
            return  # without a head that was sent nobody is there
        if response.result is Result.TIMEOUT:
            if response.request.timeout != timeout:
                return  # asked for before that was the time to wait
            self._given_up += 1
        else:
            self._come += 1
            self._late += response.elapsed_ms > 500 * timeout
        if self._come + self._given_up >= _WINDOW:
            self._judge()

    def _judge(self) -> None:
        if self._given_up >= _MANY and 2 * self._late >= self._come:
            if self._base * self._times < self._limit:
                self._times *= 2
        elif self._given_up + self._late <= _FEW and self._times > 1:
            self._times //= 2
        self._timeout = self._waits_for()
        self._come = self._given_up = self._late = 0
