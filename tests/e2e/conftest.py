from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from scrawler.synthweb.process import SynthServer
from scrawler.synthweb.spec import WebSpec
from tests.limits import HANGS

SCRAWLER = str(Path(sys.executable).with_name("scrawler"))
CRAWL = ("run", "--allow-private", "--delay", "0", "--user-agent", "SCrawler-test (+mailto:test@localhost)")
TIMEOUT = HANGS

Scrawler = Callable[..., subprocess.CompletedProcess[str]]
Rows = Callable[..., list[dict[str, Any]]]


def environment(**variables: str) -> Mapping[str, str]:
    """The environment of this process, less settings of the crawler."""
    return {name: value for name, value in os.environ.items() if not name.startswith("SCRAWLER_")} | variables


@pytest.fixture
def scrawler(tmp_path: Path) -> Scrawler:
    """Runs the command line in a folder of its own, and checks the exit code."""

    def run(
        *arguments: str, code: int = 0, given: str | None = None, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [SCRAWLER, *arguments],
            cwd=tmp_path,
            env=environment(**variables),
            input=given,
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
        )
        assert done.returncode == code, done.stderr
        return done

    return run


@pytest.fixture
def rows(scrawler: Scrawler) -> Rows:
    """Runs a command with --json and reads its rows."""

    def read(*arguments: str, **variables: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in scrawler(*arguments, "--json", **variables).stdout.splitlines()]

    return read


@pytest.fixture(scope="session")
def web() -> Iterator[SynthServer]:
    """A small synthetic web."""
    with SynthServer(WebSpec(sites=8, mean_pages=12, page_bytes=2000)) as server:
        yield server


@pytest.fixture
def seed_file(web: SynthServer, tmp_path: Path) -> Path:
    """The home pages of all sites but the last."""
    file = tmp_path / "seeds.txt"
    file.write_text("".join(f"{url}\n" for site in range(7) for url in web.web.seeds_of(site)))
    return file
