"""Run a program and measure it: wall time, CPU of its process tree, peak memory; nothing survives the caller."""

from __future__ import annotations

import atexit
import os
import resource
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import click

OUTPUT = "output.txt"
_STOPS = (signal.SIGINT, signal.SIGTERM)
_HEARD_WITHIN = 0.5  # seconds


@dataclass(frozen=True, slots=True)
class Figures:
    """What one run of a program cost; times in seconds, `peak_rss` in bytes (of its largest process)."""

    exit_code: int
    wall: float
    cpu: float
    peak_rss: int
    timed_out: bool


class Sampler:
    """Calls `sample(pid)` every `interval` seconds in a thread of its own, for as long as the program runs."""

    def __init__(self, sample: Callable[[int], None], interval: float) -> None:
        self._sample = sample
        self._interval = interval
        self._stop = threading.Event()

    def watch(self, pid: int) -> threading.Thread:
        """Start to sample a process; ends with `stop`."""
        thread = threading.Thread(target=self._run, args=(pid,), name="sampler")
        thread.start()
        return thread

    def stop(self) -> None:
        """Let the thread end."""
        self._stop.set()

    def _run(self, pid: int) -> None:
        while not self._stop.wait(self._interval):
            self._sample(pid)


def interrupt_on_sigterm() -> None:
    """Let SIGTERM end this program the way Ctrl-C does, so that servers are stopped in either case."""
    raise_once_on_signals(KeyboardInterrupt)


class _Hold:
    """Whether interrupts wait, and which signal came meanwhile (0: none)."""

    on = False
    came = 0


def raise_once_on_signals(error: type[BaseException]) -> None:
    """Raise an error at the first SIGINT or SIGTERM; those that follow do not interrupt the clean-up.

    One Ctrl-C can bring several: from the terminal, and from the program that started this one. A signal that is
    ignored, as by a program in the background, stays so.

    The error is raised by the main thread, which may be about to wait, and not notice: when a signal comes at that very
    moment, as the second of two often does, or when another thread takes it (one with threads missed SIGINT and SIGTERM
    at once in 10 to 40 of 100 trials). So an alarm wakes it again and again.
    """
    numbers = [number for number in _STOPS if signal.getsignal(number) is not signal.SIG_IGN]

    def stop(number: int, _frame: FrameType | None) -> None:
        if _Hold.on:
            _Hold.came = number
            return
        for one in numbers:
            signal.signal(one, pass_over)
        signal.setitimer(signal.ITIMER_REAL, 0)
        raise error

    for number in numbers:
        signal.signal(number, stop)
    signal.signal(signal.SIGALRM, pass_over)
    signal.setitimer(signal.ITIMER_REAL, _HEARD_WITHIN, _HEARD_WITHIN)
    atexit.register(signal.setitimer, signal.ITIMER_REAL, 0)  # while Python ends, an alarm would kill it
    _interrupt()  # a process that was just forked, and had a signal before it came here


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Let interrupts wait while a process is started: else it might run, and nobody know that it is to end."""
    _Hold.on = True
    try:
        yield
    finally:
        _interrupt()


def _interrupt() -> None:
    """Wait no more with interrupts; if one has come, it comes now."""
    _Hold.on, came, _Hold.came = False, _Hold.came, 0
    if came:
        signal.raise_signal(came)


def pass_over(_number: int, _frame: FrameType | None) -> None:
    """Do nothing; unlike SIG_IGN, this is not passed on to programs that are started."""


def run_to_end(command: Sequence[str], folder: Path) -> int:
    """Run a program in a folder and return its exit code; when this one is interrupted, it has that one stop first.

    It is in a session of its own, where Ctrl-C does not reach it: one SIGTERM does, and then it has all the time that
    it wants to stop what it has started. `subprocess.run` would kill it after a quarter of a second.
    """
    process = None
    try:
        with uninterrupted():
            process = subprocess.Popen(command, cwd=folder, start_new_session=True)
        return process.wait()
    except KeyboardInterrupt:
        if process is not None:
            process.terminate()
            process.wait()
        raise


@contextmanager
def fresh_folder(name: str, later: ExitStack | None = None) -> Iterator[Path]:
    """Give a temporary folder; it is kept when a program failed in it, for its output, and else removed.

    That is at the end of the block, or with `later`.
    """
    folder = Path(tempfile.mkdtemp(prefix=f"{name}-"))
    try:
        yield folder
    except click.ClickException:
        raise
    except BaseException:
        shutil.rmtree(folder)
        raise
    if later is None:
        shutil.rmtree(folder)
    else:
        later.callback(shutil.rmtree, folder)


def run_measured(
    command: Sequence[str],
    folder: Path,
    timeout: float,
    environment: Mapping[str, str] | None = None,
    sampler: Sampler | None = None,
) -> Figures:
    """Run a command in a folder, with its output in output.txt there; after `timeout` seconds it is killed.

    CPU is user + system time of the process and all descendants it has waited for (wait4).
    """
    late = threading.Event()
    with (folder / OUTPUT).open("ab") as output, ExitStack() as ending:
        started = time.monotonic()
        with uninterrupted():
            process = subprocess.Popen(
                command,
                cwd=folder,
                env={**os.environ, **(environment or {})},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            ending.callback(_kill, process)

            def kill_late() -> None:
                late.set()
                os.killpg(process.pid, signal.SIGKILL)

            timer = threading.Timer(timeout, kill_late)
            timer.start()
            ending.callback(timer.cancel)
            if sampler:
                ending.callback(sampler.watch(process.pid).join)
                ending.callback(sampler.stop)
        usage = _wait(process)
    wall = time.monotonic() - started
    cpu = usage.ru_utime + usage.ru_stime
    return Figures(process.returncode, wall, cpu, usage.ru_maxrss * 1024, late.is_set())


def cpu_seconds(pids: Sequence[int]) -> float:
    """User + system time that running processes have used so far, from /proc."""
    ticks = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


class PeakMemory:
    """The peak resident memory of a process and its descendants together, in bytes; give `sample` to a Sampler.

    What processes share counts for each of them. Unlike the one from wait4, it leaves out the process that started
    the program, whose memory the program has for a moment.
    """

    def __init__(self) -> None:
        self.bytes = 0

    def sample(self, pid: int) -> None:
        """Look at all processes below `pid`, itself among them."""
        self.bytes = max(self.bytes, sum((memory(one) or (0, 0))[1] for one in _family(pid)))


def memory(pid: int) -> tuple[int, int] | None:
    """Resident memory now and at its peak, in bytes; None once the process is over."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = dict(line.split(":", 1) for line in lines)
    if "VmRSS" not in fields:
        return None
    now, peak = (int(fields[key].split()[0]) * 1024 for key in ("VmRSS", "VmHWM"))
    return now, peak


def _family(pid: int) -> Iterator[int]:
    yield pid
    for file in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):  # a thread or process that is over
            for child in file.read_text().split():
                yield from _family(int(child))


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a program that has not ended, and what it has started in its session."""
    if process.returncode is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _wait(process: subprocess.Popen[bytes]) -> resource.struct_rusage:
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage
