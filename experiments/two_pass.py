"""What two passes do where some pages are slow: python -m experiments.two_pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf
from pathlib import Path

import click

from experiments.lab.command import experiment
from experiments.lab.crawls import crawled
from experiments.lab.meter import ENOUGH, OTHERS, Meter, cpu_counters
from experiments.lab.parallel import side_by_side
from experiments.lab.plots import Line, Panel
from experiments.lab.report import Claim, Plot, Report, Row, number, row_text, write_report
from experiments.lab.slow_pages import PATIENCE, Course, Pass, Trial
from experiments.lab.waits import waited
from scrawler.features.synthweb.process import SynthServer
from scrawler.features.synthweb.spec import WebSpec
from scrawler.features.synthweb.truth import party
from scrawler.features.synthweb.web import SyntheticWeb

WEB = WebSpec(
    sites=120,
    mean_pages=25,
    equal=True,
    page_bytes=4_000,
    hidden=0.0,
    latency_ms=100,
    latency_spread=0.0,
    slow_share=0.08,
    slow_sites=0.2,
    slow_ms=8_000,
)
TIMEOUT = 20.0  # seconds of the only or the second pass
DELAY, SLOW_DELAY = 0.5, 3.0  # between two requests to a site
THREADS: Mapping[str, int] = {"default": 3, "classic": 12}  # profile -> threads, of 10 seeds each
SEEDS_PER_THREAD = 10
_KILL_AFTER = 900.0  # seconds
_STEP, _SMOOTH = 1.0, 6  # seconds of the plots, and how many of them are drawn as one


ONE_PASS = Pass("one pass", patience=0.0)
WAYS = (
    ONE_PASS,
    Pass("party", settings={"slow_pass": "party"}),
    Pass("crawl", settings={"slow_pass": "crawl"}),
    Pass("crawl, 8 at a time", settings={"slow_pass": "crawl", "slow_per_site": 8}),
)


@experiment
@click.option("--sites", default=WEB.sites, show_default=True, help="Sites of the web.")
@click.option("--scale", default=1.0, show_default=True, help="Makes all times of slow pages shorter, or longer.")
def main(quick: bool, results: Path, sites: int, scale: float) -> None:
    """What does it bring to put slow pages off, at the end of each party or of the crawl?"""
    sites, scale = (10, 0.1) if quick else (sites, scale)
    web = replace(WEB, sites=sites, mean_pages=8 if quick else WEB.mean_pages, slow_ms=WEB.slow_ms * scale)
    ways = WAYS[:2] if quick else WAYS
    trials = [
        Trial(profile, way, web, scale)
        for profile in THREADS
        for way in ways
        if profile == "default" or "slow_per_site" not in (way.settings or {})
    ]
    courses = side_by_side(_crawl, trials)
    moments = [round(fraction * max(course.seconds for course in courses), 1) for fraction in (0.1, 0.2, 0.3, 0.5, 0.7)]
    rows = [_row(course, moments) for course in courses]
    for row in rows:
        click.echo(row_text(row))
    notes = [*_conditions(web, scale, len(courses[0].truth)), cores(courses), *findings(rows)]
    report = Report(
        "two_pass", "Slow pages in one pass and in two", "crawl", rows, notes, claims(rows), _plots(courses)
    )
    write_report(report, results)


def _crawl(trial: Trial) -> Course:
    times = (trial.way.patience, TIMEOUT, DELAY, SLOW_DELAY)
    patience, timeout, delay, slow_delay = (round(seconds * trial.scale, 3) for seconds in times)
    with SynthServer(trial.web) as web:
        seeds = web.web.seeds()
        meter = Meter(cpu_counters({"server": [web.pid]}))
        with crawled(
            web,
            seeds,
            timeout=_KILL_AFTER,
            environment={"SCRAWLER_TIMEOUT": f"{timeout}"},
            sampler=meter.sampler,
            profile=trial.profile,
            threads=THREADS[trial.profile],
            seeds_per_thread=SEEDS_PER_THREAD,
            delay=delay,
            delay_factor=0,
            retries=0,
            patience=patience,
            slow_timeout=timeout,
            slow_delay=slow_delay,
            **(trial.way.settings or {}),
        ) as crawl:
            waits = waited(crawl.requests, patience or timeout, timeout)
        truth = frozenset().union(*(party(web.web, seed, timeout=timeout).pages for seed in seeds))
        urls = {wait.url for wait in waits}
        return Course(trial, waits, truth, _slow_of(web.web, urls, PATIENCE * trial.scale), meter.shares(0, inf))


def cores(courses: Sequence[Course]) -> str:
    """Say whether the crawls, which ran side by side, had the cores that they wanted."""
    ours = sum(used for course in courses for name, used in course.used.items() if name != OTHERS)
    everybody = max(sum(course.used.values()) for course in courses)
    said = (
        f"all crawls ran at the same time, with their servers on {ours:.0f} % of the cores; "
        f"all programs had {everybody:.0f} %"
    )
    return (
        said if everybody <= ENOUGH else f"{said}: the crawls may have waited for the cores as well as for slow pages"
    )


def _slow_of(web: SyntheticWeb, urls: set[str], patience: float) -> frozenset[str]:
    def waits_for(url: str) -> float:
        try:
            return web.wait_s(web.target(url))
        except KeyError:  # a page that is not there
            return 0.0

    return frozenset(url for url in urls if waits_for(url) > patience)


def _row(course: Course, moments: Sequence[float]) -> Row:
    trial, pages = course.trial, len(course.fetched)
    first = course.first_pass
    blocked = [course.blocked(at) for at in _times(course.seconds)]
    busy = blocked[: _index_of_share(course, 0.8)] or blocked
    places = THREADS[trial.profile] * (SEEDS_PER_THREAD if trial.profile == "default" else 1)
    return {
        "crawl": trial.name,
        "profile": trial.profile,
        "way": trial.way.name,
        "pages": pages,
        "seconds": course.seconds,
        "pages/s": pages / course.seconds,
        "first pass pages/s": course.by(first) / first if first else "",
        "first pass s": first or "",
        **{f"% by {at:g} s": 100 * course.by(at) / len(course.truth) for at in moments},
        "% at the end": 100 * pages / len(course.truth),
        "given up": sum(not wait.came for wait in course.waits),
        "blocked, mean %": 100 * sum(busy) / len(busy) / places,
    }


def _times(seconds: float) -> list[float]:
    return [_STEP * number for number in range(int(seconds / _STEP) + 1)]


def _index_of_share(course: Course, share: float) -> int:
    """Return at which of the plot's times this share of all fetched pages was there."""
    fetched = course.fetched
    return int(fetched[int(share * (len(fetched) - 1))] / _STEP) + 1 if fetched else 0


def findings(rows: Sequence[Row]) -> list[str]:
    """Say in words what two passes brought, or cost."""
    notes = []
    for row in rows:
        one = _one_pass(rows, row)
        if row is one:
            continue
        moments = [column for column in row if column.startswith("% by ")]
        ahead = [column.removeprefix("% by ") for column in moments if number(row, column) > number(one, column) + 1]
        behind = [column.removeprefix("% by ") for column in moments if number(row, column) < number(one, column) - 1]
        took = number(row, "seconds") / number(one, "seconds") - 1
        notes.append(
            f"{row['crawl']}: against one pass, ahead by more than 1 % at {', '.join(ahead) or 'no time'}, behind at "
            f"{', '.join(behind) or 'no time'}; the whole crawl took {took:+.0%}, for {number(row, 'pages'):,.0f} "
            f"pages against {number(one, 'pages'):,.0f}"
        )
    return notes


def claims(rows: Sequence[Row]) -> list[Claim]:
    """Put the paper's gains beside ours."""
    both = [row for row in rows if row is not _one_pass(rows, row)]
    whole = [f"{row['crawl']} {_gain(row, rows, 'pages/s')}" for row in both]
    first = [f"{row['crawl']} {_gain(row, rows, 'first pass pages/s')}" for row in both if row["first pass pages/s"]]
    return [
        Claim(
            "fetch rate in pages/s, both passes together, against one pass",
            "paper 003, Table 2",
            "6.30 to 8.43 (+34 %); with other settings changed as well, 5.38 to 8.43 (+57 %)",
            "; ".join(whole),
        ),
        Claim(
            "pages/s of the first pass, against one pass",
            "paper 003, 5.2 and Table 2",
            '6.30 to 8.82 (+40 %); its "increased by 230%" is 8.82 / 3.84, of the whole crawl before',
            "; ".join(first) or "not measured",
        ),
    ]


def _gain(row: Row, rows: Sequence[Row], column: str) -> str:
    before, after = number(_one_pass(rows, row), "pages/s"), number(row, column)
    return f"{before:.2f} to {after:.2f} ({after / before - 1:+.0%})"


def _one_pass(rows: Sequence[Row], row: Row) -> Row:
    return next(one for one in rows if (one["profile"], one["way"]) == (row["profile"], ONE_PASS.name))


def _conditions(web: WebSpec, scale: float, pages: int) -> list[str]:
    slow, times = round(web.slow_share * 100), [time * scale for time in (PATIENCE, TIMEOUT, DELAY, SLOW_DELAY)]
    return [
        f"{web.sites} sites of {web.mean_pages} pages, {pages:,} of them to be had; {slow} % of the pages, all in "
        f"{web.slow_sites:.0%} of the sites, take {web.slow_ms / 1000:g} s on the average (half of it at least), all "
        f"others {web.latency_ms:g} ms",
        "patience {:g} s, timeouts {:g} s, a pause of {:g} s between requests to a site, of {:g} s in the slow "
        "lane; no retries, no longer pauses after slow answers".format(*times),
        *(f"{profile}: {threads} threads of {SEEDS_PER_THREAD} seeds" for profile, threads in THREADS.items()),
        "blocked: requests for slow pages under way, until 80 % of the pages were there, as a share of the threads "
        "(classic: each blocks one) or of the places for seeds (default: it blocks its site alone); given up: answers "
        "that the crawler did not wait for",
    ]


def _plots(courses: Sequence[Course]) -> list[Plot]:
    profiles = list(dict.fromkeys(course.trial.profile for course in courses))
    of = {profile: [course for course in courses if course.trial.profile == profile] for profile in profiles}
    coverage = [Panel(p, "time in s", "% of the pages", [_coverage(course) for course in of[p]]) for p in profiles]
    held = {"classic": "threads blocked", "default": "requests for slow pages under way"}
    blocked = [Panel(p, "time in s", held[p], [_blocked(course) for course in of[p]]) for p in profiles]
    return [Plot("Pages over time", coverage, "pages", share_y=True), Plot("Blocked", blocked, "blocked")]


def _coverage(course: Course) -> Line:
    times = [*_times(course.seconds), course.seconds]
    return Line(course.trial.way.name, times, [100 * course.by(at) / len(course.truth) for at in times])


def _blocked(course: Course) -> Line:
    """Draw the mean of some seconds at a time."""
    blocked = [course.blocked(at) for at in _times(course.seconds)]
    parts = [blocked[start : start + _SMOOTH] for start in range(0, len(blocked), _SMOOTH)]
    middles = [_STEP * (place + 0.5) * _SMOOTH for place in range(len(parts))]
    return Line(course.trial.way.name, middles, [sum(part) / len(part) for part in parts])


if __name__ == "__main__":
    main()
