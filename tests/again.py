"""Run the tests that failed once more, each alone: `python -m tests.again FOLDER CALL...`.

A test that passes now is flaky: it is told, with its first failure, and counts as passed. A test that fails twice, more
than five flaky ones, and a call of pytest that never came to its end are an error.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.failures import CALL, FOLDER, FORM, Failure, read

MOST = 5  # flaky tests in all calls together
_FINE = (0, 5)  # exit codes of pytest: all passed, no test was wanted
_FAILED = 1  # its exit code where tests failed, and nothing else went wrong


def main(folder: Path, calls: Sequence[str], told: Path) -> int:
    """Run what failed in some calls again; return the exit code."""
    failures, troubles = _gather(folder, calls)
    flaky: list[Failure] = []
    if len(failures) > MOST:
        troubles.append(f"{len(failures)} tests failed, more than {MOST}: none is run again")
    elif failures:
        print(f"running {len(failures)} failed tests once more, each alone", flush=True)
        flaky = [one for one in failures if passes(one)]
        troubles += [f"failed twice: {one.test}" for one in failures if one not in flaky]
    told.parent.mkdir(parents=True, exist_ok=True)
    told.write_text("".join(f"{one.test}\n{one.text}\n\n" for one in flaky))
    for line in [*(f"flaky: {one.test} (its first failure is in {told})" for one in flaky), *troubles]:
        print(line, flush=True)
    return 1 if troubles else 0


def passes(failure: Failure) -> bool:
    """Tell whether a test passes alone, in the form of the program in which it failed."""
    environment = {name: value for name, value in os.environ.items() if name not in (*FORM, FOLDER, CALL)}
    command = [failure.python, "-m", "pytest", *failure.options, failure.test]
    return subprocess.run(command, env=environment | failure.form).returncode == 0


def _gather(folder: Path, calls: Sequence[str]) -> tuple[list[Failure], list[str]]:
    """Return the tests that failed, each once for a call, and the calls that went wrong in another way."""
    failures: list[Failure] = []
    troubles: list[str] = []
    for call in calls:
        found, exit_code = read(folder / f"{call}.jsonl")
        if exit_code is None:
            troubles.append(f"{call}: pytest did not come to its end")
        elif exit_code == _FAILED and not found:
            troubles.append(f"{call}: pytest failed without a failed test")
        elif exit_code not in (*_FINE, _FAILED):
            troubles.append(f"{call}: pytest ended with exit code {exit_code}")
        failures += {one.test: one for one in reversed(found)}.values()  # the first failure of a test counts
    return failures, troubles


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:], Path(sys.argv[1]).parent / "flaky.txt"))
