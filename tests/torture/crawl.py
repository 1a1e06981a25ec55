"""The crawl under torture: several machine processes over one database, each of which may be killed."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from tests.torture.sql import PlainSql

SCRAWLER = str(Path(sys.executable).with_name("scrawler"))
_LOOK_EVERY = 0.02  # seconds


class StandsStillError(AssertionError):
    """What was waited for has not come."""


def wait_for(seen: Callable[[], bool], seconds: float, what: str) -> None:
    """Return as soon as something is seen. Raises StandsStillError when it is not in time."""
    until = time.monotonic() + seconds
    pause = threading.Event()
    while not seen():
        if time.monotonic() > until:
            raise StandsStillError(f"not within {seconds:g} s: {what}")
        pause.wait(_LOOK_EVERY)


@dataclass(frozen=True)
class Pace:
    """How a crawl goes: so many machines with so many places for sites, so polite, so often durable."""

    machines: int = 3
    threads: int = 2
    seeds_per_thread: int = 4
    delay: float = 0.2  # seconds, as the next
    checkpoint_interval: float = 0.5

    @property
    def places(self) -> int:
        """Parties that a machine has in work at a time."""
        return self.threads * self.seeds_per_thread

    def flags(self) -> list[str]:
        """Return the options of `scrawler run`."""
        return [
            f"--threads={self.threads}",
            f"--seeds-per-thread={self.seeds_per_thread}",
            f"--delay={self.delay}",
            f"--checkpoint-interval={self.checkpoint_interval}",
            "--warc-size=1MiB",  # so that files are closed and indexed in passing
            "--allow-private",
            "--no-export",
            "--user-agent=SCrawler-torture (+mailto:torture@localhost)",
        ]


class CrawlUnderTest:
    """A crawl in a folder of its own, by `pace.machines` processes; `start` one, or all, and `end` is theirs."""

    def __init__(self, folder: Path, database_url: str, pace: Pace) -> None:
        self.folder, self.url, self.pace = folder, database_url, pace
        self.sql = PlainSql(database_url)
        self._running: list[subprocess.Popen[bytes]] = []
        self._started = 0

    @property
    def pages_dir(self) -> Path:
        """Folder of the WARC files."""
        return self.folder / "pages"

    def add_seeds(self, seeds: Iterable[str]) -> None:
        """Import seeds with the command."""
        command = [SCRAWLER, "import", "-", "--db", self.url]
        text = "".join(f"{url}\n" for url in seeds)
        subprocess.run(command, input=text.encode(), cwd=self.folder, check=True, capture_output=True, timeout=60)

    def start(self) -> None:
        """Start all machines."""
        for _ in range(self.pace.machines):
            self._start_one()

    def _start_one(self) -> None:
        self._started += 1
        command = [SCRAWLER, "run", "--db", self.url, *self.pace.flags()]
        with (self.folder / f"run-{self._started:03d}.txt").open("wb") as output:
            self._running.append(
                subprocess.Popen(
                    command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
                )
            )

    def machines(self) -> list[int]:
        """Return the process ids of the machines that run now."""
        self.check()
        return [process.pid for process in self._running]

    def kill_machine(self, pid: int) -> None:
        """Kill a machine with SIGKILL, and see to it that another takes its place."""
        process = next(one for one in self._running if one.pid == pid)
        process.kill()
        process.wait()
        self._running.remove(process)
        self._start_one()

    def check(self) -> None:
        """Raise AssertionError if a machine has ended otherwise than well; forget those that ended well."""
        for process in self._running:
            if process.poll() not in (None, 0):
                raise AssertionError(f"process {process.pid} ended with exit code {process.returncode}")
        self._running = [process for process in self._running if process.returncode is None]

    def wait_end(self, seconds: float) -> None:
        """Wait until all machines have come to their end by themselves."""
        wait_for(lambda: not self.machines(), seconds, "the end of the crawl")

    def stop(self) -> None:
        """Kill what still runs."""
        for process in self._running:
            process.kill()
            process.send_signal(signal.SIGCONT)
            process.wait()
        self._running = []
