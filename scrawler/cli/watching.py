"""What is shown of a run while it goes on: the progress line, the log, and figures for Prometheus."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import partial

from scrawler.api.left import TimeLeft
from scrawler.cli.log import LogOptions
from scrawler.cli.progress import ProgressLine, crawl_text
from scrawler.core.progress import Progress
from scrawler.settings import Settings


class Watched:
    """Shows how a run goes. Raises SettingsError where what is to serve `metrics`, `[HOST:]PORT`, cannot."""

    def __init__(self, log: LogOptions, metrics: str | None) -> None:
        self._log = log
        self._left = TimeLeft()
        self._newest: Progress | None = None
        self._serve = _served(metrics, lambda: self._newest)

    def show(self, line: ProgressLine, machines: int, progress: Progress) -> None:
        """Show in a line how things go on so many machines."""
        self._newest = progress
        line.show(crawl_text(progress, machines, line.width, self._left.seconds()))

    @contextmanager
    def served(self, settings: Settings, stop: threading.Event) -> Iterator[None]:
        """Serve figures during a block, and reckon how long the crawl takes yet, if that is shown."""
        with ExitStack() as stack:
            stack.enter_context(self._serve(settings, stop))
            if not self._log.quiet:
                stack.enter_context(self._left.reckoned(settings, stop))
            yield

    @contextmanager
    def beside(self, settings: Settings, stop: threading.Event) -> Iterator[None]:
        """Do that, and log what happens in the crawl."""
        with self._log.events(settings, stop), self.served(settings, stop):
            yield


def _served(
    metrics: str | None, inside: Callable[[], Progress | None]
) -> Callable[[Settings, threading.Event], AbstractContextManager[None]]:
    """Return what serves figures while machines work, if it is to be done. Raises SettingsError."""
    if metrics is None:
        return lambda settings, stop: nullcontext()
    from scrawler.api.metrics import metrics_address, metrics_served  # few runs want them, and their server's modules

    return partial(metrics_served, address=metrics_address(metrics), inside=inside)
