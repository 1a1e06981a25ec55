"""Where the paper's +34.7 % comes from: URL Distributor and free competition (paper 004, sections 3.3 and 3.4).

python -m experiments.distributor_vs_free
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, median

import click

from experiments.lab.command import experiment
from experiments.lab.dealt import real_machines, real_rows
from experiments.lab.plots import Line, Panel
from experiments.lab.readings import DISTRIBUTOR, LOOKS, WAYS, Reading, Size, compared
from experiments.lab.report import (
    ROUND,
    Claim,
    Plot,
    Report,
    Row,
    medians,
    number,
    read_rows,
    row_text,
    write_report,
)
from experiments.lab.scaled import RATE, STEADY_RATE, Scaling, level_text, scaled, scaling_panels
from scrawler.features.plan.simulation import Run
from scrawler.units import counted

_PAPER = "paper 004, section 3.3"
_GAIN, _SAVED, _LEVEL_FROM = 34.7, 160.0, 40.0  # what it states: percent, minutes, seconds
_NEAR = 0.15  # seconds, a latency that lets threads do much in the first 100 s
_TAILS = (Reading(0.0), Reading(1.5))  # of which other numbers of sites are played through
MEANWHILE, IN_ALL = "gain meanwhile %", "gain in all %"


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is played through, and how much is crawled."""

    size: Size
    pauses: Sequence[float]
    dead: Sequence[float]
    numbers: Sequence[int]  # of sites, beside that of `size`
    scaling: Scaling
    real: Size
    many: Size  # a real web of many sites, by `many_machines`
    many_machines: Sequence[int]
    max_pages: int  # of a real site
    limit: float  # seconds after which a real crawl has failed


FULL = Scale(
    Size(),
    (0.0, 0.5, 1.0, 1.5, 2.0, 3.0),
    (0.0, 0.05, 0.1, 0.15),
    (200, 400, 1_000, 2_000, 4_000),
    Scaling(),
    Size(300, 5, 10, 5, 0.5, 0.5, 15.0, 4.5),
    Size(5_000, 20, 10, 2, 1.0, 0.5, 15.0, 4.5),
    (1, 3),
    40,
    1_200.0,
)
QUICK = Scale(
    Size(300, 4, 5, 10),
    (0.0, 1.5),
    (0.0, 0.15),
    (50,),
    Scaling(600, (1, 2), (4,)),
    Size(16, 2, 3, 3, 0.03, 0.0, 0.5, 20.0),
    Size(16, 2, 3, 3, 0.03, 0.0, 0.5, 20.0),
    (1,),
    6,
    120.0,
)


_READINGS = (Reading(0.0), Reading(1.5), Reading(0.0, 0.15, metered=True))  # that are crawled


@experiment
@click.option("--webs", default=5, show_default=True, help="Random webs of each simulation.")
@click.option("--rounds", default=5, show_default=True, help="Random webs that are crawled; on each, all ways at once.")
@click.option("--web", type=int, help="Crawl this one alone, and keep what was found before; 0: none of them.")
@click.option("--many", is_flag=True, help="With --web: crawl the web of many sites as well.")
def main(quick: bool, results: Path, webs: int, rounds: int, web: int | None, many: bool) -> None:
    """Which reading of the paper gives which of its figures, by simulation, checked by small real crawls?"""
    scale = QUICK if quick else FULL
    webs, rounds = (1, 1) if quick else (webs, rounds)
    found = _all(scale, webs, rounds) if web is None else _also_crawled(scale, results, web, many)
    _, runs = compared(scale.size, _also(scale)[-1], 1)
    write_report(report(found, scale, webs, runs), results)


def _all(scale: Scale, webs: int, rounds: int) -> Found:
    pauses = _played(scale.size, [Reading(pause) for pause in scale.pauses], webs)
    dead = _played(scale.size, [Reading(0.0, share, metered=True) for share in scale.dead], webs)
    dead += _played(scale.size, _also(scale), webs)
    tails = [row for sites in scale.numbers for row in _played(replace(scale.size, sites=sites), _TAILS, webs)] + _of(
        _TAILS, pauses
    )
    machines = list(_told(scaled(scale.size, Reading(1.5), scale.scaling)))
    checks = [row for web in range(1, rounds + 1) for row in _crawled(scale, web)]
    more = list(_told(real_machines(scale.real, 1, number, scale.limit, scale.max_pages) for number in (1, 2)))
    return Found(pauses, dead, tails, machines, checks, [*more, *_crawled_many(scale)])


def _crawled(scale: Scale, web: int) -> list[Row]:
    return [row for one in _READINGS for row in _told(real_rows(scale.real, one, web, scale.limit, scale.max_pages))]


def _crawled_many(scale: Scale) -> list[Row]:
    crawls = (real_machines(scale.many, 1, one, scale.limit, scale.max_pages) for one in scale.many_machines)
    return list(_told(crawls))


def _also_crawled(scale: Scale, results: Path, web: int, many: bool) -> Found:
    """Return what was found before, with another web that is crawled now."""
    crawled = _crawled(scale, web) if web else []
    machines = _crawled_many(scale) if many else []
    found = _before(results)  # not before that: another one may have been crawled meanwhile
    checks = [row for row in found.checks if row[ROUND] != web]
    others = [row for row in found.real_machines if row["sites"] != scale.many.sites or not many]
    return replace(found, checks=[*checks, *crawled], real_machines=[*others, *machines])


def _before(results: Path) -> Found:
    """Read what an earlier run has found."""
    names = ("", "-dead", "-tails", "-machines", "-crawled", "-crawled-machines")
    return Found(*(read_rows(results / f"distributor_vs_free{name}.csv") for name in names))


@dataclass(frozen=True, slots=True)
class Found:
    """All rows, by part: simulated by pause, by dead hosts, by number of sites, by machines; then what was crawled."""

    pauses: Sequence[Row]
    dead: Sequence[Row]
    tails: Sequence[Row]
    machines: Sequence[Row]
    checks: Sequence[Row]
    real_machines: Sequence[Row]


def _played(size: Size, readings: Sequence[Reading], webs: int) -> list[Row]:
    return [row for reading in readings for web in range(1, webs + 1) for row in _told(compared(size, reading, web)[0])]


def _also(scale: Scale) -> list[Reading]:
    """Return what is played through beside the share of dead hosts: with a pause, and with sites that answer fast."""
    most = scale.dead[-1]
    near = [Reading(0.0, dead, metered=True, latency=_NEAR) for dead in (0.0, most)]
    return [Reading(1.5, most, metered=True), *near]


def _of(readings: Sequence[Reading], rows: Sequence[Row]) -> list[Row]:
    """Return the rows of these readings."""
    arms = {f"{reading}, {way}" for reading in readings for way in WAYS}
    return [row for row in rows if row["arm"] in arms]


def _told(rows: Iterable[Row]) -> Iterator[Row]:
    for row in rows:
        click.echo(row_text(row))
        yield row


# --- what it says ---------------------------------------------------------------------------------------------------


def report(found: Found, scale: Scale, webs: int, runs: dict[str, Run]) -> Report:
    """Return the report; `runs` are of one web with metered seeds and dead hosts, by way."""
    size, real, many = scale.size, scale.real, scale.many
    rounds = len({row[ROUND] for row in found.checks})
    notes = [
        f"simulated: {counted(webs, 'web')} of {size.sites:,} sites, {size.mean_pages} pages on the average (Pareto), "
        f"latency {size.latency:g} s on the average (lognormal, sigma {size.spread:g}), {size.threads} threads of "
        f"{size.seeds_per_thread} seeds, each of which downloads one page at a time; a dead host takes "
        f"{size.timeout:g} s of its thread; metered: {size.supply:g} seeds a second",
        f"crawled: {counted(rounds, 'web')} of {real.sites:,} sites, {real.mean_pages} pages on the average, latency "
        f"{1000 * real.latency:g} ms, {real.threads} threads of {real.seeds_per_thread} seeds with the downloader "
        f"requests; a dead host takes {real.timeout:g} s; metered: {real.supply:g} seeds a second",
        f"of {many.sites:,} sites, machines crawled: {many.mean_pages} pages on the average, latency "
        f"{1000 * many.latency:g} ms, {many.threads} threads of {many.seeds_per_thread} seeds each",
        "a gain is by how many percent the distributor had more requests answered by the same time, or the other way "
        "needed longer to the same share of pages; meanwhile: while the queues of both have seeds",
        f"{LOOKS} s in the columns of seconds: not before",
        f"machines, whole crawl: {level_text(found.machines, RATE)}",
        f"machines, while the queue has seeds: {level_text(found.machines, STEADY_RATE)}",
        agreement_text(found.checks),
    ]
    tables = {
        "Which reading gives which of the paper's six facts (medians of the simulations)": facts_table(
            [*found.pauses, *found.dead]
        ),
        "Dead hosts and metered seeds, simulated": medians("arm", found.dead),
        "By number of sites, simulated": _by_number(found.tails),
        "Machines, simulated": found.machines,
        "Crawled, and the same webs simulated": medians("arm", found.checks),
        "Machines, crawled and simulated": found.real_machines,
    }
    return Report(
        "distributor_vs_free",
        "URL Distributor and free competition",
        "arm",
        found.pauses,
        notes,
        claims([*found.pauses, *found.dead], found.machines),
        [
            _gain_plot(found.pauses),
            _held_plot(runs),
            Plot("A thread's pages", scaling_panels(found.machines), "machines"),
        ],
        {
            "dead": found.dead,
            "tails": found.tails,
            "machines": found.machines,
            "crawled": found.checks,
            "crawled-machines": found.real_machines,
        },
        tables,
    )


def facts_table(rows: Sequence[Row]) -> list[Row]:
    """Say of each reading, which is a way of free competition in a setting, what the paper's six facts would be there.

    The first two are of both ways; the third and the last are the distributor's, the other two free competition's.
    """
    middle = {str(row["arm"]): row for row in medians("arm", rows)}
    table: list[Row] = [
        {
            "reading": "stated",
            "34.7 % (steady; in 100 s; in all)": f"+{_GAIN:g}",
            "160 min": f"{_SAVED:g}",
            "average of 9": "about 9",
            "T0: one seed until s": "60",
            "T18: threads with 10 at 100 s": "T18 at least",
            "40 s: about 9 from s on": f"{_LEVEL_FROM:g}",
        }
    ]
    for name, row in middle.items():
        setting, _, way = name.rpartition(", ")
        if way == DISTRIBUTOR:
            continue
        dealt = middle[f"{setting}, {DISTRIBUTOR}"]
        gains = [number(row, column) for column in (MEANWHILE, "gain in 100 s %", IN_ALL)]
        table.append(
            {
                "reading": f"{way}: {setting}",
                "34.7 % (steady; in 100 s; in all)": "; ".join(f"{one:+.1f}" for one in gains),
                "160 min": f"{number(row, 'minutes saved'):.0f}",
                "average of 9": f"{number(dealt, 'seeds a thread, 40-100 s'):.1f}",
                "T0: one seed until s": _second(number(row, "a thread with one seed at most until s")),
                "T18: threads with 10 at 100 s": f"{number(row, 'full threads at 100 s'):.0f}",
                "40 s: about 9 from s on": _second(number(dealt, "about 9 from s on")),
            }
        )
    return table


def _second(value: float) -> str:
    return f"after {LOOKS}" if value >= LOOKS else f"{value:.0f}"


def claims(rows: Sequence[Row], machines: Sequence[Row]) -> list[Claim]:
    """Put the range of all readings beside each figure of the paper."""
    middle = [row for row in medians("arm", rows) if not str(row["arm"]).endswith(DISTRIBUTOR)]

    def span(column: str, digits: int) -> str:
        values = [number(row, column) for row in middle]
        return f"{min(values):+.{digits}f} to {max(values):+.{digits}f}"

    return [
        Claim(
            "download rate with the distributor, against free competition, %",
            _PAPER,
            f"+{_GAIN:g}",
            f"by reading: {span(MEANWHILE, 1)} while both queues have seeds, {span(IN_ALL, 1)} in all",
        ),
        Claim("time saved, minutes", _PAPER, f"{_SAVED:g}", f"by reading: {span('minutes saved', 0)}"),
        Claim(
            "a thread's pages/s with five machines, against one",
            "paper 004, Figure 9",
            "almost the same",
            level_text(machines, STEADY_RATE),
        ),
    ]


def agreement_text(checks: Sequence[Row]) -> str:
    """Say how far the simulated gains are from those of the real crawls, in points of percent."""
    others = [row for row in checks if not str(row["arm"]).endswith(DISTRIBUTOR)]
    off = [abs(number(row, MEANWHILE) - number(row, f"simulated {MEANWHILE}")) for row in others]
    return (
        f"simulated and crawled gains while both queues have seeds differ by {median(off):.1f} points of percent "
        f"(median of {len(off)} pairs), {max(off):.1f} at most"
    )


def _by_number(tails: Sequence[Row]) -> list[Row]:
    """Return one row for each number of sites and arm."""
    return [
        row
        for sites in dict.fromkeys(row["sites"] for row in tails)
        for row in medians("arm", [one for one in tails if one["sites"] == sites])
    ]


def _gain_plot(pauses: Sequence[Row]) -> Plot:
    middle = medians("arm", pauses)
    panels = []
    for column, title in ((MEANWHILE, "While both queues have seeds"), (IN_ALL, "To the last page")):
        lines = []
        for way in WAYS[1:]:
            mine = [row for row in middle if str(row["arm"]).endswith(f", {way}")]
            xs = [float(str(row["arm"]).split()[1]) for row in mine]
            lines.append(Line(way, xs, [number(row, column) for row in mine], points=True))
        panels.append(Panel(title, "pause / latency", "percent that the distributor gains", lines, from_zero=False))
    return Plot("What the distributor gains, by the pause", panels, "pauses")


def _held_plot(runs: dict[str, Run]) -> Plot:
    """Draw what each thread holds, as the paper's Figures 7 and 8 do."""
    panels = []
    for way, run in runs.items():
        times = [look.at for look in run.looks]
        by_thread = zip(*(look.held for look in run.looks), strict=True)
        lines = [Line(f"T{thread}", times, held, faint=True) for thread, held in enumerate(by_thread)]
        average = Line("average", times, [fmean(look.held) for look in run.looks], bold=True)
        panels.append(Panel(way, "time in s", "seeds held by a thread", [*lines, average]))
    return Plot(
        "Seeds held by each thread: metered seeds, 15 % dead hosts, latency 0.15 s", panels, "held", share_y=True
    )


if __name__ == "__main__":
    main()
