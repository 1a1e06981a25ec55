"""The command line: python -m experiments.docsweb setup | serve | stop | seeds | walk | compare | check."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from threading import Event

import click

from experiments.docsweb.compare import compare, page_statuses
from experiments.docsweb.server import RUN_FOLDER, DocsServer, LogEntry, serving
from experiments.docsweb.sites import PORT, SITES, home_urls, install_packages, missing_packages
from experiments.docsweb.walk import MAX_DEPTH, Visit, read_visits, walk_sites, write_visits
from experiments.lab.process import OUTPUT, fresh_folder, interrupt_on_sigterm, run_measured
from experiments.lab.scrawler_command import DATABASE, import_command, run_command

SEEDS = Path("docsweb-seeds.txt")
WALK = RUN_FOLDER / "walk.tsv"

port_option = click.option("--port", default=PORT, show_default=True, help="Port of all seven addresses.")
depth_option = click.option(
    "--max-depth", default=MAX_DEPTH, show_default=True, help="Links followed from a home page."
)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Serve seven documentation packages of Debian as real sites, and check crawls of them."""
    interrupt_on_sigterm()


@main.command()
def setup() -> None:
    """Install the packages that are missing (as root)."""
    if packages := missing_packages():
        install_packages(packages)
    click.echo(f"{len(SITES)} sites are installed")


@main.command()
@port_option
@click.option("--detach", is_flag=True, help="Leave the server running; end it with stop.")
def serve(port: int, detach: bool) -> None:
    """Serve the sites and write docsweb-seeds.txt here; Ctrl-C ends it."""
    _write_seeds(port)
    server = DocsServer(port)
    server.start()
    click.echo(f"ready: {len(SITES)} sites on port {port}, seeds in {SEEDS}, log in {server.log.path}")
    if detach:
        return
    try:
        Event().wait()
    except KeyboardInterrupt:
        click.echo("stopped")
    finally:
        server.stop()


@main.command()
@port_option
def stop(port: int) -> None:
    """Stop a server that was started with --detach."""
    click.echo("stopped" if DocsServer(port).stop() else f"nothing is served on port {port}")


@main.command()
@port_option
def seeds(port: int) -> None:
    """Write docsweb-seeds.txt: the home pages of the sites."""
    _write_seeds(port)
    click.echo(f"{len(SITES)} seeds in {SEEDS}")


@main.command()
@port_option
@depth_option
@click.option("--output", type=click.Path(path_type=Path), default=WALK, show_default=True)
def walk(port: int, max_depth: int, output: Path) -> None:
    """Walk the sites independently of SCrawler (serves them meanwhile if nobody does)."""
    if DocsServer(port).pids():
        _walk(port, max_depth, output)
        return
    with serving(port):
        _walk(port, max_depth, output)


@main.command("compare")
@port_option
@click.option("--walk", "walk_file", type=click.Path(exists=True, path_type=Path), default=WALK, show_default=True)
@click.option("--agent", default="SCrawler", show_default=True, help="Compare requests whose user agent starts so.")
@click.argument("database", type=click.Path(exists=True, dir_okay=False, path_type=Path))
def compare_command(port: int, walk_file: Path, agent: str, database: Path) -> None:
    """Compare a SCrawler DATABASE (SQLite) with the walk and with the server's access log; exit code 1: different."""
    entries = [entry for entry in DocsServer(port).log.entries() if entry.agent.startswith(agent)]
    _verdict(read_visits(walk_file), database, entries)


@main.command()
@port_option
@depth_option
@click.option("--threads", default=7, show_default=True, help="Threads of SCrawler.")
@click.option("--timeout", default=300.0, show_default=True, help="Seconds after which the crawl is given up.")
def check(port: int, max_depth: int, threads: int, timeout: float) -> None:
    """Serve, walk, crawl with SCrawler into a fresh folder, compare; exit code 1: different."""
    with serving(port) as server, fresh_folder("docsweb") as folder:
        visits = _walk(port, max_depth, WALK)
        mark = server.log.mark()
        _crawl(folder, port, timeout, threads=threads, max_depth=max_depth)
        _verdict(visits, folder / DATABASE, list(server.log.entries(mark)))


def _crawl(folder: Path, port: int, timeout: float, **settings: object) -> None:
    """Crawl all sites in a folder."""
    seed_file = folder / SEEDS
    seed_file.write_text("".join(f"{url}\n" for url in home_urls(port)))
    crawl = run_command(seeds_per_thread=len(SITES), **settings)
    for command in (import_command(seed_file), crawl):
        figures = run_measured(command, folder, timeout)
        if figures.exit_code:
            raise click.ClickException(f"{' '.join(command)} ended with {figures.exit_code}: {folder / OUTPUT}")
    click.echo(f"crawl: {figures.wall:.1f} s, {figures.cpu:.1f} s of CPU, in {folder}")


def _write_seeds(port: int) -> None:
    SEEDS.write_text("".join(f"{url}\n" for url in home_urls(port)))


def _walk(port: int, max_depth: int, output: Path) -> list[Visit]:
    started = time.monotonic()
    homes = {site.home_url(port): site for site in SITES}
    every: list[Visit] = []
    click.echo(
        f"{'site':13}{'pages':>7}{'other':>7}{'not 200':>9}{'depth':>7}{'files':>7}   (files: HTML in the package)"
    )
    for home, visits in walk_sites(list(homes), max_depth):
        every += visits
        site = homes[home]
        files = sum(1 for path in site.root.rglob("*.html") if path.is_file())
        click.echo(f"{site.name:13}{_counts(visits)}{max(visit.depth for visit in visits):7}{files:7}")
    click.echo(f"{'all':13}{_counts(every)}   in {time.monotonic() - started:.1f} s")
    output.parent.mkdir(parents=True, exist_ok=True)
    write_visits(output, every)
    return every


def _kind(visit: Visit) -> str:
    if visit.status != 200:
        return "bad"
    return "page" if visit.content_type == "text/html" else "other"


def _counts(visits: Iterable[Visit]) -> str:
    kinds = Counter(map(_kind, visits))
    return f"{kinds['page']:7}{kinds['other']:7}{kinds['bad']:9}"


def _verdict(visits: Sequence[Visit], database: Path, entries: Sequence[LogEntry]) -> None:
    pages = page_statuses(database)
    findings = compare(visits, pages, entries)
    click.echo(f"the walk asked for {len(visits)} URLs, SCrawler for {len(pages)}, the server answered {len(entries)}")
    for finding in findings:
        click.echo("\n".join(finding.lines()))
    if any(finding.examples for finding in findings):
        raise click.ClickException("the accounts differ")
    click.echo("EQUAL")


if __name__ == "__main__":
    main()
