"""The tutorials, as written: each command and each program of theirs, in an empty folder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import environment
from tests.forks import run_python
from tests.limits import HANGS

TUTORIALS = Path(__file__).parents[2] / "docs/tutorial"
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_STOPPED = 124  # exit code of `timeout`, which stands for a user's Ctrl-C


def _blocks(tutorial: str) -> list[tuple[str, str]]:
    return _BLOCK.findall((TUTORIALS / tutorial).read_text(encoding="utf-8"))


def _served(blocks: list[tuple[str, str]]) -> str:
    """Return the line that serves the synthetic web, for which the reader has another terminal."""
    (line,) = [line for kind, text in blocks if not kind for line in text.splitlines() if " synthweb " in line]
    return line


@pytest.fixture
def path(tmp_path: Path) -> dict[str, str]:
    """An environment in which `scrawler` is found first."""
    return environment() | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


def _web(blocks: list[tuple[str, str]], folder: Path, path: dict[str, str]) -> Iterator[None]:
    command = f"exec {_served(blocks)} --stop-with-stdin"
    with subprocess.Popen(
        command, shell=True, cwd=folder, env=path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as web:
        assert web.stdin is not None
        assert web.stdout is not None
        assert "synthetic web of" in web.stdout.readline()
        yield
        web.stdin.close()
        web.wait(HANGS)


@pytest.mark.heavy
def test_the_first_crawl_goes_as_it_is_written(tmp_path: Path, path: dict[str, str]) -> None:
    blocks = _blocks("first-crawl.md")
    lines = [line for kind, text in blocks if not kind for line in text.splitlines()]
    lines = [line for line in lines if " synthweb " not in line and "mkdir" not in line]
    script = "\n".join(f'{line}\necho "= $?"' for line in lines)
    for _ in _web(blocks, tmp_path, path):
        done = subprocess.run(
            ["bash", "-c", script], cwd=tmp_path, env=path, capture_output=True, text=True, timeout=HANGS
        )
    codes = [int(code) for code in re.findall(r"^= (\d+)$", done.stdout, re.MULTILINE)]
    told = dict(zip(lines, codes, strict=True))
    assert {line: code for line, code in told.items() if code not in (0, _STOPPED)} == {}, done.stderr
    assert [line for line, code in told.items() if code == _STOPPED and not line.startswith("timeout ")] == []
    pages = re.findall(r"^  pages +([\d,]+)\n", done.stdout, re.MULTILINE)
    assert pages[0] == pages[-1] != "0"  # the one that was stopped, and went on, has them all
    assert (tmp_path / "report.html").exists()


def test_python_goes_as_it_is_written(tmp_path: Path, path: dict[str, str]) -> None:
    blocks = _blocks("from-python.md")
    programs = [text for kind, text in blocks if kind == "python"]
    assert len(programs) == 4
    for _ in _web(blocks, tmp_path, path):
        for program in programs:
            done = run_python("-c", program, folder=tmp_path)
            assert done.returncode == 0, done.stderr
            assert "Traceback" not in done.stderr
    assert (tmp_path / "titles.jsonl").read_text().count("\n") > 50
    assert (tmp_path / "out.jsonl").exists()
