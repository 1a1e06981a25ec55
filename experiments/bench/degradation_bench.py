"""What is left of the speed when machines die: python -m experiments.bench.degradation_bench."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import click

from experiments.bench.fleet import hosts_asked, machine_id, owned_hosts, pages_per_second, running_fleet
from experiments.lab.database import mariadb
from experiments.lab.process import fresh_folder, interrupt_on_sigterm
from experiments.lab.report import ROUND, Report, Row, row_text, write_report
from scrawler.features.synthweb.spec import WebSpec
from tests.torture.crawl import CrawlUnderTest, Pace, wait_for
from tests.torture.web import Requests

_READY = 30.0  # seconds until all machines are at full speed
_NOTICED = 30.0  # seconds until dead machines are known to be dead


@dataclass(frozen=True)
class Trial:
    """So many of the machines are killed, after and before `window` seconds of measured work."""

    killed: int
    window: float
    spec: WebSpec
    pace: Pace


@click.command()
@click.option("--rounds", default=1, show_default=True, help="Turns of each case.")
@click.option("--machines", default=4, show_default=True, help="Machines, each a `scrawler run` of its own.")
@click.option("--killed", multiple=True, type=int, default=(1, 2), show_default=True, help="May be repeated.")
@click.option("--threads", default=2, show_default=True, help="Threads of a machine.")
@click.option("--seeds-per-thread", default=5, show_default=True, help="Seeds a thread holds.")
@click.option("--delay", default=0.1, show_default=True, help="Seconds between two requests to a site.")
@click.option("--sites", default=1_000, show_default=True, help="Equal sites of the synthetic web.")
@click.option("--pages", default=20, show_default=True, help="Pages of a site.")
@click.option("--window", default=12.0, show_default=True, help="Seconds of each measurement.")
def main(
    rounds: int,
    machines: int,
    killed: tuple[int, ...],
    threads: int,
    seeds_per_thread: int,
    delay: float,
    sites: int,
    pages: int,
    window: float,
) -> None:
    """Crawl politely with many machines, kill some with SIGKILL, and compare the requests that the server sees.

    What limits the crawl is politeness and the seeds that a machine may hold, so a machine less is an n-th less.
    """
    interrupt_on_sigterm()
    spec = WebSpec(sites=sites, mean_pages=pages, equal=True, page_bytes=2_000, links=8, hidden=0.0)
    pace = Pace(machines, 1, threads, seeds_per_thread, delay, checkpoint_interval=5.0)
    rows: list[Row] = []
    with ExitStack() as stack:
        server = stack.enter_context(mariadb())
        for number in range(1, rounds + 1):
            for number_killed in killed:
                trial = Trial(number_killed, window, spec, pace)
                rows.append(_measure(number, "sqlite", None, trial))
                rows.append(_measure(number, "mariadb", server.fresh(), trial))
    notes = [
        f"{machines} machines of {threads} threads of {seeds_per_thread} seeds, delay {delay:g} s; "
        f"{sites} equal sites of {pages} pages; killed machines are not started again",
        "pages/s: pages asked for at the server; after: from when the killed machines are known to be dead",
        "of what is left: (after / before) / ((n - k) / n)",
        "sites left: held by the killed machines; taken over: asked for by others at the end of the measurement",
    ]
    write_report(Report("degradation", "Machines killed for good", "case", rows, notes))


def _measure(number: int, database: str, url: str | None, trial: Trial) -> Row:
    with (
        fresh_folder("bench-degradation") as folder,
        running_fleet(folder, url or _sqlite(folder), trial.spec, trial.pace) as (crawl, requests),
    ):
        _wait_for_full_speed(crawl, requests)
        before = _rate(requests, trial.window)
        dead = crawl.runs()[: trial.killed]
        numbers = [machine_id(crawl, pid) for pid in dead]
        killed_at = time.time()
        for pid in dead:
            crawl.lose_run(pid)
        left = owned_hosts(crawl, numbers)
        alive = "SELECT COUNT(*) FROM machine WHERE state <> 'dead' AND id IN ({})".format(", ".join(map(str, numbers)))
        wait_for(lambda: crawl.sql.one(alive) == 0, _NOTICED, "killed machines are declared dead")
        noticed_at = time.time()
        after = _rate(requests, trial.window)
        taken = left & hosts_asked(requests, noticed_at, time.time())
    machines = trial.pace.runs
    row: Row = {
        ROUND: number,
        "case": f"{database}, {trial.killed} of {machines}",
        "before pages/s": before,
        "noticed s": noticed_at - killed_at,
        "after pages/s": after,
        "after / before": after / before,
        "of what is left": after / before * machines / (machines - trial.killed),
        "sites left": len(left),
        "taken over": len(taken),
    }
    click.echo(row_text(row))
    return row


def _sqlite(folder: Path) -> str:
    return f"sqlite:///{folder / 'crawl.db'}"


def _wait_for_full_speed(crawl: CrawlUnderTest, requests: Requests) -> None:
    """Return when every place of every machine is at work."""
    places = crawl.pace.runs * crawl.pace.places

    def full() -> bool:
        crawl.runs()
        requests.look()
        now = time.time()
        return len(hosts_asked(requests, now - 3 * crawl.pace.delay, now)) >= places

    wait_for(full, _READY, f"{places} sites in work")


def _rate(requests: Requests, window: float) -> float:
    """Measure for so many seconds from now."""
    began = time.time()
    wait_for(lambda: time.time() >= began + window, 2 * window, "the end of a measurement")
    requests.look()
    return pages_per_second(requests, began, began + window)


if __name__ == "__main__":
    main()
