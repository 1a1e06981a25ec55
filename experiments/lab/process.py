"""Run a program and measure it: wall time, CPU of its process tree, peak memory; nothing survives the caller."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import click

OUTPUT = "output.txt"
_STOPS = (signal.SIGINT, signal.SIGTERM)


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
        self._sample, self._interval = sample, interval
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


def raise_once_on_signals(error: type[BaseException]) -> None:
    """Raise an error at the first SIGINT or SIGTERM; those that follow do not interrupt the clean-up.

    One Ctrl-C can bring several: from the terminal, and from the program that started this one. A signal that is
    ignored, as by a program in the background, stays so.
    """
    numbers = [number for number in _STOPS if signal.getsignal(number) is not signal.SIG_IGN]

    def stop(_number: int, _frame: FrameType | None) -> None:
        for number in numbers:
            signal.signal(number, pass_over)
        raise error

    for number in numbers:
        signal.signal(number, stop)


def pass_over(_number: int, _frame: FrameType | None) -> None:
    """Do nothing; unlike SIG_IGN, this is not passed on to programs that are started."""


def run_to_end(command: Sequence[str], folder: Path) -> int:
    """Run a program in a folder and return its exit code; when this one is interrupted, it has that one stop first.

    It is in a session of its own, where Ctrl-C does not reach it: one SIGTERM does, and then it has all the time that
    it wants to stop what it has started. `subprocess.run` would kill it after a quarter of a second.
    """
    process = subprocess.Popen(command, cwd=folder, start_new_session=True)
    try:
        return process.wait()
    except KeyboardInterrupt:
        process.terminate()
        process.wait()
        raise


@contextmanager
def fresh_folder(name: str) -> Iterator[Path]:
    """Give a temporary folder; it is kept when a program failed in it, for its output, and else removed."""
    folder = Path(tempfile.mkdtemp(prefix=f"{name}-"))
    try:
        yield folder
    except click.ClickException:
        raise
    except BaseException:
        shutil.rmtree(folder)
        raise
    shutil.rmtree(folder)


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
    with (folder / OUTPUT).open("ab") as output:
        started = time.monotonic()
        process = subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    late = threading.Event()

    def kill_late() -> None:
        late.set()
        os.killpg(process.pid, signal.SIGKILL)

    timer = threading.Timer(timeout, kill_late)
    timer.start()
    thread = sampler.watch(process.pid) if sampler else None
    try:
        usage = _wait(process)
    finally:
        timer.cancel()
        if sampler and thread:
            sampler.stop()
            thread.join()
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
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


def _wait(process: subprocess.Popen[bytes]) -> resource.struct_rusage:
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage
