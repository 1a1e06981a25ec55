"""Lets several real processes do one thing at the same moment: `together(function, 8, url)`.

A program of its own forks them, for it has no threads.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.forks import forks, plain_environment
from tests.limits import HANGS

_TOP = Path(__file__).resolve().parents[1]
_LONGEST = 300  # seconds

_ready: Callable[[], object]  # of the process that was forked


def together(function: Callable[..., Any], processes: int, *arguments: Any) -> list[Any]:
    """Return what `function(number, ready, *arguments)` gave in each process; arguments and results are JSON.

    The function calls `ready` once it has made its preparations; it returns when all have called it.
    """
    named = f"{function.__module__}:{function.__qualname__}"
    words = [f"{__name__}:main", named, str(processes), json.dumps(arguments)]
    path = os.pathsep.join(filter(None, (str(_TOP), os.environ.get("PYTHONPATH"))))
    done = forks().run(words, _TOP, plain_environment() | {"PYTHONPATH": path}, None, _LONGEST)
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
