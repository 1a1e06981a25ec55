"""A command that is told to end ends, wherever the signal meets it."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from tests.limits import HANGS

_PROGRAM = """
import shutil, signal, sys, tempfile, time, weakref
from scrawler.cli.ending import heed_signals

class Gone:
    pass

heed_signals()
try:
    one = Gone()
    here = weakref.ref(one, lambda _: signal.raise_signal(signal.{name}))
    del one  # the callback of the weak reference is called, as at the end of an import
    time.sleep({seconds})
finally:
    print("in order")
"""


@pytest.mark.parametrize(("name", "code"), [("SIGTERM", 143), ("SIGHUP", 129), ("SIGINT", -signal.SIGINT)])
def test_a_signal_in_what_python_calls_by_itself_is_not_lost(name: str, code: int) -> None:
    program = _PROGRAM.format(name=name, seconds=HANGS)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=HANGS)
    assert (done.returncode, done.stdout) == (code, "in order\n")
    assert "Exception ignored" not in done.stderr
