"""Every experiment's short form runs, and writes its tables and pictures."""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path

import pytest

from experiments.__main__ import EXPERIMENTS
from experiments.broadweb.server import why_not

_ROOT = Path(__file__).parents[2]
_PNG = b"\x89PNG\r\n\x1a\n"
# In seconds. On a quiet machine each takes less than a minute, as --help says. How much longer a slow or busy one
# needs, nobody knows: this is for a program that hangs.
_LONGEST = 300
_ON_NGINX = ("broad", "endurance", "focused")  # the others do without it, or say that they do


@pytest.mark.experiments
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_short_form_runs(name: str, tmp_path: Path) -> None:
    if name in _ON_NGINX and (reason := why_not()):
        pytest.skip(reason)
    command = [sys.executable, "-m", f"experiments.{EXPERIMENTS[name]}", "--quick", "--results", str(tmp_path)]
    done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, timeout=_LONGEST)
    assert done.returncode == 0, done.stdout + done.stderr
    with (tmp_path / f"{name}.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert rows
    report = (tmp_path / f"{name}.md").read_text()
    assert "stated in" in report  # the paper's or the goal's figures stand beside ours
    pictures = list(tmp_path.glob(f"{name}*.png"))
    assert pictures
    assert all(picture.read_bytes().startswith(_PNG) and picture.name in report for picture in pictures)
