"""The price of a database that is far: python -m experiments.bench.far_bench."""

from __future__ import annotations

import click
from sqlalchemy import make_url

from experiments.lab.crawls import import_seeds
from experiments.lab.database import DatabaseServer, mariadb
from experiments.lab.process import OUTPUT, fresh_folder, interrupt_on_sigterm, run_measured
from experiments.lab.report import ROUND, Report, Row, row_text, write_report
from experiments.lab.scrawler_command import run_command
from scrawler.features.synthweb.process import ServerProcess
from scrawler.features.synthweb.spec import WebSpec
from scrawler.features.synthweb.web import SyntheticWeb
from scrawler.store.claims.machines import Machines
from scrawler.store.engines.engine import open_database
from tests.proxy import Proxy

DELAYS = (0, 10, 100)  # milliseconds, there and back


@click.command()
@click.option("--rounds", default=1, show_default=True, help="Turns of each delay; medians are reported.")
@click.option("--sites", default=100, show_default=True, help="Equal sites of the synthetic web.")
@click.option("--pages", default=60, show_default=True, help="Pages of a site.")
@click.option("--delay", "delays", multiple=True, type=int, default=DELAYS, show_default=True, help="May be repeated.")
@click.option("--timeout", default=180.0, show_default=True, help="Seconds after which a run is killed.")
def main(rounds: int, sites: int, pages: int, delays: tuple[int, ...], timeout: float) -> None:
    """Crawl the same sites with the database farther and farther away."""
    interrupt_on_sigterm()
    spec = WebSpec(sites=sites, mean_pages=pages, equal=True, page_bytes=3_000, hidden=0.0)
    with ServerProcess(spec) as server, mariadb() as databases:
        turns = [(number, delay) for number in range(1, rounds + 1) for delay in delays]
        rows = [_measure(number, delay, server.web, databases, timeout) for number, delay in turns]
    notes = [f"{sites} sites of {pages} pages; MariaDB behind a proxy that holds data up, half of the delay each way"]
    write_report(Report("far", "A database that is far, by ms there and back", "ms", rows, notes))


def _measure(number: int, delay: int, web: SyntheticWeb, databases: DatabaseServer, timeout: float) -> Row:
    direct = databases.fresh()
    with fresh_folder(f"bench-far-{delay}") as folder, Proxy(make_url(direct).port or 0, delay / 2000) as proxy:
        seeds = folder / "seeds.txt"
        seeds.write_text("".join(f"{url}\n" for site in range(web.spec.sites) for url in web.seeds_of(site)))
        import_seeds(folder, seeds, {"SCRAWLER_DB": direct})
        far = proxy.in_front_of(direct)
        figures = run_measured([*run_command(), "--no-export"], folder, timeout, {"SCRAWLER_DB": far})
        if figures.exit_code:
            raise click.ClickException(f"scrawler ended with {figures.exit_code}, see {folder / OUTPUT}")
        trips = proxy.round_trips
    database = open_database(direct)
    pages = Machines(database).summary().pages
    database.close()
    row: Row = {
        ROUND: number,
        "ms": str(delay),
        "pages": pages,
        "wall s": figures.wall,
        "pages/s": pages / figures.wall,
        "round trips": trips,
        "round trips/page": trips / max(pages, 1),
    }
    click.echo(row_text(row))
    return row


if __name__ == "__main__":
    main()
