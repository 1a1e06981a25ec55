"""Commands as forks of a process that has loaded the program: to load it takes longer than most commands themselves.

What a command does, and how it ends, is the same as of the script. Hundreds of commands are run so; those that tests
start and talk to, signal or kill are started by the script.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.e2e.forked_command import LONGEST

_PROGRAM = str(Path(__file__).with_name("forked_command.py"))


class Forks:
    """The process whose forks are commands."""

    def __init__(self, link: socket.socket) -> None:
        self._link = link

    def run(
        self, words: list[str], folder: Path, environment: Mapping[str, str], given: str | None, timeout: float
    ) -> subprocess.CompletedProcess[str]:
        """Run a command to its end, as `subprocess.run` does with pipes for what it writes."""
        with ExitStack() as ends, ThreadPoolExecutor(3) as threads:
            inner = [0] if given is None else []
            if given is not None:
                for_reading, for_writing = os.pipe()
                inner.append(for_reading)
                threads.submit(_write, for_writing, given)
            outer = []
            for _ in range(3):
                for_reading, for_writing = os.pipe()
                inner.append(for_writing)
                outer.append(for_reading)
            out, err = (threads.submit(_read, one) for one in outer[:2])
            told = outer[2]
            ends.callback(os.close, told)
            message = json.dumps({"words": words, "folder": str(folder), "environment": dict(environment)}).encode()
            try:
                socket.send_fds(self._link, [message], inner)
            finally:
                for descriptor in inner[given is None :]:  # the first is our own, unless something is given
                    os.close(descriptor)
            pid = _number(told, timeout)
            assert pid is not None, "the process that forks commands is gone"
            code = _number(told, timeout)
            if code is None:
                os.kill(pid, signal.SIGKILL)
                raise subprocess.TimeoutExpired(words, timeout)
            return subprocess.CompletedProcess(words, code, out.result(timeout), err.result(timeout))


@contextmanager
def forking(environment: Mapping[str, str]) -> Iterator[Forks]:
    """Run the process whose forks are commands within a block."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, LONGEST)
    with ours:
        with theirs:
            process = subprocess.Popen([sys.executable, _PROGRAM], stdin=theirs, stdout=theirs, env=environment)
        with process:
            try:
                yield Forks(ours)
            finally:
                ours.close()  # it ends then


def _write(descriptor: int, text: str) -> None:
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
    except BrokenPipeError:
        return  # the command ended without reading all of it


def _read(descriptor: int) -> str:
    with os.fdopen(descriptor) as file:
        return file.read()


def _number(descriptor: int, timeout: float) -> int | None:
    """Read what is told of a command; None if nothing comes, or nobody is there to tell it."""
    ready = select.poll()
    ready.register(descriptor, select.POLLIN)
    if not ready.poll(timeout * 1000):
        return None
    said = os.read(descriptor, 4)
    return int.from_bytes(said, "big", signed=True) if said else None
