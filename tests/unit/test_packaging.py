"""A source archive can be built from: what a compiled part lacks is not missed, for each has a stand-in.

What is imported is asked for by name: a version that comes with another package may be one that lacks what is used.
"""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

ROOT = Path(__file__).parents[2]


def _imported(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name.partition(".")[0] for name in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield str(node.module).partition(".")[0]


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_all_that_is_imported_is_asked_for() -> None:
    imported = {name for file in (ROOT / "scrawler").rglob("*.py") for name in _imported(file)}
    foreign = imported - sys.stdlib_module_names - {"scrawler", "_typeshed"}  # that is for type checkers alone
    brought_by = packages_distributions()
    needed = {_plain(brought_by.get(name, [name])[0]) for name in foreign}
    (asked,) = re.findall(r"install_requires=\[(.*?)\]", (ROOT / "setup.py").read_text(), re.DOTALL)
    assert needed <= {_plain(name) for name in re.findall(r'"([\w.-]+)>=', asked)}


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
