"""One crawling machine: starts its threads, hands things between them, stops them in order."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from scrawler.core.asking.elsewhere import Elsewhere
from scrawler.core.asking.origins import Origins
from scrawler.core.asking.sharing import ServerSharing
from scrawler.core.collecting.collector import UrlCollector
from scrawler.core.distribution.distributor import Distribution
from scrawler.core.distribution.inbox import SelectorInbox
from scrawler.core.distribution.selector import UrlSelector
from scrawler.core.durable.checkpointer import Checkpointer
from scrawler.core.machine.crew import Crew, give_back
from scrawler.core.machine.ending import Ending
from scrawler.core.machine.heartbeat import Heartbeat
from scrawler.core.machine.permission import Permission
from scrawler.core.machine.waits import Wait, waits
from scrawler.core.outage.standstill import Standstill
from scrawler.core.party.site import SiteContext
from scrawler.core.progress import Lines, lines_text
from scrawler.core.rules import CrawlRules, HostRules
from scrawler.errors import LeaseLostError, StartError, StoreBusyError
from scrawler.model.machines import Command, Living, MachineState, Orders
from scrawler.model.servers import Standing
from scrawler.settings import Settings
from scrawler.threads import start

_LAST_TRY = 3.0  # seconds at least for the last checkpoint when the database is busy and the deadline is over


OnSettings: TypeAlias = "Callable[[Machine, Mapping[str, Any]], None]"


class SideThread(Protocol):
    """A thread that is none of the crawl's own, and is started and ended with them."""

    def start(self) -> None:
        """Begin."""

    def close(self) -> None:
        """Let it come to its end."""

    def join(self, timeout: float | None = None) -> None:
        """Wait for its end."""

    def is_alive(self) -> bool:
        """Whether it has begun and not ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineParts:
    """What a machine is put together of: all of it exists before the machine does, and no thread of it has started."""

    crew: Crew
    make_collector: Callable[[int], UrlCollector]
    distribution: Distribution[SiteContext]
    selector: UrlSelector
    inbox: SelectorInbox
    listeners: Sequence[SideThread]
    checkpointer: Checkpointer
    sharing: ServerSharing
    elsewhere: Elsewhere
    standstill: Standstill
    permission: Permission
    ending: Ending
    rules: CrawlRules
    hosts: HostRules
    origins: Origins
    follow_partition: Callable[[Living], bool]  # take in which machines live; whether sites have other owners now
    may_stay: Callable[[SiteContext], bool]  # whether a site may stay with this machine


class Machine:
    """The threads of one machine: it starts them, follows the orders, and ends them in order.

    Everything in memory is guarded by `turn`. `on_settings` is called with the machine and what is set in the database,
    when that has changed.

    Attributes:
        listeners: bring what comes from elsewhere; they are ended before the collectors, when `stopping` is set.
        senders: bring elsewhere what is durable; they are ended after the last checkpoint.
    """

    def __init__(self, parts: MachineParts, threads: int, machines: int, on_settings: OnSettings) -> None:
        self.turn = parts.crew.turn
        self.crew = parts.crew
        self.distribution = parts.distribution
        self.ending = parts.ending
        self.checkpointer = parts.checkpointer
        self.sharing = parts.sharing
        self._elsewhere = parts.elsewhere
        self.standstill = parts.standstill
        self.permission = parts.permission
        self.rules = parts.rules
        self._hosts = parts.hosts
        self._origins = parts.origins
        self._follow_partition = parts.follow_partition
        self._may_stay = parts.may_stay
        self.threads = threads  # collectors to start
        self._selector = parts.selector
        self._inbox = parts.inbox
        self.listeners = [*parts.listeners]
        self.senders: list[SideThread] = []
        self._make_collector = parts.make_collector
        self._on_settings = on_settings
        self._changing = threading.Lock()  # held while settings are followed
        self._expected = machines  # how many share the crawl at first
        self._distributing = False  # the thread of the distribution, if it has one, was started
        self._orders = Orders(True, Command.RUN, {}, 0, Living(), 0)

    # -- life ----------------------------------------------------------------------------------------------

    def run(self, heartbeat: Heartbeat, look: Callable[[], None], look_every: float) -> None:
        """Crawl until no seed is left, until asked to stop, or until something failed (then it is raised)."""
        try:
            start(self.checkpointer)
            start(self.distribution)
            self._distributing = True
            self._beat(heartbeat)  # before collectors start: it brings the orders
            self.set_threads(self.threads)
            start(self._selector)
            for beside in (*self.listeners, *self.senders):
                start(beside)
            self._watch(heartbeat, look, look_every)
        except BaseException as error:
            self.ending.failed(error)
        self._shut_down(heartbeat)
        if self.ending.error is not None:
            raise self.ending.error

    def _watch(self, heartbeat: Heartbeat, look: Callable[[], None], look_every: float) -> None:
        while not self.ending.stopping.is_set():
            if heartbeat.due_in() <= 0:
                self._beat(heartbeat)
            with self.turn:
                self.standstill.look(time.monotonic())
            with suppress(StoreBusyError):
                look()
            self.ending.stopping.wait(min(look_every, heartbeat.due_in()))
        self.ending.stop()
        if self.ending.error is None:
            self._beat(heartbeat)  # what the threads held when the end began goes to the statistics

    def follow(self, settings: Settings) -> None:
        """Let all sites follow other settings from now on."""
        with self.turn:
            if self._hosts.change_to(settings):
                for site in self.crew.sites():
                    self._origins.follow_rules(site)

    def follow_orders(self) -> None:
        """Follow what is set in the database, as the last heartbeat has brought it; any thread may let it."""
        with self._changing:
            self._on_settings(self, self._orders.settings)

    def look_again(self) -> None:
        """Let the selector look for sites, and whether all is over."""
        self._inbox.let_go()

    def go_on(self) -> None:
        """Let sites be asked again, as far as they may be."""
        with self.turn:
            self.crew.go_on()

    def give_back_others(self) -> None:
        """Let go of the sites that are another's by now."""
        self.crew.give_back_others(self.checkpointer.submit, self.sharing.budget, self._may_stay)

    def holding(self) -> bool:
        """Whether anything is in work, or not yet durable."""
        with self.turn:
            return self.crew.has_sites() or not self.checkpointer.idle

    def withheld(self) -> list[str]:
        """Return a line for each setting of hosts that was first left out of a request since this was last asked."""
        return self._hosts.withheld()

    def set_threads(self, number: int) -> None:
        """Start collectors, or let some come to their end, until there are so many."""
        self.threads = number
        with self.turn:
            collectors, retired = self.crew.collectors, self.crew.retired
            while len(collectors) > number:
                retired.append(collectors.pop())
                retired[-1].retire()
            while len(collectors) < number:
                collectors.append(self._started_collector(len(collectors)))
            self.distribution.seeds_changed()

    def _started_collector(self, number: int) -> UrlCollector:
        collector = self._make_collector(number)
        try:
            start(collector.thread)
        except StartError:
            collector.abandon()
            raise
        return collector

    # -- heartbeats and orders -----------------------------------------------------------------------------

    def _beat(self, heartbeat: Heartbeat) -> None:
        """Prolong the lease, and do what the database says."""
        with self.turn:
            held = self.ending.held or self.crew.held()
        orders = heartbeat.beat(self._state(), held)
        if orders is None:
            return
        before, self._orders = self._orders, orders
        with self.turn:
            self.permission.paused = orders.command is Command.PAUSE
            if self.permission.may_start():  # some may have been told no while the heartbeat took long
                for collector in self.crew.collectors:
                    collector.unblocked()
        if orders.settings != before.settings:
            self.follow_orders()
        if orders.revision != before.revision:
            self._inbox.seeds_came()
        if len(orders.living) >= self._expected:
            self._expected = 0  # all that were started together are there; from now on those that live share
        self._selector.machines = max(len(orders.living), self._expected)
        seats = self.threads * self.rules.capacity
        self._selector.sites_are_free = orders.free
        self._selector.seats_elsewhere = orders.living.seats_elsewhere(seats, self._selector.machines)
        with suppress(StoreBusyError):  # the next heartbeat comes soon
            if self._follow_partition(orders.living):
                self.give_back_others()
                with self.turn:
                    self._inbox.look_again()
        if orders.living.version != before.living.version:
            with self.turn:
                self._inbox.look_again()  # there may be sites of one that is gone
        living = frozenset(one.id for one in orders.living.machines)
        self.sharing.beat(self._selector.machines, Standing(orders.shares, living, orders.now))
        self._elsewhere.beat(orders.errands)
        self.ending.obey(orders.command)

    @property
    def kept_open_by(self) -> str:
        """Why the crawl is not over, in words; empty: the machine has not looked yet."""
        why = self._selector.kept_open_by
        return (why and lines_text(self.lines())) or why

    def lines(self) -> Lines:
        """Tell how many sites wait for their turn at IP addresses, and about how long."""
        with self.turn:
            return self.sharing.budget.lines(time.monotonic())

    def waits(self) -> Mapping[str, int]:
        """Count the seeds that collectors hold by what they wait for (see `Wait`)."""
        with self.turn:
            return waits(self.crew.held_sites(), time.monotonic(), self._held_up())

    def _held_up(self) -> Wait | None:
        if self.permission.may_start():
            return None
        if self.permission.paused:
            return Wait.PAUSED
        if self.permission.withheld_for is not None:
            return self.permission.withheld_for
        return Wait.OUTAGE if self.standstill.resting else Wait.DATABASE

    def _state(self) -> MachineState:
        if self.ending.stopping.is_set():
            return MachineState.STOPPING
        return MachineState.PAUSED if self.permission.paused else MachineState.RUNNING

    def _shut_down(self, heartbeat: Heartbeat) -> None:
        """End the threads upstream to downstream; what the queue still holds goes back to the database."""
        self.ending.stop()
        self._join(self._selector, heartbeat)
        self._end(self.listeners, heartbeat)
        if self._distributing:
            self.distribution.join()
        for collector in self.crew.every:
            self._join(collector.thread, heartbeat)
        with self.turn:
            for site in self._selector.take_nameless():
                give_back(site, self.checkpointer.submit)
            while len(self.crew.queue):
                give_back(self.crew.queue.take(), self.checkpointer.submit)
        self.checkpointer.close(max(_LAST_TRY, self.ending.at - time.monotonic()))
        self._join(self.checkpointer, heartbeat)
        self._end(self.senders, heartbeat)

    def _end(self, threads: Iterable[SideThread], heartbeat: Heartbeat) -> None:
        for thread in threads:
            thread.close()
            self._join(thread, heartbeat)

    def _join(self, thread: threading.Thread | SideThread, heartbeat: Heartbeat) -> None:
        """Wait for the end of a thread; the lease is kept meanwhile, so that its work can still be committed."""
        while thread.is_alive():
            thread.join(heartbeat.due_in())
            if heartbeat.due_in() <= 0 and self.ending.error is None:
                self._keep_lease(heartbeat)

    def _keep_lease(self, heartbeat: Heartbeat) -> None:
        """Prolong the lease; whether it can still commit what it has is for the checkpointer to find out."""
        try:
            orders = heartbeat.beat(self._state(), [])
        except LeaseLostError:
            self.ending.hurry()
        except StoreBusyError:
            return
        else:
            if orders is not None and orders.command is Command.REMOVE:
                self.ending.hurry()
