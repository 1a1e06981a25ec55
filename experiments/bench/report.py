"""Rows of figures to CSV (every round) and Markdown (the median of the rounds)."""

from __future__ import annotations

import csv
import os
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import TypeAlias

import click

RESULTS = Path(__file__).parents[1] / "results"
MIB = 1 << 20
ROUND = "round"  # column that numbers the turns

Value: TypeAlias = str | int | float
Row: TypeAlias = Mapping[str, Value]


def write_report(name: str, title: str, key: str, rows: Sequence[Row], notes: Sequence[str] = ()) -> None:
    """Write experiments/results/NAME.csv and NAME.md, and print the table; rows are grouped by column `key`."""
    if not rows:
        raise click.ClickException("nothing was measured")
    RESULTS.mkdir(exist_ok=True)
    with (RESULTS / f"{name}.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    table = "\n".join(markdown(medians(key, rows)))
    remarks = "".join(f"* {note}\n" for note in (*notes, machine()))
    (RESULTS / f"{name}.md").write_text(f"# {title}\n\n{table}\n\n{remarks}")
    click.echo(f"\n{table}\n\n{remarks}\n{RESULTS / name}.md, .csv")


def medians(key: str, rows: Sequence[Row]) -> list[Row]:
    """Return one row per value of `key`, in order of first appearance: the median of every number."""
    groups: dict[Value, list[Row]] = {}
    for row in rows:
        groups.setdefault(row[key], []).append(row)
    columns = [key, *(column for column in rows[0] if column not in (key, ROUND))]
    return [{column: _middle([row[column] for row in group]) for column in columns} for group in groups.values()]


def markdown(rows: Sequence[Row]) -> list[str]:
    """Return a table, numbers to the right."""
    first = rows[0]
    marks = ["---" if isinstance(value, str) else "---:" for value in first.values()]
    cells = [[_written(value) for value in row.values()] for row in rows]
    return [f"| {' | '.join(line)} |" for line in (list(first), marks, *cells)]


def row_text(row: Row) -> str:
    """Return a row as one line."""
    return ", ".join(f"{name} {_written(value)}" for name, value in row.items())


def machine() -> str:
    """Say on what the figures were made."""
    cpus = len(os.sched_getaffinity(0))
    load = os.getloadavg()[0]
    return f"{platform.system()} {platform.machine()}, {cpus} CPUs, Python {platform.python_version()}, load {load:.1f}"


def _middle(values: Sequence[Value]) -> Value:
    numbers = [value for value in values if not isinstance(value, str)]
    return median(numbers) if len(numbers) == len(values) else values[-1]


def _written(value: Value) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}" if value >= 100 or value.is_integer() else f"{value:.2f}"
    return f"{value:,}" if isinstance(value, int) else value
