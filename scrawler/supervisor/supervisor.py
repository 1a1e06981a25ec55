"""Keeps the machines of one host at work: starts them, restarts those that die, stops them all."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from math import inf

from scrawler.app import prepare_crawl
from scrawler.assembly.parts import load_own_parts
from scrawler.core.blame.deaths import page_at_death
from scrawler.core.progress import Progress, RunSummary
from scrawler.errors import ScrawlerError, StartError
from scrawler.fetch.descriptors import raise_file_limit
from scrawler.settings import Settings
from scrawler.store.engines.engines import load_dialect
from scrawler.supervisor.forked import ForkedProcess, forked_processes
from scrawler.supervisor.messages import Failure, order_line
from scrawler.supervisor.process import MachineProcess
from scrawler.supervisor.restarts import FAILURES, Restarts
from scrawler.supervisor.tally import Tally
from scrawler.threads import start

_LOOK_EVERY = 0.5  # seconds between two sums of the progress
_CLEAN_END = 300.0  # seconds beyond `stop_timeout`, for what is written last; then a machine is killed
_REMARK_EVERY = 30.0  # seconds between two remarks of one kind
_FILES = 2  # files that are open for each machine process: pipes to it and from it
_OWN_FAILURE = 1  # this exit code may concern one machine alone; what any other means would meet all


class MachinesFailedError(ScrawlerError):
    """A machine met what every machine would meet; text and exit code are those of the machine."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.text)
        self.exit_code = failure.exit_code


class _Seat:
    """One of the N machines, whichever process it is at the moment."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.process: MachineProcess | None = None
        self.start_at: float | None = 0.0  # monotonic seconds; None: it runs, or is over
        self.started = False
        self.restarts = Restarts()

    @property
    def over(self) -> bool:
        return self.process is None and self.start_at is None


class Supervisor:
    """Runs `settings.machines` machine processes; what they share is in the database alone.

    `say` shows a line, `stop` asks for a clean end (and is set when `run` is over). Other hosts, and other supervisors
    on this one, take part in the same crawl without knowing of each other. In `own_process`, which has no other
    threads, the first machine processes are forked; those that take the place of one that died are started anew.
    What `beside` makes is entered once that is done and the crawl is open, and left when the machines are over: it may
    have threads.
    """

    def __init__(
        self,
        settings: Settings,
        on_progress: Callable[[Progress], None],
        say: Callable[[str], None],
        stop: threading.Event,
        own_process: bool = False,
        beside: Callable[[], AbstractContextManager[object]] = nullcontext,
    ) -> None:
        self._settings = settings
        self._on_progress = on_progress
        self._say = say
        self._stop = stop
        self._own_process = own_process
        self._beside = beside
        self._leaving: list[MachineProcess] = []  # processes that are over, and may not have ended
        self._forked: list[ForkedProcess] = []  # processes that were forked, and wait for their orders
        self._changed = threading.Condition()
        self._news = False  # a process ended, or a stop was asked for
        self._seats = [_Seat(number) for number in range(1, settings.machines + 1)]
        self._tally = Tally()
        self._prefix = ""  # how the names of all machines' files begin, once the crawl is open
        self._outcomes: set[str] = set()
        self._given_up: list[str] = []
        self._restarted = 0
        self._failure: Failure | None = None
        self._passed_on_at = -inf
        self._look_at = 0.0  # monotonic seconds of the next sum of the progress
        self._kill_at: float | None = None  # monotonic seconds, once the machines were asked to stop

    def run(self) -> RunSummary:
        """Crawl until no machine has work left, or until stopped.

        Raises:
            ScrawlerError: the database cannot be opened, or a machine met what every machine would meet; the others
                were stopped cleanly.
        """
        try:
            if self._own_process:
                raise_file_limit(_FILES * len(self._seats) + 256)
                load_dialect(self._settings.db)  # each would load that, and its parts, by itself
                load_own_parts(self._settings)
            return self._supervise()
        finally:
            for process in self._leaving:
                process.end_within(_CLEAN_END)
            for forked in self._forked:
                forked.dismiss()

    def _supervise(self) -> RunSummary:
        launch = prepare_crawl(self._settings, self._stop, self._say)
        self._prefix = launch.prefix
        if self._own_process:
            self._forked = forked_processes(len(self._seats))
        order = order_line(self._settings.model_copy(update={"machines": 1}), launch)
        with self._beside():
            self._let_work(order)
        if self._failure is not None:
            raise MachinesFailedError(self._failure)
        return self._tally.summary(self._settings, self._outcome(), self._restarted, self._given_up, self._say)

    def _let_work(self, order: bytes) -> None:
        """Keep the machines at work until all are over."""
        watcher = threading.Thread(target=self._watch_stop, name="stop watcher")
        start(watcher)
        try:
            while not all(seat.over for seat in self._seats):
                self._wait()
                for seat in self._seats:
                    self._attend(seat, order)
                self._see_to_stop()
        finally:
            at_work = [seat.process for seat in self._seats if seat.process is not None]
            for process in at_work:
                process.kill()
            self._stop.set()
            for process in at_work:
                process.join()
            watcher.join()

    def kill(self) -> None:
        """End all machine processes at once; may be called from a signal handler."""
        for process in (*(seat.process for seat in self._seats), *self._leaving):
            if process is not None:
                process.kill()

    # -- one seat -----------------------------------------------------------------------------------------

    def _attend(self, seat: _Seat, order: bytes) -> None:
        if seat.process is not None and seat.process.over:
            self._take_end(seat, seat.process)
        if seat.start_at is not None and self._stopping:
            seat.start_at = None
            self._outcomes.add("stopped")
        elif seat.start_at is not None and time.monotonic() >= seat.start_at:
            self._start(seat, order)

    def _start(self, seat: _Seat, order: bytes) -> None:
        seat.start_at = None
        self._restarted += seat.started
        seat.started = True
        forked = self._forked.pop() if self._forked else None
        try:
            seat.process = MachineProcess(order, self._pass_on, self._wake, forked)
        except OSError as error:  # the system has no room for a process
            self._take_failure(seat, f"cannot be started: {error.strerror or error}")
        except StartError as error:
            self._take_failure(seat, f"cannot be started: {error}")

    def _take_end(self, seat: _Seat, process: MachineProcess) -> None:
        seat.process = None
        if isinstance(process.last, RunSummary):  # what it has to give back meanwhile is memory
            self._leaving.append(process)
        else:
            process.join()
        self._tally.gone(process)
        if isinstance(process.last, RunSummary):
            self._outcomes.add(process.last.outcome)
        elif isinstance(process.last, Failure) and process.last.exit_code != _OWN_FAILURE:
            self._failure = self._failure or process.last
        elif self._stopping and not process.begun:
            self._outcomes.add("stopped")
        else:
            page = self._page_at_death(process)
            why = f"{process.why()} while it read {page}" if page else process.why()
            self._take_failure(seat, why, process.ran, process.fetched or bool(page))

    def _page_at_death(self, process: MachineProcess) -> str:
        """Return the URL that the last machine of a process was reading, if it may be to blame for its end."""
        if not process.machines:
            return ""
        return page_at_death(self._settings.pages_dir, self._prefix, process.machines[-1], process.fault)

    def _take_failure(self, seat: _Seat, why: str, ran: float = 0.0, fetched: bool = False) -> None:
        """Start the machine of a seat again after a while, or give it up."""
        name = f"machine {seat.number} of {len(self._seats)}"
        if self._stopping:
            self._give_up(f"{name} {why} while it was stopping")
            return
        pause = seat.restarts.pause(ran, fetched)
        if pause is None:
            self._give_up(f"{name} is given up after {FAILURES} failures in a row; the last time it {why}")
            return
        self._say(f"{name} {why}; it is started again in {pause:g} s")
        seat.start_at = time.monotonic() + pause

    def _give_up(self, text: str) -> None:
        self._given_up.append(text)
        self._say(text)

    # -- all of them ---------------------------------------------------------------------------------------

    @property
    def _stopping(self) -> bool:
        return self._stop.is_set() or self._failure is not None

    def _see_to_stop(self) -> None:
        """Ask the machines to stop, once; kill them when that takes too long."""
        if not self._stopping:
            return
        if self._kill_at is None:
            self._kill_at = time.monotonic() + self._settings.stop_timeout + _CLEAN_END
            for seat in self._seats:
                if seat.process is not None:
                    seat.process.stop()
        elif time.monotonic() >= self._kill_at:
            self.kill()

    def _wait(self) -> None:
        """Wait for a process's end, a stop, or the next look; then show how things go."""
        now = time.monotonic()
        starts = [seat.start_at for seat in self._seats if seat.start_at is not None]
        until = min([now + _LOOK_EVERY, *starts])
        with self._changed:
            self._changed.wait_for(lambda: self._news, max(0.0, until - now))
            self._news = False
        if time.monotonic() >= self._look_at:
            self._look_at = time.monotonic() + _LOOK_EVERY
            self._show()

    def _wake(self) -> None:
        with self._changed:
            self._news = True
            self._changed.notify()

    def _pass_on(self, remark: str) -> None:
        """Show what a machine says, and for a while nothing of what others say: it is mostly the same."""
        with self._changed:
            due = time.monotonic() - self._passed_on_at >= _REMARK_EVERY
            if due:
                self._passed_on_at = time.monotonic()
        if due:
            self._say(remark)

    def _watch_stop(self) -> None:
        self._stop.wait()
        self._wake()

    def _show(self) -> None:
        progress = self._tally.progress([seat.process for seat in self._seats if seat.process is not None])
        if progress is not None:
            self._on_progress(progress)

    def _outcome(self) -> str:
        if self._given_up:
            return "failed"
        # A machine that found no seed left speaks for the crawl, though another one may have been drained or stopped.
        return "ended" if "ended" in self._outcomes else "stopped"
