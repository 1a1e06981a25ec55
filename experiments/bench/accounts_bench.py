"""What report, status and export of a large crawl cost, on SQLite: python -m experiments.bench.accounts_bench."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from experiments.lab.filled import Size, fill
from experiments.lab.process import OUTPUT, fresh_folder, interrupt_on_sigterm, run_measured
from experiments.lab.report import MIB, ROUND, Report, Row, row_text, write_report
from experiments.lab.scrawler_command import DATABASE

_COMMANDS = {"report": ("report",), "status": ("status",), "export": ("export", "seeds-again.txt")}
_SITES_A_SEED = 0.7


@click.command()
@click.option("--pages", default=5_000_000, show_default=True, help="Page rows.")
@click.option("--seeds", default=1_000_000, show_default=True, help="Seeds, of seven tenths as many sites.")
@click.option("--candidates", default=1_000_000, show_default=True, help="Different candidate seeds.")
@click.option("--rounds", default=3, show_default=True, help="Turns of each command; medians are reported.")
@click.option("--timeout", default=600.0, show_default=True, help="Seconds after which a command is killed.")
@click.option("--checkout", multiple=True, help="Folder of another checkout, which takes turns with this one.")
def main(pages: int, seeds: int, candidates: int, rounds: int, timeout: float, checkout: tuple[str, ...]) -> None:
    """Write a database as a large crawl leaves it (a minute or two, 2 GB), and ask it."""
    interrupt_on_sigterm()
    codes = {"here": str(Path(__file__).parents[2]), **{Path(one).name: str(Path(one).absolute()) for one in checkout}}
    rows: list[Row] = []
    with fresh_folder("bench-accounts") as folder:
        fill(folder / DATABASE, Size(max(1, int(seeds * _SITES_A_SEED)), seeds, candidates, pages))
        for number in range(1, rounds + 1):
            for command in _COMMANDS:
                for name, code in codes.items():
                    rows.append(_measure(number, f"{command}, {name}" if checkout else command, code, folder, timeout))
                    click.echo(row_text(rows[-1]))
    notes = [f"{pages:,} page rows, {seeds:,} seeds, {candidates:,} candidate seeds, on SQLite"]
    write_report(Report("accounts", "Report, status and export of a large crawl", "command", rows, notes))


def _measure(number: int, name: str, code: str, folder: Path, timeout: float) -> Row:
    """Run a command of the code in a folder. Raises ClickException."""
    arguments = _COMMANDS[name.partition(",")[0]]
    command = [sys.executable, "-P", "-m", "scrawler", *arguments]
    figures = run_measured(command, folder, timeout, {"PYTHONPATH": code})
    if figures.exit_code:
        raise click.ClickException(f"scrawler ended with {figures.exit_code}, see {folder / OUTPUT}")
    return {
        ROUND: number,
        "command": name,
        "wall s": figures.wall,
        "CPU s": figures.cpu,
        "peak RSS MiB": figures.peak_rss / MIB,
    }


if __name__ == "__main__":
    main()
