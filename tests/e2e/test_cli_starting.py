"""What is told of machines while they start, with real processes that are held in the midst of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from scrawler.store.claims.processes import identify
from tests.e2e.conftest import CRAWL, TIMEOUT, Scrawler, python_path, started
from tests.e2e.gated import GatedSite
from tests.plugged import install
from tests.torture.crawl import wait_for

TWO_HELD = (*CRAWL, "--machines", "2", "--url-filters", "held")

# Each machine process reads one byte of a pipe when it imports the filter, which is before it has a row.
_HELD = """
import os
with open({pipe!r}, "rb", buffering=0) as pipe:
    pipe.read(1)

def make(settings):
    return lambda url, page, depth: ""
"""


class HeldMachines:
    """Machine processes, each of which waits to be let go on before it takes part in the crawl."""

    def __init__(self, folder: Path) -> None:
        packages = folder / "packages"
        packages.mkdir()
        pipe = folder / "held.pipe"
        os.mkfifo(pipe)
        install(packages, "held", _HELD.format(pipe=str(pipe)), {"scrawler.url_filters:held": "make"})
        self.path = python_path(packages)
        self._pipe = os.open(pipe, os.O_RDWR)  # for writing alone it would wait for a reader

    def let_go(self, number: int) -> None:
        """Let so many of them go on."""
        os.write(self._pipe, b"x" * number)

    def close(self) -> None:
        """Let all go on."""
        os.close(self._pipe)


@pytest.fixture
def held(tmp_path: Path) -> Iterator[HeldMachines]:
    held = HeldMachines(tmp_path)
    yield held
    held.close()


@contextmanager
def _running(folder: Path, *arguments: str, stderr: int = subprocess.DEVNULL, **variables: str) -> Iterator[int]:
    """Run a command in the block; return its process id. In the end its process group is killed."""
    nowhere = subprocess.DEVNULL
    with started(
        folder, *arguments, stdin=nowhere, stdout=nowhere, stderr=stderr, by_script=True, **variables
    ) as running:
        try:
            yield running.pid
        finally:
            os.killpg(running.pid, signal.SIGKILL)


Told = Callable[[], str]


@pytest.fixture
def told(scrawler: Scrawler, database_url: str) -> Told:
    """What `scrawler machines` tells now."""
    return lambda: scrawler("machines", SCRAWLER_DB=database_url).stdout


def _once_told(told: Told, seen: str) -> str:
    """Ask until something is told of the machines; return all that is told then."""
    answers = [""]

    def look() -> bool:
        answers.append(told())
        return seen in answers[-1]

    wait_for(look, TIMEOUT, f"{seen!r} is told of the machines")
    return answers[-1]


def test_machines_are_being_started_until_they_are_there(
    scrawler: Scrawler, told: Told, held: HeldMachines, database_url: str, tmp_path: Path
) -> None:
    with GatedSite(pages=9, answered_at_once=0) as site:
        scrawler("import", "-", given=site.seed, SCRAWLER_DB=database_url)
        assert told() == "no machine runs\n"
        with _running(tmp_path, *TWO_HELD, SCRAWLER_DB=database_url, PYTHONPATH=held.path):
            assert _once_told(told, "2 machines are being started, for ").count("\n") == 1
            held.let_go(1)
            heading, _, starting = _once_told(told, "1 machine is being started, for ").splitlines()
            assert heading.startswith("name ")
            assert starting.startswith("1 machine is ")
            held.let_go(1)
            wait_for(lambda: "being started" not in told(), TIMEOUT, "both machines have a row")
            assert told().count(" running ") == 2


def test_what_a_killed_supervisor_was_starting_is_not_being_started(
    scrawler: Scrawler, told: Told, held: HeldMachines, database_url: str, tmp_path: Path
) -> None:
    if not identify(os.getpid()):
        pytest.skip("/proc is not mounted")
    scrawler("import", "-", given="http://a.example/", SCRAWLER_DB=database_url)
    with _running(tmp_path, *TWO_HELD, SCRAWLER_DB=database_url, PYTHONPATH=held.path) as supervisor:
        _once_told(told, "2 machines are being started")
        os.kill(supervisor, signal.SIGKILL)
        wait_for(lambda: told() == "no machine runs\n", TIMEOUT, "nothing is being started any more")


@pytest.mark.parametrize(("machines", "being"), [("1", "1 machine is"), ("2", "2 machines are")])
def test_machines_are_being_started_as_soon_as_their_command_has_the_database(
    machines: str, being: str, scrawler: Scrawler, told: Told, database_url: str, tmp_path: Path
) -> None:
    scrawler("import", "-", given="http://a.example/", SCRAWLER_DB=database_url)
    scrawler("pause", SCRAWLER_DB=database_url)
    with (
        _full_pipe() as full,
        _running(tmp_path, *CRAWL, "--machines", machines, stderr=full, SCRAWLER_DB=database_url),
    ):
        # It cannot go on before it has told the user of the pause, which nobody reads.
        assert _once_told(told, "being started").startswith(f"{being} being started, for ")


@contextmanager
def _full_pipe() -> Iterator[int]:
    """Give the block a pipe into which nothing more can be written."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    with suppress(BlockingIOError):
        while True:
            os.write(writing, bytes(4096))
    os.set_blocking(writing, True)
    yield writing
    os.close(reading)
    os.close(writing)


def test_a_ctrl_c_while_the_program_is_loaded_ends_it_in_silence() -> None:
    program = """
import os, signal, sys

class Loading:
    def find_spec(self, name, *_):
        if name == "scrawler.cli.main":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Loading())
from scrawler.cli import main
main()
"""
    done = subprocess.run([sys.executable, "-c", program, "--version"], capture_output=True, text=True, timeout=TIMEOUT)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


_ENDING = """
import atexit, sys, threading
atexit.register(print, "registered")
{}
from scrawler.cli import program
sys.argv = ["scrawler", "--version"]
try:
    program()
finally:
    print("behind")
"""


@pytest.mark.parametrize(
    ("before", "at_once"),
    [
        ("", True),
        ("threading.Timer(0, lambda: (main_ends.join(), print('thread'))).start()", False),
        ("sys.setprofile(lambda *_: None)", False),
    ],
    ids=["alone", "thread", "profile"],
)
def test_an_end_leaves_out_nothing_that_others_wait_for(before: str, at_once: bool) -> None:
    program = _ENDING.format(f"main_ends = threading.main_thread(); {before}")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=TIMEOUT)
    assert (done.returncode, done.stderr) == (0, "")
    version, *said = done.stdout.splitlines()
    assert version.startswith("scrawler ")
    of_thread = ["thread"] if "thread'" in before else []
    assert said == (["registered"] if at_once else ["behind", *of_thread, "registered"])
