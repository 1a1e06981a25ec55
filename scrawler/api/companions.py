"""What features do beside the machines of a run: they offer it at the place "beside"."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Protocol

from scrawler.core.progress import Progress, RunSummary
from scrawler.feature import hooked
from scrawler.settings import Settings

Say = Callable[[str], None]


class Companion(Protocol):
    """Works beside the machines of one run. One that has nothing to do at a step derives from `Idle`."""

    def at_work(self, stop: threading.Event) -> AbstractContextManager[None]:
        """Work during a block, in which machines do, and finish at its end; once `stop` is set, that is to be short."""
        ...

    def shown(self, progress: Progress) -> Progress:
        """Return what is shown of a run, with what this one knows of it; it may keep what it sees."""
        ...

    def finished(self, summary: RunSummary, enough: threading.Event) -> RunSummary:
        """Do what is left when machines are over, until that is `enough`; return what the run has done."""
        ...


class MakeCompanion(Protocol):
    """Makes one for a run; `say` is told in a line each what users should know. Raises SettingsError."""

    def __call__(self, settings: Settings, say: Say, /) -> Companion:
        """Begin nothing yet."""
        ...


class Idle:
    """A companion without anything to do."""

    @contextmanager
    def at_work(self, stop: threading.Event) -> Iterator[None]:
        """Let the block do its work alone."""
        yield

    def shown(self, progress: Progress) -> Progress:
        """Return it as it is."""
        return progress

    def finished(self, summary: RunSummary, enough: threading.Event) -> RunSummary:
        """Return it as it is."""
        return summary


class Companions:
    """All companions of a run: those of features that the settings turn on, else those that are named."""

    def __init__(self, settings: Settings, say: Say, makers: Iterable[MakeCompanion] | None = None) -> None:
        wanted = hooked("beside", settings) if makers is None else makers
        self._all: list[Companion] = [make(settings, say) for make in wanted]

    @contextmanager
    def at_work(self, stop: threading.Event) -> Iterator[None]:
        """Let them work during a block."""
        with ExitStack() as stack:
            for one in self._all:
                stack.enter_context(one.at_work(stop))
            yield

    def shown(self, progress: Progress) -> Progress:
        """Return what is shown of a run, with what they know of it."""
        for one in self._all:
            progress = one.shown(progress)
        return progress

    def finished(self, summary: RunSummary, enough: threading.Event) -> RunSummary:
        """Let them do what is left; return what the run has done."""
        for one in self._all:
            summary = one.finished(summary, enough)
        return summary
