"""Checkouts of SCrawler beside this one, so that a commit and an older one crawl in turns."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import click


@dataclass(frozen=True, slots=True)
class Tree:
    """A checkout with an environment of its own; `name` is empty for this one."""

    name: str
    program: str

    def command(self, command: list[str]) -> list[str]:
        """Return a command of this checkout's SCrawler as one of this tree's."""
        return [self.program, *command[1:]]

    def label(self, what: str) -> str:
        """Return what was measured, and at which tree if it is not this one."""
        return f"{what} [{self.name}]" if self.name else what


OWN = Tree("", str(Path(sys.executable).with_name("scrawler")))


def tree_at(folder: Path) -> Tree:
    """Return the tree in a folder. Raises ClickException: SCrawler is not installed there in .venv."""
    program = folder.resolve() / ".venv" / "bin" / "scrawler"
    if not program.exists():
        raise click.ClickException(f"{program} is missing: run `make .venv/.installed` in {folder}")
    return Tree(folder.resolve().name, str(program))
