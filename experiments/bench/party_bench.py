"""The memory of one very large party, over time: python -m experiments.bench.party_bench."""

from __future__ import annotations

import csv
import sqlite3
import time
from pathlib import Path

import click

from experiments.lab.crawls import import_seeds
from experiments.lab.process import OUTPUT, Figures, Sampler, fresh_folder, interrupt_on_sigterm, memory, run_measured
from experiments.lab.report import MIB, RESULTS, Report, Row, row_text, write_report
from experiments.lab.scrawler_command import crawl_totals, run_command
from scrawler.features.synthweb.process import ServerProcess
from scrawler.features.synthweb.spec import WebSpec

_KILLED_LATE = 60.0  # seconds after --max-time


class Samples:
    """Rows of time, memory, and URLs listed and pages fetched as of the last checkpoint."""

    def __init__(self, folder: Path) -> None:
        self.rows: list[Row] = []
        self._folder = folder
        self._started = time.monotonic()

    def take(self, pid: int) -> None:
        """Add a row; none before the database answers or after the process has ended."""
        found = memory(pid)
        if found is None:
            return
        try:
            totals = crawl_totals(self._folder)
        except sqlite3.OperationalError:  # locked or not made yet: the next sample will do
            return
        row: Row = {
            "second": round(time.monotonic() - self._started, 1),
            "RSS MiB": found[0] / MIB,
            "peak MiB": found[1] / MIB,
            "listed": totals.listed,
            "pages": totals.pages,
        }
        self.rows.append(row)
        click.echo(row_text(row))


@click.command()
@click.option("--pages", default=1_000_000, show_default=True, help="Pages of the one site.")
@click.option("--page-bytes", default=1_000, show_default=True, help="Mean size of a page; links may need more.")
@click.option("--links", default=10, show_default=True, help="Mean number of links on a page.")
@click.option("--per-site", default=4, show_default=True, help="Requests at a time.")
@click.option("--max-time", default=480.0, show_default=True, help="Seconds for the party.")
@click.option("--max-pages", type=int, help="Pages after which the party ends.")
@click.option("--interval", default=5.0, show_default=True, help="Seconds between two samples.")
def main(
    pages: int,
    page_bytes: int,
    links: int,
    per_site: int,
    max_time: float,
    max_pages: int | None,
    interval: float,
) -> None:
    """Crawl one site of a million small pages and report the crawler's resident memory over time."""
    interrupt_on_sigterm()
    spec = WebSpec(sites=1, mean_pages=pages, equal=True, page_bytes=page_bytes, links=links, hidden=0.0)
    limits = {"max_pages": max_pages} if max_pages else {}
    command = run_command(threads=1, seeds_per_thread=1, per_site=per_site, max_time=max_time, max_depth=1000, **limits)
    with ServerProcess(spec) as server, fresh_folder("bench-party") as folder:
        seeds = folder / "seeds.txt"
        seeds.write_text(f"{server.web.seeds_of(0)[0]}\n")
        import_seeds(folder, seeds)
        samples = Samples(folder)
        figures = run_measured(command, folder, max_time + _KILLED_LATE, sampler=Sampler(samples.take, interval))
        if figures.exit_code:
            raise click.ClickException(f"scrawler ended with {figures.exit_code}, see {folder / OUTPUT}")
        _report(folder, samples.rows, figures, pages)


def _report(folder: Path, series: list[Row], figures: Figures, pages: int) -> None:
    totals = crawl_totals(folder)
    full = [sample["peak MiB"] for sample in series if int(sample["listed"]) >= pages]
    row: Row = {
        "party": f"{pages:,} pages",
        "listed": totals.listed,
        "pages": totals.pages,
        "peak MiB, all listed": full[0] if full else "not reached",
        "wall s": figures.wall,
        "pages/s": totals.pages / figures.wall,
        "CPU us/page": figures.cpu / max(totals.pages, 1) * 1e6,
        "peak RSS MiB": figures.peak_rss / MIB,
    }
    write_report(
        Report("party", "One large party", "party", [row], [f"samples over time: party-series.csv ({len(series)})"])
    )
    if series:
        with (RESULTS / "party-series.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, list(series[0]))
            writer.writeheader()
            writer.writerows(series)


if __name__ == "__main__":
    main()
