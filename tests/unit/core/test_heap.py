"""What is kept of each page leaves no hole in the heap of the C library, in which nothing of its kind has room."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

_COUNT = 2_000
_OF_PICKLE, _OF_ZLIB = 4_300, 17_000  # bytes, a little more than the buffers in which rows and streams are made
_PROGRAM = f"""
import random
from pathlib import Path
from resource import getpagesize

from scrawler.archive.gzipping import zlib_stream
from scrawler.core.party.waiting_rows import WaitingRows
from scrawler.model.rows import PageRow

ROW = PageRow(1, b"h" * 16, "http://a.org/" + "x" * 200, 0, 1, 0, "fetched", 200, "text/html",
              *[0] * 5, "", 0, 0, 0, "")

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * getpagesize()

def grown_behind(keep, size):
    blocks = [b"x" * (size, 600, 1_500, 600)[number % 4] for number in range({4 * _COUNT})]
    del blocks[::2]  # so many holes, each with room for one of what is made, and small ones
    for _ in range({_COUNT}):
        keep()
    before = resident()
    blocks += [b"x" * size for _ in range({_COUNT})]
    return resident() - before

rows, streams = WaitingRows(), []
print(grown_behind(lambda: rows.add(ROW), {_OF_PICKLE}))
print(grown_behind(lambda: streams.append(zlib_stream(random.randbytes(1_100))), {_OF_ZLIB}))
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="looks at the heap of glibc")
def test_rows_and_streams_that_are_kept_leave_no_holes() -> None:
    done = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=True, env=os.environ)
    of_rows, of_streams = map(int, done.stdout.split())
    assert of_rows < _COUNT * _OF_PICKLE / 4
    assert of_streams < _COUNT * _OF_ZLIB / 4
