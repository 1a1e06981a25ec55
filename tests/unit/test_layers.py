"""The house as `make check` enforces it is the whole house: no room is left out, and CONTRIBUTING shows the same."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
ROOMS = {
    path.stem for path in (ROOT / "scrawler").iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()
} - {"__init__"}


def _contract(beginning: str) -> dict[str, Any]:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (found,) = (one for one in contracts if one["name"].startswith(beginning))
    return found


def test_only_rooms_that_are_named_know_what_is_forbidden() -> None:
    for contract, knowing in (
        ("Only the store", {"store", "features"}),
        ("Only the command line", {"cli", "features"}),
    ):
        bound = {name.removeprefix("scrawler.") for name in _contract(contract)["source_modules"]}
        assert bound == ROOMS - knowing - {"__main__"}, contract


def test_contributing_shows_the_layers_that_are_enforced() -> None:
    layers = [set(layer.split(" | ")) for layer in _contract("Imports go down")["layers"]]
    (drawn,) = re.findall(
        r"`make check` enforces it\):\n\n```\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), re.DOTALL
    )
    named = [set(line.partition("  ")[0].split(" | ")) for line in drawn.splitlines() if not line.startswith(" ")]
    assert named == [layer for layer in layers if layer != {"__main__"}]
