from __future__ import annotations

import os
import subprocess
import sys

import pytest

from scrawler.store.claims.processes import identify, runs

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc is of Linux")


def test_this_process_runs() -> None:
    process = identify(os.getpid())
    assert len(process) < 255
    assert runs(process) is True


def test_a_process_that_was_killed_does_not_run_even_as_a_zombie() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        process = identify(child.pid)
        assert runs(process) is True
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # it stays a zombie
        assert runs(process) is False
        assert child.wait() != 0
        assert runs(process) is False
        assert identify(child.pid) == ""


def test_a_pid_that_was_given_anew_is_another_process() -> None:
    head, _, started = identify(os.getpid()).rpartition(" ")
    assert runs(f"{head} {int(started) - 1}") is False


@pytest.mark.parametrize("part", [0, 1])
def test_processes_of_another_host_or_container_cannot_be_judged(part: int) -> None:
    parts = identify(os.getpid()).split(" ")
    parts[part] = parts[part].translate(str.maketrans("0123456789", "1234567890"))
    assert runs(" ".join(parts)) is None


def test_nothing_is_known_of_a_process_without_a_name() -> None:
    assert runs("") is None
