"""What an experiment measured, as CSV (every round), Markdown (medians, the paper's figures beside) and PNG."""

from __future__ import annotations

import csv
import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from statistics import median
from typing import TypeAlias

import click

from experiments.lab.plots import Line, Panel, draw

RESULTS = Path(__file__).parents[1] / "results"
QUICK_RESULTS = RESULTS / "quick"  # of short runs, which say that a program works, not how fast anything is
MIB = 1 << 20
_DRAWN = ".plot.json"  # ending of the file beside a picture that says what it shows
ROUND = "round"  # column that numbers the turns

Value: TypeAlias = str | int | float
Row: TypeAlias = Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Claim:
    """A figure that a paper or a goal states, and ours beside it."""

    what: str  # the quantity, with its unit
    source: str  # "paper 004, Figure 7", "goal"
    theirs: str
    ours: str


@dataclass(frozen=True, slots=True)
class Plot:
    """A picture of the report; `name` is added to the report's for its file."""

    title: str
    panels: Sequence[Panel]
    name: str = ""
    share_y: bool = False


@dataclass(frozen=True, slots=True)
class Report:
    """All that one experiment found.

    Rows are grouped by column `key`: the CSV has all of them, the table the median of each group. `series` are further
    CSV files, by name, for what the plots show; `tables` are further tables, by heading.
    """

    name: str
    title: str
    key: str
    rows: Sequence[Row]
    notes: Sequence[str] = ()
    claims: Sequence[Claim] = ()
    plots: Sequence[Plot] = ()
    series: Mapping[str, Sequence[Row]] | None = None
    tables: Mapping[str, Sequence[Row]] | None = None


def write_report(report: Report, folder: Path = RESULTS) -> None:
    """Write NAME.csv, NAME.md and the plots into a folder, and print the tables.

    Raises:
        ClickException: there are no rows.
    """
    if not report.rows:
        raise click.ClickException("nothing was measured")
    folder.mkdir(parents=True, exist_ok=True)
    _write_csv(folder / f"{report.name}.csv", report.rows)
    for name, rows in (report.series or {}).items():
        _write_csv(folder / f"{report.name}-{name}.csv", rows)
    _draw(folder, report.name, report.plots)
    text = _tables(report)
    pictures = "".join(f"![{plot.title}]({_plot_file(report.name, plot)})\n\n" for plot in report.plots)
    (folder / f"{report.name}.md").write_text(f"# {report.title}\n\n{text}{pictures}".rstrip() + "\n")
    click.echo(f"\n{report.title}\n\n{text}{folder / report.name}.md")


def _tables(report: Report) -> str:
    text = "\n".join(markdown(medians(report.key, report.rows))) + "\n\n"
    if report.claims:
        beside = [{"": c.what, "stated in": c.source, "stated": c.theirs, "here": c.ours} for c in report.claims]
        text += "\n".join(markdown(beside)) + "\n\n"
    for heading, rows in (report.tables or {}).items():
        text += f"{heading}:\n\n" + "\n".join(markdown(rows)) + "\n\n"
    return text + "".join(f"* {note}\n" for note in (*report.notes, machine())) + "\n"


def _draw(folder: Path, report: str, plots: Sequence[Plot]) -> None:
    """Draw plots, and keep what they show, so that they can be drawn again without measuring."""
    for plot in plots:
        file = folder / _plot_file(report, plot)
        draw(file, plot.title, plot.panels, plot.share_y)
        file.with_suffix(_DRAWN).write_text(json.dumps(asdict(plot), default=list, ensure_ascii=False) + "\n")


def redraw(folder: Path) -> list[Path]:
    """Draw all plots of a folder again from what they showed; return the pictures."""
    pictures = []
    for file in sorted(folder.glob(f"*{_DRAWN}")):
        kept = json.loads(file.read_text())
        panels = [Panel(**{**panel, "lines": [Line(**line) for line in panel["lines"]]}) for panel in kept["panels"]]
        pictures.append(folder / f"{file.name.removesuffix(_DRAWN)}.png")
        draw(pictures[-1], kept["title"], panels, kept["share_y"])
    return pictures


def _plot_file(report: str, plot: Plot) -> str:
    return f"{report}{'-' if plot.name else ''}{plot.name}.png"


def _write_csv(file: Path, rows: Sequence[Row]) -> None:
    with file.open("w", newline="") as out:
        writer = csv.DictWriter(out, _columns(rows))
        writer.writeheader()
        writer.writerows(rows)


def read_rows(file: Path) -> list[Row]:
    """Return the rows that an earlier run has written. Raises ClickException where there are none."""
    if not file.exists():
        raise click.ClickException(f"{file} is missing: an earlier run writes it")
    with file.open(newline="") as kept:
        return [{name: _read(text) for name, text in row.items() if text} for row in csv.DictReader(kept)]


def _read(text: str) -> Value:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def medians(key: str, rows: Sequence[Row]) -> list[Row]:
    """Return one row per value of `key`, in order of first appearance: the median of every number."""
    groups: dict[Value, list[Row]] = {}
    for row in rows:
        groups.setdefault(row[key], []).append(row)
    columns = [key, *(column for column in _columns(rows) if column not in (key, ROUND))]
    return [
        {column: _middle(values) for column in columns if (values := [row[column] for row in group if column in row])}
        for group in groups.values()
    ]


def markdown(rows: Sequence[Row]) -> list[str]:
    """Return a table, numbers to the right; what a row does not have stays empty."""
    columns = _columns(rows)
    first = [next(row[one] for row in rows if one in row) for one in columns]
    marks = ["---" if isinstance(value, str) else "---:" for value in first]
    cells = [[_written(row.get(column, "")) for column in columns] for row in rows]
    return [f"| {' | '.join(line)} |" for line in (columns, marks, *cells)]


def _columns(rows: Sequence[Row]) -> list[str]:
    """Return the columns of all rows: not each has to have all, such as the cost of what a run has not done."""
    return list(dict.fromkeys(chain.from_iterable(rows)))


def number(row: Row, column: str) -> float:
    """Return a figure of a row."""
    return float(row[column])


def row_text(row: Row) -> str:
    """Return a row as one line."""
    return ", ".join(f"{name} {_written(value)}" for name, value in row.items())


def machine() -> str:
    """Say on what the figures were made."""
    cpus = len(os.sched_getaffinity(0))
    load = os.getloadavg()[0]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)
    return (
        f"{platform.system()} {platform.machine()}, {cpus} CPUs{_processor()}, {memory:.0f} GiB, "
        f"Python {platform.python_version()}, load {load:.1f}"
    )


def _processor() -> str:
    """Return what Linux calls the processor, in brackets; nothing where it does not say."""
    file = Path("/proc/cpuinfo")
    lines = file.read_text().splitlines() if file.exists() else []
    model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    return f" ({model})" if model else ""


def _middle(values: Sequence[Value]) -> Value:
    numbers = [value for value in values if not isinstance(value, str)]
    return median(numbers) if len(numbers) == len(values) else values[-1]


def _written(value: Value) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}" if value >= 100 or value.is_integer() else f"{value:.2f}"
    return f"{value:,}" if isinstance(value, int) else value
