"""One to five machines on virtual time (paper 004, section 3.4, Figure 9), each with a processor of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from experiments.lab.plots import Line, Panel
from experiments.lab.readings import DISTRIBUTOR, Reading, Size, rules_of, web_of
from experiments.lab.report import Row, number
from scrawler.features.plan.simulation import Run, simulate

RATE = "pages/s of a thread"
STEADY_RATE = f"{RATE} while the queue has seeds"
_DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class Scaling:
    """The crawls: numbers of sites, machines, and of threads of a machine."""

    sites: int = 250_000
    machines: Sequence[int] = (1, 2, 3, 4, 5)
    threads: Sequence[int] = (10, 15, 20)


def scaled(size: Size, reading: Reading, scaling: Scaling) -> Iterator[Row]:
    """Play the same web through with all numbers of machines and threads, with the distributor, and with hands."""
    sites = web_of(replace(size, sites=scaling.sites), reading, 1)
    ways = [(DISTRIBUTOR, threads) for threads in scaling.threads] + [("hands", scaling.threads[-1])]
    for way, threads in ways:
        for machines in scaling.machines:
            rules = replace(rules_of(size, reading, way), machines=machines, cores=machines, threads=threads)
            yield _row(way, machines, threads, simulate(sites, rules))


def _row(way: str, machines: int, threads: int, run: Run) -> Row:
    collectors = machines * threads
    return {
        "crawl": f"{machines} x {threads}, {way}",
        "way": way,
        "machines": machines,
        "threads": threads,
        "sites": run.sites,
        "pages": run.requests,
        "days": run.seconds / _DAY,
        "days to 99 %": run.at_requests(0.99) / _DAY,
        RATE: run.requests / run.seconds / collectors,
        STEADY_RATE: run.requests_by(run.drained_at) / max(run.drained_at, 1.0) / collectors,
    }


def level_text(rows: Sequence[Row], column: str) -> str:
    """Say by how much a thread does more or less with the most machines than with one."""
    said = []
    for way, threads in dict.fromkeys((row["way"], row["threads"]) for row in rows):
        mine = [number(row, column) for row in rows if (row["way"], row["threads"]) == (way, threads)]
        said.append(f"{threads} threads, {way}: {100 * (mine[-1] / mine[0] - 1):+.1f} %")
    return "; ".join(said)


def scaling_panels(rows: Sequence[Row]) -> list[Panel]:
    """Draw what a thread does by the number of machines, as Figure 9 does."""
    panels = []
    for column, title in ((RATE, "Whole crawl"), (STEADY_RATE, "While the queue has seeds")):
        lines = []
        for way, threads in dict.fromkeys((row["way"], row["threads"]) for row in rows):
            mine = [row for row in rows if (row["way"], row["threads"]) == (way, threads)]
            xs = [int(row["machines"]) for row in mine]
            ys = [number(row, column) for row in mine]
            lines.append(Line(f"{threads} threads, {way}", xs, ys, points=True, dashed=way != DISTRIBUTOR))
        panels.append(Panel(title, "machines", RATE, lines))
    return panels
