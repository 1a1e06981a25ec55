"""The price of threads: equal sites, crawled with 1, 5 and 20: python -m experiments.bench.threads_bench."""

from __future__ import annotations

import click

from experiments.lab.crawls import import_seeds
from experiments.lab.process import OUTPUT, fresh_folder, interrupt_on_sigterm, run_measured
from experiments.lab.report import MIB, ROUND, Report, Row, medians, row_text, write_report
from experiments.lab.scrawler_command import crawl_totals, run_command
from scrawler.features.synthweb.process import ServerProcess
from scrawler.features.synthweb.spec import WebSpec
from scrawler.features.synthweb.web import SyntheticWeb

THREADS = (1, 5, 20)


@click.command()
@click.option("--rounds", default=3, show_default=True, help="Turns of each number of threads; medians are reported.")
@click.option("--sites", default=40, show_default=True, help="Equal sites of the synthetic web.")
@click.option("--pages", default=250, show_default=True, help="Pages of a site.")
@click.option("--page-bytes", default=14_000, show_default=True, help="Mean size of a page.")
@click.option("--threads", multiple=True, type=int, default=THREADS, show_default=True, help="May be repeated.")
@click.option("--timeout", default=180.0, show_default=True, help="Seconds after which a run is killed.")
def main(rounds: int, sites: int, pages: int, page_bytes: int, threads: tuple[int, ...], timeout: float) -> None:
    """Crawl the same equal sites with different numbers of threads in turn and report CPU a page."""
    interrupt_on_sigterm()
    spec = WebSpec(sites=sites, mean_pages=pages, equal=True, page_bytes=page_bytes, hidden=0.0)
    with ServerProcess(spec) as server:
        turns = [(number, count) for number in range(1, rounds + 1) for count in threads]
        rows = [_measure(number, count, server.web, timeout) for number, count in turns]
    costs = [float(row["CPU us/page"]) for row in medians("threads", rows)]
    notes = [
        f"{sites} sites of {pages} pages of about {page_bytes:,} bytes, all of them held at the same time",
        f"dearest to cheapest: {max(costs) / min(costs):.2f}",
    ]
    write_report(Report("threads", "Equal sites, by threads", "threads", rows, notes))


def _measure(number: int, threads: int, web: SyntheticWeb, timeout: float) -> Row:
    with fresh_folder(f"bench-threads-{threads}") as folder:
        seeds = folder / "seeds.txt"
        seeds.write_text("".join(f"{url}\n" for site in range(web.spec.sites) for url in web.seeds_of(site)))
        import_seeds(folder, seeds)
        command = run_command(threads=threads, seeds_per_thread=-(-web.spec.sites // threads))
        figures = run_measured(command, folder, timeout)
        if figures.exit_code:
            raise click.ClickException(f"scrawler ended with {figures.exit_code}, see {folder / OUTPUT}")
        totals = crawl_totals(folder)
    row: Row = {
        ROUND: number,
        "threads": str(threads),
        "pages": totals.pages,
        "wall s": figures.wall,
        "pages/s": totals.pages / figures.wall,
        "CPU s": figures.cpu,
        "CPU us/page": figures.cpu / max(totals.pages, 1) * 1e6,
        "peak RSS MiB": figures.peak_rss / MIB,
    }
    click.echo(row_text(row))
    return row


if __name__ == "__main__":
    main()
