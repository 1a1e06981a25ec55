"""Packages with entry points, as pip would leave them, for tests of what can be wrong with one."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def importable(folder: Path) -> Iterator[Path]:
    """Let packages of a folder be found in this process; in the end their modules are forgotten."""
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    try:
        yield folder
    finally:
        sys.path.remove(str(folder))
        files = {name: getattr(module, "__file__", None) or "" for name, module in sys.modules.items()}
        for name in [name for name, file in files.items() if file.startswith(str(folder))]:
            del sys.modules[name]


def install(folder: Path, name: str, code: str, entry_points: Mapping[str, str]) -> None:
    """Write a package of one module, and its metadata; `entry_points` are objects of the module by `group:name`."""
    module = name.replace("-", "_")
    (folder / f"{module}.py").write_text(code)
    metadata = folder / f"{module}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = []
    for key, what in entry_points.items():
        group, _, point = key.partition(":")
        lines.append(f"[{group}]\n{point} = {module}:{what}\n")
    (metadata / "entry_points.txt").write_text("".join(lines))
