"""Whether a page costs as much after ten minutes as at first: python -m experiments.bench.endurance_bench."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import click

from experiments.broadweb.crawl import Moment, Observed, Times, watched
from experiments.broadweb.log import Occupancy
from experiments.broadweb.pages import Pages, Urls
from experiments.broadweb.server import library, serving
from experiments.lab.command import experiment
from experiments.lab.meter import OTHERS, all_cores, others_at_work
from experiments.lab.plots import Line, Panel
from experiments.lab.report import MIB, Claim, Plot, Report, Row, number, row_text, write_report
from experiments.lab.trees import OWN

_PIECE = "minute"
_CPU = "CPU us/page"
_MEMORY = "RSS MiB"
_PAGES_OF_SITE = 1_000
_WARM_UP = 5.0  # seconds
_FASTEST = 8_000  # pages a second that no crawl here comes to: so many sites there are
_ARCHIVED = 0.5  # of a page's bytes, compressed and with its headers, at most
_QUICK_SECONDS, _QUICK_PIECES = 2.0, 4


@dataclass(frozen=True, slots=True)
class Load:
    """What is crawled, and how."""

    places: int
    threads: int
    pages: Pages

    def sites(self, seconds: float) -> int:
        """Return how many sites there must be for so many seconds."""
        return 2 * self.places + round(_FASTEST * seconds / self.pages.count)

    def archive(self, seconds: float) -> float:
        """Return the bytes that the archive of so many seconds may have."""
        return _FASTEST * seconds * self.pages.bytes * _ARCHIVED


@experiment
@click.option("--minutes", default=10, show_default=True, type=click.IntRange(min=2), help="Length of the measurement.")
@click.option("--places", default=200, show_default=True, help="Sites held at a time.")
@click.option("--threads", default=4, show_default=True, help="Threads of the machine.")
@click.option("--page-kb", default=8, show_default=True, help="Size of a page; large ones fill the disk.")
@click.option("--urls", default=Urls.NUMBERED.value, show_default=True, type=click.Choice([str(one) for one in Urls]))
def main(quick: bool, results: Path, minutes: int, places: int, threads: int, page_kb: int, urls: str) -> None:
    """Does a page cost more, and memory grow, the longer a crawl runs at full speed?"""
    count, length = (_QUICK_PIECES, _QUICK_SECONDS) if quick else (minutes, 60.0)
    site_pages = 100 if quick else _PAGES_OF_SITE
    load = Load(places, threads, Pages(site_pages, page_kb * 1_000, urls=Urls(urls)))
    rows = pieces(_crawl(load, Times(_WARM_UP, count * length)), count, length)
    for row in rows:
        click.echo(row_text(row))
    write_report(_report(rows, load, length), results)


def _crawl(load: Load, times: Times) -> Observed:
    room = shutil.disk_usage(tempfile.gettempdir()).free
    if load.archive(times.longest) > room:
        raise click.ClickException(f"{tempfile.gettempdir()} may be too small: {room / 1e9:.1f} GB are free")
    per_thread = -(-load.places // load.threads)
    settings = {"threads": load.threads, "seeds-per-thread": per_thread, "delay": 0, "export": False}
    with library() as books, serving(books, load.pages) as server:
        return watched(OWN, server, load.sites(times.longest), per_thread * load.threads, settings, times)


def pieces(seen: Observed, count: int, length: float) -> list[Row]:
    """Return a row for each of so many pieces of a measurement, each so many seconds long."""
    marks = [_at(seen.moments, seen.since + number_of * length) for number_of in range(count + 1)]
    return [_row(piece, seen.occupancy, *ends) for piece, ends in enumerate(pairwise(marks), 1)]


def _at(moments: Sequence[Moment], at: float) -> Moment:
    """Return the moment next to a time."""
    return min(moments, key=lambda moment: abs(moment.at - at))


def _row(piece: int, occupancy: Occupancy, first: Moment, last: Moment) -> Row:
    seconds = max(last.at - first.at, 0.001)
    pages = occupancy.pages(first.at, last.at)
    crawler, server = last.crawler - first.crawler, last.server - first.server
    return {
        _PIECE: piece,
        "pages": pages,
        "pages/s": pages / seconds,
        _CPU: 1e6 * crawler / max(pages, 1),
        "core %": 100 * crawler / seconds,
        _MEMORY: last.resident / MIB,
        "server us/page": 1e6 * server / max(pages, 1),
        OTHERS: all_cores(last.everybody - first.everybody - crawler - server, seconds),
    }


def _report(rows: Sequence[Row], load: Load, length: float) -> Report:
    second, last = rows[1], rows[-1]
    pages = sum(number(row, "pages") for row in rows)
    numbers = [number(row, _PIECE) for row in rows]
    return Report(
        "endurance",
        "At full speed for long",
        _PIECE,
        rows,
        [
            f"{load.places} places, {load.threads} threads, no delay; sites of {load.pages.count:,} pages of "
            f"{load.pages.bytes / 1000:.0f} KB on nginx, URLs {load.pages.urls}; {pages:,.0f} pages in all",
            f"a {_PIECE} here is {length:g} s; memory is that at its end",
            others_at_work(rows),
        ],
        [
            Claim(
                f"CPU a page, last {_PIECE} over the second",
                "goal",
                "at most 1.05",
                f"{number(last, _CPU) / max(number(second, _CPU), 0.001):.2f}",
            ),
            Claim(f"MiB that memory grows by from the second {_PIECE} to the last", "no goal", "-", _growth(rows)),
        ],
        [
            Plot(
                "What a page costs, and memory, over time",
                [
                    Panel("CPU a page", _PIECE, _CPU, [Line(_CPU, numbers, [number(row, _CPU) for row in rows])]),
                    Panel(
                        "resident memory",
                        _PIECE,
                        "MiB",
                        [Line(_MEMORY, numbers, [number(row, _MEMORY) for row in rows])],
                    ),
                ],
            )
        ],
    )


def _growth(rows: Sequence[Row]) -> str:
    return f"{number(rows[-1], _MEMORY) - number(rows[1], _MEMORY):.1f}"


if __name__ == "__main__":
    main()
