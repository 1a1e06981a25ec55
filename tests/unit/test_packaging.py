"""A source archive can be built from: what a compiled part lacks is not missed, for each has a stand-in."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_a_source_archive_holds_all_that_is_compiled(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    for folder in ("scrawler", "sql", "input_urls"):
        shutil.copytree(ROOT / folder, copy / folder, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    for file in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / file, copy)
    subprocess.run([sys.executable, "setup.py", "-q", "sdist"], cwd=copy, check=True, capture_output=True, timeout=60)
    (archive,) = (copy / "dist").iterdir()
    with tarfile.open(archive) as members:
        held = {name.partition("/")[2] for name in members.getnames()}
    compiled = {str(path.relative_to(copy)) for path in copy.rglob("*.[ch]")}
    assert compiled
    assert compiled <= held
