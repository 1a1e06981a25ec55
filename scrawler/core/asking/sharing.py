"""Keeps a machine's use of servers in line with other machines', by the database; runs on the store thread.

With every heartbeat a machine tells what it holds and learns what it may use, unless the heartbeat says that all is as
it was; an address that it meets in between is asked for at once, and again after a while where others have all of it.
What it loses it stops to use at once, and tells so when it does; a share that it needs no more it lets go. That is
told with what is asked next, or when a heartbeat has heard that another machine asks where it has a share. A machine
that lives alone asks nothing more.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Protocol

from scrawler.core.asking.budget import AddressBudget
from scrawler.core.party.site import SiteContext
from scrawler.core.rules import CrawlRules
from scrawler.model.servers import Slot, Standing
from scrawler.model.terms import Millis

if TYPE_CHECKING:
    from threading import RLock

_WIDTHS = (0.1, 0.25)  # bounds, in seconds, of the time within which a reserved request has to begin
_WIDTH = 0.2  # between these bounds that time is this part of the pause
_KEPT_BEATS = 4  # heartbeats at most that tell nothing of shares which were let go and for which nobody has asked
_ON_THE_WAY = 0.05  # seconds by which one request may take longer to come out than the next


class Servers(Protocol):
    """The part of the store in which machines share servers."""

    def share(
        self, held: Mapping[str, int], left: Collection[str], per_ip: int, alone: bool
    ) -> Mapping[str, int] | None:
        """Tell what is held and left at addresses; return what may be used, None for all, as the only machine."""

    def stands(self, held: Mapping[str, int], per_ip: int, heard: Standing) -> bool:
        """Tell whether `share` would change nothing, by what a heartbeat has heard of the others."""

    def reserve(self, wishes: Mapping[str, Millis], pause: Millis, width: Millis) -> Mapping[str, Slot]:
        """Reserve a time at each address."""


class ServerSharing:
    """Asks for the shares and times that its budget needs; `aside(job)` runs a job soon on the store thread."""

    def __init__(
        self,
        servers: Servers,
        rules: CrawlRules,
        turn: RLock,
        look_again: Callable[[SiteContext], None],
        aside: Callable[[Callable[[], None]], None],
    ) -> None:
        self.budget = AddressBudget(rules, look_again, self._ask)
        self._servers = servers
        self._rules = rules
        self._turn = turn
        self._aside = aside
        self._machines = 1  # how many machines live, or are about to
        self._all = False
        self._asked = False
        self._kept_beats = 0  # heartbeats that have told nothing of what was let go
        self._heard: Standing | None = None  # by a heartbeat, if all is to be told only where that has changed

    def beat(self, machines: int, heard: Standing) -> None:
        """Go on after a heartbeat that has found so many machines, and what it has heard of their shares."""
        with self._turn:
            self._machines = machines
            self._heard = heard
            self.budget.tidy(time.monotonic())
            if self.budget.alone and machines > 1:
                self.budget.shared()
            if not self.budget.alone:
                self._all = True
                self._ask()

    def _ask(self) -> None:
        if not self._asked:
            self._asked = True
            self._aside(self._answer)

    def _answer(self) -> None:
        """Ask the database for what is needed by now; done again from the start where that is busy."""
        with self._turn:
            self._asked = False
            budget, everything, alone = self.budget, self._all, self._machines == 1
            self._all = False
            heard, self._heard = self._heard, None
            held = budget.pledged(budget.servers if everything else budget.unknown)
            left, per_ip, pause = budget.left(), self._rules.per_ip, self._rules.delay_per_ip
            settled = not (budget.unknown or budget.alone or (left and self._kept_beats >= _KEPT_BEATS))
        if everything and heard and settled and self._servers.stands(held, per_ip, heard):
            everything, held, left = False, {}, []
            self._kept_beats += 1
        if (everything or held or left) and not budget.alone:
            try:
                shares = self._servers.share(held, left, per_ip, alone)
            except BaseException:
                self._all = self._all or everything
                raise
            self._take(shares, left)
        self._reserve(pause)

    def _take(self, shares: Mapping[str, int] | None, left: Collection[str]) -> None:
        """Take over what may be used of addresses; where that is less than before, tell at once what is still held."""
        self._kept_beats = 0
        with self._turn:
            if self.budget.granted(shares, left):
                self._all = True
                self._ask()

    def _reserve(self, pause: float) -> None:
        """Reserve the turns at addresses that are wished for by now, each for a pause."""
        with self._turn:
            wishes = self.budget.slots_wished(time.monotonic())
        if not wishes:
            return
        width = min(_WIDTHS[1], max(_WIDTHS[0], pause * _WIDTH))
        slots = self._servers.reserve(
            {address: int(seconds * 1000) + 1 for address, seconds in wishes.items()},
            int((pause + _ON_THE_WAY) * 1000) + 1,
            int(width * 1000),
        )
        with self._turn:
            self.budget.reserved(slots)
