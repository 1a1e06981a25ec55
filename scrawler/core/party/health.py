"""How a site bears up: whether it pushes back, or does not answer at all. Guarded by the machine's turn.

An answer of 429 or 503 makes the whole host rest, for as long as its Retry-After asks; where that is nothing, or is
over already, for a pause that doubles with each such answer; what worked is kept as the pause between requests (see
`pace`). A site that has begun to refuse (see `refusals`), perhaps by cutting connections, rests in the same way.

A failure is an attempt that brought no HTTP head: no connection, no TLS, no answer in time, cut or not HTTP from the
first byte on. Failures are counted by host: a domain can have hosts that are long gone. From the third failure in a row
the host rests too, so that a server that is started again is not given up meanwhile. Any other answer shows that the
site is there and willing, and ends both rows.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass, field
from typing import Final

from scrawler.core.party.decisions import PUSH_BACK, out_of_patience
from scrawler.core.party.pace import Pace
from scrawler.core.rules import CrawlRules, retry_pause_ms
from scrawler.fetch.downloader import Response
from scrawler.fetch.retry_after import retry_after
from scrawler.model.lanes import LaneKey
from scrawler.model.results import UNREACHED
from scrawler.model.seeds import EndReason
from scrawler.model.terms import Millis

_TOO_MANY: Final = 429
_UNMINDED: Final = 2  # failures in a row after which the next request goes out as usual
_FOR_OTHERS = 3  # times as many push-backs end the parties of a site that have not asked for anything
_JITTER = 0.25  # part by which a pause that nobody asked for is made longer, at most


@dataclass(slots=True)
class SiteHealth:
    """What the last answers of a site's hosts were."""

    pushbacks: int = 0  # in a row, of requests that went out after the one before had come back
    refused: int = 0  # answers in a row by which it has refused, those to a page that was good left out
    failures: dict[str, int] = field(default_factory=dict)  # host -> in a row
    problem: str = ""  # the last of either, in words
    rests: dict[str, float] = field(default_factory=dict)  # host -> machine time before which it is left alone
    paces: dict[str, Pace] | None = None  # host -> the pause that it needs, where it has refused what came faster
    _pushed_at: Millis = 0  # when the last push-back that counts came

    def note(self, response: Response, host: str, lane: LaneKey | None, now: float, rules: CrawlRules) -> bool:
        """Take in an answer of a host; returns whether it pushes back.

        `lane` is that of the page, None for a robots.txt: many servers go on to give that while they push
        back. `now` is machine time.
        """
        if response.status in PUSH_BACK:
            self._pushed_back(response, host, now, rules)
            return True
        if response.status:
            if self.failures:
                self.failures.pop(host, None)
        elif response.result in UNREACHED and not (lane is not None and _is_only_slow(response, lane)):
            self.failures[host] = self.failures.get(host, 0) + 1
            self.problem = f"{response.result.value}: {response.detail or response.request.url}"
            if self.failures[host] > _UNMINDED:
                self._rest(host, now + rules.retry_pause_ms / 1000)
        return False

    def serve(self, host: str, usual: float) -> None:
        """Note that a host has answered a page's request and did not refuse; `usual` is its pause without refusals."""
        self.pushbacks = 0
        if self.paces is not None and (pace := self.paces.get(host)) is not None:
            pace.serve()
            if pace.is_over(usual):
                del self.paces[host]

    def pause(self, host: str) -> float:
        """Return the seconds between two requests that a host needs, as far as its refusals tell."""
        pace = None if self.paces is None else self.paces.get(host)
        return 0.0 if pace is None else max(pace.pause, pace.rest)

    def refuse(self, host: str, problem: str, now: float, rules: CrawlRules) -> None:
        """Note that a host refuses, without saying for how long."""
        self.pushbacks += 1
        self.problem = problem
        self._back_off(host, now, rules, doubtful=False)

    def forgive(self, host: str) -> None:
        """Forget the failures of a host: it was not to blame."""
        self.failures.pop(host, None)

    @property
    def troubled(self) -> bool:
        """Whether there is anything for which a host could be given up."""
        return bool(self.pushbacks or self.failures)

    def given_up(self, home: str, rules: CrawlRules, asked: bool) -> EndReason | None:
        """Tell whether a party at the host `home` is not to go on, and why.

        It may be a page of another party that is pushed back, so one that has not `asked` for anything yet is
        given up only when others have had the same answer in its place.
        """
        most = rules.max_pushbacks if asked else _FOR_OTHERS * rules.max_pushbacks
        if self.pushbacks >= most:
            return EndReason.PUSHED_BACK
        return EndReason.DEAD if self.is_dead(home, rules) else None

    def is_dead(self, host: str, rules: CrawlRules) -> bool:
        """Tell whether a host has failed too often to be asked any more."""
        return self.failures.get(host, 0) >= rules.max_failures

    def _pushed_back(self, response: Response, host: str, now: float, rules: CrawlRules) -> None:
        came_at = int(time.time() * 1000)
        self.failures.pop(host, None)
        self.refused += 1
        was_set_back = self._pushed_at > came_at
        if response.started_at > self._pushed_at or was_set_back:  # others were on their way when the site had said so
            self.pushbacks, self._pushed_at = self.pushbacks + 1, came_at
        self.problem = f"HTTP status {response.status} for {response.request.url}"
        asked = retry_after(response.headers.get("retry-after", ""), came_at)
        if asked:
            self._rest(host, now + min(asked, rules.max_retry_after))
        else:  # nothing, or a time that is over: at once it would be asked until it is given up
            self._back_off(host, now, rules, doubtful=response.status != _TOO_MANY)

    def _back_off(self, host: str, now: float, rules: CrawlRules, doubtful: bool) -> None:
        """Let a host rest that has not said for how long: twice as long as the last time."""
        doubled = retry_pause_ms(min(self.pushbacks, rules.max_pushbacks, 30), rules.retry_pause_ms) / 1000
        rest = doubled * random.uniform(1.0, 1.0 + _JITTER)  # sites of one server shall not all come back at once
        if self.paces is None:
            self.paces = {}
        self.paces.setdefault(host, Pace()).refuse(min(rest, rules.delay_cap), rules.delay, doubtful)
        self._rest(host, now + min(rest, rules.max_retry_after))

    def _rest(self, host: str, until: float) -> None:
        self.rests[host] = max(self.rests.get(host, 0.0), until)


def _is_only_slow(response: Response, lane: LaneKey) -> bool:
    """Whether the server had the request, and was only slower than the first pass waits."""
    return bool(response.request_head) and out_of_patience(response, lane)
