"""What is shown of a run while it goes on: the progress line, the log, and what features do beside it."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager

from scrawler.api.companions import Companions, MakeCompanion
from scrawler.api.left import TimeLeft
from scrawler.api.log import LOG
from scrawler.cli.log import LogOptions
from scrawler.cli.progress import ProgressLine, crawl_text
from scrawler.core.progress import Progress
from scrawler.settings import Settings


class Watched:
    """Shows how a run goes; `makers` make what options of features want beside it."""

    def __init__(self, log: LogOptions, settings: Settings, makers: Iterable[MakeCompanion]) -> None:
        self._log = log
        self._left = TimeLeft()
        self._companions = Companions(settings, LOG.warning, makers)

    def show(self, line: ProgressLine, machines: int, progress: Progress) -> None:
        """Show in a line how things go on so many machines."""
        progress = self._companions.shown(progress)
        line.show(crawl_text(progress, machines, line.width, self._left.seconds()))

    @contextmanager
    def served(self, settings: Settings, stop: threading.Event) -> Iterator[None]:
        """Let companions work during a block, and reckon how long the crawl takes yet, if that is shown."""
        with ExitStack() as stack:
            stack.enter_context(self._companions.at_work(stop))
            if not self._log.quiet:
                stack.enter_context(self._left.reckoned(settings, stop))
            yield

    @contextmanager
    def beside(self, settings: Settings, stop: threading.Event) -> Iterator[None]:
        """Do that, and log what happens in the crawl."""
        with self._log.events(settings, stop), self.served(settings, stop):
            yield
