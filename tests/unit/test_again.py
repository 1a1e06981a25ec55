"""Tests that fail, hang or kill their worker: what a run leaves of them, and what a second run says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

from tests.again import main
from tests.failures import Failure
from tests.limits import HANGS

_HERE = Path(__file__).parents[2]
_CONFTEST = """
from tests.failures import pytest_runtest_logreport, pytest_sessionfinish, pytest_xdist_make_scheduler
"""
_FINE = """
import pytest

@pytest.mark.parametrize("number", range(4))
def test_{name}(number):
    pass
"""
_KILLS = """
import os
import threading

def test_before():
    pass

def test_kills():
    os.abort()

def test_hangs():
    threading.Event().wait()

def test_after():
    pass
"""
_FLAKY = """
from pathlib import Path

def test_fails_at_first():
    was_here = Path(__file__).with_suffix(".was")
    if not was_here.exists():
        was_here.touch()
        raise AssertionError("not the first time")
"""
_BROKEN = """
def test_fails_always():
    raise AssertionError("for ever")
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with tests of its own that uses our hooks."""
    (tmp_path / "conftest.py").write_text(_CONFTEST)
    limit = "faulthandler_timeout = 2\nfaulthandler_exit_on_timeout = true\n"
    (tmp_path / "pytest.ini").write_text(f"[pytest]\n{limit}")
    for name in ("one", "two"):
        (tmp_path / f"test_{name}.py").write_text(_FINE.format(name=name))
    return tmp_path


def _call(project: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a module of Python in a folder."""
    environment = {name: value for name, value in os.environ.items() if "PYTEST" not in name}
    environment |= {"PYTHONPATH": str(_HERE), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_PLUGINS": "xdist.plugin"}
    environment |= {"TEST_FAILURES": str(project / "build/failures"), "TEST_CALL": "test"}
    whole = [sys.executable, "-m", *command]
    return subprocess.run(whole, cwd=project, env=environment, capture_output=True, text=True, timeout=HANGS)


def _left(folder: Path, failures: int, exit_code: int | None) -> Path:
    """Write what a call leaves; return its folder."""
    rows = [asdict(Failure(f"test_{number}", "", sys.executable, [], {})) for number in range(failures)]
    if exit_code is not None:
        rows.append({"exit": exit_code})
    (folder / "test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def test_workers_that_die_are_replaced_and_their_tests_fail_once(project: Path) -> None:
    (project / "test_kills.py").write_text(_KILLS)
    run = _call(project, "pytest", "-n", "2", "--dist", "loadfile")
    assert "2 failed, 10 passed" in run.stdout
    assert "in test_hangs" in run.stderr  # where it hung
    assert run.returncode == 1


def test_what_failed_runs_once_more(project: Path) -> None:
    (project / "test_broken.py").write_text(_BROKEN)
    (project / "test_flaky.py").write_text(_FLAKY)
    assert _call(project, "pytest", "-n", "2", "--dist", "loadfile").returncode == 1
    again = _call(project, "tests.again", "build/failures", "test")
    assert again.returncode == 1
    assert again.stdout.splitlines()[-2:] == [
        "flaky: test_flaky.py::test_fails_at_first (its first failure is in build/flaky.txt)",
        "failed twice: test_broken.py::test_fails_always",
    ]
    assert "not the first time" in (project / "build/flaky.txt").read_text()


@pytest.mark.parametrize(
    ("failures", "exit_code", "told"),
    [
        (0, 0, ""),
        (0, None, "test: pytest did not come to its end\n"),
        (0, 1, "test: pytest failed without a failed test\n"),
        (0, 2, "test: pytest ended with exit code 2\n"),
        (6, 1, "6 tests failed, more than 5: none is run again\n"),
    ],
)
def test_nothing_runs_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], failures: int, exit_code: int | None, told: str
) -> None:
    ended = main(_left(tmp_path, failures, exit_code), ["test"], tmp_path / "flaky.txt")
    assert (capsys.readouterr().out, ended) == (told, 1 if told else 0)
    assert (tmp_path / "flaky.txt").read_text() == ""


def test_a_call_that_left_nothing_is_an_error(tmp_path: Path) -> None:
    assert main(tmp_path, ["test"], tmp_path / "flaky.txt") == 1
