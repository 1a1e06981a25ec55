"""Crawls by a topic against breadth-first ones, on documentation sites: how soon the pages of the topic come.

python -m experiments.focused
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import product
from pathlib import Path
from statistics import mean, median
from tempfile import TemporaryDirectory

import click

from experiments.docsweb.server import serving
from experiments.docsweb.sites import SITES, DocsWebError, Site
from experiments.lab.command import experiment
from experiments.lab.crawls import import_seeds
from experiments.lab.plots import Line, Panel
from experiments.lab.process import OUTPUT, fresh_folder, run_measured
from experiments.lab.report import ROUND, Claim, Plot, Report, Row, row_text, write_report
from experiments.lab.scrawler_command import DATABASE, run_command
from scrawler.model.results import PageFlag, Result

_PORT = 8097
_TIMEOUT = 900.0
_TOPIC = "3 deadlock\n3 isolation level\n2 transaction\n2 lock\n2 mutex\n1 concurrency\n1 thread\n"
_PLAIN, _BREADTH, _FOCUSED = "breadth-first, no topic", "breadth-first", "focused"
_AT = (0.1, 0.25, 0.5, 1.0)  # shares of the pages of a crawl at which its harvest is told
_POINTS = 40


@experiment
@click.option("--rounds", default=2, show_default=True, help="Turns of each crawl; not with --quick.")
@click.option("--pages", default=300, show_default=True, help="Pages of each site.")
def main(quick: bool, results: Path, rounds: int, pages: int) -> None:
    """How many of the first pages have to do with a topic, in a focused and in a breadth-first order?"""
    rows: list[Row] = []
    lines: dict[str, list[float]] = {}
    with _sites(quick) as sites, serving(_PORT, sites) as server:
        seeds = [site.home_url(server.port) for site in server.sites]
        for turn, way in product(range(1, 2 if quick else rounds + 1), (_PLAIN, _BREADTH, _FOCUSED)):
            row, relevant = _crawl(turn, way, seeds, 20 if quick else pages)
            rows.append(row)
            click.echo(row_text(row))
            if way != _PLAIN:
                lines.setdefault(way, harvests(relevant))
        names = [site.name for site in sites]
    write_report(report(rows, lines, names), results)


@contextmanager
def _sites(quick: bool) -> Iterator[Sequence[Site]]:
    """Give the documentation sites that are installed, or, for a quick run, one that is made here."""
    if not quick:
        found = [site for site in SITES if site.root.is_dir()]
        if not found:
            raise DocsWebError("no documentation is installed (python -m experiments.docsweb setup)")
        yield found
        return
    with TemporaryDirectory() as folder:
        root = Path(folder)
        root.chmod(0o755)
        for number in range(40):
            about = "the lock of a transaction " if number % 4 == 3 else "nothing "
            links = "".join(f"<a href=p{n}.html>{'lock' if n % 4 == 3 else 'page'}</a> " for n in _linked(number))
            (root / ("index.html" if not number else f"p{number}.html")).write_text(f"<p>{about * 50}</p>{links}")
        yield [Site("made", "", root, "127.1.0.8")]


def _linked(number: int) -> range:
    return range(3 * number + 1, min(40, 3 * number + 4))


def _crawl(turn: int, way: str, seeds: Sequence[str], pages: int) -> tuple[Row, list[bool]]:
    """Crawl; return the figures, and of each page in the order of their answers whether it is relevant."""
    with fresh_folder("focused") as folder:
        (folder / "seeds.txt").write_text("".join(f"{url}\n" for url in seeds))
        (folder / "topic.txt").write_text(_TOPIC)
        import_seeds(folder, folder / "seeds.txt")
        settings: dict[str, object] = {"max_pages": pages, "threads": 2, "export": False, "traps": False}
        if way != _PLAIN:
            settings |= {"topic": "topic.txt", "order": way}
        figures = run_measured(run_command(**settings), folder, _TIMEOUT)
        if figures.exit_code or figures.timed_out:
            raise click.ClickException(f"scrawler ended with {figures.exit_code}, see {folder / OUTPUT}")
        relevant = _read(folder)
    row: dict[str, str | int | float] = {"arm": way, ROUND: turn, "pages": len(relevant)}
    if way != _PLAIN:
        row |= {f"harvest at {share:.0%}": rate(relevant, share) for share in _AT}
    return row | {"CPU ms/page": 1000 * figures.cpu / len(relevant)}, relevant


def _read(folder: Path) -> list[bool]:
    query = "SELECT flags FROM page WHERE result = ? AND content_type = 'text/html' ORDER BY fetched_at, id"
    with closing(sqlite3.connect(folder / DATABASE)) as connection:
        return [bool(flags & PageFlag.RELEVANT) for (flags,) in connection.execute(query, (Result.FETCHED.value,))]


def rate(relevant: Sequence[bool], share: float) -> float:
    """Return the harvest rate of the first pages: which share of them is relevant."""
    return mean(relevant[: max(1, int(share * len(relevant)))])


def harvests(relevant: Sequence[bool]) -> list[float]:
    """Return the harvest rate of the first pages of a crawl, at some points of it."""
    return [rate(relevant, point / _POINTS) for point in range(1, _POINTS + 1)]


def report(rows: Sequence[Row], lines: dict[str, list[float]], sites: Sequence[str]) -> Report:
    """Return the report of all crawls."""
    claims = [
        Claim(f"harvest rate at {share:.0%} of the pages, focused", "no goal", "-", _gain(rows, share))
        for share in _AT
    ]  # fmt: skip
    claims.append(Claim("CPU a page, breadth-first with a topic over without", "no goal", "-", _cost(rows, _BREADTH)))
    claims.append(
        Claim("CPU a page, focused over breadth-first without a topic", "no goal", "-", _cost(rows, _FOCUSED))
    )
    notes = [
        f"sites: {', '.join(sites)}; each seed ends by --max-pages, so that the order decides what is fetched",
        "a page is relevant if the score of its own text says so; links are judged before that is known",
        f"terms: {', '.join(_TOPIC.splitlines())}",
    ]
    at = [100 * point / _POINTS for point in range(1, _POINTS + 1)]
    drawn = [Line(name, at, [100 * one for one in values]) for name, values in lines.items()]
    panel = Panel("harvest rate", "% of the pages of the crawl", "% of them relevant", drawn)
    return Report(
        "focused", "A topic first", "arm", rows, notes, claims, [Plot("Relevant among the first pages", [panel])]
    )


def _gain(rows: Sequence[Row], share: float) -> str:
    values = {
        way: median(float(row[f"harvest at {share:.0%}"]) for row in rows if row["arm"] == way)
        for way in (_BREADTH, _FOCUSED)
    }
    times = f" ({values[_FOCUSED] / values[_BREADTH]:.1f} times)" if values[_BREADTH] else ""
    return f"{values[_FOCUSED]:.2f} against {values[_BREADTH]:.2f}{times}"


def _cost(rows: Sequence[Row], way: str) -> str:
    costs = {(row["arm"], row[ROUND]): float(row["CPU ms/page"]) for row in rows}
    return f"{median(costs[way, turn] / costs[_PLAIN, turn] for arm, turn in costs if arm == way):.2f} times"


if __name__ == "__main__":
    main()
