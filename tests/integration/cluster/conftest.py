"""Agents in a folder: each with a database of its own, in this process or one that can be killed."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from scrawler.core.progress import RunSummary
from scrawler.features.cluster.store.agents import Mail
from scrawler.model.scope import Scope
from scrawler.store.engines.engine import open_database
from tests.integration.crawl.conftest import Crawl
from tests.limits import FAR, HANGS

SECRET = "all agents know this one"
SCRAWLER = str(Path(sys.executable).with_name("scrawler"))


def free_port() -> int:
    """A port of loopback that nobody listens at now, and that the system gives to nobody who calls others."""
    while True:
        port = random.randrange(20_000, 32_000)
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


class Agents:
    """The agents of one crawl, `a`, `b` and `c`; `links` says by which port one reaches another, if not its own."""

    def __init__(self, folder: Path, names: str = "abc") -> None:
        self.folder = folder
        self.names = tuple(names)
        self.ports = {name: free_port() for name in self.names}
        self.links: dict[tuple[str, str], int] = {}
        self.secret = folder / "secret"
        self.secret.write_text(SECRET)
        self.crawls = {}
        for name in self.names:
            (folder / name).mkdir()
            self.crawls[name] = Crawl(folder / name, f"sqlite:///{folder / name / 'crawl.db'}")

    def file_of(self, name: str) -> Path:
        """The list of agents that one is given."""
        ports = {other: self.links.get((name, other), port) for other, port in self.ports.items()}
        file = self.folder / f"agents-{name}.txt"
        file.write_text("".join(f"{other} tcp://127.0.0.1:{port}\n" for other, port in ports.items()))
        return file

    def values(self, name: str, dead: float) -> dict[str, Any]:
        """The settings of one: nobody is dead before `dead` seconds are over."""
        return {
            **{"agents": self.file_of(name), "agent": name, "exchange_secret_file": self.secret, "mode": "exchange"},
            **{"agents_beat": 0.1, "agents_suspect": min(2.0, dead / 2), "agents_dead": dead},
            "checkpoint_interval": 0.3,
        }

    def add(self, seeds: Iterable[str]) -> None:
        """Give all agents all seeds."""
        seeds = list(seeds)
        for crawl in self.crawls.values():
            crawl.add(seeds)

    def crawl(
        self, during: Callable[[], None] = lambda: None, dead: float = FAR, **changes: object
    ) -> Mapping[str, RunSummary]:
        """Let all crawl, in threads of this process, and do something `during` that."""
        stop = threading.Event()
        with ThreadPoolExecutor(len(self.names)) as pool:
            runs: dict[str, Future[RunSummary]] = {
                name: pool.submit(self.crawls[name].run, stop=stop, **self.values(name, dead) | changes)
                for name in self.names
            }
            try:
                during()
                return {name: run.result(HANGS) for name, run in runs.items()}
            finally:
                stop.set()

    def start(self, name: str, dead: float, delay: float, **changes: object) -> subprocess.Popen[bytes]:
        """Start one as a process of its own."""
        given = self.values(name, dead)
        given |= {"db": self.crawls[name].url, "pages_dir": self.folder / name / "pages", "delay": delay, "patience": 0}
        given |= {"output_dir": self.folder / name / "out", "threads": 4, "retry_pause": 0.05, "timeout": 10}
        flags = [f"--{key.replace('_', '-')}={value}" for key, value in (given | changes).items()]
        log = (self.folder / name / "log").open("ab")
        with log:
            return subprocess.Popen(
                [SCRAWLER, "run", "--allow-private", "--no-export", *flags], stdout=log, stderr=log, cwd=self.folder
            )

    def log(self, name: str) -> str:
        """What one has written, that was started as a process."""
        return (self.folder / name / "log").read_text()

    def fetched(self) -> Counter[str]:
        """How often each URL was fetched, by all together."""
        return Counter(url for crawl in self.crawls.values() for url in crawl.fetched())

    def html(self) -> set[str]:
        """The HTML pages that were fetched."""
        return {url for url in self.fetched() if not url.endswith(".pdf")}

    def views(self, name: str) -> list[set[str]]:
        """Who lives, view by view, as an agent remembers it."""
        database = open_database(self.crawls[name].url)
        try:
            return [set(weights) for weights in Mail(database, 0, Scope.HOST).known().views]
        finally:
            database.close()


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and wait for its end."""
    os.kill(process.pid, signal.SIGKILL)
    process.wait(HANGS)


@pytest.fixture
def agents(tmp_path: Path) -> Agents:
    return Agents(tmp_path)
