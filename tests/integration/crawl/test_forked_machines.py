"""Machine processes that are forked, from a process of its own: the tests' one has threads."""

from __future__ import annotations

import subprocess
import sys

from tests.limits import HANGS

_IMPORTS = """
import os, signal, sys, threading
from pathlib import Path
from scrawler.supervisor.forked import ForkedProcess, forked_processes
"""


def _run(script: str) -> str:
    """Run a script; return what it printed. It ends with all that it forked, or the end of its output never comes."""
    done = subprocess.run([sys.executable, "-c", _IMPORTS + script], capture_output=True, text=True, timeout=HANGS)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def test_the_order_of_each_ends_although_others_were_forked_after_it() -> None:
    assert (
        _run("""
first, second = forked_processes(2)
first.dismiss()  # it ends when nobody can write its order any more
assert first.returncode == 0
assert os.waitpid(second.pid, os.WNOHANG) == (0, 0), "the other one waits on"
second.dismiss()
print("both")
""")
        == "both\n"
    )


def test_what_waits_to_be_printed_is_printed_once() -> None:
    assert (
        _run("""
print("before")
for forked in forked_processes(2):
    forked.dismiss()
""")
        == "before\n"
    )


def test_one_that_is_killed_says_so_and_may_be_killed_again() -> None:
    assert (
        _run("""
(forked,) = forked_processes(1)
forked.kill()
print(forked.wait() == -signal.SIGKILL, forked.wait() == -signal.SIGKILL)
forked.kill()
""")
        == "True True\n"
    )


def test_one_whose_supervisor_is_gone_ends() -> None:
    assert (
        _run("""
forked_processes(2)
sys.stdout.flush()
os._exit(0)
""")
        == ""
    )


def test_none_is_forked_beside_other_threads_or_where_there_is_no_room() -> None:
    assert (
        _run("""
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
