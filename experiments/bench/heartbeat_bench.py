"""How late heartbeats get on a busy computer: python -m experiments.bench.heartbeat_bench."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from statistics import quantiles

import click

from experiments.bench.fleet import pages_per_second, running_fleet
from experiments.lab.database import mariadb
from experiments.lab.process import fresh_folder, interrupt_on_sigterm
from experiments.lab.report import ROUND, Report, Row, row_text, write_report
from scrawler.features.synthweb.spec import WebSpec
from tests.torture.crawl import CrawlUnderTest, Pace, wait_for
from tests.torture.web import Requests

_READY = 60.0  # seconds until all machines are there
_LIVING = "state IN ('running', 'paused', 'stopping')"


@click.command()
@click.option("--rounds", default=1, show_default=True, help="Turns of each database.")
@click.option("--machines", default=5, show_default=True, help="Machines under one supervisor.")
@click.option("--threads", default=20, show_default=True, help="Threads of a machine.")
@click.option("--sites", default=600, show_default=True, help="Equal sites of the synthetic web.")
@click.option("--pages", default=1_000, show_default=True, help="Pages of a site.")
@click.option("--seconds", default=30.0, show_default=True, help="Length of each measurement.")
def main(rounds: int, machines: int, threads: int, sites: int, pages: int, seconds: float) -> None:
    """Crawl without a pause, so that all CPUs are busy, and look how old the machines' heartbeats get."""
    interrupt_on_sigterm()
    spec = WebSpec(sites=sites, mean_pages=pages, equal=True, page_bytes=14_000, hidden=0.0)
    pace = Pace(1, machines, threads, 10, delay=0.0, checkpoint_interval=5.0)
    rows: list[Row] = []
    with mariadb() as server:
        for number in range(1, rounds + 1):
            rows.append(_measure(number, "sqlite", None, spec, pace, seconds))
            rows.append(_measure(number, "mariadb", server.fresh(), spec, pace, seconds))
    notes = [
        f"--machines {machines} --threads {threads} --delay 0 for {seconds:g} s; the server shares the CPUs",
        "between: time between two heartbeats of a machine, due every 2 s; oldest: the age of a heartbeat when it was "
        "oldest; a machine is taken for dead at 15 s, and starts no request from 12 s on",
    ]
    write_report(Report("heartbeats", "Heartbeats on a busy computer", "database", rows, notes))


def _measure(number: int, database: str, url: str | None, spec: WebSpec, pace: Pace, seconds: float) -> Row:
    with fresh_folder("bench-heartbeats") as folder:
        url = url or f"sqlite:///{folder / 'crawl.db'}"
        with running_fleet(folder, url, spec, pace) as (crawl, requests):
            count = f"SELECT COUNT(*) FROM machine WHERE {_LIVING}"
            wait_for(lambda: crawl.sql.one(count) == pace.machines, _READY, f"{pace.machines} machines")
            began = time.time()
            beats, oldest = _watch(crawl, requests, seconds)
            rate = pages_per_second(requests, began, time.time())
            dead = crawl.sql.one("SELECT COUNT(*) FROM machine WHERE state = 'dead'")
    between = [(after - before) / 1000 for times in beats.values() for before, after in pairwise(sorted(times))]
    row: Row = {
        ROUND: number,
        "database": database,
        "pages/s": rate,
        "heartbeats": len(between),
        "median between s": quantiles(between, n=100)[49],
        "99 % between s": quantiles(between, n=100)[98],
        "oldest s": oldest,
        "taken for dead": dead,
    }
    click.echo(row_text(row))
    return row


def _watch(crawl: CrawlUnderTest, requests: Requests, seconds: float) -> tuple[dict[int, set[int]], float]:
    """Return the heartbeats of each machine that were seen, in milliseconds, and the greatest age of one in seconds."""
    beats: dict[int, set[int]] = defaultdict(set)
    oldest = 0.0
    until = time.time() + seconds

    def over() -> bool:
        nonlocal oldest
        asked = time.time()  # before: the time of the answer does not count
        heartbeats: Sequence[tuple[int, int]] = crawl.sql.rows(f"SELECT id, heartbeat_at FROM machine WHERE {_LIVING}")
        for machine, at in heartbeats:
            beats[machine].add(at)
            oldest = max(oldest, asked - at / 1000)
        requests.look()
        return time.time() >= until

    wait_for(over, 2 * seconds, "the end of a measurement")
    return beats, oldest


if __name__ == "__main__":
    main()
