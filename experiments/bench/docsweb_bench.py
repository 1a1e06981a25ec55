"""Seven real sites, crawled by SCrawler, Scrapy and wget2 in turns: python -m experiments.bench.docsweb_bench."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack

import click

from experiments.bench import competitors
from experiments.bench.competitors import Competitor
from experiments.docsweb.server import DocsServer, serving
from experiments.docsweb.sites import SITES, SMALL_SITES, home_urls
from experiments.lab.database import mariadb
from experiments.lab.process import OUTPUT, Figures, cpu_seconds, fresh_folder, interrupt_on_sigterm, run_measured
from experiments.lab.report import MIB, ROUND, Report, Row, row_text, write_report

PORT = 8089  # apart from the one that `python -m experiments.docsweb serve` takes
NAMES = ("scrawler-sqlite", "scrawler-mariadb", "scrapy", "scrapy-tuned", "wget2")
_SPIDERS = {"scrapy": "scrapy_crawl_spider.py", "scrapy-tuned": "scrapy_tuned_spider.py"}


@click.command()
@click.option("--rounds", default=3, show_default=True, help="Turns of each competitor; medians are reported.")
@click.option("--quick", is_flag=True, help="One round on the three small sites.")
@click.option("--only", multiple=True, type=click.Choice(NAMES), help="Leave the others out; may be repeated.")
@click.option(
    "--machines", multiple=True, type=int, default=(1,), show_default=True, help="Of SCrawler; may be repeated."
)
@click.option("--threads", default=7, show_default=True, help="Threads of a machine of SCrawler.")
@click.option("--seeds-per-thread", default=1, show_default=True, help="Seeds a thread of SCrawler holds.")
@click.option("--scrapy-per-site", default=8, show_default=True, help="Scrapy's requests at a time on a site.")
@click.option("--timeout", default=300.0, show_default=True, help="Seconds after which a run is killed.")
def main(
    rounds: int,
    quick: bool,
    only: Sequence[str],
    machines: Sequence[int],
    threads: int,
    seeds_per_thread: int,
    scrapy_per_site: int,
    timeout: float,
) -> None:
    """Crawl the documentation sites with each competitor in turn and report pages/s, CPU and memory."""
    interrupt_on_sigterm()
    sites = SMALL_SITES if quick else SITES
    with ExitStack() as stack:
        contenders = list(_contenders(stack, only or NAMES, machines, threads, seeds_per_thread, scrapy_per_site))
        server = stack.enter_context(serving(PORT, sites))
        rows = [
            _measure(number, contender, server, timeout)
            for number in range(1, 2 if quick else rounds + 1)
            for contender in contenders
        ]
    notes = [
        f"{len(sites)} sites by nginx on this machine, no delay; pages: URLs answered 200 text/html in its log",
        f"scrawler: --threads {threads} --seeds-per-thread {seeds_per_thread}, one request at a time on a site, "
        "robots.txt obeyed, WARC and database written; the import of the seeds is not measured; xN: --machines N, "
        "of one process each",
        f"scrapy: a CrawlSpider with a LinkExtractor, as its documentation writes it; scrapy-tuned: a spider with lxml "
        f"alone, uvloop, without middlewares; both {scrapy_per_site} requests at a time on a site, robots.txt "
        "obeyed, nothing written",
        "wget2: 16 threads, no robots.txt, plain files written",
        "server: CPU of nginx and, for scrawler-mariadb, of MariaDB, not contained in the column CPU",
    ]
    write_report(Report("docsweb", "Seven documentation sites", "crawler", rows, notes))


def _contenders(
    stack: ExitStack,
    names: Sequence[str],
    machines: Sequence[int],
    threads: int,
    seeds_per_thread: int,
    per_site: int,
) -> Iterator[Competitor]:
    for name in ("scrawler-sqlite", "scrawler-mariadb"):
        if name in names:
            server = stack.enter_context(mariadb()) if name == "scrawler-mariadb" else None
            for number in machines:
                full = name if number == 1 else f"{name} x{number}"
                yield competitors.scrawler(full, number, threads, seeds_per_thread, server)
    for name, spider in _SPIDERS.items():
        if name in names:
            competitors.prepare_scrapy()
            yield competitors.scrapy(name, spider, per_site)
    if "wget2" in names and competitors.has_wget2():
        yield competitors.wget2()


def _measure(number: int, contender: Competitor, server: DocsServer, timeout: float) -> Row:
    with fresh_folder(f"bench-{contender.name}") as folder:
        seeds = folder / "seeds.txt"
        seeds.write_text("".join(f"{url}\n" for url in home_urls(server.port, server.sites)))
        environment = contender.set_up(folder, seeds)
        servers = [*server.pids(), *contender.service_pids()]
        mark, before = server.log.mark(), cpu_seconds(servers)
        figures = run_measured(contender.command(seeds), folder, timeout, environment)
        served = cpu_seconds(servers) - before
        if figures.exit_code and not figures.timed_out and contender.name != "wget2":  # it ends with 8 after a 404
            raise click.ClickException(f"{contender.name} ended with {figures.exit_code}, see {folder / OUTPUT}")
    row = _row(number, contender.name, figures, server, mark, served)
    click.echo(row_text(row))
    return row


def _row(number: int, name: str, figures: Figures, server: DocsServer, mark: int, served: float) -> Row:
    asked: Counter[str] = Counter()
    pages: set[str] = set()
    for entry in server.log.entries(mark):
        if not entry.is_robots:
            asked[entry.url] += 1
        if entry.is_page:
            pages.add(entry.url)
    count = len(pages)
    return {
        ROUND: number,
        "crawler": name,
        "pages": count,
        "wall s": figures.wall,
        "pages/s": count / figures.wall,
        "CPU s": figures.cpu,
        "CPU us/page": figures.cpu / max(count, 1) * 1e6,
        "server us/page": served / max(count, 1) * 1e6,
        "peak RSS MiB": figures.peak_rss / MIB,
        "requests": asked.total(),
        "fetched twice": sum(times > 1 for times in asked.values()),
        "complete": "no" if figures.timed_out else "yes",
    }


if __name__ == "__main__":
    main()
