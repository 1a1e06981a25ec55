"""One crawling machine: starts its threads, hands things between them, stops them in order."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from typing import Protocol

from scrawler.crawl.checkpointer import Checkpointer
from scrawler.crawl.collector import UrlCollector
from scrawler.crawl.depth import Lane
from scrawler.crawl.distributor import Distribution, SeedIdQueue
from scrawler.crawl.progress import Totals
from scrawler.crawl.selector import UrlSelector
from scrawler.crawl.site import SiteContext
from scrawler.crawl.takeup import Frontier
from scrawler.errors import StoreBusyError
from scrawler.model import ChunkRow


class Heartbeat(Protocol):
    """Tells the database, every few seconds, that the machine lives and what its threads hold."""

    def __call__(self, held_by_thread: Sequence[int]) -> None:
        """Write one beat."""


class Machine:
    """The threads of one machine and the calls between them.

    Everything in memory is guarded by `turn`. `stopping` is set once, by whoever wants the end: the user, the
    selector when no seed is left, or a thread that failed (then `error` is the first failure). `give_up_after` is the
    time in seconds without a heartbeat, because the database is locked or away, after which it fails.
    """

    def __init__(self, queue: SeedIdQueue, stopping: threading.Event, give_up_after: float) -> None:
        self.turn = threading.RLock()
        self.queue = queue
        self.stopping = stopping
        self._give_up_after = give_up_after
        self.error: BaseException | None = None
        self.ended = False  # no seed is left
        self.collectors: list[UrlCollector] = []
        self.distribution: Distribution
        self.selector: UrlSelector
        self.checkpointer: Checkpointer

    # -- calls between the threads -------------------------------------------------------------------------

    def failed(self, error: BaseException) -> None:
        """Note the first failure and stop."""
        self.error = self.error or error
        self.stop()

    def crawl_ended(self) -> None:
        """Note that no seed is left."""
        self.ended = True
        self.stop()

    def stop(self) -> None:
        """Let every thread come to its end; returns at once."""
        self.stopping.set()
        with self.turn:
            for collector in self.collectors:
                collector.wake()
            self.distribution.seeds_changed()
            self.selector.look_again()

    def look_again(self, site: SiteContext) -> None:
        """Visit a site for which something has come. Called under the turn."""
        if site.collector is not None:
            site.collector.look_again(site)
            site.collector.wake()

    def seeds_queued(self) -> None:
        """Tell the distribution that the queue has seeds. Called under the turn."""
        self.distribution.seeds_changed()

    def committed(self, lost: Collection[int], was_full: bool) -> None:
        """Drop the sites whose lease was lost; let the selector look at what the commit changed."""
        with self.turn:
            for collector in self.collectors:
                for site in [site for site in collector.sites.values() if site.id in lost]:
                    collector.drop(site)
                if was_full:
                    collector.unblocked()
            self.selector.look_again()

    def holding(self) -> bool:
        """Whether anything is in work here or not yet durable. Called under the turn."""
        held = any(collector.sites for collector in self.collectors)
        return held or len(self.queue) > 0 or self.queue.reserved > 0 or not self.checkpointer.idle

    def load_chunk(
        self, frontier: Frontier, lane: Lane, position: int, done: Callable[[ChunkRow | None], None]
    ) -> None:
        """Read a chunk on the store thread, after all deltas submitted so far."""

        def job() -> None:
            row = frontier.chunk(lane.seed_id, lane.kind, position)
            with self.turn:
                done(row)

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

    def run(self, beat: Heartbeat, look: Callable[[], None], beat_every: float, look_every: float) -> None:
        """Crawl until no seed is left, until asked to stop, or until something failed (then it is raised)."""
        self.checkpointer.start()
        for collector in self.collectors:
            collector.start()
        self.distribution.start()
        self.selector.start()
        try:
            self._watch(beat, look, beat_every, look_every)
        except BaseException as error:
            self.failed(error)
        self._shut_down()
        if self.error is not None:
            raise self.error

    def _watch(self, beat: Heartbeat, look: Callable[[], None], beat_every: float, look_every: float) -> None:
        good_at = next_beat = time.monotonic()
        while not self.stopping.is_set():
            if time.monotonic() >= next_beat:
                try:
                    self.beat(beat)
                    good_at = time.monotonic()
                except StoreBusyError:  # locked or away for now, as the checkpointer will find too
                    if time.monotonic() - good_at >= self._give_up_after:
                        raise
                next_beat = time.monotonic() + beat_every
            with suppress(StoreBusyError):
                look()
            self.stopping.wait(min(look_every, max(0.0, next_beat - time.monotonic())))
        with suppress(StoreBusyError):
            self.beat(beat)

    def beat(self, beat: Heartbeat) -> None:
        """Write one heartbeat with the seeds that each thread holds."""
        with self.turn:
            held = [collector.held for collector in self.collectors]
        beat(held)

    def totals(self) -> Totals:
        """Add up the counts of all collectors."""
        parts = [collector.totals for collector in self.collectors]
        return Totals(
            sum(part.requests for part in parts),
            sum(part.pages for part in parts),
            sum(part.bytes for part in parts),
            sum(part.errors for part in parts),
        )

    def _shut_down(self) -> None:
        """End the threads upstream to downstream; what the queue still holds goes back to the database."""
        self.stop()
        self.selector.join()
        self.distribution.join()
        for collector in self.collectors:
            collector.join()
        with self.turn:
            while len(self.queue):
                now = time.monotonic()
                delta = self.queue.take().take_delta(now, released=True)
                if delta is not None:
                    self.checkpointer.submit(delta)
        self.checkpointer.close()
        self.checkpointer.join()
