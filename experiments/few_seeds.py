"""Few seeds and idle threads (paper 003, section 3.1), with the URL Distributor and without (paper 004, section 3.3).

python -m experiments.few_seeds
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from statistics import median

import click

from experiments.lab.command import experiment
from experiments.lab.crawls import Crawl, crawled
from experiments.lab.plots import Line, Panel
from experiments.lab.recording import Sample, between, mean_over_time, share, thinned
from experiments.lab.report import ROUND, Claim, Plot, Report, Row, medians, row_text, write_report
from scrawler.features.synthweb.process import LoggedRequest, SynthServer
from scrawler.features.synthweb.spec import WebSpec
from scrawler.features.synthweb.web import SyntheticWeb

_PAPER = "paper 003, section 3.1"
NO_DELAY, POLITE = "no delay", "polite"  # of the default profile
CLASSIC, FREE = "classic", "classic, free"  # no delay either; with the distributor, and in free competition
_UNSTEADY = (POLITE, FREE)  # in the others a thread with seeds has requests, too, all the time
_TIMEOUT = 300.0
_POINTS = 12  # of a line over time
_ENOUGH = 0.9  # of the best speed


@dataclass(frozen=True, slots=True)
class Scale:
    """What is crawled, in which ways, with how many seeds and threads; times in seconds.

    A crawl is watched for `period`, from `warm_up` after its first request on; then its seeds end by their max_time.
    """

    ways: tuple[str, ...]
    seeds: tuple[int, ...]
    threads: int
    seeds_per_thread: int
    latency: float
    delay: float  # of the polite way
    warm_up: float
    period: float

    def web(self) -> WebSpec:
        """Return a web of sites with more pages than can be fetched meanwhile, many more sites than seeds."""
        return WebSpec(
            sites=10 * max(self.seeds), mean_pages=2_000, equal=True, page_bytes=2_000, links=8,
            latency_ms=1000 * self.latency, hidden=0.0,
        )  # fmt: skip


FULL = Scale((NO_DELAY, POLITE, CLASSIC, FREE), (1, 2, 5, 10, 20, 50, 100, 150, 200, 400), 20, 10, 0.4, 1.0, 4, 15)
QUICK = Scale((CLASSIC, FREE), (1, 6), 4, 2, 0.05, 0.2, 0.5, 1)


@dataclass(frozen=True, slots=True)
class Arm:
    """One crawl: its figures, and the share of its threads with requests in flight over time."""

    way: str
    seeds: int
    row: Row
    busy: list[tuple[float, list[float]]]


@experiment
@click.option("--rounds", default=3, show_default=True, help="Turns of each crawl; not with --quick.")
def main(quick: bool, results: Path, rounds: int) -> None:
    """How many threads are idle, and how slow is the crawl, when there are few seeds?"""
    scale, rounds = (QUICK, 1) if quick else (FULL, rounds)
    arms = []
    with SynthServer(scale.web()) as web:
        seeds = alike(web.web, max(scale.seeds))
        for turn, number, way in product(range(1, rounds + 1), scale.seeds, scale.ways):
            arms.append(_arm(turn, web, scale, way, seeds[:number]))
            click.echo(row_text(arms[-1].row))
    write_report(report(arms, scale), results)


def alike(web: SyntheticWeb, number: int) -> list[str]:
    """Return the home pages of so many sites whose latencies are the nearest to the mean: one is as good as another."""
    mean = web.spec.latency_ms / 1000
    sites = sorted(range(web.spec.sites), key=lambda site: abs(web.site(site).latency_s - mean))
    return [url for site in sites[:number] for url in web.seeds_of(site)]


def _arm(turn: int, web: SynthServer, scale: Scale, way: str, seeds: Sequence[str]) -> Arm:
    until = scale.warm_up + scale.period
    with crawled(
        web, seeds, timeout=_TIMEOUT, recording=True, threads=scale.threads, seeds_per_thread=scale.seeds_per_thread,
        profile="classic" if way in (CLASSIC, FREE) else "default", delay=scale.delay if way == POLITE else 0,
        distribution="free" if way == FREE else "distributor",
        robots=False, max_time=until + 0.5, export=False,
    ) as crawl:  # fmt: skip
        recording = between(crawl.recording(), crawl.started, crawl.started + until)
        samples = between(recording, crawl.started + scale.warm_up, crawl.started + until)
        name = f"{way}, {len(seeds)}"
        row: Row = {ROUND: turn, "arm": name, "seeds": len(seeds), **_figures(crawl, samples, scale)}
        busy = thinned([(one.at - crawl.started, [100 * share(one.in_flight)]) for one in recording], _POINTS)
        return Arm(way, len(seeds), row, busy)


def _figures(crawl: Crawl, samples: Sequence[Sample], scale: Scale) -> dict[str, int | float]:
    since = crawl.started + scale.warm_up
    until = since + scale.period
    return {
        "pages/s": sum(since <= line.at < until for line in crawl.pages) / scale.period,
        "most seeds a thread": mean_over_time(samples, lambda sample: max(sample.held)),
        "threads with seeds %": 100 * mean_over_time(samples, lambda sample: share(sample.held)),
        "threads with requests %": 100 * mean_over_time(samples, lambda sample: share(sample.in_flight)),
        "requests at the server": in_work(crawl.requests, since, until),
        "CPU, % of one": 100 * crawl.figures.cpu / crawl.figures.wall,
    }


def in_work(requests: Sequence[LoggedRequest], since: float, until: float) -> float:
    """Return how many requests the server had in work at a time, on average between two times."""
    return sum(max(0.0, min(line.at, until) - max(line.came, since)) for line in requests) / (until - since)


# --- what it says ---------------------------------------------------------------------------------------------------


def typical(arms: Sequence[Arm]) -> list[Arm]:
    """Return one arm for all turns of each: with the medians of its figures, and over time as in the first turn."""
    middle = {str(row["arm"]): row for row in medians("arm", [arm.row for arm in arms])}
    return [replace(arm, row=middle[str(arm.row["arm"])]) for arm in arms if arm.row[ROUND] == 1]


def report(all_arms: Sequence[Arm], scale: Scale) -> Report:
    """Return the report of all crawls."""
    arms = typical(all_arms)
    timed = [way for way in scale.ways if way in _UNSTEADY]
    return Report(
        "few_seeds",
        "Few seeds and idle threads",
        "arm",
        [arm.row for arm in all_arms],
        [
            f"{scale.threads} threads of {scale.seeds_per_thread} seeds; latency about {scale.latency:g} s; delay "
            f"{scale.delay:g} s in the polite way; {scale.period:g} s of each crawl",
            *(_speed_text(_of(arms, way)) for way in scale.ways),
        ],
        [*_idle_claims(arms, scale), _gain_claim(all_arms)],
        [
            Plot(
                "Threads at work and pages/s, by the number of seeds",
                [_threads_panel(arms, scale), _speed_panel(arms, scale)],
            ),
            Plot("Threads at work over time", [_time_panel(_of(arms, way)) for way in timed], "time", share_y=True),
        ],
        {"time": [row for way in timed for arm in _of(arms, way) for row in _time_rows(arm)]},
    )


def _of(arms: Sequence[Arm], way: str) -> list[Arm]:
    return [arm for arm in arms if arm.way == way]


def _value(arm: Arm, column: str) -> float:
    return float(arm.row[column])


def enough(speeds: Mapping[int, float]) -> int:
    """Return the smallest number of seeds with which nearly the best speed is reached."""
    best = max(speeds.values())
    return min(number for number, speed in speeds.items() if speed >= _ENOUGH * best)


def _speed_text(arms: Sequence[Arm]) -> str:
    speeds = {arm.seeds: _value(arm, "pages/s") for arm in arms}
    number = enough(speeds)
    return (
        f"{arms[0].way}: {speeds[arms[0].seeds]:.1f} pages/s with {_seeds(arms[0].seeds)}, {max(speeds.values()):.1f} "
        f"at best; {_ENOUGH:.0%} of that needs {_seeds(number)} ({speeds[number]:.1f})"
    )


def _seeds(number: int) -> str:
    return f"{number} seed{'s' * (number != 1)}"


def gains(arms: Sequence[Arm]) -> dict[int, list[float]]:
    """Return by what share the distributor was faster than free competition in each turn, by the number of seeds.

    Turns in which free competition fetched nothing are left out.
    """
    speeds = {(arm.way, arm.seeds, arm.row[ROUND]): _value(arm, "pages/s") for arm in arms}
    found: dict[int, list[float]] = {}
    for (way, number, turn), speed in speeds.items():
        if way == CLASSIC:
            of_number = found.setdefault(number, [])
            if free := speeds[FREE, number, turn]:
                of_number.append(speed / free - 1)
    return found


def _idle_text(arms: Sequence[Arm], scale: Scale) -> str:
    """Say how many threads are without seeds, up to the number of seeds with which none is."""
    idle = {arm.seeds: round(scale.threads * (1 - _value(arm, "threads with seeds %") / 100), 1) for arm in arms}
    least = next((number for number, threads in idle.items() if not threads), max(idle))
    return ", ".join(f"{threads:g} with {_seeds(number)}" for number, threads in idle.items() if number <= least)


def _idle_claims(arms: Sequence[Arm], scale: Scale) -> list[Claim]:
    return [
        Claim(
            f"idle threads of {scale.threads} ({way})", _PAPER, "a large number, if there are few initial URLs",
            _idle_text(_of(arms, way), scale),
        )
        for way in (scale.ways[0], FREE)
    ]  # fmt: skip


def _gain_claim(arms: Sequence[Arm]) -> Claim:
    parts = []
    for number, values in gains(arms).items():
        if not values:
            parts.append(f"not to be said with {_seeds(number)}, as free competition fetched nothing")
            continue
        low, middle, high = (f"{100 * value:+.0f}" for value in (min(values), median(values), max(values)))
        parts.append(f"{middle}{f' ({low} to {high})' * (len(values) > 1)} % with {_seeds(number)}")
    return Claim(
        "pages/s with the distributor, against free competition (classic)", "paper 004, section 3.3",
        "+34.7 %, with 10,000 seeds", ", ".join(parts),
    )  # fmt: skip


def _line(arms: Sequence[Arm], name: str, column: str, bold: bool = False) -> Line:
    numbers, values = [arm.seeds for arm in arms], [_value(arm, column) for arm in arms]
    return Line(name, numbers, values, points=True, bold=bold)


def _threads_panel(arms: Sequence[Arm], scale: Scale) -> Panel:
    lines = [_line(_of(arms, scale.ways[0]), f"with seeds, {scale.ways[0]}", "threads with seeds %", bold=True)]
    for way in scale.ways:
        if way in _UNSTEADY:
            lines.append(_line(_of(arms, way), f"with requests, {way}", "threads with requests %"))
    return Panel("threads at work", "seeds", "% of the threads", lines, log_x=True)


def _speed_panel(arms: Sequence[Arm], scale: Scale) -> Panel:
    lines = [_line(_of(arms, way), way, "pages/s") for way in scale.ways]
    return Panel("speed", "seeds", "pages/s", lines, log_x=True, log_y=True)


def _time_rows(arm: Arm) -> list[Row]:
    return [{"arm": arm.row["arm"], "s": round(at, 2), "threads with requests %": value} for at, (value,) in arm.busy]


def _time_panel(arms: Sequence[Arm]) -> Panel:
    lines = [Line(_seeds(arm.seeds), [at for at, _ in arm.busy], [value for _, (value,) in arm.busy]) for arm in arms]
    return Panel(arms[0].way, "time in s", "threads with requests, %", lines)


if __name__ == "__main__":
    main()
