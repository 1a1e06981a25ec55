"""How experiments run SCrawler, and read what it did from its database."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from experiments.lab.recording import RECORDING

CRAWL_AGENT = "SCrawler-experiment (+mailto:experiment@localhost)"
DATABASE = "scrawler.db"  # in the folder where SCrawler runs
_SCRAWLER = str(Path(sys.executable).with_name("scrawler"))
_RECORDED = str(Path(__file__).with_name("recorded.py"))


class Totals(NamedTuple):
    """Counts over all seeds, as of the last checkpoint."""

    pages: int
    requests: int
    listed: int


def import_command(seeds: Path) -> list[str]:
    """Return the command that imports a seed file."""
    return [_SCRAWLER, "import", str(seeds)]


def run_command(**settings: object) -> list[str]:
    """Return the command that crawls loopback sites; `settings` become flags, True and False as --name and --no-name.

    The delay is 0 unless it is given.
    """
    flags = [part for key, value in ({"delay": 0} | settings).items() for part in _flag(key.replace("_", "-"), value)]
    return [_SCRAWLER, "run", "--allow-private", "--user-agent", CRAWL_AGENT, *flags]


def recorded(command: Sequence[str]) -> list[str]:
    """Return a command of SCrawler with a recorder in its process; see `recorded.py`."""
    return [
        sys.executable,
        "-P",
        _RECORDED,
        RECORDING,
        *command[1:],
    ]  # -P: its folder is not where Python looks for modules


def crawl_totals(folder: Path) -> Totals:
    """Read the counts from the SQLite database of a crawl, also while it runs."""
    with closing(sqlite3.connect(f"file:{folder / DATABASE}?mode=ro", uri=True)) as connection:
        row = connection.execute("SELECT SUM(pages), SUM(requests), SUM(listed) FROM seed").fetchone()
    return Totals(*(int(value or 0) for value in row))


def _flag(name: str, value: object) -> list[str]:
    if isinstance(value, bool):
        return [f"--{name}" if value else f"--no-{name}"]
    return [f"--{name}", str(value)]
