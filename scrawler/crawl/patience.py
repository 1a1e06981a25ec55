"""How long the first pass waits for a page before it is put off. Guarded by the machine's turn."""

from __future__ import annotations

from scrawler.crawl.rules import CrawlRules
from scrawler.fetch.downloader import Response
from scrawler.model import Result

_WINDOW = 32  # answers of the first pass, from one judgement to the next
_MANY = 8  # of them given up: to wait for longer costs less than to ask for them again


class Patience:
    """Waits for `patience`, and for longer where it is the line that is slow, not a page here and there.

    Behind a line so narrow that the answers of all sites together take longer than that, a fixed patience throws away
    what has half come, again and again, and the line is filled with what nobody keeps. Other than by slow pages,
    nearly all answers are late then: when a quarter of them is given up, and of the others half take more than half
    the time, patience is doubled, up to `timeout`; when they are fast again, it is halved.
    """

    def __init__(self, rules: CrawlRules) -> None:
        self._rules = rules
        self._times = 1  # what `patience` is multiplied by
        self._answers = self._given_up = self._late = 0

    def timeout(self) -> float:
        """Return the seconds that a request of the first pass may take; 0: the downloader's own limit."""
        seconds = self._rules.patience * self._times
        return seconds if seconds < self._rules.timeout else 0.0

    def note(self, response: Response) -> None:
        """Take in how a request of the first pass has ended."""
        current = self._rules.patience * self._times
        if response.result is Result.TIMEOUT:
            if not response.request_head or 0 < response.request.timeout < current:
                return  # nobody there, or asked for before patience grew
            self._given_up += 1
        elif response.elapsed_ms > 500 * current:
            self._late += 1
        self._answers += 1
        if self._answers >= _WINDOW:
            self._judge()

    def _judge(self) -> None:
        come = self._answers - self._given_up
        if self._given_up >= _MANY and 2 * self._late >= come and self.timeout():
            self._times *= 2
        elif not (self._given_up or self._late) and self._times > 1:
            self._times //= 2
        self._answers = self._given_up = self._late = 0
