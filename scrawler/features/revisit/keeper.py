"""The thread that lets rounds begin on a machine."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING

from scrawler.errors import StoreBusyError
from scrawler.features.revisit.store.orders import Begun, Order, Orders
from scrawler.units import counted

if TYPE_CHECKING:
    from scrawler.features.revisit.shares import VisitShares
    from scrawler.features.revisit.store.rounds import Revisits

_LOOK_EVERY = 2.0  # seconds between looks for URLs that are due ...
_OF_A_LOOK = 20  # ... or so many times as long as a look takes, if that is longer
_NOTHING = Begun()
_TELL_EVERY = 10.0  # seconds between two lines on a round that is being begun


class Keeper(threading.Thread):
    """Lets rounds begin until `stopping` is set: one that was ordered and, where the crawl is kept, as URLs become due.

    A database that is away is asked again.
    """

    def __init__(
        self,
        orders: Orders,
        make_revisits: Callable[[], Revisits],
        shares: VisitShares | None,
        pause: float,
        stopping: threading.Event,
        failed: Callable[[BaseException], None],
        say: Callable[[str], None],
    ) -> None:
        """`make_revisits` makes what begins rounds, once any is to begin: few crawls have one.

        `shares` are those of a crawl that is kept; None: it is not.
        """
        super().__init__(name="keeper")
        self._shares = shares
        self._orders = orders
        self._make_revisits = make_revisits
        self._pause_ms = int(pause * 1000)
        self._stopping = stopping
        self._failed = failed
        self._telling = _Telling(say)
        self._left: Order | None = None  # what is left of the order: seeds whose sites a machine has in work
        self._scheduled = False

    def run(self) -> None:
        """Look, wait, and look again; where nothing began, such a look is made less often the longer it takes."""
        wait = 0.0
        try:
            while not self._stopping.wait(wait):
                looked = time.monotonic()
                begun = _NOTHING
                with suppress(StoreBusyError):
                    begun = self._look()
                wait = _LOOK_EVERY if begun.urls else max(_LOOK_EVERY, _OF_A_LOOK * (time.monotonic() - looked))
        except BaseException as error:
            self._failed(error)

    @cached_property
    def _revisits(self) -> Revisits:
        return self._make_revisits()

    def _look(self) -> Begun:
        begun = self._carry_out()
        if self._shares is None:
            return begun
        if not self._scheduled:
            self._revisits.schedule()
            self._scheduled = True
        self._shares.look()
        return begun.plus(self._revisits.begin_due(self._pause_ms))

    def _carry_out(self) -> Begun:
        """Begin what was ordered, as far as no machine has it in work."""
        order = self._orders.given()
        if order is None:
            return _NOTHING
        if self._left is None or self._left.at != order.at:
            self._left = order
            self._telling.begins()
        begun, in_work = self._revisits.carry_out(self._left, self._telling.so_far)
        if self._stopping.is_set():
            return begun
        self._telling.add(begun, len(in_work))
        self._left = self._left._replace(seeds=tuple(in_work))
        if not in_work:
            self._orders.forget(order)
        return begun


class _Telling:
    """Tells how far a round that was ordered has begun: now and then, and in the end."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._begun = Begun()  # by earlier looks
        self._at = 0.0  # monotonic seconds of the next line

    def begins(self) -> None:
        """Begin with a new order."""
        self._begun = Begun()
        self._at = time.monotonic() + _TELL_EVERY

    def so_far(self, begun: Begun) -> None:
        """Take what this look has begun so far."""
        now = time.monotonic()
        if now >= self._at:
            self._at = now + _TELL_EVERY
            self._say(f"to be visited again so far: {_in_words(self._begun.plus(begun))}")

    def add(self, begun: Begun, in_work: int) -> None:
        """Take what a whole look has begun, and how many seeds it had to leave."""
        is_news = begun.urls or not in_work
        self._begun = self._begun.plus(begun._replace(in_work=0))
        if is_news:
            more = f"; {counted(in_work, 'more waits', 'more wait')} for sites that are in work" if in_work else ""
            self._say(f"to be visited again: {_in_words(self._begun)}{more}")


def _in_words(begun: Begun) -> str:
    return f"{counted(begun.urls, 'URL')} of {counted(begun.seeds, 'seed')}"
