"""The compiled parts, built anew for tests: with other limits, with their work counted, or watched by sanitizers."""

from __future__ import annotations

import re
import subprocess
import sysconfig
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from runpy import run_path
from types import ModuleType
from unittest.mock import patch

ROOT = Path(__file__).parents[1]
LINKSCAN = "scrawler.extract._linkscan"
SIMHASH = "scrawler.extract._simhash"


@cache
def compiled_parts() -> tuple[str, ...]:
    """Return the names of all parts that setup.py compiles."""
    return tuple(_sources())


@cache
def _sources() -> dict[str, Path]:
    with patch("setuptools.setup") as setup:  # called by the script, which is read and not run
        run_path(str(ROOT / "setup.py"))
    return {one.name: ROOT / one.sources[0] for one in setup.call_args.kwargs["ext_modules"]}


def build(part: str, folder: Path, flags: Sequence[str] = (), limits: Mapping[str, int] | None = None) -> Path:
    """Compile a part, with some numbers of its limits.h changed; returns the file."""
    source = _sources()[part]
    if limits:
        source = _with_limits(source, folder, limits)
    return build_file(source, folder / f"{part}.so", flags)


def build_file(source: Path, built: Path, flags: Sequence[str] = ()) -> Path:
    """Compile a module of Python's; objects to link with it stand among the flags."""
    include = sysconfig.get_path("include")
    command = ["cc", "-shared", "-fPIC", f"-I{include}", str(source), *flags, "-o", str(built)]
    subprocess.run(command, check=True, timeout=120)
    return built


def _with_limits(source: Path, folder: Path, limits: Mapping[str, int]) -> Path:
    for file in source.parent.iterdir():
        text = file.read_text()
        for name, value in limits.items() if file.name == "limits.h" else ():
            text, times = re.subn(rf"(?<=#define {name} )( *)\d+", str(value), text)
            assert times == 1, name
        (folder / file.name).write_text(text)
    return folder / source.name


def load(part: str, file: Path) -> ModuleType:
    """Import a part from a file; nothing else comes to know it."""
    name = part.rpartition(".")[2]
    spec = spec_from_file_location(name, file, loader=ExtensionFileLoader(name, str(file)))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
