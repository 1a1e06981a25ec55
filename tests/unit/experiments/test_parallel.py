"""Functions in processes of their own, and their end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest

from experiments.lab.parallel import side_by_side
from tests.limits import HANGS


def _half(number: int) -> int:
    if number % 2:
        raise click.ClickException(f"{number} is odd")
    return number // 2


def test_results_come_in_order() -> None:
    assert side_by_side(_half, [6, 2, 4]) == [3, 1, 2]


def test_what_one_raises_is_raised() -> None:
    with pytest.raises(click.ClickException, match="3 is odd"):
        side_by_side(_half, [2, 3])


def test_a_process_that_is_gone_is_told() -> None:
    with pytest.raises(click.ClickException, match="without a result"):
        side_by_side(os._exit, [3])


# One has its result and waits for the others, two clean up for longer than the second signal takes to come.
_PROGRAM = """
import os, sys, time
from pathlib import Path
from experiments.lab.parallel import side_by_side
from experiments.lab.process import interrupt_on_sigterm

def work(number):
    if not number:
        os.write(1, b"ready\\n")
        return
    try:
        os.write(1, b"ready\\n")  # in one piece, also where output is not buffered: all three write at the same time
        time.sleep(60)  # goes on after a signal that raises nothing
    finally:
        time.sleep(0.5)
        Path(sys.argv[1], f"stopped-{number}").touch()

interrupt_on_sigterm()
try:
    side_by_side(work, range(3))
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def test_ctrl_c_in_a_terminal_lets_all_clean_up_in_silence(tmp_path: Path) -> None:
    root = Path(__file__).parents[3]
    with subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, str(tmp_path)],
        cwd=root, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(3)] == ["ready\n"] * 3
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to this one and to those that it started
        process.send_signal(signal.SIGINT)
        said, errors = process.communicate()
    assert (said, errors, process.returncode) == ("interrupted\n", "", 0)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["stopped-1", "stopped-2"]


_STARTER = """
import os, signal, sys, time
from pathlib import Path
from experiments.lab.parallel import side_by_side
from experiments.lab.process import interrupt_on_sigterm

def work(path):
    time.sleep(10)
    path.touch()

os.register_at_fork(after_in_parent=lambda: os.kill(os.getpid(), signal.SIGTERM))
interrupt_on_sigterm()
try:
    side_by_side(work, [Path(sys.argv[1], "went-on")])
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def test_a_process_that_is_just_being_started_is_ended_with_the_others(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _STARTER, str(tmp_path)]
    done = subprocess.run(command, cwd=Path(__file__).parents[3], capture_output=True, text=True, timeout=HANGS)
    assert (done.stdout, done.stderr) == ("interrupted\n", "")
    assert list(tmp_path.iterdir()) == []
