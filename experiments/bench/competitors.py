"""The crawlers that are compared: how each is set up, and the command that crawls the seeds."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import click

from experiments.lab.database import DatabaseServer
from experiments.lab.process import OUTPUT, run_measured
from experiments.lab.scrawler_command import import_command, run_command
from scrawler.urls.filetype import NOT_DOCUMENTS

_HERE = Path(__file__).parent
_PEERS = _HERE / ".venv"  # Scrapy's packages stay out of SCrawler's environment
_PEER_PACKAGES = ("scrapy", "uvloop")
_SETUP_SECONDS = 60.0


def _nothing(folder: Path, seeds: Path) -> Mapping[str, str]:
    return {}


@dataclass(frozen=True, slots=True)
class Competitor:
    """A crawler: `set_up(folder, seeds)` is not measured and returns the environment of `command(seeds)`, which is.

    `service_pids` are processes that work for it but are not its children.
    """

    name: str
    command: Callable[[Path], list[str]]
    set_up: Callable[[Path, Path], Mapping[str, str]] = _nothing
    service_pids: Callable[[], list[int]] = list


def scrawler(
    name: str, machines: int, threads: int, seeds_per_thread: int, server: DatabaseServer | None = None
) -> Competitor:
    """SCrawler with so many machines, on SQLite or on a server's fresh databases; the seeds are imported before."""

    def command(seeds: Path) -> list[str]:
        return run_command(machines=machines, threads=threads, seeds_per_thread=seeds_per_thread)

    def set_up(folder: Path, seeds: Path) -> Mapping[str, str]:
        environment = {"SCRAWLER_DB": server.fresh()} if server else {}
        import_seeds(folder, seeds, environment)
        return environment

    return Competitor(name, command, set_up, server.pids if server else list)


def scrapy(name: str, spider: str, per_site: int) -> Competitor:
    """Scrapy with a spider of this folder, `per_site` requests at a time on each site."""
    program = str(_HERE / spider)
    return Competitor(name, lambda seeds: [str(_PEERS / "bin" / "python"), program, str(seeds), str(per_site)])


def wget2() -> Competitor:
    """wget2 with 16 threads, plain files, no robots.txt."""
    refused = ",".join(sorted(NOT_DOCUMENTS))
    options = ["--quiet", "--recursive", "--level=0", "--max-threads=16", "--robots=off", "--hsts=off", "--tries=3"]
    options += ["--filter-urls", f"--reject={refused}", "--directory-prefix=files"]
    return Competitor("wget2", lambda seeds: ["wget2", *options, f"--input-file={seeds}"])


def import_seeds(folder: Path, seeds: Path, environment: Mapping[str, str] | None = None) -> None:
    """Import the seeds into the folder's database."""
    figures = run_measured(import_command(seeds), folder, _SETUP_SECONDS, environment)
    if figures.exit_code:
        raise click.ClickException(f"scrawler import failed, see {folder / OUTPUT}")


def prepare_scrapy() -> None:
    """Make the environment in which Scrapy runs, on first use."""
    if (_PEERS / "bin" / "scrapy").exists():
        return
    click.echo(f"installing {', '.join(_PEER_PACKAGES)} in {_PEERS}", err=True)
    subprocess.run([sys.executable, "-m", "venv", str(_PEERS)], check=True)
    subprocess.run([str(_PEERS / "bin" / "pip"), "install", "--quiet", *_PEER_PACKAGES], check=True)


def has_wget2() -> bool:
    """Whether wget2 is installed."""
    return shutil.which("wget2") is not None
