"""URL Distributor against free competition (paper 004, section 3.3, Figures 7 and 8).

python -m experiments.distributor_vs_free
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import fmean, median, pstdev

import click

from experiments.lab.command import experiment
from experiments.lab.crawls import Crawl, crawled
from experiments.lab.parallel import side_by_side
from experiments.lab.plots import Line, Panel
from experiments.lab.recording import Sample, between, last_time, mean_over_time, share, thinned
from experiments.lab.report import ROUND, Claim, Plot, Report, Row, row_text, write_report
from scrawler.synthweb.process import SynthServer
from scrawler.synthweb.spec import WebSpec

PROFILES = ("classic", "default")
DISTRIBUTIONS = ("distributor", "free")
_PAPER = "paper 004, section 3.3"
_HORIZON = 100.0  # seconds of which the paper's text to Figures 7 and 8 speaks ...
_SETTLED = 40.0  # ... and after which its distributor held the threads level
_STATED_GAIN, _STATED_SAVED = 0.347, 160.0  # of the download rate; minutes
_POINTS = 250  # of a plotted line


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is crawled, by how many threads.

    `delay` is that of the default profile, in seconds. The classic one has none: there a thread is the bottleneck.
    """

    sites: int
    max_pages: int
    latency_ms: float
    threads: int
    seeds_per_thread: int
    delay: float
    timeout: float

    def web(self, number: int) -> WebSpec:
        """Return the random web of a round: small pages, so that it is not the processor that limits."""
        return WebSpec(
            seed=number, sites=self.sites, mean_pages=3, max_pages=self.max_pages, page_bytes=2_000, links=5,
            latency_ms=self.latency_ms, hidden=0.0, alias_every=0,
        )  # fmt: skip


FULL = Scale(10_000, 600, 150, 20, 10, 0.4, 1800)
QUICK = Scale(40, 20, 25, 4, 3, 0.05, 30)


@dataclass(frozen=True, slots=True)
class Arm:
    """One crawl of a round: its figures; by seconds since its first request, what its threads held and its pages."""

    profile: str
    distribution: str
    row: Row
    held: list[tuple[float, tuple[int, ...]]]
    pages: tuple[list[float], list[int]]


@experiment
@click.option("--rounds", default=3, show_default=True, help="Random webs; on each, both ways at the same time.")
@click.option("--sites", default=FULL.sites, show_default=True, help="Sites of a web, one seed each.")
@click.option("--profile", "profiles", multiple=True, type=click.Choice(PROFILES), help="Leave the other one out.")
def main(quick: bool, results: Path, rounds: int, sites: int, profiles: Sequence[str]) -> None:
    """Does the URL Distributor finish sooner than free competition, and does it hold the threads level?"""
    scale, rounds = (QUICK, 1) if quick else (replace(FULL, sites=sites), rounds)
    arms: list[Arm] = []
    for number in range(1, rounds + 1):
        for profile in profiles or PROFILES:
            # At the same time, each with a server of its own: they wait more than they work, and share the machine's
            # good and bad minutes.
            arms += side_by_side(partial(_arm, number, scale, profile), DISTRIBUTIONS)
            for arm in arms[-len(DISTRIBUTIONS) :]:
                click.echo(row_text(arm.row))
    write_report(report(arms, scale), results)


def _arm(number: int, scale: Scale, profile: str, distribution: str) -> Arm:
    politeness = {"delay": 0} if profile == "classic" else {"delay": scale.delay, "delay_factor": 0}
    with SynthServer(scale.web(number)) as web, crawled(
        web, web.web.seeds(), timeout=scale.timeout, recording=True, profile=profile, distribution=distribution,
        threads=scale.threads, seeds_per_thread=scale.seeds_per_thread, robots=False, patience=0, export=False,
        **politeness,
    ) as crawl:  # fmt: skip
        if crawl.figures.timed_out:
            raise click.ClickException(f"{profile}, {distribution}: not finished after {scale.timeout:,.0f} s")
        samples = crawl.recording()
        if missing := missing_text(crawl, samples):
            raise click.ClickException(f"{profile}, {distribution}: {missing}, so that there is nothing to compare")
        row: Row = {ROUND: number, "arm": f"{profile}, {distribution}", **_figures(crawl, samples)}
        held = [(sample.at - crawl.started, sample.held) for sample in samples]
        return Arm(profile, distribution, row, held, crawl.pages_over_time(max(crawl.seconds / _POINTS, 0.1)))


def missing_text(crawl: Crawl, samples: Sequence[Sample]) -> str:
    """Say what the figures of a crawl cannot be without and is not there; empty if all is."""
    needed = (("no page was fetched", crawl.pages), ("nothing was recorded of the threads", samples))
    return " and ".join(text for text, there in needed if not there)


def _figures(crawl: Crawl, samples: Sequence[Sample]) -> dict[str, int | float]:
    answered = sorted(line.at - crawl.started for line in crawl.pages)
    first_idle = last_time(samples, lambda sample: min(sample.held) > 0) - crawl.started
    horizon = min(_HORIZON, crawl.seconds)
    early = bisect_right(answered, first_idle) / max(first_idle, 0.1)
    settled = between(samples, crawl.started + horizon * _SETTLED / _HORIZON, crawl.started + horizon)
    return {
        "pages": len(answered),
        "time s": crawl.seconds,
        "pages/s": len(answered) / crawl.seconds,
        "pages/s, 0-100 s": bisect_right(answered, horizon) / horizon,
        "all threads have seeds until s": first_idle,
        "pages/s until then": early,
        "seeds a thread, 40-100 s": mean_over_time(settled, lambda sample: fmean(sample.held)),
        "max - min, 40-100 s": mean_over_time(settled, _range),
        "max - min": mean_over_time(samples, _range),
        "deviation": mean_over_time(samples, lambda sample: pstdev(sample.held)),
        "threads without seeds %": 100 * mean_over_time(samples, lambda sample: 1 - share(sample.held)),
        "moves": samples[-1].moves,
        "CPU until then, % of one": 100 * early * crawl.figures.cpu / len(answered),
    }


def _range(sample: Sample) -> int:
    return max(sample.held) - min(sample.held)


# --- what it says ---------------------------------------------------------------------------------------------------


def report(arms: Sequence[Arm], scale: Scale) -> Report:
    """Return the report of all rounds."""
    profiles = list(dict.fromkeys(arm.profile for arm in arms))
    notes = [
        f"{scale.sites:,} sites a web; {scale.threads} threads of {scale.seeds_per_thread} seeds; mean latency "
        f"{scale.latency_ms:g} ms; delay {scale.delay:g} s in the default profile, none in the classic one"
    ]
    for profile in profiles:
        notes += _findings(profile, *(_rows(arms, profile, distribution) for distribution in DISTRIBUTIONS))
    first = [arm for arm in arms if arm.row[ROUND] == 1]
    plots = [_held_plot(profile, [arm for arm in first if arm.profile == profile]) for profile in profiles]
    return Report(
        "distributor_vs_free",
        "URL Distributor and free competition",
        "arm",
        [arm.row for arm in arms],
        notes,
        _claims(arms, profiles),
        [*plots, _pages_plot(profiles, first)],
        {f"held-{arm.profile}-{arm.distribution}": _held_rows(arm) for arm in first},
    )


def _rows(arms: Sequence[Arm], profile: str, distribution: str) -> list[Row]:
    return [arm.row for arm in arms if (arm.profile, arm.distribution) == (profile, distribution)]


def _median(rows: Sequence[Row], column: str) -> float:
    return median(float(row[column]) for row in rows)


def gains(column: str, dealt: Sequence[Row], free: Sequence[Row]) -> list[float]:
    """Return by what share the distributor had more of something than free competition, web by web."""
    return [float(one[column]) / float(other[column]) - 1 for one, other in zip(dealt, free, strict=True)]


def gain_text(values: Sequence[float]) -> str:
    """Say a gain: the median and, of several webs, the range."""
    text = _percent(median(values))
    return f"{text} ({_percent(min(values))} to {_percent(max(values))})" if len(values) > 1 else text


def _percent(share: float) -> str:
    return f"{100 * share:+.1f} %"


def _seconds(value: float) -> str:
    return f"{value:,.0f} s" if value >= 10 else f"{value:.1f} s"


def verdict(values: Sequence[float]) -> str:
    """Say in words who was faster, by the gains of all webs."""
    ahead = sum(value > 0 for value in values)
    if abs(median(values)) < 0.01:
        return "no difference worth the name"
    if ahead == len(values):
        return "the distributor was faster on every web"
    if ahead == 0:
        return "free competition was faster on every web"
    return f"the distributor was faster on {ahead} of {len(values)} webs"


def _findings(profile: str, dealt: Sequence[Row], free: Sequence[Row]) -> list[str]:
    """Say what came out in a profile, and where the difference lies: before or after the first thread runs dry."""
    gain, early = gains("pages/s", dealt, free), gains("pages/s until then", dealt, free)
    (dealt_until, free_until), (dealt_time, free_time) = (
        (_median(dealt, column), _median(free, column)) for column in ("all threads have seeds until s", "time s")
    )
    needed = dealt_time * (1 + _STATED_GAIN)
    return [
        f"{profile}: {verdict(gain)}, {gain_text(gain)} pages/s over the whole crawl",
        f"{profile}: while all threads had seeds, {gain_text(early)}; that was for {_seconds(dealt_until)} of "
        f"{_seconds(dealt_time)} with the distributor, {_seconds(free_until)} of {_seconds(free_time)} without",
        f"{profile}: for {_percent(_STATED_GAIN)} free competition would have to need {_seconds(needed)}; it needed "
        f"{_seconds(free_time)}",
    ]


def _claims(arms: Sequence[Arm], profiles: Sequence[str]) -> list[Claim]:
    claims = []
    for profile in profiles:
        dealt, free = (_rows(arms, profile, distribution) for distribution in DISTRIBUTIONS)
        saved = _median(free, "time s") - _median(dealt, "time s")
        whole = _STATED_SAVED / _STATED_GAIN * (1 + _STATED_GAIN) / 60  # hours: if both fetched the same pages
        claims += [
            Claim(
                f"download rate with the distributor, against free competition ({profile})",
                _PAPER, _percent(_STATED_GAIN), gain_text(gains("pages/s", dealt, free)),
            ),
            Claim(
                f"time saved ({profile})",
                _PAPER, f"2 h 40 min, of about {whole:.1f} h", f"{saved:,.1f} s of {_seconds(_median(free, 'time s'))}",
            ),
            Claim(
                f"seeds a thread, distributor, from 40 s on ({profile})", f"{_PAPER}, Figure 7",
                "about 9 of 10 on average", _held_text(dealt),
            ),
            Claim(
                f"seeds a thread, free competition, until 100 s ({profile})", f"{_PAPER}, Figure 8",
                "1 at T0 until 60 s, 10 at T18 after 100 s", _held_text(free),
            ),
        ]  # fmt: skip
    return claims


def _held_text(rows: Sequence[Row]) -> str:
    held, between_threads = (_median(rows, f"{what}, 40-100 s") for what in ("seeds a thread", "max - min"))
    return f"{held:.1f} on average, {between_threads:.1f} between the threads with most and fewest"


def _held_rows(arm: Arm) -> list[Row]:
    return [
        {"s": round(at, 2)} | {f"T{thread}": round(count, 2) for thread, count in enumerate(counts)}
        for at, counts in thinned(arm.held, _POINTS)
    ]


def _held_plot(profile: str, arms: Sequence[Arm]) -> Plot:
    panels = []
    for arm in arms:
        points = thinned(arm.held, _POINTS)
        times, by_thread = [at for at, _ in points], list(zip(*(counts for _, counts in points), strict=True))
        lines = [Line(f"T{thread}", times, counts, faint=True) for thread, counts in enumerate(by_thread)]
        average = Line("average", times, [fmean(counts) for _, counts in points], bold=True)
        panels.append(Panel(f"{profile}, {arm.distribution}", "time in s", "seeds held by a thread", [*lines, average]))
    return Plot(f"Seeds held by each thread, {profile} profile", panels, profile, share_y=True)


def _pages_plot(profiles: Sequence[str], arms: Sequence[Arm]) -> Plot:
    panels = [
        Panel(
            profile,
            "time in s",
            "pages",
            [
                Line(arm.distribution, *arm.pages, dashed=arm.distribution == "free")
                for arm in arms
                if arm.profile == profile
            ],
        )
        for profile in profiles
    ]
    return Plot("Pages over time", panels, "pages")


if __name__ == "__main__":
    main()
