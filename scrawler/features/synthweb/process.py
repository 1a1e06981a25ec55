"""A synthetic web served by a process of its own, for tests and experiments."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from dataclasses import fields
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import NamedTuple, Self

from scrawler.errors import SettingsError
from scrawler.features.synthweb.spec import WebSpec
from scrawler.features.synthweb.web import SyntheticWeb

_PORT = re.compile(r" at port (\d+)")
_STOP_S = 10.0


class LoggedRequest(NamedTuple):
    """A line of the access log."""

    came: float  # seconds since 1970, when the request was there
    at: float  # when the answer was made
    status: int
    method: str
    url: str


class WebProcess:
    """Runs the synthetic web in a process apart; it is ready when the context is entered, and gone when it is left."""

    port: int  # the port at which it serves, known when it is ready
    _program = "scrawler.features.synthweb"  # the module that serves
    _process: subprocess.Popen[str]  # runs while the context is open

    def __init__(self, *options: str) -> None:
        self._options = [*options, "--stop-with-stdin"]

    def __enter__(self) -> Self:
        """Start the process and wait for the line that says it is ready."""
        self._process = _started(self._program, self._options)
        assert self._process.stdout is not None
        match = _PORT.search(self._process.stdout.readline())
        if match is None:
            self._stop()
            raise SettingsError("synthetic web: the server did not start, see above")
        self.port = int(match[1])
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the process and wait for its end."""
        self._stop()

    @property
    def pid(self) -> int:
        """Process id, for measurements."""
        return self._process.pid

    def _stop(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()  # at the end of its standard input it stops
        try:
            self._process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()


class ServerProcess(WebProcess):
    """A process that serves the synthetic web of a spec, which is at `web` when the process is ready."""

    web: SyntheticWeb

    def __init__(
        self,
        spec: WebSpec,
        port: int = 0,
        *,
        log: Path | None = None,
        clock: Path | None = None,
        share_port: bool = False,
        workers: int = 1,
    ) -> None:
        options = [f"--port={port}", f"--workers={workers}", *_options(spec)]
        files = [f"--{name}={file}" for name, file in (("log", log), ("clock", clock)) if file is not None]
        super().__init__(*options, *files, *["--share-port"] * share_port)
        self._spec = spec

    def __enter__(self) -> Self:
        """Start the process and wait until it is ready."""
        super().__enter__()
        self.web = SyntheticWeb(self._spec, self.port)
        return self


class SynthServer(ServerProcess):
    """A server process that keeps an access log, which can be read at any time and after its end."""

    def __init__(self, spec: WebSpec, port: int = 0, *, clock: Path | None = None, workers: int = 1) -> None:
        self._folder = TemporaryDirectory(prefix="synthweb-")
        self._log_file = Path(self._folder.name) / "access.log"
        self._written: str | None = None
        super().__init__(spec, port, log=self._log_file, clock=clock, workers=workers)

    def __enter__(self) -> Self:
        """Start the process, with an empty log."""
        try:
            return super().__enter__()
        except BaseException:
            self._folder.cleanup()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the process; its log is kept in memory."""
        super().__exit__(kind, error, trace)
        self._written = self._log_file.read_text()
        self._folder.cleanup()

    def log(self) -> list[LoggedRequest]:
        """Return all requests so far, in the order in which they were answered."""
        text = self._log_file.read_text() if self._written is None else self._written
        return read_log(text)

    def requests(self) -> Counter[str]:
        """Count the requests so far by URL; those for robots.txt are among them."""
        return Counter(line.url for line in self.log())


def read_log(text: str) -> list[LoggedRequest]:
    """Read whole lines of an access log."""
    lines = (line.split(" ", 4) for line in text.splitlines())
    return [LoggedRequest(float(came), float(at), int(status), method, url) for came, at, status, method, url in lines]


def _options(spec: WebSpec) -> list[str]:
    """Write a spec as options of the command, whose names are those of the fields."""
    options = []
    for item in fields(spec):
        value, name = getattr(spec, item.name), item.name.replace("_", "-")
        if not isinstance(value, bool):
            options.append(f"--{name}={value}")
        elif value:
            options.append(f"--{name}")
    return options


def _started(program: str, options: list[str]) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", program, *options]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
