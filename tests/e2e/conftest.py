from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from scrawler.features.synthweb.process import SynthServer
from scrawler.features.synthweb.spec import WebSpec
from tests.forks import SCRAWLER, Fork, forks, may_be_forked, plain_environment
from tests.limits import HANGS

if TYPE_CHECKING:
    from tests.e2e.gated import GatedSite

TIMEOUT = HANGS
# A busy machine may answer late: no page is put off for that, and a stop waits for what is in flight.
_LATE = ("--patience", "0", "--stop-timeout", str(TIMEOUT))
CRAWL = ("run", "--allow-private", "--delay", "0", "--user-agent", "SCrawler-test (+mailto:test@localhost)", *_LATE)

Scrawler = Callable[..., subprocess.CompletedProcess[str]]
Scrawl = Callable[..., subprocess.CompletedProcess[str]]
Rows = Callable[..., list[dict[str, Any]]]


def environment(**variables: str) -> Mapping[str, str]:
    """The environment of this process, less settings of the crawler, with a terminal that can move its cursor."""
    return plain_environment() | {"TERM": "xterm"} | variables


def python_path(folder: Path) -> str:
    """A PYTHONPATH with one more folder."""
    return os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH"))))


def started(
    folder: Path,
    *arguments: str,
    stdin: int | None = None,
    stdout: int = subprocess.PIPE,
    stderr: int = subprocess.PIPE,
    ignoring: signal.Signals | None = None,
    limits: Mapping[str, int] | None = None,
    by_script: bool = False,
    **variables: str,
) -> Fork | subprocess.Popen[str]:
    """Start a command in a process group of its own, as a shell does; as under `nohup`, it may ignore a signal.

    It is forked, with limits of resources by their names, if its variables allow that. `by_script` starts it as a user
    does.
    """
    command = [SCRAWLER, *arguments]
    values = environment(**variables)
    if not by_script and may_be_forked(variables):
        how = {"new_session": True, "ignored": ignoring, "limits": limits}
        return forks().start(command, folder, values, stdin, stdout, stderr, **how)
    return subprocess.Popen(
        command,
        cwd=folder,
        env=values,
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        text=True,
        start_new_session=True,
        preexec_fn=partial(signal.signal, ignoring, signal.SIG_IGN) if ignoring else None,
    )


def stop_cleanly(running: Fork | subprocess.Popen[str], site: GatedSite, number: signal.Signals) -> None:
    """Send a signal to a run, as a terminal does: to each process of the group; check that it ends as it should.

    What is in flight is answered once it is known that the run stops.
    """
    assert running.stderr is not None
    assert site.held.wait(TIMEOUT)
    os.killpg(running.pid, number)
    assert "stopping" in running.stderr.readline()
    site.opened.set()
    out, said = running.communicate(timeout=TIMEOUT)
    assert (running.returncode, said) == (0, "")
    assert "the crawl stopped after" in out


def shell(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a line of a shell."""
    return subprocess.run(
        ["bash", "-c", line], cwd=folder, env=environment(), capture_output=True, text=True, timeout=TIMEOUT
    )


def error_line(done: subprocess.CompletedProcess[str]) -> str:
    """What the last line of standard error says is wrong; there is no traceback before it."""
    last = done.stderr.splitlines()[-1]
    assert last.startswith("scrawler: error: ")
    assert "Traceback" not in done.stderr
    return last.removeprefix("scrawler: error: ")


@pytest.fixture
def scrawl() -> Scrawl:
    """Runs the command line in a folder, and checks the exit code, if one is asked for."""

    def run(
        folder: Path, *arguments: str, code: int | None = 0, given: str | None = None, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        command = [SCRAWLER, *arguments]
        values = environment(**variables)
        if may_be_forked(variables):
            done = forks().run(command, folder, values, given, TIMEOUT)
        else:
            done = subprocess.run(
                command, cwd=folder, env=values, input=given, capture_output=True, text=True, timeout=TIMEOUT
            )
        assert code is None or done.returncode == code, done.stderr
        return done

    return run


@pytest.fixture
def scrawler(tmp_path: Path, scrawl: Scrawl) -> Scrawler:
    """Runs the command line in a folder of its own, and checks the exit code."""
    return partial(scrawl, tmp_path)


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
