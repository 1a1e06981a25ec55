"""Sites that go from machine to machine: how much shorter the tail of a crawl becomes (paper 004, Figure 5).

python -m experiments.moving
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from statistics import median

import click

from experiments.lab.command import experiment
from experiments.lab.crawls import crawled
from experiments.lab.plots import Line, Panel
from experiments.lab.report import ROUND, Claim, Plot, Report, Row, row_text, write_report
from experiments.lab.scrawler_command import DATABASE
from scrawler.features.synthweb.process import SynthServer
from scrawler.features.synthweb.spec import WebSpec
from scrawler.features.synthweb.web import SyntheticWeb
from scrawler.model.scope import Scope
from scrawler.model.terms import url_hash
from scrawler.urls.scope import site_key

_TIMEOUT = 300.0
_MACHINES, _THREADS, _PLACES = 2, 1, 2
_WAYS = ("balanced", "not balanced")
_MOST = 0.9  # of the pages


@dataclass(frozen=True, slots=True)
class Scale:
    """How many sites are large and small in each web; a delay in seconds."""

    webs: dict[str, tuple[int, int]]
    delay: float
    largest: int  # pages
    sites: int  # of the web from which they are chosen


_WEBS = {"many small": (0, 40), "six giants": (6, 18), "one giant": (1, 18)}
FULL = Scale(_WEBS, 0.05, 200, 600)
QUICK = Scale({"six giants": (3, 4)}, 0.02, 40, 60)


@experiment
@click.option("--rounds", default=2, show_default=True, help="Turns of each pair; not with --quick.")
def main(quick: bool, results: Path, rounds: int) -> None:
    """How much sooner does a crawl by two machines end when the fuller one gives sites to the other?"""
    scale, rounds = (QUICK, 1) if quick else (FULL, rounds)
    rows: list[Row] = []
    drawn: dict[str, list[Line]] = {}
    spec = WebSpec(sites=scale.sites, mean_pages=30, max_pages=scale.largest, page_bytes=1_000, links=8, hidden=0.0)
    with SynthServer(spec) as web:
        for turn, name in product(range(1, rounds + 1), scale.webs):
            seeds = chosen(web.web, *scale.webs[name])
            for way in _WAYS if turn % 2 else reversed(_WAYS):
                row, line = _row(turn, web, scale, name, way, seeds)
                rows.append(row)
                if turn == 1:
                    drawn.setdefault(name, []).append(line)
                click.echo(row_text(rows[-1]))
    write_report(report(rows, drawn, scale), results)


def chosen(web: SyntheticWeb, large: int, small: int) -> list[str]:
    """Return the home pages of the largest sites and of the smallest, so that one machine claims all the large ones.

    Sites that are imported together are claimed in the order of the hashes of their keys.
    """
    by_size = sorted(range(web.spec.sites), key=lambda site: web.site(site).pages)
    homes = [web.seeds_of(site)[0] for site in by_size]
    first = [url_hash(site_key(url, Scope.HOST))[0] < 128 for url in homes]
    giants = [url for url, comes_first in zip(reversed(homes), reversed(first), strict=True) if comes_first]
    others = [url for url, comes_first in zip(homes, first, strict=True) if not (comes_first and large)]
    return [*giants[:large], *others[:small]]


def _row(turn: int, web: SynthServer, scale: Scale, name: str, way: str, seeds: Sequence[str]) -> tuple[Row, Line]:
    with crawled(
        web, seeds, timeout=_TIMEOUT, machines=_MACHINES, threads=_THREADS, seeds_per_thread=_PLACES, delay=scale.delay,
        delay_factor=0, robots=False, export=False, balance_machines=way == _WAYS[0],
    ) as crawl:  # fmt: skip
        answered = sorted(line.at - crawl.started for line in crawl.pages)
        most = answered[int(_MOST * len(answered)) - 1]
        row: Row = {
            "arm": f"{name}, {way}", ROUND: turn, "pages": len(answered), "requests": len(crawl.requests),
            "sites given": _given(crawl.folder), "s to 90 %": most, "s to the end": answered[-1],
            "tail s": answered[-1] - most,
        }  # fmt: skip
        return row, Line(way, *crawl.pages_over_time(0.5))


def _given(folder: Path) -> int:
    """Return how often a site went to another owner: each counts its owners."""
    with closing(sqlite3.connect(folder / DATABASE)) as connection:
        return int(connection.execute("SELECT SUM(token - 1) FROM site WHERE token > 1").fetchone()[0] or 0)


def report(rows: Sequence[Row], drawn: dict[str, list[Line]], scale: Scale) -> Report:
    """Return the report of all crawls."""
    claims = [
        Claim(f"time to the end, balanced over not, {name}", "paper 004, Figure 5", "-", _ratios(rows, name))
        for name in scale.webs
    ]
    notes = [
        f"{_MACHINES} machines of {_THREADS} thread with {_PLACES} places; delay {scale.delay:g} s; giants have up to"
        f" {scale.largest} pages, and one machine has claimed them all",
        "one giant is one site: it has one owner, and the crawl ends with it whoever that is",
    ]
    panels = [Panel(name, "s since the first request", "pages", lines) for name, lines in drawn.items()]
    plot = Plot("Pages over time, first round", panels)
    return Report("moving", "Sites that go from machine to machine", "arm", rows, notes, claims, [plot])


def _ratios(rows: Sequence[Row], name: str) -> str:
    ends = {(row["arm"], row[ROUND]): float(row["s to the end"]) for row in rows}
    turns = sorted({int(row[ROUND]) for row in rows})
    found = [ends[f"{name}, {_WAYS[0]}", turn] / ends[f"{name}, {_WAYS[1]}", turn] for turn in turns]
    return f"{median(found):.2f} ({min(found):.2f} to {max(found):.2f})"


if __name__ == "__main__":
    main()
