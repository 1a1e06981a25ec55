"""From a machine's death to the first page by the next owner: python -m experiments.bench.failover_bench."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random

import click

from experiments.bench.fleet import hosts_asked, machine_id, owned_hosts, running_fleet
from experiments.lab.database import DatabaseServer, mariadb
from experiments.lab.process import fresh_folder, interrupt_on_sigterm
from experiments.lab.report import ROUND, Report, Row, row_text, write_report
from scrawler.features.synthweb.spec import WebSpec
from tests.torture.crawl import CrawlUnderTest, Pace, kill, wait_for
from tests.torture.web import Requests, host_of

CASES = ("sibling", "lease", "supervisor")
_LEASE = 15.0  # seconds; so long a machine must have lived to declare another one dead that it cannot see
_STARTED = 60.0  # seconds until all sites are in work
_TAKEN_OVER = 60.0  # seconds until all sites of a dead machine are


@dataclass(frozen=True)
class Death:
    """A kill: when it was over, in seconds since 1970, and which hosts the killed machines had."""

    at: float
    hosts: frozenset[str]
    pages_per_second: float  # of those hosts, before
    first: float  # seconds until a page of one of them was asked for
    all: float  # ... of each of them


@click.command()
@click.option("--case", "cases", multiple=True, type=click.Choice(CASES), default=CASES, help="May be repeated.")
@click.option("--kills", default=4, show_default=True, help="Machines that are killed on each database in each case.")
@click.option("--sites", default=20, show_default=True, help="Equal sites; each machine could hold them all.")
@click.option("--delay", default=0.2, show_default=True, help="Seconds between two requests to a site.")
@click.option("--checkpoint-interval", default=5.0, show_default=True, help="Seconds between two checkpoints.")
def main(cases: Sequence[str], kills: int, sites: int, delay: float, checkpoint_interval: float) -> None:
    """Kill machines with SIGKILL at random moments, and look in the server's log for those who go on in their place."""
    interrupt_on_sigterm()
    spec = WebSpec(sites=sites, mean_pages=5_000, equal=True, page_bytes=2_000, links=8, hidden=0.0)
    pace = Pace(1, 1, 2, -(-sites // 2), delay, checkpoint_interval)
    rows: list[Row] = []
    with mariadb() as server:
        for case in cases:
            for database in ("sqlite", "mariadb"):
                for row in _deaths(case, server if database == "mariadb" else None, spec, pace, kills):
                    rows.append({ROUND: len(rows) + 1, "case": f"{case}, {database}", **row})
                    click.echo(row_text(rows[-1]))
    notes = [
        "sibling: another machine of the host sees that the process is gone; lease: each machine has a pid namespace "
        "of its own, as on another host, and the lease decides; supervisor: it starts its machines anew, all killed",
        "first, last page: from SIGKILL to the first request for a page of one, of each of the sites it had",
        f"{sites} sites, delay {delay:g} s, a checkpoint every {checkpoint_interval:g} s; done again: pages fetched "
        "twice, as seconds of work of the killed machine",
        *_spans(rows),
    ]
    write_report(Report("failover", "From SIGKILL to the next owner's pages", "case", rows, notes))


def _spans(rows: Sequence[Row]) -> Iterator[str]:
    for case in dict.fromkeys(row["case"] for row in rows):
        firsts = sorted(float(row["first page s"]) for row in rows if row["case"] == case)
        yield f"{case}: first page after {', '.join(f'{first:.1f}' for first in firsts)} s"


def _deaths(case: str, server: DatabaseServer | None, spec: WebSpec, pace: Pace, kills: int) -> Iterator[Row]:
    if case == "supervisor":  # one kill a crawl: after the next failure it pauses longer
        for number in range(kills):
            yield from _crawl(server, spec, replace(pace, machines=2), 1, 0.0, number)
    else:
        apart = case == "lease"
        yield from _crawl(server, spec, replace(pace, runs=kills + 1, apart=apart), kills, apart * _LEASE, 0)


def _crawl(
    server: DatabaseServer | None, spec: WebSpec, pace: Pace, kills: int, age: float, number: int
) -> Iterator[Row]:
    chance = Random(number)
    with fresh_folder("bench-failover") as folder:
        url = server.fresh() if server else f"sqlite:///{folder / 'crawl.db'}"
        with running_fleet(folder, url, spec, pace) as (crawl, requests):
            _wait_for_all(requests, spec.sites)
            _let_pass(age)
            deaths = []
            for _ in range(kills):
                _let_pass(pace.checkpoint_interval * (1 + chance.random()))
                deaths.append(_kill(crawl, requests))
            requests.look()
        again = _fetched_again(requests, deaths)
    for death, times in zip(deaths, again, strict=True):
        yield {
            "sites": len(death.hosts),
            "pages/s": death.pages_per_second,
            "first page s": death.first,
            "last page s": death.all,
            "fetched twice": times,
            "done again s": times / death.pages_per_second,
        }


def _kill(crawl: CrawlUnderTest, requests: Requests) -> Death:
    """Kill a machine that has sites, or all machines of a supervisor, and wait until others have all of its sites."""
    pids = crawl.machines()
    held = {pid: owned_hosts(crawl, [machine_id(crawl, pid)]) for pid in pids}
    dead = pids if crawl.pace.machines > 1 else [max(pids, key=lambda pid: len(held[pid]))]
    hosts = frozenset().union(*(held[pid] for pid in dead))
    requests.look()
    began = time.time()
    if crawl.pace.machines > 1:
        for pid in dead:
            kill(pid)
        wait_for(lambda: not set(dead) & set(crawl.machines()), _STARTED, "killed machines are gone")
    else:
        crawl.lose_run(dead[0])
    gone = time.time()
    requests.look()
    before = sum(host_of(line.url) in hosts and line.came >= began - 2 for line in requests.pages()) / 2
    done: dict[str, float] = {}

    def all_asked() -> bool:
        requests.look()
        for line in requests.pages():
            if line.came > gone and host_of(line.url) in hosts:
                done.setdefault(host_of(line.url), line.came - began)
        return len(done) == len(hosts)

    wait_for(all_asked, _TAKEN_OVER, f"pages of {len(hosts)} sites of the dead")
    return Death(gone, hosts, before, min(done.values()), max(done.values()))


def _fetched_again(requests: Requests, deaths: Sequence[Death]) -> list[int]:
    """Count the requests that came a second time, by the death before them."""
    seen: set[str] = set()
    again = [0] * len(deaths)
    for line in sorted(requests.pages()):
        if line.url in seen:
            last = max((number for number, death in enumerate(deaths) if death.at <= line.came), default=0)
            again[last] += 1
        seen.add(line.url)
    return again


def _wait_for_all(requests: Requests, sites: int) -> None:
    def in_work() -> bool:
        requests.look()
        return len(hosts_asked(requests, 0.0, time.time())) == sites

    wait_for(in_work, _STARTED, f"{sites} sites in work")


def _let_pass(seconds: float) -> None:
    """Let the crawl go on for a while."""
    until = time.monotonic() + seconds
    wait_for(lambda: time.monotonic() >= until, 2 * seconds + 1, "a moment")


if __name__ == "__main__":
    main()
