"""Runs the experiments one after the other, and puts their results into the README: python -m experiments."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from experiments.lab.process import interrupt_on_sigterm, run_to_end
from experiments.lab.readme import README, with_results
from experiments.lab.report import QUICK_RESULTS, RESULTS, redraw

EXPERIMENTS = {  # and the modules that they are
    "distributor_vs_free": "distributor_vs_free",
    "scalability": "scalability",
    "two_pass": "two_pass",
    "seed_by_seed": "seed_by_seed",
    "few_seeds": "few_seeds",
    "network": "network",
    "seen_filter": "seen_filter",
    "peers": "peers",
    "profiles": "profiles",
    "planner": "planner",
    "balance": "balance",
    "granularity": "granularity",
    "agents": "agents",
    "modes": "modes",
    "broad": "bench.broad_bench",
    "dead": "bench.dead_bench",
    "two_nodes": "two_nodes",
    "all_station": "all_station",
    "moving": "moving",
    "focused": "focused",
    "freshness": "freshness",
    "quality": "quality",
    "hidden": "hidden",
    "cooperation": "cooperation",
    "prescreened": "prescreened",
    "traps": "traps",
    "endurance": "bench.endurance_bench",
}


@click.command()
@click.option("--quick", is_flag=True, help="Less than a minute each: whether they work, not how fast anything is.")
@click.option(
    "--only", multiple=True, type=click.Choice(list(EXPERIMENTS)), help="Leave the others out; may be repeated."
)
@click.option("--readme", "readme_only", is_flag=True, help="Run nothing; put the results that are there into README.")
@click.option("--redraw", "redraw_only", is_flag=True, help="Run nothing; draw the plots again from what they showed.")
def main(quick: bool, only: Sequence[str], readme_only: bool, redraw_only: bool) -> None:
    """Run the experiments in turn; the full ones take some hours and want a quiet machine.

    A failed experiment does not keep the others from running; the exit code is 1 then.
    """
    interrupt_on_sigterm()
    if redraw_only:
        for picture in redraw(QUICK_RESULTS if quick else RESULTS):
            click.echo(f"drew {picture}")
        return
    failed = [] if readme_only else [name for name in only or EXPERIMENTS if not _succeeds(name, quick)]
    if not quick:
        README.write_text(with_results(README.read_text(), RESULTS))
    if failed:
        raise click.ClickException(f"failed: {', '.join(failed)}")


def _succeeds(name: str, quick: bool) -> bool:
    click.echo(f"== {name}")
    command = [sys.executable, "-m", f"experiments.{EXPERIMENTS[name]}", *["--quick"] * quick]
    return run_to_end(command, Path(__file__).parents[1]) == 0


if __name__ == "__main__":
    main()
