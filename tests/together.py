"""Lets several real processes do one thing at the same moment: `together(function, 8, url)`.

A program of its own forks them: it has no threads, and imports everything once, however many processes there are.
"""

from __future__ import annotations

import json
import multiprocessing
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.limits import HANGS

_TOP = Path(__file__).resolve().parents[1]
_LONGEST = 300  # seconds

_ready: Callable[[], object]  # of the process that was forked


def together(function: Callable[..., Any], processes: int, *arguments: Any) -> list[Any]:
    """Return what `function(number, ready, *arguments)` gave in each process; arguments and results are JSON.

    The function calls `ready` once it has made its preparations; it returns when all have called it.
    """
    named = f"{function.__module__}:{function.__qualname__}"
    command = [sys.executable, "-m", "tests.together", named, str(processes), json.dumps(arguments)]
    done = subprocess.run(command, cwd=_TOP, capture_output=True, text=True, timeout=_LONGEST)
    if done.returncode:
        raise AssertionError(f"{named} failed in one of {processes} processes:\n{done.stderr}")
    results: list[Any] = json.loads(done.stdout)
    return results


def main(named: str, processes: str, arguments: str) -> None:
    module, _, name = named.partition(":")
    function = getattr(import_module(module), name)
    fork = multiprocessing.get_context("fork")
    barrier = fork.Barrier(int(processes))
    with ProcessPoolExecutor(int(processes), fork, _set_ready, (lambda: barrier.wait(HANGS),)) as pool:
        running = [pool.submit(_run, function, number, json.loads(arguments)) for number in range(int(processes))]
        json.dump([one.result() for one in running], sys.stdout)


def _set_ready(ready: Callable[[], object]) -> None:
    global _ready
    _ready = ready


def _run(function: Callable[..., Any], number: int, arguments: list[Any]) -> Any:
    return function(number, _ready, *arguments)


if __name__ == "__main__":
    main(*sys.argv[1:])
