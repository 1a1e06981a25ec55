"""Memory of a process and of those that it started."""

from __future__ import annotations

import subprocess
import sys

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
