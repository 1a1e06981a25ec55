"""Temporary folders of crawls: those of processes that were killed go when the next one is made."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from scrawler import flocks
from scrawler.api.temporary import TemporaryFolder
from scrawler.archive.locks import take_lock
from tests.limits import HANGS

MAKER = """
import sys
from scrawler.api.temporary import TemporaryFolder
folder = TemporaryFolder()
print(folder.path, flush=True)
sys.stdin.read()
"""

pytestmark = pytest.mark.skipif(not flocks.SUPPORTED, reason="files cannot be locked here")


def test_folders_of_the_killed_are_removed_and_those_of_the_living_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    unknown = tmp_path / "scrawler-of-another-program"
    unknown.mkdir()
    maker = subprocess.Popen(
        [sys.executable, "-c", MAKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )  # fmt: skip
    assert maker.stdout is not None
    left = Path(maker.stdout.readline().strip())
    assert left.parent == tmp_path
    own = TemporaryFolder()
    assert left.is_dir()
    maker.send_signal(signal.SIGTERM)
    maker.communicate(timeout=HANGS)
    (left / "pages").mkdir()
    machine = take_lock(left / "pages", "crawl-1a2-m1")  # it ends a while after its command
    assert machine is not None
    second = TemporaryFolder()
    assert left.is_dir()
    machine.release()
    third = TemporaryFolder()
    assert not left.exists()
    assert all(folder.path.is_dir() for folder in (own, second, third))
    assert unknown.is_dir()
    del own, second, third
    assert list(tmp_path.iterdir()) == [unknown]
