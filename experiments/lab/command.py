"""The options that all experiments have, and where their results go."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from experiments.lab.process import interrupt_on_sigterm
from experiments.lab.report import QUICK_RESULTS, RESULTS


def experiment(function: Callable[..., None]) -> click.Command:
    """Make an experiment a command with --quick and --results; the function is called with `quick` and `results`.

    The first line of its docstring says what is asked; further options are added above this decorator's result by
    click as usual, and stand between `@experiment` and the function.
    """

    def run(quick: bool, results: Path | None, **values: Any) -> None:
        interrupt_on_sigterm()
        function(quick=quick, results=results or (QUICK_RESULTS if quick else RESULTS), **values)

    run.__doc__ = function.__doc__
    if hasattr(function, "__click_params__"):
        run.__click_params__ = function.__click_params__  # type: ignore[attr-defined]
    command = click.command(function.__module__.rpartition(".")[2])(run)
    command.params += [
        click.Option(["--quick"], is_flag=True, help="Less than a minute: whether it works, not how fast."),
        click.Option(
            ["--results"],
            type=click.Path(file_okay=False, path_type=Path),
            help="Folder for what is written.  [default: experiments/results, with --quick its folder quick]",
        ),
    ]
    return command
