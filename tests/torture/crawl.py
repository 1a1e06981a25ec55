"""The crawl under torture: several machine processes over one database, each of which may be killed."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.forks import SCRAWLER, Fork, forks
from tests.limits import HANGS
from tests.torture.moody import PATIENCE
from tests.torture.sql import PlainSql

_LOOK_EVERY = 0.05  # seconds
_END = HANGS  # seconds until a killed process is gone, and those that live no longer than it
_APART = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")


class StandsStillError(AssertionError):
    """What was waited for has not come."""


def wait_for(
    seen: Callable[[], bool], seconds: float, what: str, progress: Callable[[], object] = lambda: None
) -> None:
    """Return as soon as something is seen. Raises StandsStillError when it is not in time, counted from progress on."""
    until = time.monotonic() + seconds
    known = progress()
    pause = threading.Event()
    while not seen():
        if (found := progress()) != known:
            known, until = found, time.monotonic() + seconds
        if time.monotonic() > until:
            raise StandsStillError(f"not within {seconds:g} s: {what}")
        pause.wait(_LOOK_EVERY)


@dataclass(frozen=True)
class Pace:
    """How a crawl goes: `runs` times `scrawler run --machines`, so polite, so often durable."""

    runs: int = 3  # as on so many hosts
    machines: int = 1  # of each run; more than one are looked after by a supervisor
    threads: int = 2
    seeds_per_thread: int = 4
    delay: float = 0.2  # seconds, as the next
    checkpoint_interval: float = 0.5
    moody: bool = False  # the web pushes back, is slow or broken at times
    slow_pass: str = "party"
    mode: str = "firewall"
    more: tuple[str, ...] = ()  # further options
    partition: str = "independent"
    apart: bool = False  # each run in a pid namespace of its own, as on another host: its lease alone tells (as root)

    @property
    def places(self) -> int:
        """Parties that a machine has in work at a time."""
        return self.threads * self.seeds_per_thread

    def _patient(self) -> list[str]:
        pauses = ["--retry-pause=1s", f"--slow-delay={self.delay}", "--max-pushbacks=20", "--max-failures=20"]
        return [f"--patience={PATIENCE}", f"--slow-pass={self.slow_pass}", "--retries=6", *pauses]

    def flags(self) -> list[str]:
        """Return the options of `scrawler run`."""
        return [
            *([f"--machines={self.machines}"] if self.machines > 1 else []),
            f"--threads={self.threads}",
            f"--seeds-per-thread={self.seeds_per_thread}",
            f"--delay={self.delay}",
            f"--mode={self.mode}",
            *self.more,
            f"--partition={self.partition}",
            f"--checkpoint-interval={self.checkpoint_interval}",
            "--timeout=5",  # so long rests what a killed machine may have asked, and what has never answered
            *(self._patient() if self.moody else ()),
            "--warc-size=1MiB",  # so that files are closed and indexed in passing
            "--allow-private",
            "--no-export",
            "--user-agent=SCrawler-torture (+mailto:torture@localhost)",
        ]


class CrawlUnderTest:
    """A crawl in a folder of its own; what is killed of it is started again, by its supervisor or else here."""

    def __init__(self, folder: Path, database_url: str, pace: Pace) -> None:
        self.folder, self.url, self.pace = folder, database_url, pace
        self.sql = PlainSql(database_url)
        self._runs: list[Fork | subprocess.Popen[bytes]] = []
        self._started = 0

    @property
    def pages_dir(self) -> Path:
        """Folder of the WARC files."""
        return self.folder / "pages"

    def add_seeds(self, seeds: Iterable[str]) -> None:
        """Import seeds with the command."""
        self._order("import", "-", "--db", self.url, given="".join(f"{url}\n" for url in seeds))

    def order(self, *words: str) -> None:
        """Give an order, as `pause` and `resume`."""
        self._order(*words, "--db", self.url)

    def _order(self, *words: str, given: str | None = None) -> None:
        done = forks().run([SCRAWLER, *words], self.folder, os.environ, given, HANGS)
        assert done.returncode == 0, done.stderr

    def start(self) -> None:
        """Start all runs."""
        for _ in range(self.pace.runs):
            self.join()

    def join(self) -> None:
        """Start one more run."""
        self._started += 1
        command = [SCRAWLER, "run", "--db", self.url, *self.pace.flags()]
        null, same = subprocess.DEVNULL, subprocess.STDOUT
        with (self.folder / f"run-{self._started:03d}.txt").open("wb") as output:
            if self.pace.apart:
                command = [*_APART, *command]
                self._runs.append(subprocess.Popen(command, cwd=self.folder, stdin=null, stdout=output, stderr=same))
            else:
                self._runs.append(forks().start(command, self.folder, os.environ, null, output.fileno(), same))

    def runs(self) -> list[int]:
        """Return the process ids of the runs; AssertionError if one has ended otherwise than well."""
        for run in self._runs:
            if run.poll() not in (None, 0):
                raise AssertionError(f"run {run.pid} ended with exit code {run.returncode}")
        self._runs = [run for run in self._runs if run.returncode is None]
        return [run.pid for run in self._runs]

    def machines(self) -> list[int]:
        """Return the process ids of the machines that run now."""
        runs = self.runs()
        return runs if self.pace.machines == 1 else [child for run in runs for child in children(run)]

    def kill_machine(self, pid: int) -> None:
        """Kill a machine with SIGKILL; another takes its place."""
        if self.pace.machines == 1:
            self.kill_run(pid)
        else:
            kill(pid)
            wait_for(lambda: pid not in self.machines(), _END, f"machine {pid} is gone")

    def kill_run(self, pid: int) -> None:
        """Kill a run with SIGKILL; its machines end with it, and another run takes its place."""
        self.lose_run(pid)
        self.join()

    def lose_run(self, pid: int) -> None:
        """Kill a run with SIGKILL, for good; its machines end with it."""
        machines = children(pid)
        run = next(one for one in self._runs if one.pid == pid)
        run.kill()
        run.wait()
        self._runs.remove(run)
        wait_for(lambda: not any(map(runs, machines)), _END, f"machines of the killed run {pid} are gone")

    def stop(self) -> None:
        """Kill what still runs."""
        for run in self._runs:
            for pid in (*children(run.pid), run.pid):
                with suppress(ProcessLookupError):
                    kill(pid)
            run.wait()
        self._runs = []


def kill(pid: int) -> None:
    """Send SIGKILL; a stopped process feels it as well."""
    os.kill(pid, signal.SIGKILL)


def freeze(pid: int) -> None:
    """Send SIGSTOP, and return when all threads stand: until then one may take a lock, or write."""

    def stands() -> bool:
        states = [_stat(int(thread.name)) for thread in Path(f"/proc/{pid}/task").iterdir()]
        return all(found is None or found[0] in "TZX" for found in states)

    os.kill(pid, signal.SIGSTOP)
    wait_for(stands, HANGS, f"process {pid} stands")


def freeze_between_transactions(pid: int, sql: PlainSql) -> None:
    """Freeze a machine that does not hold SQLite's one write lock: with that, nobody could do anything.

    One that holds it goes on until it has let go. Whoever froze it again at once would never let it come so far.
    """
    freeze(pid)
    while not sql.writable():
        os.kill(pid, signal.SIGCONT)
        wait_for(sql.writable, HANGS, f"process {pid} has ended its transaction")
        freeze(pid)


def runs(pid: int) -> bool:
    """Whether a process runs; one that has ended and was not waited for does not."""
    return (found := _stat(pid)) is not None and found[0] != "Z"


def children(pid: int) -> list[int]:
    """Return the processes that a process has started and that run."""
    pids = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]
    return [one for one in pids if (found := _stat(one)) is not None and found[0] != "Z" and found[1] == pid]


def _stat(pid: int) -> tuple[str, int] | None:
    """Return state and parent of a process."""
    try:
        state, parent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:2]
    except (FileNotFoundError, ProcessLookupError):
        return None
    return state, int(parent)
