"""A source archive can be built from: what a compiled part lacks is not missed, for each has a stand-in.

What is imported is asked for by name: a version that comes with another package may be one that lacks what is used.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from email import message_from_string
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from scrawler import __version__
from scrawler.compiled import SLOWER
from tests.limits import HANGS

ROOT = Path(__file__).parents[2]


def _statements(parent: ast.AST) -> Iterator[ast.stmt]:
    """Yield all statements below another one; in expressions, which are most of a tree, there are none."""
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        for node in getattr(parent, field, ()):
            if isinstance(node, ast.stmt):
                yield node
            yield from _statements(node)


def _imported(file: Path) -> Iterator[str]:
    for node in _statements(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name.partition(".")[0] for name in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield str(node.module).partition(".")[0]


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_all_that_is_imported_is_asked_for() -> None:
    imported = {name for file in (ROOT / "scrawler").rglob("*.py") for name in _imported(file)}
    foreign = (
        imported - sys.stdlib_module_names - {"scrawler", "_typeshed", "mypy_extensions"}
    )  # these are for type checkers
    brought_by = packages_distributions()
    needed = {_plain(brought_by.get(name, [name])[0]) for name in foreign}
    setup = (ROOT / "setup.py").read_text()
    asked = re.findall(r"install_requires=\[(.*?)\]", setup, re.DOTALL) + re.findall(
        r"^(?:BROWSER|EXCHANGE|LISTEN|POSTGRESQL|SERVE) = .*", setup, re.MULTILINE
    )
    assert needed <= {_plain(name) for text in asked for name in re.findall(r'"([\w.-]+)(?:\[\w+\])?>=', text)}


def test_what_carries_urls_or_shows_pages_is_imported_where_it_was_chosen_alone() -> None:
    """They are extras, and large: neither the command line nor a run that does without needs them."""
    extras = {"kombu", "scrawler.features.cluster.exchange.tcp", "playwright"}
    program = f"import scrawler.cli.main, scrawler.assembly.machine, sys; print({extras} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_a_source_archive_holds_all_that_is_compiled(tmp_path: Path) -> None:
    copy = _copy(tmp_path, "MANIFEST.in")
    subprocess.run(
        [sys.executable, "setup.py", "-q", "sdist"], cwd=copy, check=True, capture_output=True, timeout=HANGS
    )
    (archive,) = (copy / "dist").iterdir()
    with tarfile.open(archive) as members:
        held = {name.partition("/")[2] for name in members.getnames()}
    compiled = {str(path.relative_to(copy)) for path in copy.rglob("*.[ch]")}
    assert compiled
    assert compiled <= held


def _copy(folder: Path, *files: str) -> Path:
    copy = folder / "copy"
    for one in ("scrawler", "sql", "input_urls"):
        shutil.copytree(ROOT / one, copy / one, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    for file in ("setup.py", "seed_scrawler.py", "pyproject.toml", "README.md", "LICENSE", *files):
        shutil.copy(ROOT / file, copy)
    return copy


def test_who_has_no_compiler_is_told_in_one_line_what_is_slower(tmp_path: Path) -> None:
    command = [sys.executable, "setup.py", "-q", "build_ext", "--build-lib", str(tmp_path / "built")]
    environment = os.environ | {"CC": str(tmp_path / "no-such-compiler"), "SCRAWLER_COMPILED": ""}
    copy = _copy(tmp_path)
    done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, start_new_session=True)
    assert done.returncode == 0, done.stderr
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("scrawler: ")]
    assert line == f"scrawler: {SLOWER}"
    assert "links are found some eight times slower" in line


def test_wheels_of_a_release_have_the_hot_path_compiled_on_each_platform() -> None:
    """What is said for one platform takes the place of what is said for all."""
    told = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["cibuildwheel"]
    environments = [
        told["environment"],
        *(told[one].get("environment", told["environment"]) for one in ("linux", "macos")),
    ]
    assert [one["SCRAWLER_COMPILED"] for one in environments] == ["1", "1", "1"]
    assert any("compiled by mypyc" in command for command in told["test-command"])


def test_a_release_says_where_the_project_is_kept_and_what_it_is_for(tmp_path: Path) -> None:
    home = "https://forge.example/who/scrawler"
    command = [sys.executable, "setup.py", "-q", "dist_info", "--output-dir", str(tmp_path)]
    environment = os.environ | {"SCRAWLER_HOME_URL": home, "SCRAWLER_COMPILED": ""}
    subprocess.run(command, cwd=_copy(tmp_path), env=environment, check=True, capture_output=True)
    (folder,) = tmp_path.glob("*.dist-info")
    told = message_from_string((folder / "METADATA").read_text())
    assert told["Version"] == __version__
    assert f"Source, {home}" in told.get_all("Project-URL", [])
    assert "web archive" in told["Keywords"]
    assert "Operating System :: POSIX :: Linux" in told.get_all("Classifier", [])


def test_a_source_archive_holds_what_tests_and_builds_it() -> None:
    """Of the files under version control all are in it, but for those that tell git what to do."""
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("this is no checkout, or git is not installed")
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    rules = [line.split()[1:] for line in (ROOT / "MANIFEST.in").read_text().splitlines() if line[:2] in ("in", "gr")]
    held = {name for names in rules for name in names}
    lacking = {name for name in listed.splitlines() if not {name, name.partition("/")[0]} & held}
    assert {name for name in lacking if not name.startswith(".git")} <= {"MANIFEST.in", "setup.py"}  # always held


class Installed:
    """An environment into which pip installs wheels; what ours needs it finds where the tests have it."""

    def __init__(self, folder: Path) -> None:
        self.python = folder / "venv/bin/python"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
        (folder / "needed").symlink_to(sysconfig.get_path("purelib"))  # by this name nobody looks for distributions
        (self.packages,) = folder.glob("venv/lib/python*/site-packages")
        (self.packages / "needed.pth").write_text(f"{folder / 'needed'}\n")

    def pip(self, *words: str | Path) -> None:
        command = [sys.executable, "-m", "pip", "--python", self.python, "--disable-pip-version-check", *words]
        subprocess.run(command, check=True, capture_output=True, timeout=HANGS)

    def ask(self, *path: Path) -> tuple[int, list[str]]:
        """Return the exit code of the command, and what it tells, line by line."""
        command = [self.python.with_name("scrawler"), "--version"]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, path))}
        done = subprocess.run(command, cwd=self.packages, env=environment, capture_output=True, text=True)
        return done.returncode, (done.stderr or done.stdout).splitlines()


def _wheel(folder: Path, name: str, files: dict[str, str]) -> Path:
    """Write a wheel of version 9 with some files, as somebody else's build would."""
    wheel, told = folder / f"{name}-9-py3-none-any.whl", f"{name}-9.dist-info"
    files |= {
        f"{told}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 9\n",
        f"{told}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, text in {**files, f"{told}/RECORD": "".join(f"{path},,\n" for path in files)}.items():
            archive.writestr(path, text)
    return wheel


def test_the_command_says_what_to_do_where_somebody_elses_scrawler_is_installed(tmp_path: Path) -> None:
    environment = os.environ | {"CC": str(tmp_path / "no-such-compiler"), "SCRAWLER_COMPILED": ""}
    build = [sys.executable, "setup.py", "-q", "bdist_wheel", "--dist-dir", str(tmp_path)]
    copy = _copy(tmp_path)
    subprocess.run(build, cwd=copy, env=environment, check=True, capture_output=True, timeout=HANGS)
    (ours,) = tmp_path.glob("seed_scrawler-*.whl")
    theirs = _wheel(
        tmp_path, "scrawler", {"scrawler/__init__.py": "", "scrawler/cli/__init__.py": "raise SystemExit(1)"}
    )
    one = Installed(tmp_path)
    one.pip("install", "--no-compile", "--no-deps", ours)
    assert one.ask()[0] == 0
    one.pip("install", "--no-deps", theirs)
    code, lines = one.ask()
    assert (code, len(lines)) == (2, 1)
    assert f"is installed in {one.packages}" in lines[0]
    assert f"{one.python} -m pip uninstall -y scrawler && " in lines[0]
    one.pip("uninstall", "-y", "scrawler")
    code, lines = one.ask()
    assert (code, len(lines), "files of seed-scrawler are missing" in lines[0]) == (2, 1, True)
    assert lines[0].endswith(f"{one.python} -m pip install --force-reinstall --no-deps seed-scrawler")
    one.pip("install", "--no-compile", "--force-reinstall", "--no-deps", ours)
    assert one.ask()[0] == 0
    beside = tmp_path / "beside/site-packages"
    with zipfile.ZipFile(theirs) as archive:
        archive.extractall(beside)  # as pip does with --target
    assert (one.ask(beside)[0], f"is installed in {beside}" in one.ask(beside)[1][0]) == (2, True)
