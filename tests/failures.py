"""What a run of pytest leaves for `tests.again`: its failures, and how it ended. Hooks for conftest.py."""

from __future__ import annotations

import itertools
import json
import os
import sys
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from xdist.scheduler import LoadFileScheduling

if TYPE_CHECKING:
    from xdist.remote import Producer
    from xdist.workermanage import WorkerController

FOLDER = "TEST_FAILURES"  # the variable that names the folder of these files
CALL = "TEST_CALL"  # the variable that names this call of pytest
FORM = ("TEST_PLAIN", "TEST_COMPILED", "PYTHONSAFEPATH")  # the variables that say in which form the program is tested


@dataclass(frozen=True)
class Failure:
    """A test that failed, and how to run it again."""

    test: str  # its node id
    text: str  # what pytest told of it
    python: str  # the interpreter that ran it
    options: list[str]  # of pytest, that the form of the program wants
    form: dict[str, str]  # the variables that say in which form the program was tested


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Write a failure down when it is told, so that the end of the whole run loses none."""
    if report.failed and (path := _path()) is not None:
        with path.open("a") as file:
            file.write(json.dumps(asdict(_failure(report))) + "\n")


def pytest_sessionfinish(exitstatus: int) -> None:
    """Write down that the run came to its end, and with which exit code."""
    if (path := _path()) is not None:
        with path.open("a") as file:
            file.write(json.dumps({"exit": int(exitstatus)}) + "\n")


# Seconds, about, of one test in a folder, and of some files as a whole: most compute, and some wait.
OF_A_TEST = {"tests/unit/": 0.05, "tests/integration/store/": 0.2, "": 0.5}
OF_A_FILE = {
    "tests/e2e/test_cli_completion.py": 20.0,
    "tests/e2e/test_cli_poison.py": 15.0,
    "tests/e2e/test_languages_example.py": 10.0,
    "tests/e2e/test_tutorials.py": 10.0,
    "tests/fuzz/test_compiled_parts.py": 10.0,
    "tests/fuzz/test_fuzz.py": 15.0,
    "tests/integration/browser/test_crawl_browser.py": 50.0,
    "tests/integration/crawl/test_bad_surroundings.py": 45.0,
    "tests/integration/crawl/test_crawl_database_away.py": 45.0,
    "tests/integration/crawl/test_crawl_distribution.py": 40.0,
    "tests/integration/crawl/test_crawl_lease.py": 25.0,
    "tests/integration/crawl/test_crawl_orders.py": 45.0,
    "tests/integration/crawl/test_crawl_traps.py": 35.0,
    "tests/integration/crawl/test_crawl_traps_beside.py": 15.0,
    "tests/integration/crawl/test_crawl_upgraded.py": 20.0,
    "tests/integration/crawl/test_every_step.py": 35.0,
    "tests/integration/crawl/test_fault_web.py": 60.0,
    "tests/integration/crawl/test_refusing_sites.py": 35.0,
    "tests/integration/insight/test_odd_values.py": 35.0,
    "tests/integration/store/test_claim_races.py": 20.0,
    "tests/integration/store/test_partitions.py": 25.0,
    "tests/integration/store/test_schema.py": 25.0,
    "tests/integration/test_rooms.py": 30.0,
    "tests/unit/core/test_crawl_likeness.py": 12.0,
    "tests/unit/core/test_crawl_seen.py": 12.0,
    "tests/unit/core/test_crawl_traps.py": 20.0,
    "tests/unit/extract/test_extract_agree.py": 12.0,
    "tests/unit/extract/test_extract_hazards.py": 12.0,
    "tests/unit/test_packaging.py": 12.0,
    "tests/unit/test_regular_expressions.py": 6.0,
    "tests/unit/test_style.py": 6.0,
}

# The heavy tests that take longest, in the order in which they begin: each may be the last one to end.
LONGEST_FIRST = (
    "tests/torture/test_kills_blame_nobody.py",
    "tests/integration/store/test_cut_short.py",
    "tests/e2e/test_cli_partition.py::test_nothing_is_lost",
    "tests/torture/test_modes.py",
    "tests/fuzz/test_compiled_parts.py",
    "tests/integration/cluster/test_agents.py",
    "tests/integration/seeds/test_seeds_import.py::test_memory_is_flat",
    "tests/torture/",
    "tests/e2e/test_cli_machines.py::test_a_machine_that_fails",
    "tests/e2e/test_docs_commands.py",
    "tests/integration/store/test_claim_races.py",
    "tests/integration/crawl/test_long_pages.py",
    "tests/integration/items/test_processing.py",
    "tests/integration/browser/",
)


class FileScheduling(LoadFileScheduling):  # type: ignore[misc]
    """A file is one worker's. A test that ends its worker is not given to another one.

    The scheduler of xdist gives it to one worker after the other, and each of them dies. It also begins with the files
    of most tests, so that a file of one test that takes a minute is the last one, and others have nothing to do.
    """

    def schedule(self) -> None:
        """Give out files, at first those that take longest."""
        is_first = self.collection is None
        super().schedule()
        if is_first:
            longest_first = sorted(self.workqueue.items(), key=lambda unit: -seconds_of(unit[0], len(unit[1])))
            self.workqueue = OrderedDict(longest_first)

    def remove_node(self, node: WorkerController) -> str | None:
        """Forget a worker that has died; return the test that it was at, if it was at one."""
        units = self.assigned_work.pop(node)
        waiting = [(unit, test) for unit in units.values() for test, is_done in unit.items() if not is_done]
        if not waiting:
            return None
        unit, last = waiting[0]
        unit[last] = True
        self.workqueue.update({scope: unit for scope, unit in units.items() if not all(unit.values())})
        for other in self.assigned_work:
            self._reschedule(other)
        return str(last)


@pytest.hookimpl(tryfirst=True, optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> FileScheduling | None:
    """Replace the scheduler that gives whole files to workers."""
    return FileScheduling(config, log) if config.getoption("dist") == "loadfile" else None


def seconds_of(file: str, tests: int) -> float:
    """Return about how long a file with as many tests takes."""
    if file in OF_A_FILE:
        return OF_A_FILE[file]
    return tests * next(seconds for folder, seconds in OF_A_TEST.items() if file.startswith(folder))


def place_of(test: str) -> int:
    """Return a number by which heavy tests are put in order; that of those that do not take long is the greatest."""
    places = (place for place, start in enumerate(LONGEST_FIRST) if test.startswith(start))
    return next(places, len(LONGEST_FIRST))


def read(path: Path) -> tuple[list[Failure], int | None]:
    """Return what a call has left, and its exit code; None: it never came to its end."""
    failures: list[Failure] = []
    exit_code: int | None = None
    for row in _rows(path):
        if "exit" in row:
            exit_code = row["exit"]
        else:
            failures.append(Failure(**row))
    return failures, exit_code


def _rows(path: Path) -> Iterator[dict]:
    if path.exists():
        yield from map(json.loads, path.read_text().splitlines())


def _path() -> Path | None:
    """Return where this run writes; None: nobody asked for it, or this is a worker and the run itself writes."""
    folder = os.environ.get(FOLDER)
    if not folder or "PYTEST_XDIST_WORKER" in os.environ:
        return None
    Path(folder).mkdir(parents=True, exist_ok=True)
    return Path(folder) / f"{os.environ.get(CALL, 'test')}.jsonl"


def _failure(report: pytest.TestReport) -> Failure:
    form = {name: os.environ[name] for name in FORM if name in os.environ}
    return Failure(report.nodeid, report.longreprtext, sys.executable, _overrides(sys.argv), form)


def _overrides(arguments: Sequence[str]) -> list[str]:
    """Return the options `-o NAME=VALUE` of a command line."""
    pairs = itertools.pairwise(arguments)
    return [word for option, value in pairs if option == "-o" for word in (option, value)]
