"""All of one large site of many hosts, by one to three machines (paper 000, formula 2 and 4.4).

python -m experiments.all_station
"""

from __future__ import annotations

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from urllib.parse import urlsplit

import click

from experiments.lab.command import experiment
from experiments.lab.crawls import Crawl, crawled
from experiments.lab.plots import Line, Panel
from experiments.lab.process import fresh_folder
from experiments.lab.report import ROUND, Claim, Plot, Report, Row, number, row_text, write_report
from experiments.lab.scrawler_command import DATABASE
from scrawler.features.synthweb.process import LoggedRequest, SynthServer
from scrawler.features.synthweb.spec import Hosts, WebSpec
from scrawler.features.synthweb.truth import reachable

_TIMEOUT = 600.0
_PAGES_BY_MACHINE = "SELECT pages FROM machine ORDER BY id"
_SITES_BY_MACHINE = "SELECT machine_id, COUNT(DISTINCT site_id) FROM seed GROUP BY machine_id"


@dataclass(frozen=True, slots=True)
class Scale:
    """Hosts of the domain, pages of each (mean), the pause between two requests to a host in seconds, and machines."""

    hosts: int
    pages: int
    delay: float
    machines: Sequence[int]


FULL = Scale(60, 60, 0.2, (1, 2, 3))
QUICK = Scale(6, 5, 0.02, (2,))


@experiment
@click.option("--rounds", default=1, show_default=True, help="Turns of each crawl; not with --quick.")
def main(quick: bool, results: Path, rounds: int) -> None:
    """Is all of a domain found by machines that divide it by sub-site, and nothing fetched twice?"""
    scale, rounds = (QUICK, 1) if quick else (FULL, rounds)
    rows: list[Row] = []
    drawn: list[Line] = []
    spec = WebSpec(
        sites=scale.hosts, mean_pages=scale.pages, page_bytes=4_000, latency_ms=50, hosts=Hosts.NAMES, alias_every=0
    )
    with SynthServer(spec) as web, fresh_folder("resolved") as folder:
        # A domain has too many hosts for flags: a file says where they are.
        table = ", ".join(f'"{name}={address}"' for name, address in web.web.addresses().items())
        settings = folder / "scrawler.toml"
        settings.write_text(f"resolve = [{table}]\n")
        truth = reachable(web.web, web.web.seeds_of(0))
        for turn in range(1, rounds + 1):
            for machines in scale.machines:
                row, line = _row(turn, web, scale, machines, truth, settings)
                rows.append(row)
                if turn == 1:
                    drawn.append(line)
                click.echo(row_text(row))
    write_report(report(rows, drawn, scale, len(truth)), results)


def _row(turn: int, web: SynthServer, scale: Scale, machines: int, truth: set[str], settings: Path) -> tuple[Row, Line]:
    name = f"{machines} machine{'s' * (machines > 1)}"
    with crawled(
        web, web.web.seeds_of(0), timeout=_TIMEOUT, config=settings, machines=machines,
        threads=4, seeds_per_thread=scale.hosts // 4 + 1, delay=scale.delay, delay_factor=0, mode="exchange",
        boundary="domain", partition="subsite", checkpoint_interval=1, export=False,
    ) as crawl:  # fmt: skip
        fetched = Counter(line.url for line in crawl.pages)
        found = set(fetched) & truth
        pages, hosts = _by_machine(crawl.folder / DATABASE)
        row: Row = {
            "arm": name, ROUND: turn, "pages": len(found), "missed": len(truth - found),
            "fetched twice": sum(fetched[url] - 1 for url in found), "s to the end": crawl.seconds,
            "pages of the busiest, %": 100 * max(pages) / max(sum(pages), 1),
            "hosts of the busiest": max(hosts, default=0), "two requests at once": _at_once(crawl),
            "least s between two requests to a host": _least_pause(crawl),
        }  # fmt: skip
        return row, Line(name, *crawl.pages_over_time(0.5))


def _by_machine(file: Path) -> tuple[list[int], list[int]]:
    with closing(sqlite3.connect(file)) as connection:
        pages = [int(row[0]) for row in connection.execute(_PAGES_BY_MACHINE)]
        return pages, [int(row[1]) for row in connection.execute(_SITES_BY_MACHINE)]


def _least_pause(crawl: Crawl) -> float:
    """Return the least time from an answer of a host to the next request to it, in seconds."""
    return min((after.came - before.at for one in _by_host(crawl) for before, after in pairwise(one)), default=0.0)


def _at_once(crawl: Crawl) -> int:
    """Count the requests that came to a host before it had answered the one before."""
    return sum(after.came < before.at for one in _by_host(crawl) for before, after in pairwise(one))


def _by_host(crawl: Crawl) -> list[list[LoggedRequest]]:
    hosts: defaultdict[str, list[LoggedRequest]] = defaultdict(list)
    for line in sorted(crawl.requests, key=lambda line: line.came):
        hosts[urlsplit(line.url).netloc].append(line)
    return list(hosts.values())


def report(rows: Sequence[Row], drawn: Sequence[Line], scale: Scale, pages: int) -> Report:
    """Return the report of all crawls."""
    notes = [
        f"one domain of {scale.hosts} hosts, {pages:,} pages that its first home page leads to; each host has one owner"
        f" and a clock of its own, pause {scale.delay:g} s; sizes of hosts are those of the web, heavy-tailed",
        "the largest host is crawled by one machine at its pace, whoever that is: it sets the end of all of these",
    ]
    arms = {str(row["arm"]): [other for other in rows if other["arm"] == row["arm"]] for row in rows}
    whole = {arm: ", ".join(f"{row['missed']} and {row['fetched twice']}" for row in own) for arm, own in arms.items()}
    ends = {arm: median(number(row, "s to the end") for row in own) for arm, own in arms.items()}
    first = next(iter(ends.values()))
    claims = [
        Claim(
            "pages missed, pages fetched twice",
            "paper 000, 4.4 (2)",
            "all-station downloading became possible; no figure",
            "; ".join(f"{arm}: {found}" for arm, found in whole.items()),
        ),
        Claim(
            "time to the end over that of one machine",
            "paper 000, 4.4 (2)",
            "no figure",
            "; ".join(f"{arm}: {seconds / first:.2f}" for arm, seconds in ends.items()),
        ),
    ]
    plot = Plot("All of one domain", [Panel("pages over time", "s since the first request", "pages", drawn)])
    return Report("all_station", "All of one domain, divided by sub-site", "arm", rows, notes, claims, [plot])


if __name__ == "__main__":
    main()
