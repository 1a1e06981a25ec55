"""How much faster a crawl is whose start pages were screened before, as paper 003 (section 4.1) advises.

python -m experiments.prescreened
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from statistics import median

import click

from experiments.lab.command import experiment
from experiments.lab.crawls import import_seeds
from experiments.lab.plots import Line, Panel
from experiments.lab.process import OUTPUT, Figures, fresh_folder, run_measured
from experiments.lab.report import ROUND, Claim, Plot, Report, Row, number, row_text, write_report
from experiments.lab.scrawler_command import DATABASE, import_command, run_command
from scrawler.features.synthweb.process import SynthServer
from scrawler.features.synthweb.spec import WebSpec
from scrawler.features.synthweb.web import SyntheticWeb

_TIMEOUT = 1_500.0
_ALL, _SCREENED = "all start pages", "pre-screened"
_CONNECT_TIMEOUT = 2.0  # seconds: so long a dead host is waited for
_SCREENING = {"max_pages": 1, "retries": 0, "connect_timeout": 1, "timeout": 5}
_STEP = 40  # points of a curve


@experiment
@click.option("--rounds", default=2, show_default=True, help="Webs.")
@click.option("--sites", default=3_000, show_default=True, help="Start pages, one of each site.")
@click.option("--mean-pages", "mean", default=8, show_default=True, help="Mean pages of a site.")
@click.option("--dead", default=0.3, show_default=True, help="Share of sites whose hosts never answer.")
def main(quick: bool, results: Path, rounds: int, sites: int, mean: int, dead: float) -> None:
    """Does it pay to look at start pages before a crawl begins with them?"""
    if quick:
        rounds, sites = 1, 60
    rows: list[Row] = []
    curves: dict[str, tuple[list[float], list[float]]] = {}
    for turn in range(1, rounds + 1):
        spec = WebSpec(seed=turn, sites=sites, mean_pages=mean, links=4, page_bytes=2_000, dead_share=dead)
        with SynthServer(spec) as server, fresh_folder("prescreened") as folder:
            seeds = _seeds(spec, server.port)
            (folder / "all.txt").write_text("".join(f"{url}\n" for url in seeds))
            screening = _crawl(folder / "screening", folder / "all.txt", **_SCREENING)
            kept = _choose(folder / "screening", sites)
            for way, file, paid in ((_ALL, folder / "all.txt", 0.0), (_SCREENED, kept, screening.wall)):
                figures = _crawl(folder / way.replace(" ", "_"), file)
                row, curve = _measured(way, turn, folder / way.replace(" ", "_"), figures, paid)
                rows.append(row)
                curves[way] = curve
                click.echo(row_text(row))
    write_report(report(rows, curves, sites, dead), results)


def _seeds(spec: WebSpec, port: int) -> list[str]:
    web = SyntheticWeb(spec, port)
    return [url for site in range(spec.sites) for url in web.seeds_of(site, 1)]


def _crawl(folder: Path, seeds: Path, **settings: object) -> Figures:
    folder.mkdir()
    import_seeds(folder, seeds)
    defaults: dict[str, object] = {"connect_timeout": _CONNECT_TIMEOUT, "retries": 1, "retry_pause": 1}
    command = run_command(threads=5, seeds_per_thread=10, export=False, **{**defaults, **settings})
    figures = run_measured(command, folder, _TIMEOUT)
    if figures.exit_code or figures.timed_out:
        raise click.ClickException(f"scrawler ended with {figures.exit_code}, see {folder / OUTPUT}")
    return figures


def _choose(folder: Path, sites: int) -> Path:
    """Let SCrawler choose the start pages that gave a page; return the seed file."""
    chosen = folder / "chosen.csv"
    scrawler = import_command(chosen)[0]
    command = [scrawler, "seeds", "choose", "--by", "yield", "--top", str(sites), "--at-least", "0.01"]
    figures = run_measured([*command, "--write", str(chosen)], folder, _TIMEOUT)
    if figures.exit_code:
        raise click.ClickException(f"scrawler ended with {figures.exit_code}, see {folder / OUTPUT}")
    return chosen


def _measured(
    way: str, turn: int, folder: Path, figures: Figures, paid: float
) -> tuple[Row, tuple[list[float], list[float]]]:
    with closing(sqlite3.connect(folder / DATABASE)) as connection:
        fetched = connection.execute("SELECT fetched_at FROM page WHERE result = 'fetched' ORDER BY fetched_at")
        times = [row[0] for row in fetched]
        began = connection.execute("SELECT MIN(started_at) FROM machine").fetchone()[0]
        seeds, dead = connection.execute("SELECT COUNT(*), SUM(end_reason = 'dead') FROM seed").fetchone()
    row: Row = {
        "start pages": way,
        ROUND: turn,
        "seeds": seeds,
        "% dead": 100 * dead / seeds,
        "pages": len(times),
        "seconds": figures.wall,
        "pages/s": len(times) / figures.wall,
        "seconds of screening": paid,
        "pages/s with screening": len(times) / (figures.wall + paid),
    }
    points = [min(len(times) - 1, len(times) * step // _STEP) for step in range(_STEP + 1)]
    return row, ([(times[at] - began) / 1000 for at in points], [float(at + 1) for at in points])


def report(rows: Sequence[Row], curves: dict[str, tuple[list[float], list[float]]], sites: int, dead: float) -> Report:
    """Put together what was found."""
    lines = [Line(way, xs, ys, bold=way == _SCREENED) for way, (xs, ys) in curves.items()]
    gain = _median(rows, _SCREENED, "pages/s") / _median(rows, _ALL, "pages/s")
    paid = _median(rows, _SCREENED, "pages/s with screening") / _median(rows, _ALL, "pages/s")
    lost = 1 - _median(rows, _SCREENED, "pages") / _median(rows, _ALL, "pages")
    return Report(
        "prescreened",
        "What it brings to screen start pages",
        "start pages",
        rows,
        notes=[
            f"{sites:,} sites with a start page each, of which {dead:.0%} never answer; a crawl waits"
            f" {_CONNECT_TIMEOUT:.0f} s for a connection, and tries once more. Five threads with ten seeds each.",
            "Screening is a crawl of one page a seed (no retry, a second for a connection), out of which"
            " `scrawler seeds choose --by yield --at-least 0.01` writes those that gave a page.",
            "The paper calls screening the simplest and most effective way, and has no figure with and without it.",
        ],
        claims=[
            Claim("pages/s, screened over not", "003, section 4.1", "no figure", f"{gain:.2f}"),
            Claim("the same, with the time of screening", "003, section 4.1", "no figure", f"{paid:.2f}"),
            Claim("pages that screening has lost, %", "003, section 4.1", "no figure", f"{100 * lost:.1f}"),
        ],
        plots=[Plot("Pages over time", [Panel("without the time of screening", "s", "pages", lines)])],
        series={"curves": list(_series(curves))},
    )


def _series(curves: dict[str, tuple[list[float], list[float]]]) -> Iterator[Row]:
    for way, (seconds, pages) in curves.items():
        for second, page in zip(seconds, pages, strict=True):
            yield {"start pages": way, "s": second, "pages": page}


def _median(rows: Sequence[Row], way: str, column: str) -> float:
    return median(number(row, column) for row in rows if row["start pages"] == way)


if __name__ == "__main__":
    main()
