"""A start that fails half-way closes what it began: no thread, process or machine is left, and a line says why."""

from __future__ import annotations

import errno
import inspect
import json
import os
import pkgutil
import resource
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from scrawler import assembly
from scrawler.app import prepare_crawl
from scrawler.core.progress import RunSummary
from scrawler.errors import StartError
from scrawler.features.synthweb.process import SynthServer
from scrawler.features.synthweb.spec import WebSpec
from scrawler.machine_run import Launch
from scrawler.store.claims.machines import Machines
from scrawler.store.engines.engine import open_database
from scrawler.supervisor import process as processes
from scrawler.supervisor import supervisor as supervisors
from scrawler.supervisor.messages import Failure, order_line, read_report, report_line
from scrawler.supervisor.process import MachineProcess
from scrawler.supervisor.supervisor import Supervisor
from tests import forks
from tests.forks import SCRAWLER
from tests.integration.crawl.conftest import Crawl

SMALL = {"threads": 2, "dns_threads": 2, "timeout": 1}  # a start of eight threads
BOUND = 60  # seconds; a start that hangs does so for ever
_FULL = OSError(errno.EMFILE, os.strerror(errno.EMFILE))
_ROOMS = [import_module(f"scrawler.assembly.{one.name}") for one in pkgutil.iter_modules(assembly.__path__)]
_PARTS = [
    (room, name)
    for room in _ROOMS
    for name, part in vars(room).items()
    if inspect.isclass(part) and "scrawler" in part.__module__ and f"{name}(" in inspect.getsource(room)
]
# Forks machine processes, of each of which another thread cannot be started, with the rest of the command as it is:
# what it imports takes a second each time. Prints their exit codes.
_HINDERED = """
import json, os, sys, threading
from scrawler.supervisor.child import main
start = threading.Thread.start
def hindered(self):
    left[0] -= 1
    if left[0] == 0:
        raise RuntimeError("can't start new thread")
    start(self)
pids = []
for left, *ends in json.loads(sys.argv[1]):
    if pid := os.fork():
        pids.append(pid)
        continue
    for number, end in enumerate(ends):
        os.dup2(end, number)
    os.closerange(3, 1000)
    threading.Thread.start = hindered
    try:
        main()
    finally:
        os._exit(9)
os.closerange(3, 1000)
print([os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids])
"""


class Hindered:
    """Lets the n-th of all calls fail, and counts them."""

    def __init__(self, real: Callable[..., object], fails: int, error: Exception) -> None:
        self.calls = 0
        self._real, self._fails, self._error = real, fails, error

    def __call__(self, *given: object, **named: object) -> object:
        """Call, or fail."""
        self.calls += 1
        if self.calls == self._fails:
            raise self._error
        return self._real(*given, **named)

    def __get__(self, one: object, _kind: type) -> object:
        """Stand for a method."""
        return self if one is None else partial(self, one)


@pytest.fixture(scope="module")
def server() -> Iterator[SynthServer]:
    """A web in another process: threads of this one are counted."""
    with SynthServer(WebSpec(sites=1, mean_pages=1, max_pages=1, page_bytes=200)) as one:
        yield one


@pytest.fixture
def small(crawl: Crawl, server: SynthServer) -> Crawl:
    """A crawl of a page or two."""
    crawl.add(server.web.seeds())
    return crawl


def run_or_error(crawl: Crawl) -> RunSummary | Exception:
    """Run within a bound, and check that nothing of it is left."""
    before = set(threading.enumerate())
    ended: list[RunSummary | Exception] = []

    def run() -> None:
        try:
            ended.append(crawl.run(**SMALL))
        except Exception as error:
            ended.append(error)

    runner = threading.Thread(target=run, daemon=True)
    _REAL_START(runner)
    runner.join(BOUND)
    assert ended, "it hangs"
    runner.join()
    assert set(threading.enumerate()) <= before
    database = open_database(crawl.url)
    assert {one.state.value for one in Machines(database).machines()} <= {"stopped"}
    database.close()
    return ended[0]


_REAL_START = threading.Thread.start


def test_a_run_ends_whichever_of_its_threads_cannot_be_started(small: Crawl, monkeypatch: pytest.MonkeyPatch) -> None:
    failed = 0
    for number in range(1, 100):
        hindered = Hindered(_REAL_START, number, RuntimeError("can't start new thread"))
        monkeypatch.setattr(threading.Thread, "start", hindered)
        outcome = run_or_error(small)
        monkeypatch.undo()
        if isinstance(outcome, RunSummary):
            break
        assert isinstance(outcome, StartError), repr(outcome)
        assert "no room for another thread (can't start new thread)" in str(outcome)
        failed += 1
    assert failed >= 8
    assert isinstance(outcome, RunSummary)
    assert outcome.pages > 0
    small.check()


@pytest.mark.parametrize(("room", "part"), _PARTS)
@pytest.mark.heavy
def test_a_run_ends_whichever_of_its_parts_cannot_be_made(
    room: ModuleType, part: str, small: Crawl, monkeypatch: pytest.MonkeyPatch
) -> None:
    hindered = Hindered(getattr(room, part), 1, _FULL)
    monkeypatch.setattr(room, part, hindered)
    outcome = run_or_error(small)
    monkeypatch.undo()
    in_passing = part == "UrlAnalyzer"  # is made for each seed
    assert isinstance(outcome, OSError if in_passing else StartError) == (hindered.calls > 0)
    assert isinstance(run_or_error(small), RunSummary)
    small.check()


@pytest.mark.parametrize(("module", "name"), [(select, "epoll"), (socket, "socketpair")])
def test_a_run_ends_when_a_collector_gets_no_descriptor(
    module: object, name: str, small: Crawl, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in (1, 2):
        monkeypatch.setattr(module, name, Hindered(getattr(module, name), number, _FULL))
        outcome = run_or_error(small)
        monkeypatch.undo()
        assert isinstance(outcome, StartError)
        assert "no room for a machine: Too many open files" in str(outcome)


def test_a_machine_process_ends_whichever_of_its_threads_cannot_be_started(small: Crawl) -> None:
    """Its standard input stays open, as that of an orphan whose supervisor is frozen; nobody kills it."""
    order = order_line(small.settings(**SMALL, database_patience=60), _launch(small))
    pipes = [[os.pipe() for _ in range(3)] for _ in range(10)]  # of each process, those of its standard streams
    theirs = [(given[0], said[1], complained[1]) for given, said, complained in pipes]
    orders = json.dumps([([number], *ends) for number, ends in enumerate(theirs, 1)])
    process = subprocess.Popen(
        [sys.executable, "-c", _HINDERED, orders], pass_fds=[end for ends in theirs for end in ends],
        stdout=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    for end in (end for ends in theirs for end in ends):
        os.close(end)
    try:
        for (_, given), (said, _), (complained, _) in pipes:
            os.write(given, order)
            with open(said, "rb") as output, open(complained, "rb") as errors:
                *_, last = output.read().splitlines()  # until its end
                report = read_report(last)
                assert isinstance(report, Failure)
                assert "no room for another thread" in report.text
                assert errors.read() == b""
        assert process.stdout is not None
        assert json.loads(process.stdout.read()) == [1] * len(pipes)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        for (_, given), *_ in pipes:
            os.close(given)


def test_a_machine_process_that_nobody_listens_to_is_gone_after_its_failure(small: Crawl) -> None:
    order = json.loads(order_line(small.settings(**SMALL), _launch(small)))
    order["settings"]["pages_dir"] = "/proc/nowhere"
    command = [sys.executable, "-m", "scrawler.supervisor.child_process"]
    reader, writer = os.pipe()
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=writer)
    os.close(writer)
    os.close(reader)
    assert process.stdin is not None
    process.stdin.write(json.dumps(order).encode() + b"\n")
    process.stdin.flush()
    assert process.wait(BOUND) == 5
    process.stdin.close()


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_supervisor_ends_whichever_of_its_threads_cannot_be_started(
    number: int, small: Crawl, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first watches for a stop, the others talk with the machines, which are started again."""
    said: list[str] = []
    before = set(threading.enumerate())
    made: list[int] = []
    monkeypatch.setattr(supervisors, "MachineProcess", _noting(made))
    monkeypatch.setattr(
        threading.Thread, "start", Hindered(_REAL_START, number, RuntimeError("can't start new thread"))
    )
    supervisor = Supervisor(small.settings(**SMALL, machines=2), lambda _: None, said.append, threading.Event())
    if number == 1:
        with pytest.raises(StartError, match="no room for another thread"):
            supervisor.run()
        assert made == []
    else:
        summary = supervisor.run()
        assert (summary.outcome, summary.restarts) == ("ended", 1)
        assert summary.pages > 0
        assert any("cannot be started: the system has no room" in line for line in said)
    monkeypatch.undo()
    assert set(threading.enumerate()) <= before
    for pid in made:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_a_machine_process_whose_thread_cannot_be_started_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[subprocess.Popen[bytes]] = []
    real = subprocess.Popen

    def noted(*given: object, **named: object) -> subprocess.Popen[bytes]:
        made.append(real(*given, **named))  # type: ignore[call-overload]
        return made[-1]

    monkeypatch.setattr(subprocess, "Popen", noted)
    monkeypatch.setattr(processes, "_started", forks.start_by_command)
    monkeypatch.setattr(threading.Thread, "start", Hindered(_REAL_START, 1, RuntimeError("can't start new thread")))
    with pytest.raises(StartError):
        MachineProcess(b"", lambda _: None, lambda: None)
    (process,) = made
    assert process.returncode == -signal.SIGKILL
    assert process.stdin is not None
    assert process.stdin.closed


def test_a_machine_process_is_over_with_its_last_word_and_made_to_end_if_it_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    last = RunSummary((1,), "crawl", "ended", 1.0, 2, 3, 4, 0, 2.0, 0, {}, ())
    lingers = f"import os, signal; os.write(1, {report_line(last)!r}); signal.pause()"
    monkeypatch.setattr(processes, "_COMMAND", (sys.executable, "-c", lingers))
    monkeypatch.setattr(processes, "_started", forks.start_by_command)
    told = threading.Event()
    process = MachineProcess(b"", lambda _: None, told.set)
    assert told.wait(BOUND)
    assert (process.over, process.ended) == (True, False)
    assert isinstance(process.last, RunSummary)
    process.end_within(0)
    assert process.ended


@pytest.mark.parametrize("kibibytes", [300_000, 400_000])
def test_a_run_without_memory_for_its_threads_is_one_line(kibibytes: int, small: Crawl, tmp_path: Path) -> None:
    limits = partial(resource.setrlimit, resource.RLIMIT_AS, (kibibytes * 1024, kibibytes * 1024))
    command = [SCRAWLER, "run", "--db", small.url, "--allow-private", "--user-agent", "a@b.org", "--dns-threads", "99"]
    done = subprocess.run(command, cwd=tmp_path, preexec_fn=limits, capture_output=True, text=True, timeout=BOUND)
    assert done.returncode == 1, done.stderr
    (line,) = done.stderr.splitlines()
    assert line.startswith("scrawler: error: the system has no room for")


def _launch(crawl: Crawl) -> Launch:
    return prepare_crawl(crawl.settings(), threading.Event())


def _noting(made: list[int]) -> Callable[..., MachineProcess]:
    def make(*given: object) -> MachineProcess:
        process = MachineProcess(*given)  # type: ignore[arg-type]
        made.append(process.pid)
        return process

    return make
