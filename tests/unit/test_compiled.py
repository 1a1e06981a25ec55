"""What was compiled before the source changed is not used, and `--version` tells of it."""

from __future__ import annotations

import ast
import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from scrawler.compiled import (
    INTERFACES,
    MANIFEST,
    compiled_modules,
    compiled_part,
    outdated_parts,
    require_compiled_texts,
    text_digest,
)
from tests.compiled import ROOT, compiled_parts
from tests.limits import HANGS

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


def test_what_has_a_form_without_a_compiler_is_tested_in_it_before_a_change_goes_in() -> None:
    has_two_forms = re.compile(r"scrawler\.(urls\.lookup|extract\.(plain_)?simhash|extract\.scanner)\b")
    # Two compare the forms, one is of the compiled form alone.
    of_both = {"test_extract_agree.py", "test_extract_limits.py", "test_urls_elsewhere.py"}
    unit = ROOT / "tests" / "unit"
    files = [file for folder in ("core", "extract", "urls") for file in unit.glob(f"{folder}/test_*.py")]
    wanted = {file for file in files if has_two_forms.search(file.read_text()) and file.name not in of_both}
    told = (ROOT / ".ci" / "run").read_text()
    assert len(wanted) > 5
    assert [file for file in wanted if f" {file.relative_to(ROOT)}\n" not in told] == []


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
    here = {**os.environ, "PYTHONSAFEPATH": ""}
    used, version = (
        subprocess.run([sys.executable, *told], cwd=tmp_path, env=here, capture_output=True, text=True, timeout=HANGS)
        for told in (("-c", USED), ("-m", "scrawler", "--version"))
    )
    assert (used.stdout, used.stderr) == ("http://a.example/x 3\n", "")
    first, second = version.stdout.splitlines()
    assert first.endswith("(links by Lexbor: the scanner is out of date; the hot path in Python)")
    assert second == (
        f"out of date and not used: {', '.join(INTERFACES)}; in the source's folder, "
        "`python setup.py build_ext --inplace` builds anew"
    )


def test_a_part_that_is_not_there_is_not_out_of_date(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in INTERFACES:
        monkeypatch.setitem(sys.modules, name, None)
        assert compiled_part(name) is None
    assert outdated_parts() == []


def hot_modules(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return what setup.py would have mypyc compile."""
    monkeypatch.setattr("setuptools.setup", lambda **_: None)
    found: list[str] = runpy.run_path(str(ROOT / "setup.py"))["hot_modules"]()
    return found


def test_what_mypyc_is_to_compile_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    hot = set(hot_modules(monkeypatch))
    named = runpy.run_path(str(ROOT / "setup.py"))["HOT"]
    paths = {f"{folder}/{name}.py".lstrip("/") for folder, names in named.items() for name in names.split()}
    assert {path for path in paths if not path.endswith("*.py")} <= hot
    assert {f"{path.rpartition('/')[0]}" for path in paths} == {path.rpartition("/")[0] for path in hot}
    assert compiled_modules().keys() in ({}.keys(), hot)


def test_no_class_that_mypyc_compiles_derives_from_one_that_it_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of those, mypyc takes for granted how an object lies in memory: of a thread or a stream that is not so."""
    trees = {path: ast.parse((ROOT / "scrawler" / path).read_text()) for path in hot_modules(monkeypatch)}
    classes = [(path, one) for path, tree in trees.items() for one in ast.walk(tree) if isinstance(one, ast.ClassDef)]
    known = {"NamedTuple", "Protocol", "Enum", "IntEnum", "StrEnum", "IntFlag"}
    known |= {"Exception", "ValueError", "ScrawlerError", "Sequence", "dict", *(one.name for _, one in classes)}
    bases = {
        f"{path}: {one.name}({ast.unparse(base)})": base.value if isinstance(base, ast.Subscript) else base
        for path, one in classes
        for base in one.bases
    }
    assert [name for name, base in bases.items() if ast.unparse(base) not in known] == []


def test_no_field_that_mypyc_compiles_is_annotated_as_object(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a dataclass and a named tuple mypyc looks for that name in the module, and the import fails."""
    fields = {
        f"{path}: {one.name}.{ast.unparse(line.target)}": ast.unparse(line.annotation)
        for path in hot_modules(monkeypatch)
        for one in ast.walk(ast.parse((ROOT / "scrawler" / path).read_text()))
        if isinstance(one, ast.ClassDef)
        for line in one.body
        if isinstance(line, ast.AnnAssign)
    }
    assert fields
    assert [name for name, annotation in fields.items() if annotation == "object"] == []


def test_with_another_text_than_that_which_was_compiled_nothing_runs(tmp_path: Path) -> None:
    package = tmp_path / "scrawler"
    shutil.copytree(ROOT / "scrawler", package, ignore=shutil.ignore_patterns("*.so", "__pycache__", "*.c", "*.h"))
    module = package / "mime.py"
    (package / MANIFEST).write_text(f"{text_digest(module.read_bytes())} mime.py\n")
    assert compiled_modules(package).keys() == {"mime.py"}
    require_compiled_texts(package)
    command = [sys.executable, "-m", "scrawler", "--version"]
    here = {**os.environ, "PYTHONSAFEPATH": ""}
    told = subprocess.run(command, cwd=tmp_path, env=here, capture_output=True, text=True, timeout=HANGS)
    assert "1 modules compiled by mypyc" in told.stdout
    module.write_text(module.read_text() + "\n")
    with pytest.raises(ImportError, match=r"mime\.py has changed since it was compiled"):
        require_compiled_texts(package)
    told = subprocess.run(command, cwd=tmp_path, env=here, capture_output=True, text=True, timeout=HANGS)
    assert told.returncode == 1
    assert told.stderr.splitlines()[-1].startswith(f"ImportError: {module} has changed since it was compiled: ")


def test_a_module_that_an_update_took_away_is_another_text_as_well(tmp_path: Path) -> None:
    (tmp_path / MANIFEST).write_text(f"{text_digest(b'')} gone.py\n")
    with pytest.raises(ImportError, match=r"gone\.py has changed since it was compiled"):
        require_compiled_texts(tmp_path)


def test_modules_without_a_list_of_their_texts_are_not_run(tmp_path: Path) -> None:
    """A build that was broken off leaves them so: the list of the one before goes first, its own comes last."""
    require_compiled_texts(tmp_path)
    (tmp_path / "mime.cpython-311-x86_64-linux-gnu.so").touch()
    with pytest.raises(ImportError, match=r"nobody knows from which texts"):
        require_compiled_texts(tmp_path)
