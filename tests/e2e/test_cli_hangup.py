"""A terminal that is closed stops a run as SIGTERM does, unless the run was started to outlive it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.conftest import CRAWL, SCRAWLER, TIMEOUT, Rows, Scrawler, environment, started, stop_cleanly
from tests.e2e.gated import GatedSite
from tests.terminals import open_terminal
from tests.torture.crawl import wait_for

# A shell with a terminal of its own, as seen from the outside: the command is in the terminal's foreground.
_ON_TERMINAL = "import os, fcntl, termios; os.setsid(); fcntl.ioctl(2, termios.TIOCSCTTY, 0); os.execvp({0!r}, {1!r})"
MACHINES = pytest.mark.parametrize("machines", ["1", "2"])


@MACHINES
def test_a_hangup_stops_cleanly(machines: str, scrawler: Scrawler, rows: Rows, tmp_path: Path) -> None:
    with GatedSite(pages=40, answered_at_once=10) as site:
        scrawler("import", "-", given=site.seed)
        with started(tmp_path, *CRAWL, "--machines", machines) as running:
            stop_cleanly(running, site, signal.SIGHUP)
        (status,) = rows("status")
        assert 10 <= status["pages"] < 40
        assert {machine["state"] for machine in status["machines"]} == {"stopped"}
        scrawler(*CRAWL)
        assert sorted(site.asked) == sorted(f"/{number}" for number in range(40))


@MACHINES
@pytest.mark.heavy
def test_a_terminal_that_is_closed_loses_nothing(machines: str, scrawler: Scrawler, rows: Rows, tmp_path: Path) -> None:
    with GatedSite(pages=40, answered_at_once=10) as site:
        scrawler("import", "-", given=site.seed)
        shown, terminal = open_terminal()
        command = [SCRAWLER, *CRAWL, "--machines", machines]
        with subprocess.Popen(
            [sys.executable, "-c", _ON_TERMINAL.format(SCRAWLER, command)], cwd=tmp_path, env=environment(),
            stdin=terminal, stdout=terminal, stderr=terminal,
        ) as running:  # fmt: skip
            os.close(terminal)
            assert site.held.wait(TIMEOUT)
            os.close(shown)
            wait_for(lambda: _stopping(rows), TIMEOUT, "a machine that is stopping")
            site.opened.set()
            running.wait(TIMEOUT)
        (status,) = rows("status")
        assert {machine["state"] for machine in status["machines"]} == {"stopped"}
        scrawler(*CRAWL)
        assert sorted(site.asked) == sorted(f"/{number}" for number in range(40))


@MACHINES
def test_with_nohup_a_hangup_stops_nothing(machines: str, scrawler: Scrawler, rows: Rows, tmp_path: Path) -> None:
    with GatedSite(pages=20, answered_at_once=5) as site:
        scrawler("import", "-", given=site.seed)
        with started(tmp_path, *CRAWL, "--machines", machines, ignoring=signal.SIGHUP) as running:
            assert site.held.wait(TIMEOUT)
            os.killpg(running.pid, signal.SIGHUP)
            site.opened.set()
            out, said = running.communicate(timeout=TIMEOUT)
        assert running.returncode == 0, said
        assert "the crawl ended after" in out
        assert "stopping" not in said
        (status,) = rows("status")
        assert status["pages"] == 20


def _stopping(rows: Rows) -> bool:
    (status,) = rows("status")
    return "running" not in {machine["state"] for machine in status["machines"]}
