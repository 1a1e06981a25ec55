"""Commands that are told to end by a signal."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest

from tests.e2e.conftest import CRAWL, TIMEOUT, Scrawler, started
from tests.integration.crawl.hostile import by_path, page
from tests.integration.fetch.servers import RawServer, Visit


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_command_leaves_no_folder_behind(number: signal.Signals, scrawler: Scrawler, tmp_path: Path) -> None:
    asked = threading.Event()

    def silent(visit: Visit) -> None:
        visit.request()
        asked.set()
        visit.hang()

    elsewhere = RawServer(silent)
    site = RawServer(by_path({"/": page("home", links=(elsewhere.url("/x"),))}))
    scrawler("import", "-", given=f"{site.url()}\n")
    scrawler(*CRAWL, "--no-export", "--stop-timeout", "0")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with started(tmp_path, "broken", "--external", "--allow-private", TMPDIR=str(scratch)) as running:
        assert asked.wait(TIMEOUT)
        assert os.listdir(scratch)
        running.send_signal(number)
        running.communicate(timeout=TIMEOUT)
    site.stop()
    elsewhere.stop()
    assert running.returncode == 128 + number
    assert os.listdir(scratch) == []
