"""What was compiled before the source changed is not used, and `--version` tells of it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from scrawler.compiled import INTERFACES, compiled_part, outdated_parts
from tests.compiled import ROOT, compiled_parts

USED = """
from scrawler.extract.scanner import fastest_extractor
from scrawler.extract.simhash import fingerprint_of
from scrawler.model.scope import Scope
from scrawler.urls.analyzer import UrlAnalyzer
from scrawler.urls.scope import scope_of
home = "http://a.example/"
links = fastest_extractor().links(b"<p>one two <a href=x>three</a>", home, "text/html")
print(*UrlAnalyzer(scope_of(home, Scope.HOST)).analyze(home, links.hrefs).internal, fingerprint_of(links.page).size)
"""


def test_every_part_that_is_compiled_has_a_number_and_what_is_compiled_here_has_the_same() -> None:
    assert INTERFACES.keys() == set(compiled_parts())
    assert outdated_parts() == []


@pytest.mark.parametrize("number", ["", "INTERFACE = -1"], ids=["none", "another"])
def test_a_part_of_another_interface_is_as_good_as_none_and_told_of(number: str, tmp_path: Path) -> None:
    shutil.copytree(
        ROOT / "scrawler", tmp_path / "scrawler", ignore=shutil.ignore_patterns("*.so", "__pycache__", "*.c", "*.h")
    )
    for name in INTERFACES:
        stale = tmp_path / f"{name.replace('.', '/')}.py"
        stale.write_text(f"{number}\nscan = fingerprint = KnownLinks = 'what takes other arguments'\n")
    used, version = (
        subprocess.run([sys.executable, *told], cwd=tmp_path, capture_output=True, text=True, timeout=60)
        for told in (("-c", USED), ("-m", "scrawler", "--version"))
    )
    assert (used.stdout, used.stderr) == ("http://a.example/x 3\n", "")
    first, second = version.stdout.splitlines()
    assert first.endswith("(links by Lexbor: the scanner is out of date)")
    assert second == (
        f"out of date and not used: {', '.join(INTERFACES)}; in the source's folder, "
        "`python setup.py build_ext --inplace` builds anew"
    )


def test_a_part_that_is_not_there_is_not_out_of_date(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in INTERFACES:
        monkeypatch.setitem(sys.modules, name, None)
        assert compiled_part(name) is None
    assert outdated_parts() == []
