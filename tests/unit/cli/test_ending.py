"""How the program ends."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.limits import HANGS
from tests.plugged import install

_PLUGIN = """
out = open("urls.txt", "w")  # nothing closes it but Python's end

def each(page):
    return None

def make(settings):
    out.write("written by a plug-in")
    return each
"""
_PROGRAM = """
import sys
from scrawler.cli import program
from scrawler.plugins import part_maker
from scrawler.settings.parts import PART_KINDS

part_maker(PART_KINDS["page_processors"], "endless")(None)
sys.argv = ["scrawler", "--version"]
program()
"""


def test_what_a_plugin_has_written_is_in_its_file_at_the_end(tmp_path: Path) -> None:
    packages = tmp_path / "packages"
    packages.mkdir()
    install(packages, "endless", _PLUGIN, {"scrawler.page_processors:endless": "make"})
    path = os.pathsep.join([str(packages), os.environ.get("PYTHONPATH", "")])

    subprocess.run(
        [sys.executable, "-c", _PROGRAM], cwd=tmp_path, env={**os.environ, "PYTHONPATH": path}, check=True,
        timeout=HANGS,
    )  # fmt: skip

    assert (tmp_path / "urls.txt").read_text() == "written by a plug-in"


def test_a_program_that_runs_the_command_line_goes_on_behind_it(tmp_path: Path) -> None:
    text = """
import sys
from scrawler.cli import main

sys.argv = ["scrawler", "--version"]
kept = open("kept.txt", "w")
kept.write("before")
try:
    main()
except SystemExit as end:
    print("ended with", end.code)
"""
    done = subprocess.run(
        [sys.executable, "-c", text], cwd=tmp_path, check=True, timeout=HANGS, capture_output=True, text=True
    )
    assert done.stdout.endswith("ended with 0\n")
    assert (tmp_path / "kept.txt").read_text() == "before"
