"""What parties ask of the store: it is read on the store thread, and told under the turn."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from scrawler.core.durable.checkpointer import Checkpointer
from scrawler.core.party.depth import Lane
from scrawler.core.party.site import SiteContext
from scrawler.core.party.takeup import Frontier, LookUp, known_of, waiting_of
from scrawler.core.rules import CrawlRules
from scrawler.model.lanes import ChunkRow
from scrawler.model.replaced import ListedRow


class StoreReads:
    """Reads chunks and page rows after all that was submitted before."""

    def __init__(
        self,
        checkpointer: Checkpointer,
        frontier: Frontier,
        turn: threading.RLock,
        rules: CrawlRules,
        looks_up: Sequence[LookUp] = (),
    ) -> None:
        self._checkpointer = checkpointer
        self._frontier = frontier
        self._turn = turn
        self._rules = rules
        self._looks_up = looks_up

    def load_chunks(self, lane: Lane, position: int, done: Callable[[list[ChunkRow]], None]) -> None:
        """Read the chunks of a lane from a position on."""

        def job() -> None:
            rows = self._frontier.chunks(lane.seed_id, lane.key.number, position, self._rules.depth_buffer)
            known = known_of(self._looks_up, lane, rows) if lane.visited is not None else {}
            waiting = waiting_of(self._frontier, lane, rows) if lane.waiting_rows is not None else {}
            with self._turn:
                if lane.visited is not None:
                    lane.visited.update(known)
                if lane.waiting_rows is not None:
                    lane.waiting_rows.update(waiting)
                done(rows)

        self._checkpointer.read(job)

    def find_newest(
        self,
        site: SiteContext,
        seed_id: int,
        urls: Sequence[str],
        digest: bytes,
        done: Callable[[Sequence[ListedRow]], None],
    ) -> None:
        """Look up, after all that its site has done, which of a seed's newest rows are of URLs, or have a payload."""
        if site.collector is not None:
            site.collector.submit_now(site)

        def job() -> None:
            found = self._frontier.newest(seed_id, urls, digest)
            with self._turn:
                done(found)

        self._checkpointer.read(job)

    def check_fetched(self, site: SiteContext, url_hash: bytes, done: Callable[[bool], None]) -> None:
        """Look up whether a URL was fetched, after all that its site has done so far."""
        if site.collector is not None:
            site.collector.submit_now(site)

        def job() -> None:
            fetched = self._frontier.fetched(url_hash)
            with self._turn:
                done(fetched)

        self._checkpointer.read(job)
