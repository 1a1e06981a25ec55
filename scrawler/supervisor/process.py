"""A machine process as its supervisor sees it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from scrawler.core.blame.deaths import EXITED, KILLED
from scrawler.core.progress import Progress, RunSummary
from scrawler.errors import StartError
from scrawler.supervisor.forked import ForkedProcess
from scrawler.supervisor.messages import Failure, Remark, Report, read_report
from scrawler.supervisor.signals import terminal_signals_later
from scrawler.threads import start

# -P: modules in the user's current folder must not be taken for ours.
_COMMAND = (sys.executable, "-P", "-m", "scrawler.supervisor.child_process")

_FAULTS = frozenset({"SIGSEGV", "SIGBUS", "SIGABRT", "SIGILL", "SIGFPE", "SIGPROF"})  # a page can end it by these
_FRESH = 3.0  # a rate that was told is believed for so many seconds


class MachineProcess:
    """Runs one machine process: gives it its order, keeps its newest report, and notes its end.

    A thread of its own talks with it; `on_remark` is called there with what it has to say, and `on_end` once it is
    `over`, and once the process is gone. The process is the one that was `forked`, if any was. Raises OSError or
    StartError when the system has no room for a process.
    """

    def __init__(
        self,
        order: bytes,
        on_remark: Callable[[str], None],
        on_end: Callable[[], None],
        forked: ForkedProcess | None = None,
    ) -> None:
        self._process = _started() if forked is None else forked
        self.pid = self._process.pid
        self.machines: list[int] = []  # ids under which it took part: a new one after each lease that ran out
        self.progress: Progress | None = None
        self.last: Report | None = None  # its summary or failure, once it has sent that
        self.ended = False
        self._started = time.monotonic()
        self._told_at = self._started
        self._lock = threading.Lock()  # guards the end of standard input
        self._pid_lock = threading.RLock()  # a signal handler may kill in the midst of what holds it
        self._reaped = False  # whether its end was taken, after which its pid may be another's
        self._ordered = False
        self._stopping = False
        self._order = order
        self._on_remark = on_remark
        self._on_end = on_end
        self._thread = threading.Thread(target=self._talk, name=f"machine process {self.pid}")
        try:
            start(self._thread)
        except StartError:
            self.kill()
            self._reap()
            self._close_pipes()
            raise

    def stop(self) -> None:
        """Ask it to end cleanly; returns at once. One that does not know yet what to do has nothing to clean up."""
        with self._lock:
            self._stopping = True
            if self._ordered:
                self._end_input()
            else:
                self.kill()

    def kill(self) -> None:
        """End it at once; may be called from a signal handler."""
        with self._pid_lock:
            if not self._reaped:
                self._process.kill()

    def join(self) -> None:
        """Wait for its end, and let go of its pipes."""
        self._thread.join()
        self._close_pipes()

    def end_within(self, seconds: float) -> None:
        """Wait for its end, and bring that about after so many seconds."""
        self._thread.join(seconds)
        if self._thread.is_alive():
            self.kill()
        self.join()

    @property
    def ran(self) -> float:
        """Seconds since it was started."""
        return time.monotonic() - self._started

    @property
    def rate(self) -> float:
        """Pages/s as it last told; 0 when that was long ago, because it is frozen or waits for the database."""
        fresh = time.monotonic() - self._told_at < _FRESH
        return self.progress.pages_per_second if self.progress is not None and fresh else 0.0

    @property
    def over(self) -> bool:
        """Whether it has ended, or said its last word in order: then it has nothing open, and is about to end."""
        return self.ended or isinstance(self.last, RunSummary)

    @property
    def fetched(self) -> bool:
        """Whether it has reported a page."""
        return self.progress is not None and self.progress.pages > 0

    @property
    def begun(self) -> bool:
        """Whether it was told what to do."""
        return self._ordered

    def why(self) -> str:
        """Say in words how it ended without a summary."""
        if isinstance(self.last, Failure):
            return f"failed: {self.last.text}"
        code = self._process.wait()
        if code < 0:
            return f"was killed by {_signal_name(-code)}"
        return f"ended with exit code {code} and without a report"

    @property
    def fault(self) -> str:
        """In words how a page may have ended it: by a signal for a fault, or by an exit that is none of the program's.

        "" where it ended otherwise, as killed by somebody.
        """
        code = self._process.returncode
        if code is None or self.last is not None:
            return ""
        if code >= 0:
            return f"{EXITED}{code}"
        name = _signal_name(-code)
        return f"{KILLED}{name}" if name in _FAULTS else ""

    def _talk(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            with suppress(OSError):  # the process may be gone already
                self._process.stdin.write(self._order)
                self._process.stdin.flush()
            with self._lock:
                self._ordered = True
                if self._stopping:
                    self._end_input()
            for line in self._process.stdout:
                if line.endswith(b"\n"):  # a line without an end is of a process that was killed while it wrote
                    self._take(read_report(line))
        except Exception as error:  # the program was changed under our feet
            self._take(Failure(f"what it reports cannot be read ({error!r})", 1))
        finally:
            self._reap()
            self.ended = True
            self._on_end()

    def _reap(self) -> None:
        """Wait for its end, and only then, while nobody can kill it, let its pid go."""
        if hasattr(os, "waitid"):
            with suppress(ChildProcessError):  # whoever started the supervisor lets it ignore how its processes end
                os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        else:  # on macOS before Python 3.13, where the pid is let go a moment too early, and on Windows
            self._process.wait()
        with self._pid_lock:
            self._reaped = True
            self._process.wait()

    def _take(self, report: Report) -> None:
        if isinstance(report, Remark):
            self._on_remark(report.text)
            return
        if isinstance(report, Failure):
            self.last = report
            self.kill()  # it has said its last word, and not every thread of it may come to an end
            return
        self.machines += [number for number in report.machines if number not in self.machines]
        if isinstance(report, Progress):
            self.progress, self._told_at = report, time.monotonic()
        else:
            self.last = report
            self._on_end()

    def _close_pipes(self) -> None:
        self._end_input()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def _end_input(self) -> None:
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()


def _started() -> subprocess.Popen[bytes]:
    with terminal_signals_later():
        return subprocess.Popen(_COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
