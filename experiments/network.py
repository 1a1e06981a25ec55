"""How fast a crawl is on narrow and on long lines: python -m experiments.network."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import groupby
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

import click

from experiments.lab.command import experiment
from experiments.lab.crawls import crawled
from experiments.lab.meter import Meter, cpu_counters, others_at_work
from experiments.lab.plots import Line, Panel
from experiments.lab.report import Claim, Plot, Report, Row, number, row_text, write_report
from experiments.lab.scrawler_command import DATABASE
from scrawler.features.synthweb.process import SynthServer
from scrawler.features.synthweb.spec import WebSpec

MB = 1_000_000
PAGE_BYTES = 32_000
_SEEDS_PER_THREAD = 10
PLACES = 20 * _SEEDS_PER_THREAD  # the program's own defaults
WEB = WebSpec(mean_pages=250, equal=True, page_bytes=PAGE_BYTES, hidden=0.0, latency_spread=0.0)
CAPS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)  # MB/s
LATENCIES = (0, 25, 50, 100, 200, 400, 800)  # milliseconds
_START = 3.0  # seconds until a crawl has begun
_TAIL = 1.0  # seconds at the end of a crawl, of which not all is in the database
_LONGEST_RAMP = 20.0
_ANSWERED = "SELECT (fetched_at + elapsed_ms) / 1000.0, length, result FROM page WHERE status > 0"  # when it had come

# What is set beside the defaults on narrow lines; name -> settings.
MANNERS: Mapping[str, Mapping[str, Any]] = {
    "polite": {"delay": 1},
    "polite, no slow lane": {"delay": 1, "patience": 0},
    "no pauses, no slow lane": {"delay": 0, "patience": 0},
}


@dataclass(frozen=True)
class Trial:
    """One crawl, of which `window` seconds or more count: on a line of `cap` MB/s (0: no limit), `latency` ms away."""

    name: str
    settings: Mapping[str, Any]
    window: float
    cap: float = 0.0
    latency: float = 0.0
    places: int = PLACES

    @property
    def ramp(self) -> float:
        """Seconds before the window, for the places to spread out."""
        return min(self.seconds, _LONGEST_RAMP)

    @property
    def seconds(self) -> float:
        """Length of the window, longer on a line so narrow that filling all places once takes long."""
        return max(self.window, 3 * self.places * PAGE_BYTES / (self.cap * MB) if self.cap else 0.0)


class Answered(NamedTuple):
    """A URL that was answered, in the database of a crawl."""

    at: float  # seconds since 1970
    length: int  # bytes of its body
    result: str


@experiment
@click.option("--window", default=20.0, show_default=True, help="Seconds of each crawl that count.")
def main(quick: bool, results: Path, window: float) -> None:
    """How fast is a crawl behind caps on bandwidth and behind latency, and how much of the line does it use?"""
    caps: Sequence[float] = (4.0,) if quick else CAPS
    latencies = (100,) if quick else LATENCIES
    manners = list(MANNERS)[-1:] if quick else list(MANNERS)
    window = 1.5 if quick else window
    few = PLACES // 4
    places = few if quick else PLACES
    narrow = [Trial(name, MANNERS[name], window, cap=cap, places=places) for name in manners for cap in caps]
    long = [
        Trial(f"{places} places", {"delay": 0, "patience": 0}, window, latency=latency, places=places)
        for places in ((few,) if quick else (few, PLACES))
        for latency in latencies
    ]
    rows = [_measure(trial) for trial in narrow + long]
    capped, far = rows[: len(narrow)], rows[len(narrow) :]
    report = Report(
        "network",
        "Narrow and long lines",
        "crawl",
        rows,
        [*conditions(window, sorted({trial.places for trial in narrow + long})), *findings(capped, far)],
        claims(capped),
        _plots(capped, far),
    )
    write_report(report, results)


def _measure(trial: Trial) -> Row:
    spec = replace(WEB, sites=2 * trial.places, bandwidth=round(trial.cap * MB), latency_ms=trial.latency)
    with SynthServer(spec) as web:
        meter = Meter(cpu_counters({"server": [web.pid]}))
        with crawled(
            web,
            web.web.seeds(),
            timeout=_START + trial.ramp + trial.seconds + _TAIL,
            sampler=meter.sampler,
            threads=trial.places // _SEEDS_PER_THREAD,
            seeds_per_thread=_SEEDS_PER_THREAD,
            checkpoint_interval=0.5,
            **trial.settings,
        ) as crawl:
            answers, put_off = answered(crawl.folder / DATABASE)
    until = max((answer.at for answer in answers), default=0.0) - _TAIL
    since = until - trial.seconds
    counted = [answer for answer in answers if since <= answer.at < until]
    pages = sum(answer.result == "fetched" for answer in counted)
    rate, speed = len(counted) / trial.seconds, sum(answer.length for answer in counted) / trial.seconds / MB
    row: Row = {
        "crawl": f"{trial.name}, {trial.cap:g} MB/s" if trial.cap else f"{trial.name}, {trial.latency:g} ms",
        "manner": trial.name,
        "places": trial.places,
        "cap MB/s": trial.cap,
        "latency ms": trial.latency,
        "pages/s": pages / trial.seconds,
        "answers/s": rate,
        "MB/s": speed,
        "% of the line": 100 * speed / trial.cap if trial.cap else "",
        "% of places / latency": 100 * rate * trial.latency / 1000 / trial.places if trial.latency else "",
        "put off an answer": put_off / max(len(answers), 1),
        **meter.shares(since, until),
    }
    click.echo(row_text(row))
    return row


def answered(file: Path) -> tuple[list[Answered], int]:
    """Return what came of the URLs of a crawl, and how many times one was put off to the slow lane."""
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as connection:
        answered = connection.execute(_ANSWERED)
        slowed = connection.execute("SELECT SUM(slowed) FROM seed").fetchone()[0]
        return [Answered(*row) for row in answered], slowed or 0


def findings(capped: Sequence[Row], far: Sequence[Row]) -> list[str]:
    """Say in words what the figures are."""
    notes = []
    for manner, rows in _by_manner(capped):
        most = (
            number(rows[0], "places") * PAGE_BYTES / MB / delay if (delay := float(MANNERS[manner]["delay"])) else inf
        )
        group = [row for row in rows if number(row, "cap MB/s") <= most]
        full = [row for row in group if number(row, "% of the line") >= 90]
        worst = min(group, key=lambda row: number(row, "% of the line"))
        filled = "at " + ", ".join(f"{row['cap MB/s']:g}" for row in full) + " MB/s" if full else "at no cap"
        share, given_up = number(worst, "% of the line"), number(worst, "put off an answer")
        notes.append(
            f"{manner}: 90 % or more of the line is used {filled}; least at {worst['cap MB/s']:g} MB/s, "
            f"{share:.0f} %, where {given_up:.2f} requests were given up and put off for each answer"
            + (f"; wider lines than {most:g} MB/s are not filled because of the pauses" if most < inf else "")
        )
    for manner, group in _by_manner([row for row in far if row["latency ms"]]):
        near = [row for row in group if number(row, "% of places / latency") >= 90]
        bound = f"from {min(number(row, 'latency ms') for row in near):g} ms on" if near else "nowhere"
        notes.append(f"{manner}: latency alone is the limit (90 % of places / latency) {bound}")
    return [*notes, others_at_work([*capped, *far])]


def claims(capped: Sequence[Row]) -> list[Claim]:
    """Put the papers' lines beside ours of the same width."""
    return [
        Claim(
            f"pages/s on a line of 2 MB/s, ours of {PAGE_BYTES // 1000} kB",
            "paper 002, Tables I and II",
            "13.96 (2 nodes), 15.79 (3), 19.27 (4); later 43.80 (4); size of pages not stated, below 46 kB if 43.80",
            _at(capped, 2.0),
        ),
        Claim(
            f"pages/s on a line of 4 Mbit/s (0.5 MB/s), ours of {PAGE_BYTES // 1000} kB",
            "paper 003, 5.1 and Table 2",
            "fetch 5.38, 6.30, 8.43; size of pages not stated, below 60 kB if 8.43",
            _at(capped, 0.5),
        ),
    ]


def _at(capped: Sequence[Row], cap: float) -> str:
    here = [
        f"{row['manner']}: {number(row, 'pages/s'):.1f} ({number(row, '% of the line'):.0f} % of the line)"
        for row in capped
        if row["cap MB/s"] == cap
    ]
    return "; ".join(here) or "not measured"


def conditions(window: float, places: Sequence[int]) -> list[str]:
    """Say how it was measured: with so many seconds and these numbers of places."""
    threads = " or ".join(f"{number // _SEEDS_PER_THREAD} threads ({number} places)" for number in places)
    return [
        f"{threads} of {_SEEDS_PER_THREAD} seeds each; pages of {PAGE_BYTES:,} bytes on the average; "
        f"{window:g} s of each crawl count, on narrow lines as many as fill all places three times",
        "the cap holds for what the server sends, over all connections, which take turns of 8 KiB; MB/s: bodies of "
        "answers that came whole, 1 MB = 10^6 bytes; pages: those with 200; polite: a pause of 1 s or twice the last "
        "answer's time",
        "latency: before each answer, the same for all sites; without pauses, so that places / latency is the most",
        "put off an answer: requests given up after `patience` (3 s) and put off to the slow lane, for each answer "
        "that came; CPU: share of all cores",
    ]


def _plots(capped: Sequence[Row], far: Sequence[Row]) -> list[Plot]:
    caps = sorted({number(row, "cap MB/s") for row in capped})
    groups = _by_manner(capped)
    speeds = [Line("the line", caps, caps, dashed=True, bold=True)] + [
        _line(name, rows, "cap MB/s", "MB/s") for name, rows in groups
    ]
    shares = [_line(name, rows, "cap MB/s", "% of the line") for name, rows in groups]
    rates = [_line(name, rows, "latency ms", "answers/s") for name, rows in _by_manner(far)]
    bounds = [
        Line(f"{name} / latency", [number(r, "latency ms") for r in rows], [_most(r) for r in rows], dashed=True)
        for name, rows in _by_manner([row for row in far if row["latency ms"]])
    ]
    axis = "bandwidth in MB/s"
    return [
        Plot(
            "Speed on narrow lines",
            [
                Panel("Speed", axis, "MB/s of whole answers", speeds, log_x=True, log_y=True),
                Panel("Use of the line", axis, "% of the line", shares, log_x=True),
            ],
            "bandwidth",
        ),
        Plot(
            "Speed on long lines",
            [Panel("Latency", "latency in ms", "answers/s", rates + bounds, log_y=True)],
            "latency",
        ),
    ]


def _line(name: str, rows: Sequence[Row], x: str, y: str) -> Line:
    return Line(name, [number(row, x) for row in rows], [number(row, y) for row in rows], points=True)


def _most(row: Row) -> float:
    """Return the answers/s that places / latency would be."""
    return number(row, "answers/s") * 100 / max(number(row, "% of places / latency"), 0.01)


def _by_manner(rows: Sequence[Row]) -> list[tuple[str, list[Row]]]:
    return [(str(name), list(group)) for name, group in groupby(rows, key=lambda row: row["manner"])]


if __name__ == "__main__":
    main()
