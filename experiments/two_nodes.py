"""One crawling machine and two that exchange URLs, behind one line (paper 000, Tables 1, 2 and Figure 8).

python -m experiments.two_nodes
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from statistics import median
from typing import NamedTuple

import click

from experiments.lab.command import experiment
from experiments.lab.crawls import crawled
from experiments.lab.meter import Meter, cpu_counters, others_at_work
from experiments.lab.plots import Line, Panel
from experiments.lab.report import ROUND, Claim, Plot, Report, Row, number, row_text, write_report
from experiments.lab.scrawler_command import DATABASE
from experiments.network import answered
from scrawler.features.synthweb.process import SynthServer
from scrawler.features.synthweb.spec import WebSpec
from scrawler.model.results import Result
from scrawler.units import counted

MB = 1_000_000
_NODES = (1, 2)
_SEEDS_PER_THREAD, _DNS_THREADS, _DEPTH = 10, 5, 15  # 20 threads of 10 places are the paper's 200 download threads
_LIST_MAX = 500
_TAIL = 2.0  # seconds at the end of a crawl, of which not all is in the database
_BY_MACHINE = "SELECT pages, sent, received, checkpoints FROM machine ORDER BY id"


@dataclass(frozen=True, slots=True)
class Scale:
    """How large the trial is: `lines` in multiples of what one node takes from a line without a limit."""

    sites: int
    first: int  # home pages with which a crawl begins
    latency: float  # seconds that an answer takes
    pause: float  # seconds between an answer of a site and the next request to it
    places: int  # of each node
    ramp: float  # seconds from the first request on that do not count
    window: float  # seconds that count
    lines: Sequence[float]
    list_maxima: Sequence[int]


class Node(NamedTuple):
    """What a machine has committed; URLs for sent and received."""

    pages: int
    sent: int
    received: int
    checkpoints: int


FULL = Scale(1_200, 1, 0.4, 0.35, 200, 45.0, 25.0, (1.0, 1.2, 1.35, 1.6, 2.5), (1, 50, 500, 5_000))
BUSY = Scale(1_200, 400, 2.0, 2.0, 200, 20.0, 20.0, (1.0, 1.35, 2.5), (1, 50, 500, 5_000))
QUICK = Scale(60, 1, 0.4, 0.35, 20, 2.0, 3.0, (1.35,), (50,))


@experiment
@click.option("--rounds", default=1, show_default=True, help="Turns of each pair; not with --quick.")
@click.option("--busy", is_flag=True, help="A slower web, of which more is known at first: for a machine that is busy.")
@click.option(
    "--line",
    "lines",
    type=click.FloatRange(0.1, 100),
    multiple=True,
    help="Width of a line, 1: what one node takes; may be repeated. Fewer take less time. [default: five]",
)
def main(quick: bool, results: Path, rounds: int, busy: bool, lines: tuple[float, ...]) -> None:
    """How much faster are two machines than one where both share a line, and what do they tell each other?"""
    scale = BUSY if busy else FULL
    if quick:
        scale, rounds = QUICK, 1
    if lines:
        scale = replace(scale, lines=sorted({*lines}))
    rows: list[Row] = []
    for turn in range(1, rounds + 1):
        alone = _row(turn, scale, "no limit", 0.0, 1)
        rows.append(alone)
        rows.append(_row(turn, scale, "no limit", 0.0, 2))
        for line, nodes in product(scale.lines, _NODES):
            rows.append(_row(turn, scale, f"line of {line:g}", line * number(alone, "MB/s"), nodes))
        for most in scale.list_maxima:
            if most == _LIST_MAX:
                continue  # two nodes without a limit have had that
            rows.append(_row(turn, scale, f"list of {most:,}", 0.0, 2, most))
    write_report(report(rows, scale), results)


def _row(turn: int, scale: Scale, name: str, cap: float, nodes: int, most: int = _LIST_MAX) -> Row:
    """Crawl for a while, beginning with some home pages; `cap` in MB/s, 0: no limit."""
    spec = WebSpec(
        sites=scale.sites, mean_pages=150, equal=True, page_bytes=10_000, latency_ms=1000 * scale.latency,
        latency_spread=0.0, alias_every=0, bandwidth=round(cap * MB),
    )  # fmt: skip
    with SynthServer(spec) as web:
        seeds = [url for site in range(scale.first) for url in web.web.seeds_of(site)]
        meter = Meter(cpu_counters({"server": [web.pid]}))
        with crawled(
            web, seeds, timeout=scale.ramp + scale.window + 2 * _TAIL, sampler=meter.sampler,
            machines=nodes, threads=scale.places // _SEEDS_PER_THREAD, seeds_per_thread=_SEEDS_PER_THREAD,
            dns_threads=_DNS_THREADS, max_depth=_DEPTH, delay=scale.pause, delay_factor=0, patience=0, mode="exchange",
            partition="modulo", send_list_max=most, checkpoint_interval=2,
        ) as crawl:  # fmt: skip
            machines = _nodes(crawl.folder / DATABASE)
            answers = [answer for answer in answered(crawl.folder / DATABASE)[0] if answer.result == Result.FETCHED]
    until = max((answer.at for answer in answers), default=0.0) - _TAIL
    since = until - scale.window
    counted = [answer for answer in answers if since <= answer.at < until]
    speed = sum(answer.length for answer in counted) / scale.window / MB
    pages = sum(machine.pages for machine in machines)
    # Of the window as well: machines are killed at its end, and nobody tells then what they have used in all.
    cpu = meter.rate("crawler CPU", since, until) * scale.window
    row: Row = {
        "arm": f"{name}, {nodes} node{'s' * (nodes > 1)}", ROUND: turn, "pages/s": len(counted) / scale.window,
        "MB/s": speed, "% of the line": 100 * speed / cap if cap else "", "pages": pages,
        "pages of the busiest": max((machine.pages for machine in machines), default=0),
        "URLs sent": sum(machine.sent for machine in machines),
        "sent a page": sum(machine.sent for machine in machines) / max(pages, 1),
        "checkpoints": sum(machine.checkpoints for machine in machines),
        "CPU ms a page": 1000 * cpu / max(len(counted), 1),
        **meter.shares(since, until),
    }  # fmt: skip
    click.echo(row_text(row))
    return row


def _nodes(file: Path) -> list[Node]:
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as connection:
        return [Node(*row) for row in connection.execute(_BY_MACHINE)]


def report(rows: Sequence[Row], scale: Scale) -> Report:
    """Return the report of all crawls."""
    notes = [
        f"{scale.sites:,} sites of 150 pages, of which {counted(scale.first, 'home page')} known at first, depth"
        f" {_DEPTH}; each node has {scale.places} places and {_DNS_THREADS} DNS threads (hosts are addresses, so these"
        f" rest); latency {1000 * scale.latency:g} ms, interval {scale.pause:g} s (the paper's 35 s are for hours)",
        f"rates are those of the last {scale.window:g} s; a line of 1 is what one node took from a line without limit",
        "a node sends URLs to the inbox of their site, which either node may hold: where the nodes are one, it sends to"
        " itself, so that URLs sent are those that lead from site to site",
        others_at_work(rows),
    ]
    at = [f"line of {line:g}" for line in scale.lines]
    ratios = {name: _ratio(rows, name) for name in [*at, "no limit"]}
    claims = [
        Claim(
            "pages of two nodes over those of one",
            "paper 000, 4.4.2: (901,355 + 681,645) / 1,176,804",
            "1.35 (its text: around 40 % more)",
            "; ".join(f"{name}: {ratio:.2f}" for name, ratio in ratios.items()),
        ),
        Claim(
            "URLs sent a page, two nodes",
            "paper 000, 4.4.2: 8,532,806 URLs, 1,583,000 pages",
            "5.4",
            f"{median(number(row, 'sent a page') for row in _of(rows, 'no limit', 2)):.2f}",
        ),
        Claim(
            "share of the busier node in the pages of both",
            "paper 000, 4.4.2",
            "57 %",
            f"{median(_busiest(row) for row in _of(rows, 'no limit', 2)):.0f} %",
        ),
        Claim(
            "pages/s, CPU ms a page by SEND_LIST_MAX",
            "paper 000, Table 2: 500",
            "not stated",
            "; ".join(
                f"{most:,}: {number(row, 'pages/s'):.0f}, {number(row, 'CPU ms a page'):.2f}"
                for most in scale.list_maxima
                for row in _of(rows, "no limit" if most == _LIST_MAX else f"list of {most:,}", 2)[:1]
            ),
        ),
    ]
    lines = [
        Line(
            f"{nodes} node{'s' * (nodes > 1)}",
            list(scale.lines),
            [median(number(row, "pages/s") for row in _of(rows, name, nodes)) for name in at],
        )
        for nodes in _NODES
    ]
    panel = Panel("one line for all nodes", "width of the line, 1: what one node takes", "pages/s", lines)
    plot = Plot("Pages a second behind one line", [panel])
    return Report("two_nodes", "One node and two behind one line", "arm", rows, notes, claims, [plot])


def _busiest(row: Row) -> float:
    """Return the share of the busiest node in the pages of all, in per cent."""
    return 100 * number(row, "pages of the busiest") / max(number(row, "pages"), 1)


def _of(rows: Sequence[Row], name: str, nodes: int) -> list[Row]:
    return [row for row in rows if row["arm"] == f"{name}, {nodes} node{'s' * (nodes > 1)}"]


def _ratio(rows: Sequence[Row], name: str) -> float:
    one, two = (median(number(row, "pages/s") for row in _of(rows, name, nodes)) for nodes in _NODES)
    return two / one if one else 0.0


if __name__ == "__main__":
    main()
