"""What happens in a crawl, for its log, or for whoever wants to be told; read from the database as it comes there."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from scrawler.app import patiently_opened
from scrawler.errors import StoreError
from scrawler.model.events import Checkpoint, Event, MachineDied
from scrawler.settings import Settings
from scrawler.store.engines.engine import Database
from scrawler.store.reading.watching import CrawlWatch
from scrawler.threads import at_work

LOG = logging.getLogger("scrawler")  # who wants to see it gives it a handler; this package gives it none

_WATCH_EVERY, _WATCH_SHARE = 1.0, 20.0  # seconds between two looks for events, and how much longer these are than one
_LEVELS = {Checkpoint: logging.DEBUG, MachineDied: logging.WARNING}  # all others: INFO


def log_event(event: Event) -> None:
    """Log an event; the record has it as `event`, and its `seed`, `site` and `machine`, empty where it has none."""
    whose = {name: getattr(event, name, "") for name in ("seed", "site", "machine")}
    LOG.log(_LEVELS.get(type(event), logging.INFO), "%s", event, extra={"event": event, **whose})


def also_logged(on_event: Callable[[Event], object] | None) -> Callable[[Event], object] | None:
    """Return what is to be told of events: `on_event`, and the log where it shows them; None: nobody wants to know."""
    if not LOG.isEnabledFor(logging.INFO):
        return on_event
    if on_event is None:
        return log_event

    def tell(event: Event) -> None:
        log_event(event)
        on_event(event)

    return tell


class Watching:
    """Tells events, the less often the longer a look takes."""

    def __init__(self, database: Database, tell: Callable[[Event], object]) -> None:
        self._watch = CrawlWatch(database)
        self._tell = tell
        self._due = 0.0

    def look(self, at_last: bool) -> None:
        """Tell what has happened, if it is time for that, or the crawl is over."""
        begun = time.monotonic()
        if begun < self._due and not at_last:
            return
        events = self._watch.look()
        now = time.monotonic()
        self._due = now + max(_WATCH_EVERY, _WATCH_SHARE * (now - begun))
        for event in events:
            self._tell(event)


@contextmanager
def events_told(settings: Settings, tell: Callable[[Event], object], stop: threading.Event) -> Iterator[None]:
    """Tell, in a thread of its own, what happens during the block, to its end; make the database if there is none.

    A database that cannot be read later on is told of in the log, once, and read again. Once `stop` is set it is waited
    for no longer than the settings allow then. Raises StoreError, StartError.
    """
    with (
        patiently_opened(settings, stop, LOG.warning) as database,
        at_work(partial(_tell_until, Watching(database, tell)), "event watcher"),
    ):
        yield


def _tell_until(watching: Watching, over: threading.Event) -> None:
    said = False
    is_over = False
    while not is_over:
        is_over = over.wait(_WATCH_EVERY)
        try:
            watching.look(at_last=is_over)
        except StoreError as error:
            if not said:
                LOG.warning("what happens cannot be read for the log: %s; the crawl goes on", error)
            said = True
