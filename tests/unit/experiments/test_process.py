"""Memory of a process and of those that it started."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from experiments.lab.process import PeakMemory, memory

_MIB = 1 << 20
_PROGRAM = """
import subprocess, sys
held = bytearray(b"x") * (30 << 20)
if sys.argv[1] == "parent":
    subprocess.run([sys.executable, "-c", sys.argv[2], "child", sys.argv[2]])
else:
    print("ready", flush=True)
    sys.stdin.read()
"""


def test_peak_memory_is_that_of_the_whole_family() -> None:
    command = [sys.executable, "-c", _PROGRAM, "parent", _PROGRAM]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        peak, alone = PeakMemory(), memory(process.pid)
        peak.sample(process.pid)
        process.communicate()
    assert alone is not None
    assert 30 * _MIB < alone[1] < 60 * _MIB
    assert peak.bytes > alone[1] + 30 * _MIB
    peak.sample(process.pid)  # is over
    assert peak.bytes > 60 * _MIB


# A line on standard input has another thread take a SIGTERM, as the kernel may let one of two that come at once.
_RUNNER = """
import signal, sys, threading
from pathlib import Path
from experiments.lab.process import interrupt_on_sigterm, run_to_end

def take():
    if sys.stdin.readline():
        signal.pthread_kill(threading.get_ident(), signal.SIGTERM)

interrupt_on_sigterm()
threading.Thread(target=take).start()
run_to_end([sys.executable, "-c", sys.argv[1]], Path(sys.argv[2]))
"""
_SLOW_TO_STOP = """
import signal, time
signal.signal(signal.SIGTERM, signal.default_int_handler)
try:
    print("ready", flush=True)
    time.sleep(10)
except KeyboardInterrupt:
    time.sleep(0.5)  # longer than subprocess.run gives it
    open("stopped", "w").close()
"""


def test_a_program_that_takes_long_to_end_is_not_killed_by_its_alarm() -> None:
    program = """
import time
from experiments.lab.process import interrupt_on_sigterm

class Slow:
    def __init__(self):
        self.sleep = time.sleep
    def __del__(self):
        self.sleep(1.2)

interrupt_on_sigterm()
slow = Slow()
"""
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0


@pytest.mark.parametrize("by", ["main-thread", "another-thread"])
def test_what_is_interrupted_may_stop_what_it_started(tmp_path: Path, by: str) -> None:
    command = [sys.executable, "-c", _RUNNER, _SLOW_TO_STOP, str(tmp_path)]
    with subprocess.Popen(
        command, cwd=Path(__file__).parents[3], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        if by == "main-thread":
            process.terminate()
        process.communicate("" if by == "main-thread" else "now\n")
    assert (tmp_path / "stopped").exists()
