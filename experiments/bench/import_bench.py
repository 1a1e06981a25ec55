"""The import of a million seeds into SQLite and MariaDB: python -m experiments.bench.import_bench."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

import click

from experiments.lab.database import DatabaseServer, mariadb
from experiments.lab.process import OUTPUT, interrupt_on_sigterm, run_measured
from experiments.lab.report import MIB, ROUND, Report, Row, write_report
from experiments.lab.scrawler_command import import_command


@click.command()
@click.option("--lines", default=1_000_000, show_default=True, help="Seeds in the file, all different.")
@click.option("--sites", default=700_000, show_default=True, help="Sites they belong to.")
@click.option("--rounds", default=1, show_default=True, help="Turns of each database; medians are reported.")
@click.option("--timeout", default=300.0, show_default=True, help="Seconds after which an import is killed.")
def main(lines: int, sites: int, rounds: int, timeout: float) -> None:
    """Import the same generated file into both databases in turn, twice each: the second time nothing is new."""
    interrupt_on_sigterm()
    with tempfile.TemporaryDirectory(prefix="bench-import-") as name, mariadb() as server:
        folder = Path(name)
        seeds = folder / "seeds.txt"
        _write_seeds(seeds, lines, sites)
        rows = [
            row
            for number in range(1, rounds + 1)
            for database in ("sqlite", "mariadb")
            for row in _measure(number, database, server, seeds, lines, timeout)
        ]
    write_report(Report("import", f"Import of {lines:,} seeds of {sites:,} sites", "import", rows))


def _write_seeds(path: Path, lines: int, sites: int) -> None:
    """Write seeds such as https://www.site417.example/section/12345.html; neighbours are of different sites."""
    with path.open("w") as file:
        for number in range(lines):
            site = number * 7_919 % sites
            file.write(f"https://www.site{site}.example/section/{number}.html\n")


def _measure(number: int, database: str, server: DatabaseServer, seeds: Path, lines: int, timeout: float) -> list[Row]:
    folder = Path(tempfile.mkdtemp(prefix=f"{database}-", dir=seeds.parent))
    environment = {"SCRAWLER_DB": server.fresh()} if database == "mariadb" else {}
    return [
        _import(number, f"{database}, {turn}", folder, seeds, environment, lines, timeout) for turn in ("new", "again")
    ]


def _import(
    number: int, name: str, folder: Path, seeds: Path, environment: Mapping[str, str], lines: int, timeout: float
) -> Row:
    figures = run_measured(import_command(seeds), folder, timeout, environment)
    if figures.exit_code:
        raise click.ClickException(f"import ended with {figures.exit_code}:\n{(folder / OUTPUT).read_text()[-2000:]}")
    rate = lines / figures.wall
    click.echo(f"round {number}, {name}: {rate:,.0f} seeds/s, {figures.peak_rss / MIB:.0f} MiB")
    return {
        ROUND: number,
        "import": name,
        "wall s": figures.wall,
        "seeds/s": rate,
        "CPU us/seed": figures.cpu / lines * 1e6,
        "peak RSS MiB": figures.peak_rss / MIB,
    }


if __name__ == "__main__":
    main()
