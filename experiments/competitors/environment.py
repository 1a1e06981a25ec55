"""A Python environment of its own for a peer, so that its packages and SCrawler's don't meet."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click

_FOLDER = Path(__file__).parent / ".venv"
PROGRAMS = Path(__file__).parent / "programs"


class PythonEnvironment:
    """The environment `name`, with packages from PyPI; `distribution` is the one whose presence is asked for."""

    def __init__(self, name: str, *packages: str, distribution: str) -> None:
        self._folder = _FOLDER / name
        self._packages = packages
        self._distribution = distribution

    @property
    def python(self) -> str:
        """Path of its interpreter."""
        return str(self._folder / "bin" / "python")

    def why_not(self) -> str | None:
        """Tell that it is not there; None: it is."""
        found = any(self._folder.glob(f"lib/python*/site-packages/{self._distribution}-*.dist-info"))
        return None if found else f"{self._distribution} is not installed (python -m experiments.peers installs it)"

    def install(self) -> None:
        """Make it unless it is there; without a network it is not there afterwards either."""
        if self.why_not() is None:
            return
        click.echo(f"installing {', '.join(self._packages)} in {self._folder}", err=True)
        steps = (
            [sys.executable, "-m", "venv", str(self._folder)],
            [self.python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *self._packages],
        )
        for step in steps:
            if subprocess.run(step, stdin=subprocess.DEVNULL).returncode:
                return
