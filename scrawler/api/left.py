"""How long a crawl will take yet, as a feature reckons it that can."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Protocol

from scrawler.api.log import LOG
from scrawler.app import patiently_opened
from scrawler.assembly.parts import product_token
from scrawler.errors import ScrawlerError, SettingsError
from scrawler.feature import hooked
from scrawler.model.sizes import CrawlLeft
from scrawler.settings import Settings, with_live
from scrawler.store.claims.control import Control
from scrawler.store.engines.engine import Database
from scrawler.store.reading.left import crawl_left
from scrawler.threads import at_work

_FIRST_AFTER = 5.0  # seconds; before that little is known
_EVERY = 10.0  # seconds between two reckonings
_SHARE = 200.0  # times as long as one took, at least


class Forecast(Protocol):
    """Tells how long a crawl takes yet: what a feature offers under the name "time_left"."""

    def __call__(self, left: CrawlLeft, settings: Settings, product_token: str, cores: int) -> float | None:
        """Return the seconds; None where nobody can tell. Raises SettingsError."""


def time_left(database: Database, settings: Settings) -> float | None:
    """Return the seconds that a crawl takes yet; None where nobody can tell. Raises StoreError.

    `settings` are those of its run; what is set in the database counts before them.
    """
    forecast: Forecast | None = next(hooked("time_left"), None)
    if forecast is None:
        return None
    left = crawl_left(database)
    try:
        live = with_live(settings, Control(database).orders().settings)
        return forecast(left, live, product_token(live), cores=_cores())
    except SettingsError:
        return None


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class TimeLeft:
    """The seconds that a crawl takes yet, reckoned now and then by a thread of its own."""

    def __init__(self) -> None:
        self._ends_at: float | None = None  # monotonic seconds

    def seconds(self) -> float | None:
        """Return them as of now; None where nobody can tell, or the crawl should have ended by now."""
        at = self._ends_at
        left = -1.0 if at is None else at - time.monotonic()
        return left if left > 0 else None

    @contextmanager
    def reckoned(self, settings: Settings, stop: threading.Event) -> Iterator[None]:
        """Reckon during a block. Raises StoreError, StartError."""
        with (
            patiently_opened(settings, stop, LOG.warning) as database,
            at_work(partial(self._reckon, database, settings), "time left"),
        ):
            yield

    def _reckon(self, database: Database, settings: Settings, over: threading.Event) -> None:
        pause = _FIRST_AFTER
        while not over.wait(pause):
            begun = time.monotonic()
            try:
                left = time_left(database, settings)
            except ScrawlerError:  # the machines say what is wrong with the database
                left = None
            now = time.monotonic()
            self._ends_at = None if left is None else now + left
            pause = max(_EVERY, _SHARE * (now - begun))
