"""What seen filters cost, and which pages they lose: python -m experiments.seen_filter."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from statistics import fmean

import click

from experiments.lab import seen_rate
from experiments.lab.command import experiment
from experiments.lab.crawls import crawled
from experiments.lab.plots import Line, Panel
from experiments.lab.report import MIB, Claim, Plot, Report, Row, row_text, write_report
from experiments.lab.seen_cost import Cost, expected_lost, measured
from scrawler.core.seen import ERROR_RATE
from scrawler.features.synthweb.process import SynthServer
from scrawler.features.synthweb.spec import WebSpec
from scrawler.features.synthweb.truth import party

Sizes = dict[str, tuple[int, ...]]

MILLION = 1_000_000
_RATES = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7)
_SIZES: Sizes = {
    "compact": (10**4, 10**5, 10**6, 10**7),
    "rbloom": (10**4, 10**5, 10**6, 10**7),
    "pybloom": (10**4, 10**5, 10**6),
    "exact": (10**4, 10**5, 10**6, 10**7),
}
_WITHOUT_RATE = ("compact", "exact")
_PARTIES = 20  # of a million pages each
_CRAWL_RATES = (0.3, 0.1, 1e-2, 1e-3, ERROR_RATE)
_PAGES = 20_000  # of the crawled site
_TIMEOUT = 180.0
_QUICK_SIZES: Sizes = {"compact": (10**4,), "rbloom": (10**4,), "pybloom": (10**4,), "exact": (10**4,)}
_QUICK_RATES = (1e-2, ERROR_RATE)
_QUICK_CRAWL_RATES = (0.3,)
_QUICK_PAGES = 1_500


@experiment
def main(quick: bool, results: Path) -> None:
    """What do Bloom filters of seen URLs save, and what do they lose?"""
    rates, sizes = (_QUICK_RATES, _QUICK_SIZES) if quick else (_RATES, _SIZES)
    rows = list(_shown(_filters(rates, sizes)))
    urls, parties = (10**5, 2) if quick else (MILLION, _PARTIES)
    lost = [measured("rbloom", ERROR_RATE, urls, f"www{number}.large.example").lost for number in range(parties)]
    crawls = list(_shown(_crawls(_QUICK_CRAWL_RATES if quick else _CRAWL_RATES, _QUICK_PAGES if quick else _PAGES)))
    report = Report(
        "seen_filter",
        "Seen filters: cost, and pages lost",
        "filter",
        rows,
        _notes(),
        _claims(rows, urls, lost),
        [Plot("memory, time and lost URLs of seen filters", _panels(rows, crawls))],
        {"crawls": crawls},
        {"Crawls of one site with other error rates (rbloom)": crawls},
    )
    write_report(report, results)


def _shown(rows: Iterable[Row]) -> Iterator[Row]:
    for row in rows:
        click.echo(row_text(row))
        yield row


def _filters(rates: Sequence[float], sizes: Sizes) -> Iterator[Row]:
    """Measure each filter with each rate and size; some have no rate that could be chosen."""
    for name, numbers in sizes.items():
        for rate in rates if name not in _WITHOUT_RATE else (0.0,):
            for urls in numbers:
                yield _row(name, rate, urls, measured(name, rate, urls))


def _row(name: str, rate: float, urls: int, cost: Cost) -> Row:
    return {
        "filter": f"{name}{f' {rate:.0e}' if rate else ''}, {urls:,} URLs",
        "part": name,
        "error rate": f"{rate:.0e}" if rate else "0",
        "URLs": urls,
        "MiB": cost.resident / MIB,
        "bytes/URL": cost.resident / urls,
        "reserved MiB": cost.reserved / MIB,
        "ns an add": cost.add,
        "ns a known URL": cost.known,
        "ns a look-up": cost.look_up,
        "lost": cost.lost,
        "lost, computed": expected_lost(urls, rate),
        "new URLs taken for seen, %": cost.false_positives * 100,
    }


def _crawls(rates: Sequence[float], pages: int) -> Iterator[Row]:
    """Crawl one large site with each rate, and with the exact set, and hold the pages against the truth."""
    spec = WebSpec(sites=1, mean_pages=pages, equal=True, page_bytes=2_000, links=8, hidden=0.0)
    with SynthServer(spec) as web:
        (seed,) = web.web.seeds()
        found = party(web.web, seed)
        for rate in (*rates, 0.0):
            share = expected_lost(len(found.requested), rate) / len(found.requested)
            instead = [sys.executable, str(seen_rate.__file__), str(rate)] if rate else []
            part = "rbloom" if rate else "exact"
            with crawled(
                web, [seed], timeout=_TIMEOUT, instead=instead, seen=part, threads=1, max_depth=1_000
            ) as crawl:
                got = {line.url for line in crawl.pages}
            yield {
                "filter": part,
                "error rate": f"{rate:g}",
                "pages": len(found.pages),
                "lost": len(found.pages - got),
                "lost, computed": len(found.pages) * share,
                "lost, %": 100 * len(found.pages - got) / len(found.pages),
                "complete": "no" if crawl.figures.timed_out else "yes",
            }


def _claims(rows: Sequence[Row], urls: int, lost: Sequence[int]) -> list[Claim]:
    most = _most(rows)
    own = {row["part"]: row for row in rows if row["URLs"] == most and row["error rate"] in ("0", f"{ERROR_RATE:.0e}")}

    def times(column: str, one: str, other: str) -> str:
        return f"{float(own[one][column]) / float(own[other][column]):.1f}"

    return [
        Claim(
            "pages that a party of 1,000,000 loses to SCrawler's own choice, computed",
            "goal",
            "at most 1",
            f"{expected_lost(MILLION, ERROR_RATE):.2f}",
        ),
        Claim(
            f"the same measured, URLs lost of a million (mean of {len(lost)} parties of {urls:,})",
            "goal",
            "at most 1",
            f"{fmean(lost) * MILLION / urls:.2f}",
        ),
        Claim(f"memory of {most:,} URLs, exact set over rbloom", "no goal", "-", times("MiB", "exact", "rbloom")),
        Claim(f"memory of {most:,} URLs, compact over rbloom", "no goal", "-", times("MiB", "compact", "rbloom")),
        Claim(
            f"time an add, rbloom over compact, {most:,} URLs", "no goal", "-", times("ns an add", "rbloom", "compact")
        ),
        Claim(
            f"time an add, pybloom over rbloom, {most:,} URLs", "no goal", "-", times("ns an add", "pybloom", "rbloom")
        ),
        Claim(
            f"time an add, rbloom over exact set, {most:,} URLs", "no goal", "-", times("ns an add", "rbloom", "exact")
        ),
    ]


def _notes() -> list[str]:
    return [
        "filters: scrawler.core.seen with its layers; each measurement in a process of its own; MiB: what that "
        "process grew by; reserved: what the filter took from seen_memory; the exact set holds the URLs themselves, "
        "and the compact one, which is the default, 48 bits of the hash of each",
        "an add: CPU of adding a new URL, in lists of 1,000; a known URL: of adding one again; a look-up: of asking "
        "for a new one; lost: different URLs that were taken for seen when they were added",
        "crawls: one synthetic site; computed: without the pages that only lost pages link to",
        "paper 004, section 3, names a Bloom filter for a party's URLs and gives no figures",
    ]


def _panels(rows: Sequence[Row], crawls: Sequence[Row]) -> list[Panel]:
    most, own = _most(rows), f"{ERROR_RATE:.0e}"
    large = {part: [row for row in rows if row["part"] == part and row["URLs"] == most] for part in _SIZES}
    grown = {part: [row for row in rows if row["part"] == part and row["error rate"] in ("0", own)] for part in _SIZES}
    bytes_exact = float(large["exact"][0]["bytes/URL"])
    memory = [
        _line("rbloom", large["rbloom"], "error rate", "bytes/URL", bold=True),
        _line("pybloom", large["pybloom"], "error rate", "bytes/URL"),
        Line("exact", (min(_RATES), max(_RATES)), (bytes_exact, bytes_exact), dashed=True),
    ]
    time = [
        _line(f"{part}, {title}", grown[part], "URLs", column, bold=part == "rbloom", dashed=title == "known URL")
        for part in _SIZES
        for title, column in (("add", "ns an add"), ("known URL", "ns a known URL"))
    ]
    filled = [
        {**row, "share": float(row["lost"]) / most, "computed": float(row["lost, computed"]) / most}
        for row in large["rbloom"]
    ]
    site = [{**row, "share": float(row["lost, %"]) / 100} for row in crawls]
    lost = [
        _line(f"{most:,} URLs", filled, "error rate", "share", bold=True),
        _line(f"{most:,} URLs, computed", filled, "error rate", "computed", dashed=True),
        _line("pages of a crawl", site, "error rate", "share"),
    ]
    return [
        Panel(f"memory, {most:,} URLs", "error rate", "bytes a URL", memory, log_x=True),
        Panel(f"time, error rate {own}", "URLs", "ns of CPU", time, log_x=True, log_y=True),
        Panel("lost (none where there is no point)", "error rate", "share", lost, log_x=True, log_y=True),
    ]


def _line(name: str, rows: Sequence[Row], x: str, y: str, *, bold: bool = False, dashed: bool = False) -> Line:
    """Return a line through what rows say of x and y; on a logarithmic axis 0 has no place."""
    points = [(float(row[x]), float(row[y])) for row in rows if float(row[y])]
    return Line(name, [point[0] for point in points], [point[1] for point in points], bold, dashed=dashed, points=True)


def _most(rows: Sequence[Row]) -> int:
    """Return the largest number of URLs that all filters had."""
    return min(max(int(row["URLs"]) for row in rows if row["part"] == part) for part in _SIZES)


if __name__ == "__main__":
    main()
