"""Machine processes that are forked, from a process of its own: the tests' one has threads."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.limits import HANGS

Run = Callable[[str], str]

_IMPORTS = """
import errno, os, signal, sys, threading
from pathlib import Path
from scrawler.supervisor import child
from scrawler.supervisor.forked import forked_processes
from scrawler.supervisor.process import MachineProcess
"""


# Imports once for all, as that takes a second, and forks what runs a script. It gives back how that has ended.
_SERVES = """
import socket
def next_script():
    while True:
        data, streams, *_ = socket.recv_fds(control, 65536, 2)
        if not data:
            os._exit(0)
        if pid := os.fork():
            for stream in streams:
                os.close(stream)
            control.send(str(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])).encode())
            continue
        for number, stream in enumerate(streams, 1):
            os.dup2(stream, number)
            os.close(stream)
        control.close()
        return data.decode()

control = socket.socket(fileno=int(sys.argv[1]))
exec(next_script())
"""


@pytest.fixture(scope="module")
def forking() -> Iterator[socket.socket]:
    """A process without threads, and without a second interpreter's start for each script."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    command = [sys.executable, "-c", _IMPORTS + _SERVES, str(theirs.fileno())]
    with (
        ours,
        subprocess.Popen(
            command, env=_environment(), pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        ) as process,
    ):
        theirs.close()
        yield ours
        ours.close()
        process.wait(HANGS)


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}


@pytest.fixture
def run(forking: socket.socket) -> Run:
    """Runs a script; returns what it printed. It ends with all that it forked, or the end of its output never comes."""

    def run(script: str) -> str:
        (out, said), (errors, complained) = os.pipe(), os.pipe()
        socket.send_fds(forking, [script.encode()], [said, complained])
        os.close(said)
        os.close(complained)
        with open(out) as output, open(errors) as complaints:
            printed, complaint = output.read(), complaints.read()
        assert (forking.recv(100), complaint) == (b"0", "")
        return printed

    return run


def _run_anew(script: str, **variables: str) -> str:
    """Run a script in an interpreter of its own."""
    command = [sys.executable, "-c", _IMPORTS + script]
    done = subprocess.run(command, env=_environment() | variables, capture_output=True, text=True, timeout=HANGS)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def test_the_order_of_each_ends_although_others_were_forked_after_it(run: Run) -> None:
    assert (
        run("""
first, second = forked_processes(2)
first.dismiss()  # it ends when nobody can write its order any more
assert first.returncode == 0
assert os.waitpid(second.pid, os.WNOHANG) == (0, 0), "the other one waits on"
second.dismiss()
print("both")
""")
        == "both\n"
    )


def test_what_waits_to_be_printed_is_printed_once(run: Run) -> None:
    assert (
        run("""
print("before")
for forked in forked_processes(2):
    forked.dismiss()
""")
        == "before\n"
    )


def test_what_a_plugin_has_registered_for_the_end_is_done_by_each(run: Run, tmp_path: Path) -> None:
    pids = run(
        f"folder = Path({str(tmp_path)!r})"
        + """
import atexit
atexit.register(lambda: (folder / str(os.getpid())).touch())
for forked in forked_processes(2):
    forked.dismiss()
    print(forked.pid)
"""
    )
    ended = {path.name for path in tmp_path.iterdir()}
    assert len(ended) == 3, "of both, and of the supervisor"
    assert set(pids.split()) < ended


def test_one_that_is_killed_says_so_and_may_be_killed_again(run: Run) -> None:
    assert (
        run("""
(forked,) = forked_processes(1)
forked.kill()
print(forked.wait() == -signal.SIGKILL, forked.wait() == -signal.SIGKILL)
forked.kill()
""")
        == "True True\n"
    )


def test_one_whose_supervisor_is_gone_ends(run: Run) -> None:
    assert (
        run("""
forked_processes(2)
sys.stdout.flush()
os._exit(0)
""")
        == ""
    )


def test_none_is_forked_beside_other_threads_or_where_there_is_no_room(run: Run) -> None:
    assert (
        run("""
over = threading.Event()
thread = threading.Thread(target=over.wait)
thread.start()
print(forked_processes(1))
over.set()
thread.join()

def no_room():
    raise BlockingIOError
os.fork = no_room
before = os.listdir("/proc/self/fd")
print(forked_processes(1))
print(len(os.listdir("/proc/self/fd")) - len(before), "files are left open")
""")
        == "[]\n[]\n0 files are left open\n"
    )


def test_what_a_plug_in_prints_is_written_at_the_end(run: Run) -> None:
    assert (
        run("""
child.main = lambda: print("printed")
(forked,) = forked_processes(1)
print(forked.stdout.read())
forked.dismiss()
""")
        == "b'printed\\n'\n"
    )


def test_what_a_plug_in_prints_is_written_before_a_failure_that_ends_all(run: Run) -> None:
    assert (
        run("""
from scrawler.supervisor.messages import Failure

def fails(*_):
    print("printed")
    return Failure("no use", 3)

child.read_order, child._crawl = (lambda line: ()), fails
told, error = os.pipe()
os.dup2(error, 2)
(forked,) = forked_processes(1)
forked.stdin.write(b"an order\\n")
forked.stdin.flush()
forked.wait()
os.set_blocking(told, False)
print(forked.returncode, os.read(told, 100))
""")
        == "3 b'printed\\n'\n"
    )


def test_modules_are_not_looked_for_in_the_folder_of_the_user() -> None:
    """Nor are they by a machine process that is started in the place of one that died."""
    assert (
        _run_anew(
            """
child.main = lambda: print(sys.path)
before = list(sys.path)
(forked,) = forked_processes(1)
print(before[0] == "", forked.stdout.read().decode() == f"{before[1:]}\\n", sys.path == before)
forked.dismiss()
""",
            PYTHONSAFEPATH="",
        )
        == "True True True\n"
    )


def test_what_is_begun_is_let_go_where_no_second_pipe_or_process_is_to_be_had(run: Run) -> None:
    assert (
        run("""
def open_files():
    return set(os.listdir("/proc/self/fd"))

before, pipe, fork, left = open_files(), os.pipe, os.fork, []

def hindered(call, error):
    if not left:
        raise error
    left.pop()
    return call()

os.pipe = lambda: hindered(pipe, OSError(errno.EMFILE, "Too many open files"))
os.fork = lambda: hindered(fork, MemoryError())
left = [1]
print(forked_processes(1), open_files() == before)
left = [1, 1, 1, 1, 1]
try:
    forked_processes(2)
except MemoryError:
    print("no memory", open_files() == before)
try:
    os.waitpid(-1, 0)
except ChildProcessError:
    print("none is left")
""")
        == "[] True\nno memory True\nnone is left\n"
    )


def test_a_full_standard_output_is_told_before_anything_is_forked(run: Run) -> None:
    assert (
        run("""
from scrawler.cli.streams import OutputError, make_streams_usable
said = os.fdopen(os.dup(1), "w")
os.dup2(os.open("/dev/full", os.O_WRONLY), 1)
make_streams_usable()
print("what cannot be written")
before = os.listdir("/proc/self/fd")
try:
    forked_processes(1)
except OutputError as error:
    print(error, len(os.listdir("/proc/self/fd")) - len(before), file=said)
""")
        == "standard output cannot be written: No space left on device 0\n"
    )


def test_a_process_that_has_been_waited_for_is_not_killed_again(run: Run) -> None:
    """Not even in the moment in which its pid is let go: it may be another's at once."""
    assert (
        run("""
killed, kill, waitpid = [], os.kill, os.waitpid

def noted(pid, number):
    killed.append(pid)
    kill(pid, number)

def reaped(pid, options):
    found = waitpid(pid, options)
    machine.kill()
    return found

os.kill, os.waitpid = noted, reaped
for forked in (*forked_processes(1), None):
    ended = threading.Event()
    machine = MachineProcess(b"", print, ended.set, forked)
    machine.kill()
    ended.wait()
    machine.kill()
    machine.join()
    print(killed == [machine.pid], machine.why())
    killed.clear()
""")
        == "True was killed by SIGKILL\n" * 2
    )


def test_parts_of_ours_are_loaded_without_a_thread_and_those_of_others_are_left_to_machines(run: Run) -> None:
    script = """
from scrawler.assembly.parts import load_own_parts
from scrawler.settings import Settings

wanted = {"scrawler.fetch.curl", "scrawler.extract.lexbor", "scrawler.archive.warc"}
print(sorted(wanted & sys.modules.keys()))
load_own_parts(Settings(extractor="lexbor", archive="of-another-package"))
print(sorted(wanted & sys.modules.keys()), len(forked := forked_processes(2)))
for one in forked:
    one.dismiss()
"""
    assert run(script).splitlines() == ["[]", "['scrawler.extract.lexbor', 'scrawler.fetch.curl'] 2"]
