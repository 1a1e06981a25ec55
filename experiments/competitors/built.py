"""Programs in other languages than Python, built on demand in a folder of their own."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from experiments.competitors.environment import PROGRAMS

BUILT = Path(__file__).parent / ".built"
GENTLY = ("nice", "-n", "19")  # a build takes minutes of a processor


class BuiltProgram:
    """The program in the folder `name` of the programs; `command` builds it there, at the path `made`."""

    def __init__(
        self, name: str, command: Sequence[str], made: str, environment: Mapping[str, str] | None = None
    ) -> None:
        self._name = name
        self._source = PROGRAMS / name
        self._folder = BUILT / name
        self._command = command
        self._made = self._folder / made
        self._environment = environment or {}

    @property
    def path(self) -> str:
        """Path of the program."""
        return str(self._made)

    def why_not(self) -> str | None:
        """Tell that it is not built, or not from these sources; None: it is."""
        if self._made.is_file() and self._is_of_these_sources():
            return None
        tool = self._command[0]
        if shutil.which(tool) is None:
            return f"{tool} is not installed, which builds {self._name}"
        return f"{self._name} is not built (python -m experiments.peers builds it)"

    def install(self) -> None:
        """Build it unless that is done; without its tool or a network it is not there afterwards either."""
        if self.why_not() is None or shutil.which(self._command[0]) is None:
            return
        click.echo(f"building {self._name} in {self._folder}", err=True)
        self._made.unlink(missing_ok=True)  # or one of other sources would be taken for it if the build fails
        shutil.copytree(self._source, self._folder, dirs_exist_ok=True)
        environment = {**os.environ, **self._environment}
        subprocess.run([*GENTLY, *self._command], cwd=self._folder, env=environment, stdin=subprocess.DEVNULL)

    def _is_of_these_sources(self) -> bool:
        sources = [file for file in self._source.rglob("*") if file.is_file()]
        copies = [self._folder / file.relative_to(self._source) for file in sources]
        pairs = zip(sources, copies, strict=True)
        return all(copy.is_file() and copy.read_bytes() == source.read_bytes() for source, copy in pairs)
