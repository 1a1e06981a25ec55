"""One crawling machine: starts its threads, hands things between them, stops them in order."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from itertools import chain
from math import inf
from typing import Any

from scrawler.core.asking.budget import AddressBudget
from scrawler.core.asking.sharing import ServerSharing
from scrawler.core.collecting.collector import UrlCollector
from scrawler.core.distribution.distributor import Distribution, SeedIdQueue
from scrawler.core.distribution.selector import UrlSelector
from scrawler.core.durable.checkpointer import Checkpointer
from scrawler.core.machine.heartbeat import Heartbeat
from scrawler.core.machine.lease import Lease
from scrawler.core.outage.standstill import Standstill
from scrawler.core.party.depth import Lane
from scrawler.core.party.site import SiteContext
from scrawler.core.party.takeup import Frontier
from scrawler.core.progress import Totals
from scrawler.core.rules import CrawlRules
from scrawler.errors import LeaseLostError, StartError, StoreBusyError
from scrawler.model.lanes import ChunkRow
from scrawler.model.machines import ENDING, Command, Living, MachineState, Orders
from scrawler.threads import start

_LAST_TRY = 3.0  # seconds at least for the last checkpoint when the database is busy and the deadline is over


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


class Machine:
    """The threads of one machine and the calls between them.

    Everything in memory is guarded by `turn`. `asked` is set by the user who wants the end, `stopping` once it comes:
    for that, for an order in the database, because no seed is left, or because a thread failed (then `error` is the
    first failure).
    """

    def __init__(
        self,
        queue: SeedIdQueue[SiteContext],
        asked: threading.Event,
        rules: CrawlRules,
        lease: Lease,
        threads: int,
        machines: int,
    ) -> None:
        self.turn = threading.RLock()
        self.queue = queue
        self._asked = asked
        self.stopping: threading.Event = Stopping(asked)
        self.rules = rules
        self.lease = lease
        self.budget = AddressBudget(rules, self.look_again)
        self.threads = threads  # collectors to start
        self.expected = machines  # how many share the crawl at first
        self.error: BaseException | None = None
        self.ended = False  # no seed is left
        self.paused = False
        self.collectors: list[UrlCollector] = []
        self._retired: list[UrlCollector] = []
        self.distribution: Distribution[SiteContext]
        self.selector: UrlSelector
        self.checkpointer: Checkpointer
        self.sharing: ServerSharing
        self.standstill: Standstill
        self.make_collector: Callable[[int], UrlCollector]
        self.on_settings: Callable[[Mapping[str, Any]], None] = lambda settings: None
        self._ends_at = inf  # the deadline of a stop
        self._stopped = False  # `stop` was called
        self._distributing = False  # its thread, if it has one, was started
        self._held: list[int] = []  # seeds that each collector held when it came
        self._orders = Orders(True, Command.RUN, {}, 0, Living(), 0)

    # -- calls between the threads -------------------------------------------------------------------------

    def failed(self, error: BaseException) -> None:
        """Note the first failure and stop, without waiting for what is in flight."""
        self.error = self.error or error
        self._hurry()
        self.stop()
        if isinstance(error, StoreBusyError):
            self._ends_at = time.monotonic()  # the database has been waited for long enough

    def crawl_ended(self) -> None:
        """Note that no seed is left."""
        self.ended = True
        self.stop()

    def stop(self) -> None:
        """Let every thread come to its end; those that hold the turn, or wait for it, see that before it is ours."""
        if not self._stopped:
            self._stopped = True
            self._ends_at = time.monotonic() + self.grace()
        self.stopping.set()
        for collector in (*self.collectors, *self._retired):
            collector.wake()
        with self.turn:
            self._held = self._held or self._held_now()
            self.distribution.seeds_changed()
            self.selector.look_again()

    def grace(self) -> float:
        """Return the seconds for which threads that come to their end wait for what is in flight."""
        if self._orders.command is Command.DRAIN:
            return inf
        if self._orders.command is Command.REMOVE:
            return 0.0
        return self.rules.stop_timeout

    def _hurry(self) -> None:
        """Let nobody wait for what is in flight."""
        with self.turn:
            for collector in (*self.collectors, *self._retired):
                collector.hurry()

    def may_start(self) -> bool:
        """Whether requests may be started now; who is told no is called again. Called under the turn."""
        if self.paused or self.standstill.resting:
            return False
        return self.lease.good and self.checkpointer.has_room()

    def may_probe(self, site: SiteContext) -> bool:
        """Whether a site may start a request although the machine rests. Called under the turn."""
        return site in self.standstill.probes and not self.paused and self.lease.good

    def go_on(self) -> None:
        """Let the collectors look for what they may do now. Called under the turn."""
        for collector in (*self.collectors, *self._retired):
            if self.may_start():
                collector.unblocked()
            collector.wake()
        self.selector.look_again()

    def sites(self) -> list[SiteContext]:
        """Return the sites that are here. Called under the turn."""
        collectors = (*self.collectors, *self._retired)
        return [*(site for collector in collectors for site in collector.sites.values()), *self.queue]

    def look_again(self, site: SiteContext) -> None:
        """Visit a site for which something has come. Called under the turn."""
        if site.collector is not None:
            site.collector.look_again(site)
            site.collector.wake()

    def seeds_queued(self) -> None:
        """Tell the distribution that the queue has seeds. Called under the turn."""
        self.distribution.seeds_changed()

    def committed(self, lost: Collection[int], was_full: bool) -> None:
        """Drop the sites whose lease was lost; let collectors that waited for room go on."""
        with self.turn:
            for collector in (*self.collectors, *self._retired):
                for site in [site for site in collector.sites.values() if site.id in lost]:
                    collector.drop(site)
                if was_full:
                    collector.unblocked()
            if lost or was_full:
                self.selector.look_again()

    def let_go(self) -> None:
        """Let the selector look: a commit has let go of something. After each commit that costs 10 us a page."""
        with self.turn:
            self.selector.look_again()

    def holding(self) -> bool:
        """Whether anything is in work here or not yet durable. Called under the turn."""
        held = any(collector.sites for collector in (*self.collectors, *self._retired))
        return held or len(self.queue) > 0 or self.queue.reserved > 0 or not self.checkpointer.idle

    def held_sites(self) -> list[SiteContext]:
        """Return the sites that the collectors hold. Called under the turn."""
        return [site for collector in self.collectors for site in collector.sites.values()]

    def free_places(self) -> int:
        """Return how many seeds the collectors have room for. Called under the turn."""
        return sum(max(0, collector.room) for collector in self.collectors)

    def site_released(self, site: SiteContext) -> None:
        """Let others have the places at its address, unless sites here ask there as well. Called under the turn."""
        address = site.address()
        if self.stopping.is_set() or not self.budget.could_dismiss(address):
            return
        if not any(other.may_ask(address) for other in chain(self.held_sites(), self.queue)):
            self.budget.dismiss(address, time.monotonic(), waited_for=site.going)  # else there is nothing left to ask

    def give_back(self, number: int) -> None:
        """Let go of so many sites: at once of those in the queue, and of those in work when they are inactive."""
        with self.turn:
            held = self.held_sites()
            number -= sum(site.going for site in held)
            while number > 0 and len(self.queue):
                self._return(self.queue.take_last())
                number -= 1
            for site in [site for site in held if not site.going][: max(0, number)]:
                site.going = True
                self.look_again(site)

    def _return(self, site: SiteContext) -> None:
        """Give a site of the queue back to the database."""
        delta = site.take_delta(time.monotonic(), released=True)
        if delta is not None:
            self.checkpointer.submit(delta)
        site.seen.close()

    def load_chunks(
        self, frontier: Frontier, lane: Lane, position: int, done: Callable[[list[ChunkRow]], None]
    ) -> None:
        """Read chunks from a position on, on the store thread, after all deltas submitted so far."""

        def job() -> None:
            rows = frontier.chunks(lane.seed_id, lane.key.number, position, self.rules.depth_buffer)
            with self.turn:
                done(rows)

        self.checkpointer.read(job)

    def check_fetched(
        self, frontier: Frontier, site: SiteContext, url_hash: bytes, done: Callable[[bool], None]
    ) -> None:
        """Look up a URL on the store thread, after all that this site has done so far."""
        if site.collector is not None:
            site.collector.submit_now(site)

        def job() -> None:
            fetched = frontier.fetched(url_hash)
            with self.turn:
                done(fetched)

        self.checkpointer.read(job)

    # -- life ----------------------------------------------------------------------------------------------

    def run(self, heartbeat: Heartbeat, look: Callable[[], None], look_every: float) -> None:
        """Crawl until no seed is left, until asked to stop, or until something failed (then it is raised)."""
        try:
            start(self.checkpointer)
            start(self.distribution)
            self._distributing = True
            self._beat(heartbeat)  # before collectors start: it brings the orders
            self.set_threads(self.threads)
            start(self.selector)
            self._watch(heartbeat, look, look_every)
        except BaseException as error:
            self.failed(error)
        self._shut_down(heartbeat)
        if self.error is not None:
            raise self.error

    def _watch(self, heartbeat: Heartbeat, look: Callable[[], None], look_every: float) -> None:
        while not self.stopping.is_set():
            if self._asked.is_set():
                self.stop()
                break
            if heartbeat.due_in() <= 0:
                self._beat(heartbeat)
            with self.turn:
                self.standstill.look(time.monotonic())
            with suppress(StoreBusyError):
                look()
            self.stopping.wait(min(look_every, heartbeat.due_in()))
        if self.error is None:
            self._beat(heartbeat)  # it is stopping: what its threads held goes to the statistics

    def set_threads(self, number: int) -> None:
        """Start collectors, or let some come to their end, until there are so many."""
        self.threads = number
        with self.turn:
            while len(self.collectors) > number:
                self._retired.append(self.collectors.pop())
                self._retired[-1].retire()
            while len(self.collectors) < number:
                self.collectors.append(self._started_collector(len(self.collectors)))
            self.distribution.seeds_changed()

    def _started_collector(self, number: int) -> UrlCollector:
        collector = self.make_collector(number)
        try:
            start(collector)
        except StartError:
            collector.abandon()
            raise
        return collector

    # -- heartbeats and orders -----------------------------------------------------------------------------

    def _beat(self, heartbeat: Heartbeat) -> None:
        """Prolong the lease, and do what the database says."""
        with self.turn:
            held = self._held or self._held_now()
        orders = heartbeat.beat(self._state(), held)
        if orders is None:
            return
        before, self._orders = self._orders, orders
        with self.turn:
            self.paused = orders.command is Command.PAUSE
            if self.may_start():  # whenever it was that some were told no: the heartbeat itself may have taken long
                for collector in self.collectors:
                    collector.unblocked()
        if orders.settings != before.settings:
            self.on_settings(orders.settings)
        if orders.revision != before.revision:
            self.selector.seeds_came()
        if len(orders.living) >= self.expected:
            self.expected = 0  # all that were started together are there; from now on those that live share
        self.selector.machines = max(len(orders.living), self.expected)
        if orders.living.version != before.living.version:
            with self.turn:
                self.selector.look_again()  # there may be sites of one that is gone
        self.sharing.beat(self.selector.machines)
        if orders.command in ENDING:
            self.stop()

    def _held_now(self) -> list[int]:
        return [collector.held or collector.held_at_end for collector in self.collectors]

    def _state(self) -> MachineState:
        if self.stopping.is_set():
            return MachineState.STOPPING
        return MachineState.PAUSED if self.paused else MachineState.RUNNING

    def totals(self) -> Totals:
        """Add up the counts of all collectors."""
        parts = [collector.totals for collector in (*self.collectors, *self._retired)]
        return Totals(
            sum(part.requests for part in parts),
            sum(part.pages for part in parts),
            sum(part.bytes for part in parts),
            sum(part.errors for part in parts),
        )

    def _shut_down(self, heartbeat: Heartbeat) -> None:
        """End the threads upstream to downstream; what the queue still holds goes back to the database."""
        self.stop()
        self._join(self.selector, heartbeat)
        if self._distributing:
            self.distribution.join()
        for collector in (*self.collectors, *self._retired):
            self._join(collector, heartbeat)
        with self.turn:
            for site in self.selector.take_nameless():
                self._return(site)
            while len(self.queue):
                self._return(self.queue.take())
        self.checkpointer.close(max(_LAST_TRY, self._ends_at - time.monotonic()))
        self._join(self.checkpointer, heartbeat)

    def _join(self, thread: threading.Thread, heartbeat: Heartbeat) -> None:
        """Wait for the end of a thread; the lease is kept meanwhile, so that its work can still be committed."""
        while thread.is_alive():
            thread.join(heartbeat.due_in())
            if heartbeat.due_in() <= 0 and self.error is None:
                self._keep_lease(heartbeat)

    def _keep_lease(self, heartbeat: Heartbeat) -> None:
        """Prolong the lease; whether it can still commit what it has is for the checkpointer to find out."""
        try:
            orders = heartbeat.beat(self._state(), [])
        except LeaseLostError:
            self._hurry()
        except StoreBusyError:
            return
        else:
            if orders is not None and orders.command is Command.REMOVE:
                self._hurry()
