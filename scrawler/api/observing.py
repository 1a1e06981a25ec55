"""What a caller is told while machines work: the pages that they commit, and what else happens.

Both are read from the database, in the caller's thread and at its pace. So they come from all machines of the crawl,
those of other hosts among them, and nobody waits for who observes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Any, Protocol

from scrawler.api.answers import Answers
from scrawler.api.log import Watching
from scrawler.api.page import Page
from scrawler.model.events import Event
from scrawler.model.results import Result
from scrawler.store.engines.engine import Database
from scrawler.store.reading.committed import PageFollower, newest_place

_LOOK_EVERY = 0.25  # seconds between two looks for pages that were committed


class EachPage(Protocol):
    """Work that is done once with each page that is committed, in the caller's thread."""

    def step(self) -> bool:
        """Do it with some pages; return whether there were any. Raises StoreError."""
        ...

    def tell_if_nothing_was_new(self) -> None:
        """Say so where all pages were worked on before this began."""
        ...


class BeginEachPage(Protocol):
    """Begins that work for a run, as a feature offers it at the place "each_page"."""

    def __call__(
        self, crawl: Any, workers: Iterable[Any], to: Any, wanted: Collection[Result], anew: bool, /
    ) -> AbstractContextManager[EachPage | None]:
        """`workers` are what a caller gave, and `to` where results go. Raises SettingsError."""
        ...


def observed(
    database: Database,
    answers: Callable[[], Answers],
    over: threading.Event,
    wanted: Collection[Result] | None,
    on_event: Callable[[Event], object] | None,
    processing: EachPage | None = None,
    asked: Callable[[], bool] = lambda: False,
) -> Iterator[Page]:
    """Yield the pages with `wanted` results (none: any; None: no pages) that are committed from now on, until `over`.

    `on_event` is told what happens between them, and `processing` goes on. All that was committed before `over` is
    given, and processed, before it ends; who has `asked` for the end has what is left processed by the next run.
    """
    watching = None if on_event is None else Watching(database, on_event)
    follower = None if wanted is None else PageFollower(database, newest_place(database))
    words = {one.value for one in wanted or ()}
    reads: Answers | None = None
    is_over = False
    while not is_over:
        waits_alone = watching is None and follower is None and processing is None
        is_over = over.wait(None if waits_alone else _LOOK_EVERY)
        while follower is not None and (found := follower.fresh()):
            reads = reads or answers()
            for one in found:
                if not words or one.row.result in words:
                    yield Page(one, reads)
            if watching is not None:
                watching.look(at_last=False)
        while processing is not None and not asked() and processing.step():
            if watching is not None:
                watching.look(at_last=False)
        if watching is not None:
            watching.look(at_last=is_over)
