"""Loads the program once; forks of this process are its commands and machines, for `forks.py`, which starts it.

A fork ends as the script `scrawler` does: with its own exit code and descriptors, its threads joined, its streams
flushed, and what is to run at the end of a process run. Only what is in memory is not taken apart: it is common to all
forks, and each would make a copy of it for that, which takes longer than most commands. What compiles statements has
been rehearsed before: to compile them would be most of what a command on a small crawl computes.
"""

from __future__ import annotations

import atexit
import faulthandler
import gc
import importlib
import json
import os
import pkgutil
import resource
import runpy
import select
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, HTTPServer
from io import StringIO
from pathlib import Path
from types import ModuleType
from typing import Any

LONGEST = 2**20  # bytes of a command with its environment

# What most commands load beside the commands themselves. Each takes longer than what a command does with it.
_LOADED = (
    "scrawler.api.bare",
    "scrawler.insight.last_settings",
    "scrawler.supervisor.child",
    "sqlalchemy.dialects.sqlite",
    "sqlalchemy.dialects.mysql",
    "sqlalchemy.dialects.postgresql",
)

# What is rehearsed: statements are compiled then, which takes as long as all else that most commands do.
_SEEDS = "seeds.txt"
_RUN = "run --allow-private --delay 0 --user-agent rehearsal(+mailto:test@localhost)"
_REHEARSED = (
    "db init",
    _RUN,  # without seeds it ends at once; its threads come first, for a command leaves them a heap each
    f"import {_SEEDS}",
    _RUN,
    "status",
    "report",
    "seeds",
    "pages",
    "export -",
)


class _Page(BaseHTTPRequestHandler):
    """Answers all requests with one page, which leads to itself and out."""

    def do_GET(self) -> None:
        body = b'<!DOCTYPE html><a href="/x">x</a><a href="http://other.invalid/">y</a>'
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


def rehearse() -> None:
    """Run commands in a folder that is removed, and leave what they have compiled to all forks, and nothing else."""
    root = str(Path(__file__).parents[1])
    sys.path.append(root)
    from tests.statements import share_compiled

    sys.path.remove(root)
    share_compiled()
    program = importlib.import_module("scrawler.cli.main").scrawler
    heeded = {number: signal.getsignal(number) for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)}
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder, redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        os.chdir(folder)
        with _serving() as port:
            Path(_SEEDS).write_text(f"http://127.0.0.1:{port}/\n")
            for words in _REHEARSED:
                program.main(words.split(), standalone_mode=False)
        os.chdir(here)
    for number, handler in heeded.items():
        signal.signal(number, handler)
    assert threading.active_count() == 1, "a fork would lack the other threads"


@contextmanager
def _serving() -> Iterator[int]:
    """Serve the page within a block, at a port, by a fork of this process."""
    with HTTPServer(("127.0.0.1", 0), _Page) as server:
        pid = os.fork()
        if pid == 0:
            server.serve_forever()
        try:
            yield server.server_port
        finally:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def asked_for(link: socket.socket) -> dict[str, Any]:
    """Fork for each order that comes over the link; return it, in the fork alone, which has its streams."""
    running: dict[int, tuple[int, int]] = {}  # descriptor of a process -> its id, where its end is told
    ready = select.poll()
    ready.register(link, select.POLLIN)
    while True:
        for which, _ in ready.poll():
            if which != link.fileno():
                pid, told = running.pop(which)
                ready.unregister(which)
                os.close(which)
                _tell(told, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
                os.close(told)
                continue
            message, received, _, _ = socket.recv_fds(link, LONGEST, 4)
            if not message:
                os._exit(0)  # who started this is gone
            *streams, told = received
            pid = os.fork()
            if pid == 0:
                for descriptor in (told, *running, *(told for _, told in running.values())):
                    os.close(descriptor)
                link.close()
                _take(streams)
                order: dict[str, Any] = json.loads(message)
                return order
            for descriptor in streams:
                os.close(descriptor)
            _tell(told, pid)
            of_process = os.pidfd_open(pid)
            running[of_process] = pid, told
            ready.register(of_process, select.POLLIN)


def _tell(told: int, number: int) -> None:
    try:
        os.write(told, number.to_bytes(4, "big", signed=True))
    except BrokenPipeError:
        return  # nobody waits for this program any more


def _take(streams: list[int]) -> None:
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
    for descriptor in streams:
        os.close(descriptor)


def become(
    words: list[str],
    folder: str,
    environment: dict[str, str],
    new_session: bool = False,
    ignored: int | None = None,
    limits: dict[str, int] | None = None,
) -> list[str]:
    """Take on what is a process's own, of resources limits by their name; return the words of the program."""
    if new_session:
        os.setsid()
    if ignored is not None:
        signal.signal(ignored, signal.SIG_IGN)
    for name, most in (limits or {}).items():
        resource.setrlimit(getattr(resource, name), (most, most))
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    if environment.get("PYTHONFAULTHANDLER"):
        faulthandler.enable()
    folders = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[1:1] = [one for one in folders if one and one not in sys.path]  # Python has read it at the start alone
    return words


def perform(command_line: Callable[[], object]) -> None:
    """Do what the words of this process say: a function, a program's text after `-c`, a file, or the command line."""
    program, *words = sys.argv
    module, _, function = program.partition(":")
    if function:
        getattr(importlib.import_module(module), function)(*words)
    elif program == "-c":
        sys.argv[:] = [program, *words[1:]]
        _look_first_in("")
        sys.modules["__main__"] = main = ModuleType("__main__")
        exec(compile(words[0], "<string>", "exec"), vars(main))
    elif program.endswith(".py"):
        _look_first_in(os.path.dirname(os.path.abspath(program)))
        runpy.run_path(program, run_name="__main__")
    else:
        command_line()


def _look_first_in(folder: str) -> None:
    if not sys.flags.safe_path:
        sys.path[0] = folder


def _end(code: int) -> None:
    """End this process as Python would; where the streams cannot be flushed Python says so itself."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    os._exit(code)


if __name__ == "__main__":
    sys.path[0] = os.path.dirname(sys.executable)  # where the script `scrawler` is, and not this one
    import scrawler.cli
    from scrawler.cli import main
    from scrawler.feature import features

    commands = (found.name for found in pkgutil.iter_modules(scrawler.cli.__path__, "scrawler.cli."))
    of_features = (one.reference.partition(":")[0] for feature in features() for one in feature.commands.values())
    for module in (*commands, *of_features, *_LOADED):
        importlib.import_module(module)
    rehearse()
    gc.collect()
    gc.freeze()  # the end of a fork would go through all that is loaded, and copy it
    # A duplicate above the three that are a program's own.
    sys.argv = become(**asked_for(socket.socket(fileno=os.dup(0))))
    try:
        perform(main)
    except SystemExit as end:
        if not isinstance(end.code, int):
            raise
        code = end.code
    else:
        code = 0
    _end(code)
