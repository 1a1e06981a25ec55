"""Runs the machines of a crawl while its caller does something else, or reads what they commit.

Machines are processes of their own, also where there is only one. So a page that kills its process, a loop without an
end, or a `kill -9` ends a machine, which is started again, and neither the caller nor its data; the caller's own Python
code takes no time from the crawl, nor the crawl from it, for they share no interpreter lock; and what a machine does to
its process (signals, limits, the garbage collector) is done to no process of the caller's. It costs half a second at
the beginning. A machine is started by the command of its module, not as `multiprocessing` does it: the caller's script
is not imported again, and needs no `if __name__ == "__main__"`.
"""

from __future__ import annotations

import atexit
import difflib
import os
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Protocol
from weakref import WeakSet

from scrawler.api.companions import Companions
from scrawler.app import accept_losses, retry_lost, retry_seeds, retry_urls
from scrawler.core.progress import Progress, RunSummary
from scrawler.errors import ScrawlerError, SettingsError
from scrawler.feature import hooked_for
from scrawler.model.results import WANTED_AGAIN, Result
from scrawler.model.seeds import EndReason
from scrawler.settings import Settings
from scrawler.store.lists.retries import RETRYABLE
from scrawler.threads import start
from scrawler.units import parse_seconds

_LONGEST_AGO = 1e9  # seconds, 30 years: nothing of a crawl is older
# Words of `retry` that are no end reasons.
LOST = "lost"
URLS = "urls"
_WORDS = (*RETRYABLE, LOST, URLS)
_RESULTS = sorted(one.value for one in WANTED_AGAIN)

_at_work: WeakSet[MachinesAtWork] = WeakSet()  # those that must end before the interpreter does


class BeginAgain(Protocol):
    """Orders that ended seeds are visited again: what a feature offers at the place "again"."""

    def __call__(
        self,
        settings: Settings,
        seeds: Sequence[str],
        older_than: float,
        stop: threading.Event,
        say: Callable[[str], None],
        /,
    ) -> None:
        """`seeds` are URLs or files of them, none: all that have ended. Raises StoreError, InputError."""
        ...


@dataclass(frozen=True, slots=True)
class Before:
    """What is to be done before machines start: which seeds go on, and what is said of records that are gone."""

    reasons: Collection[EndReason] = ()
    retries_lost: bool = False
    accepts_losses: bool = False
    again: tuple[str, ...] | None = None  # seeds that are visited again, URLs or files; none of them: all. None: none
    older_than: float = 0.0  # seconds since the last visit
    results: Collection[Result] = ()  # of URLs that are asked for again

    def do(self, settings: Settings, stop: threading.Event, say: Callable[[str], None]) -> None:
        """Do it; done again, it goes on from where it was. Raises StoreError, ArchiveError."""
        if self.accepts_losses:
            accept_losses(settings, stop, say)
        if self.retries_lost:
            retry_lost(settings, stop, say)
        if self.results:
            retry_urls(settings, self.results, stop, say)
        if self.reasons:
            retry_seeds(settings, self.reasons, stop, say)
        if self.again is not None:
            begin_again: BeginAgain = hooked_for("again", "to visit URLs again")
            begin_again(settings, self.again, self.older_than, stop, say)


def before(
    retry: str | Iterable[str],
    accepts_losses: bool,
    called: str = "retry",
    again: bool | str | Iterable[str] = False,
    older_than: str | float | timedelta = 0.0,
    results: str | Iterable[str] = (),
) -> Before:
    """Read the words of `retry`: end reasons, `lost` and `urls`, with the `results` of these.

    Raises SettingsError, which calls them as the user does.
    """
    names = _listed(retry)
    for name in names:
        if name not in _WORDS:
            raise SettingsError(f"{called} {_unknown(name, _WORDS)}")
    wanted = _results(names, _listed(results), called)
    visited = _seeds_given(again)
    seconds = _seconds(older_than)
    if seconds and visited is None:
        raise SettingsError("older-than says what is visited again, and nothing is: use it with --again, or again=True")
    reasons = {EndReason(name) for name in names if name not in (LOST, URLS)}
    return Before(reasons, LOST in names, accepts_losses, visited, seconds, wanted)


def _listed(words: str | Iterable[str]) -> list[str]:
    return [words] if isinstance(words, str) else list(words)


def _results(names: Sequence[str], given: Sequence[str], called: str) -> frozenset[Result]:
    """Return the results of the URLs that are asked for again. Raises SettingsError."""
    kind = "--result" if called.startswith("-") else "retry_result"
    if given and URLS not in names:
        raise SettingsError(f"{kind} says which URLs are asked for again: use it with {called} {URLS}")
    if URLS in names and not given:
        raise SettingsError(f"{called} {URLS} wants {kind}, one or several of {', '.join(_RESULTS)}")
    for name in given:
        if name not in _RESULTS:
            raise SettingsError(f"{kind} {_unknown(name, _RESULTS)}")
    return frozenset(map(Result, given))


def _unknown(name: str, allowed: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, allowed, n=1)
    meant = f"; did you mean {near[0]}?" if near else ""
    return f"{name or '(nothing)'} is not allowed, only {', '.join(allowed)}{meant}"


def _seeds_given(again: bool | str | Iterable[str]) -> tuple[str, ...] | None:
    """Return the seeds that are visited again, none where all are; None where no seed is."""
    if again is False:
        return None
    if again is True:
        return ()
    return (again,) if isinstance(again, str) else tuple(map(str, again))


def _seconds(value: str | float | timedelta) -> float:
    if isinstance(value, timedelta):
        value = value.total_seconds()
    try:
        seconds = float(parse_seconds(value))  # type: ignore[arg-type]  # what it cannot read it returns
    except (ValueError, TypeError):
        seconds = -1.0
    if not 0 <= seconds < _LONGEST_AGO:
        raise SettingsError(f"older-than {value}: a time is wanted, such as 90s, 12h or 7d")
    return seconds


def cautions(settings: Settings) -> Iterator[str]:
    """Yield a line for each setting that may do wrong to sites, or to readers of the archive."""
    if not any(mark in settings.user_agent for mark in ("http://", "https://", "@")):
        yield (
            f"warning: the user agent {settings.user_agent!r} has no contact; "
            'give sites a URL or mail address: --user-agent "MyCrawler/1.0 (+https://example.org/crawler)"'
        )
    if settings.insecure:
        yield (
            "warning: --insecure: certificates of https sites are not checked; "
            "pages may come from anybody, and are flagged as insecure"
        )


def private_advice(summary: RunSummary) -> str:
    """Say how seeds are crawled that are all at private addresses; empty where any seed is not."""
    number = sum(summary.seeds.values())
    refused = summary.seeds.get(EndReason.PRIVATE_ADDRESS.value, 0)
    if not number or refused < number:
        return ""
    places = (
        "the only seed is at a private address" if number == 1 else f"all {number:,} seeds are at private addresses"
    )
    return f"warning: {places}, where nothing is asked unless that is allowed"


class GivenUpError(ScrawlerError):
    """Machines died again and again, and were given up; what all machines did is in `summary`."""

    def __init__(self, summary: RunSummary) -> None:
        super().__init__("; ".join(summary.given_up))
        self.summary = summary


class MachinesAtWork:
    """The machines of one run, with a thread that looks after them; use `at_work`.

    The thread is a daemon, and with it those that it starts: the interpreter waits for all others before it calls
    anybody who could stop them, so a script that ends within a loop over pages would not end before the crawl does.
    """

    def __init__(
        self,
        settings: Settings,
        stop: threading.Event,
        first: Before,
        say: Callable[[str], None],
        on_progress: Callable[[Progress], None],
        enough: threading.Event,
    ) -> None:
        self._settings = settings
        self._stop = stop
        self._first = first
        self._say = say
        self._enough = enough
        self._companions = Companions(settings, say)

        def show(progress: Progress) -> None:
            on_progress(self._companions.shown(progress))

        from scrawler.supervisor.supervisor import Supervisor  # `scrawler run` of one machine needs none

        self._supervisor = Supervisor(settings, show, say, stop, beside=partial(self._companions.at_work, stop))
        self._summary: RunSummary | None = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="crawl", daemon=True)
        self._process = os.getpid()
        self.over = threading.Event()

    def begin(self) -> None:
        """Start. Raises StartError where the system has no room for a thread."""
        if not _at_work:
            atexit.unregister(_end_all)
            atexit.register(_end_all)
        _at_work.add(self)
        start(self._thread)

    def end(self) -> None:
        """Let the machines end cleanly, and wait for that; a Ctrl-C meanwhile kills them, which loses no checkpoint."""
        if self._thread.ident is None or self._is_copy():
            return
        self._enough.set()
        self._stop.set()
        try:
            self.over.wait()
        except BaseException:
            self.kill()
            self.over.wait()
            raise
        self._thread.join()

    def kill(self) -> None:
        """End the machines at once; may be called from a signal handler."""
        if not self._is_copy():
            self._supervisor.kill()

    def _is_copy(self) -> bool:
        """Tell whether this is in a fork of the process whose machines they are, where the thread is not."""
        return os.getpid() != self._process

    def summary(self) -> RunSummary:
        """Return what they did, once they are over. Raises what ended them, and ScrawlerError for those given up."""
        if self._error is not None:
            raise self._error
        assert self._summary is not None
        if self._summary.given_up:
            raise GivenUpError(self._summary)
        return self._summary

    def _run(self) -> None:
        try:
            self._first.do(self._settings, self._stop, self._say)
            summary = self._supervisor.run()
            self._summary = self._companions.finished(summary, self._enough)
        except BaseException as error:
            self._error = error
        finally:
            self.over.set()


@contextmanager
def at_work(
    settings: Settings,
    stop: threading.Event,
    first: Before,
    say: Callable[[str], None],
    on_progress: Callable[[Progress], None],
    enough: threading.Event,
) -> Iterator[MachinesAtWork]:
    """Let machines crawl during the block; whoever leaves it ends them cleanly, by a Ctrl-C as well.

    `stop` is set once the machines are over; `enough` ends what comes after them, copies, as well: it is set by whoever
    wants the end, and by leaving.
    """
    machines = MachinesAtWork(settings, stop, first, say, on_progress, enough)
    try:
        machines.begin()
        yield machines
    finally:
        machines.end()


def _end_all() -> None:
    for machines in list(_at_work):
        machines.end()
