"""Programs as forks of a process that has loaded SCrawler: to load it takes longer than most of what tests run.

What a command or a machine process does, and how it ends, is the same as of one that was started. Tests of the start
itself, and some of signals and streams, start it by its script.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as TooLateError
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import IO, Any

from tests.forked_command import LONGEST
from tests.limits import HANGS

SCRAWLER = str(Path(sys.executable).with_name("scrawler"))
_NAMES = ("stdin", "stdout", "stderr")
_PROGRAM = str(Path(__file__).with_name("forked_command.py"))
_ENDS = ExitStack()  # of the process whose forks are programs
_MACHINES: list[Fork] = []

start_by_command: Callable[[], subprocess.Popen[bytes]]  # a machine process, as the program does it
start_web_by_command: Callable[[str, list[str]], subprocess.Popen[str]]  # one that serves a synthetic web, likewise


@cache
def forks() -> Forks:
    """Return what forks programs for this process; it is begun at its first use."""
    return _ENDS.enter_context(forking())


def end_forks() -> None:
    """End what forks programs, if it was begun."""
    _ENDS.close()
    forks.cache_clear()


@contextmanager
def forking() -> Iterator[Forks]:
    """Run the process whose forks are programs within a block."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, LONGEST)
    with ours:
        with theirs:
            command = [sys.executable, _PROGRAM]
            process = subprocess.Popen(command, stdin=theirs.fileno(), stdout=theirs.fileno(), env=plain_environment())
        with process:
            try:
                yield Forks(ours)
            finally:
                ours.close()  # it ends then


def plain_environment() -> dict[str, str]:
    """Return the environment of this process, less settings of the crawler."""
    return {name: value for name, value in os.environ.items() if not name.startswith("SCRAWLER_")}


def python(
    *words: str | Path,
    stdin: int | None = None,
    stdout: int | None = None,
    stderr: int | None = None,
    text: bool = True,
) -> Fork:
    """Start what an interpreter would be told with some words: `-c` and a text, or a file, and arguments."""
    return forks().start([str(word) for word in words], Path.cwd(), os.environ, stdin, stdout, stderr)


def run_python(*words: str | Path, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run it to its end."""
    return forks().run([str(word) for word in words], folder or Path.cwd(), os.environ, None, HANGS)


def fork_machines() -> None:
    """Have supervisors in this process fork machine processes where they would start them by their command."""
    from scrawler.supervisor import process  # what leaves compiled parts out is to come first

    global start_by_command
    start_by_command = process._started
    process._started = _machine  # type: ignore[assignment]  # it is used as what it stands for


def fork_webs() -> None:
    """Have what serves a synthetic web forked as well, but for a test of its memory: a fork has that of all others."""
    from scrawler.features.synthweb import process  # as above

    global start_web_by_command
    start_web_by_command = process._started
    process._started = _web  # type: ignore[assignment]  # it is used as what it stands for


def _web(program: str, options: list[str]) -> Fork:
    text = f"import runpy; runpy.run_module({program!r}, run_name='__main__')"
    return python("-c", text, *options, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def _machine() -> Fork:
    pipe = subprocess.PIPE
    one = forks().start(["scrawler.supervisor.child:main"], Path.cwd(), os.environ, pipe, pipe, text=False)
    _MACHINES.append(one)
    return one


def machines() -> set[int]:
    """Return the ids of the machine processes that were forked here and run."""
    _MACHINES[:] = [one for one in _MACHINES if one.poll() is None]
    return {one.pid for one in _MACHINES}


def may_be_forked(variables: Mapping[str, str]) -> bool:
    """Tell whether a program may be forked with such variables; Python reads some others when it starts."""
    first = variables.get("PYTHONPATH", "").partition(os.pathsep)[0]
    is_customized = Path(first, "sitecustomize.py").exists()
    return not is_customized and all(name.startswith("SCRAWLER_") or name == "PYTHONPATH" for name in variables)


class Forks:
    """The process whose forks are programs."""

    def __init__(self, link: socket.socket) -> None:
        self._link = link

    def run(
        self, words: Sequence[str], folder: Path, environment: Mapping[str, str], given: str | None, timeout: float
    ) -> subprocess.CompletedProcess[str]:
        """Run a program to its end, as `subprocess.run` does with pipes for what it writes."""
        stdin = None if given is None else subprocess.PIPE
        with self.start(words, folder, environment, stdin, subprocess.PIPE, subprocess.PIPE) as fork:
            try:
                out, err = fork.communicate(given, timeout)
            except BaseException:
                fork.kill()
                raise
        return subprocess.CompletedProcess(list(words), fork.wait(), out, err)

    def start(
        self,
        words: Sequence[str],
        folder: Path,
        environment: Mapping[str, str],
        stdin: int | None = None,
        stdout: int | None = None,
        stderr: int | None = None,
        *,
        text: bool = True,
        **how: Any,
    ) -> Fork:
        """Fork a program: the command line, a function `module:name`, a text after `-c`, or a file, and its words.

        Streams are as those of `subprocess.Popen`; `how` is what `become` of `forked_command` takes beside them.
        """
        order = {"words": list(words), "folder": str(folder), "environment": dict(environment), **how}
        told, telling = os.pipe()
        with _Streams(text) as streams:
            streams.theirs.append(telling)
            given = [streams.descriptor(*one) for one in zip(_NAMES, (stdin, stdout, stderr), strict=True)]
            if stderr == subprocess.STDOUT:
                given[2] = given[1]
            socket.send_fds(self._link, [json.dumps(order).encode()], [*given, telling])
        assert _is_told(told, HANGS), "the process that forks programs does not answer"
        return Fork(words, _number(told), told, streams.ours)


class _Streams:
    """The ends of what a program reads and writes; theirs are closed at the end of the block, once it has them."""

    def __init__(self, text: bool) -> None:
        self.ours: dict[str, IO[Any]] = {}
        self.theirs: list[int] = []
        self._kind = "" if text else "b"

    def __enter__(self) -> _Streams:
        return self

    def __exit__(self, *_: object) -> None:
        for descriptor in self.theirs:
            os.close(descriptor)

    def descriptor(self, name: str, wanted: int | None) -> int:
        """Return what the program is to have; `wanted` says it as to `subprocess.Popen`."""
        if wanted is None:
            return _NAMES.index(name)
        if wanted == subprocess.PIPE:
            for_reading, for_writing = os.pipe()
            if name == "stdin":
                self.ours[name] = os.fdopen(for_writing, f"w{self._kind}")
                self.theirs.append(for_reading)
            else:
                self.ours[name] = os.fdopen(for_reading, f"r{self._kind}")
                self.theirs.append(for_writing)
            return self.theirs[-1]
        if wanted == subprocess.DEVNULL:
            self.theirs.append(os.open(os.devnull, os.O_RDWR))
            return self.theirs[-1]
        return wanted


class Fork:
    """A program that was forked; used as `subprocess.Popen`, as far as tests do."""

    def __init__(self, words: Sequence[str], pid: int, told: int, streams: Mapping[str, IO[Any]]) -> None:
        self.args = list(words)
        self.pid = pid
        self.returncode: int | None = None
        self.stdin = streams.get("stdin")
        self.stdout = streams.get("stdout")
        self.stderr = streams.get("stderr")
        self._told = told
        self._lock = threading.Lock()
        self._reads: list[Future[Any]] = []

    def __enter__(self) -> Fork:
        return self

    def __exit__(self, *_: object) -> None:
        for stream in (self.stdout, self.stderr, self.stdin):
            if stream is not None:
                stream.close()
        self.wait()

    def poll(self) -> int | None:
        """Return the exit code, or a signal as a negative number; None while it runs."""
        return self._code(0)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end. Raises `subprocess.TimeoutExpired`."""
        code = self._code(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0)
        return code

    def send_signal(self, number: int) -> None:
        """Send a signal, if it has not ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)

    def communicate(self, given: str | bytes | None = None, timeout: float | None = None) -> tuple[Any, Any]:
        """Give it what it is to read, read what it writes, and wait for its end."""
        if not self._reads:
            threads = ThreadPoolExecutor(3)
            threads.submit(_give, self.stdin, given)
            self._reads = [threads.submit(_read, stream) for stream in (self.stdout, self.stderr)]
            threads.shutdown(wait=False)
        ends = None if timeout is None else time.monotonic() + timeout
        try:
            out, err = (read.result(_left(ends)) for read in self._reads)
        except TooLateError:
            raise subprocess.TimeoutExpired(self.args, timeout or 0) from None
        self.wait(_left(ends))
        return out, err

    def _code(self, seconds: float | None) -> int | None:
        if self.returncode is None and _is_told(self._told, seconds):
            with self._lock:
                if self.returncode is None:
                    self.returncode = _number(self._told)
                    os.close(self._told)
        return self.returncode


def _left(ends: float | None) -> float | None:
    return None if ends is None else max(ends - time.monotonic(), 0.0)


def _give(stream: IO[Any] | None, given: str | bytes | None) -> None:
    if stream is None:
        return
    try:
        with stream:
            if given:
                stream.write(given)
    except BrokenPipeError:
        return  # the program ended without reading all of it


def _read(stream: IO[Any] | None) -> Any:
    if stream is None:
        return None
    with stream:
        return stream.read()


def _is_told(descriptor: int, seconds: float | None) -> bool:
    """Wait until something is told of a program; False if nothing comes in time."""
    ready = select.poll()
    ready.register(descriptor, select.POLLIN)
    return bool(ready.poll(None if seconds is None else seconds * 1000))


def _number(descriptor: int) -> int:
    said = os.read(descriptor, 4)
    assert said, "the process that forks programs is gone"
    return int.from_bytes(said, "big", signed=True)
