"""A broad polite crawl of many small sites, in several arms: python -m experiments.bench.broad_bench."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from experiments.broadweb import claims as said
from experiments.broadweb.arms import KEYS, Arm, ArmError, parse_arm
from experiments.broadweb.crawl import FILLED, WARM, Observed, Times, watched
from experiments.broadweb.pages import DESIGNS
from experiments.broadweb.server import Library, library, serving
from experiments.broadweb.setting_up import MORE_PAGES, measure_set_up
from experiments.lab.command import experiment
from experiments.lab.meter import OTHERS, all_cores, others_at_work
from experiments.lab.plots import Line, Panel
from experiments.lab.report import MIB, ROUND, Claim, Plot, Report, Row, medians, number, row_text, write_report
from experiments.lab.trees import OWN, Tree, tree_at

_ARMS = (
    "places=200",
    "places=2000",
    "places=2000 near-duplicates=off",
    "places=2000 urls=words",
    "places=2000 urls=words page-kb=8",
    "places=2000 urls=words scheme=https",
    "places=2000 urls=words threads=1",
    "places=2000 urls=words threads=20",
    "places=2000 site-pages=30",
    "places=10000",
)
_TIMES = Times(fill=90.0, window=30.0)
_SET_UP_SITES = 2_000
_QUICK_ARMS = ("places=20 delay=0.2 site-pages=30", "places=20 delay=0.2 site-pages=30 near-duplicates=off")
_QUICK_TIMES = Times(fill=6.0, window=3.0)
_QUICK_SET_UP_SITES = 100
_SET_UP = "set-up us"
_STEP = 1.0  # seconds between two points of a picture
_STEPS_OF_SPEED = 5  # over which the speed at a point is taken
_SPEED = f"pages/s of {_STEPS_OF_SPEED * _STEP:g} s"


@dataclass(frozen=True, slots=True)
class Turn:
    """One crawl that was measured."""

    row: Row
    observed: Observed
    places: int
    usual_port: bool


def _arms(_context: click.Context, _option: click.Parameter, texts: Sequence[str]) -> list[Arm]:
    try:
        return [parse_arm(text) for text in texts]
    except ArmError as error:
        raise click.BadParameter(str(error)) from error


@experiment
@click.option("--arm", "chosen", multiple=True, callback=_arms, help=f"What to measure; may be repeated. Keys: {KEYS}.")
@click.option("--rounds", default=2, show_default=True, help="Turns of each arm; one with --quick.")
@click.option("--fill", default=_TIMES.fill, show_default=True, help="Seconds that places may take to fill.")
@click.option("--window", default=_TIMES.window, show_default=True, help="Seconds that are measured then.")
@click.option(
    "--against",
    multiple=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Another checkout, with its own .venv, that has turns as well; may be repeated.",
)
@click.option("--set-up/--no-set-up", default=True, show_default=True, help="Measure what it costs to set a site up.")
def main(
    quick: bool,
    results: Path,
    chosen: Sequence[Arm],
    rounds: int,
    fill: float,
    window: float,
    against: Sequence[Path],
    set_up: bool,
) -> None:
    """What does a page cost in a broad crawl, how fast do its places fill, and do they stay full?"""
    arms = list(dict.fromkeys(chosen or map(parse_arm, _QUICK_ARMS if quick else _ARMS)))
    trees = [OWN, *map(tree_at, against)]
    times = _QUICK_TIMES if quick else Times(fill, window)
    turns: list[Turn] = []
    costs: list[Row] = []
    with library() as books:
        for turn in range(1, (1 if quick else rounds) + 1):
            for arm, tree in _in_turn([(arm, tree) for arm in arms for tree in trees], turn):
                turns.append(_measure(turn, arm, tree, books, times))
                click.echo(row_text(turns[-1].row))
            for tree in trees if set_up else ():
                costs.append(_set_up_row(turn, tree, books, _QUICK_SET_UP_SITES if quick else _SET_UP_SITES))
                click.echo(row_text(costs[-1]))
    write_report(_report(turns, costs, arms, trees, times), results)


def _in_turn(arms: list[tuple[Arm, Tree]], turn: int) -> list[tuple[Arm, Tree]]:
    """Return the arms of a round in order: every second one goes backwards, as the machine may get busier."""
    return arms if turn % 2 else arms[::-1]


def _measure(turn: int, arm: Arm, tree: Tree, books: Library, times: Times) -> Turn:
    with serving(books, arm.pages, arm.https) as server:
        observed = watched(tree, server, arm.sites(times.longest), arm.places, arm.settings(), times)
        return Turn(
            row=row_of(turn, tree.label(arm.name), arm, observed, times),
            observed=observed,
            places=arm.places,
            usual_port=server.is_usual_port,
        )


def row_of(turn: int, name: str, arm: Arm, seen: Observed, times: Times) -> Row:
    """Return what one crawl comes to."""
    first, last = seen.between()
    seconds = last.at - first.at
    pages = seen.occupancy.pages(first.at, last.at)
    crawler, server = last.crawler - first.crawler, last.server - first.server
    held = seen.occupancy.mean_held(first.at, last.at)
    filled_at = seen.occupancy.began + times.fill if seen.filled is None else seen.filled
    filling = filled_at - seen.started
    in_filling = seen.occupancy.taken_up(seen.started, filled_at)
    return {
        ROUND: turn,
        said.ARM: name,
        "pages": pages,
        "pages/s": pages / seconds,
        said.SPEED: 100 * pages / seconds / arm.allowed,
        said.CPU: 1e6 * crawler / max(pages, 1),
        said.CORE: 100 * crawler / seconds,
        said.TAKEN_UP: in_filling / filling,
        said.FILLED_AFTER: said.NEVER if seen.filled is None else filling,
        said.FILLED: 100 * held / arm.places,
        said.HELD: round(held),
        said.MEMORY: last.resident / MIB,
        said.MEMORY_OF_SITE: (last.resident - seen.before().resident) / 1024 / max(held, 1),
        said.STOP: seen.stop_seconds,
        "server us/page": 1e6 * server / max(pages, 1),
        "given up": seen.kept.given_up,
        OTHERS: all_cores(last.everybody - first.everybody - crawler - server, seconds),
    }


def _set_up_row(turn: int, tree: Tree, books: Library, sites: int) -> Row:
    cost = measure_set_up(tree, books, sites)
    return {
        ROUND: turn,
        "set-up": tree.label(f"{sites:,} sites"),
        "start of the program, CPU s": cost.start,
        "a site of one page, us": cost.site,
        "a further page, us": cost.page,
        _SET_UP: cost.set_up,
    }


# --- what it says ---------------------------------------------------------------------------------------------------


def _report(
    turns: Sequence[Turn], costs: Sequence[Row], arms: Sequence[Arm], trees: Sequence[Tree], times: Times
) -> Report:
    rows = [turn.row for turn in turns]
    series = [row for turn in turns for row in _over_time(turn)]
    tables = {"What it costs to set a site up": medians("set-up", costs)} if costs else None
    return Report(
        "broad",
        "A broad polite crawl",
        said.ARM,
        rows,
        _notes(turns, times),
        [*said.claims(rows, arms, [tree.label("") for tree in trees]), *_set_up_claims(costs)],
        [Plot("places and speed over time, first round", _panels(series))],
        {"time": series},
        tables,
    )


def _set_up_claims(costs: Sequence[Row]) -> list[Claim]:
    found = [f"{row['set-up']}: {number(row, _SET_UP) / 1000:.2f}" for row in medians("set-up", costs)] if costs else []
    return [Claim("setting a site up, ms of CPU", "goal", "at most 0.5", "; ".join(found) or "not measured")]


def _notes(turns: Sequence[Turn], times: Times) -> list[str]:
    notes = [
        f"nginx serves all sites, each at an address of its own, from {DESIGNS} sets of page files, with the site's "
        "name put into each page; the names are those of the setting `resolve`; every crawl begins with an empty "
        "database (SQLite) and archive",
        f"measured for {times.window:g} s, from when {FILLED * 100:.0f} % of the places are full and {WARM} pages of "
        f"each site were asked for, but {times.fill:g} s after the first request at the latest; CPU from /proc, pages "
        "from nginx's log; then SIGINT, and the time to the end of the process",
        "98 % full after s, sites/s taken up: from the start of the process, whose imports are a second of it",
        "full %: sites held on the average of the places, a site from its robots.txt to its last page; of allowed %: "
        "pages/s of places / delay; core %: of one core, of which a process under the interpreter lock has no more",
        "RSS KiB/site: what memory has grown by since the first request, by sites held; what a crawl takes whatever it "
        "holds is in it",
        "a site's set-up: a crawl of sites of one page less the start of the program, and less what a page costs where "
        f"each site has {MORE_PAGES}; one thread, no delay; with robots.txt and its record",
        others_at_work([turn.row for turn in turns]),
    ]
    if not all(turn.usual_port for turn in turns):
        notes.append("some sites were served at another port than the usual one, which could not be had")
    if given_up := {str(turn.row[said.ARM]) for turn in turns if turn.observed.kept.given_up}:
        notes.append(f"URLs were given up, though each is a page worth having: {'; '.join(sorted(given_up))}")
    return notes


def _over_time(turn: Turn) -> Iterator[Row]:
    """Yield places that are full and pages/s, step by step from the first request to the end of the measurement."""
    found = turn.observed.occupancy
    count = int((turn.observed.until - found.began) / _STEP)
    for number_of_step in range(1, count + 1):
        at = found.began + number_of_step * _STEP
        since = min(number_of_step, _STEPS_OF_SPEED) * _STEP
        yield {
            ROUND: turn.row[ROUND],
            said.ARM: turn.row[said.ARM],
            "second": number_of_step * _STEP,
            said.FILLED: 100 * found.held_at(at) / turn.places,
            _SPEED: found.pages(at - since, at) / since,
        }


def _panels(series: Sequence[Row]) -> list[Panel]:
    first = [row for row in series if row[ROUND] == 1]
    names = dict.fromkeys(str(row[said.ARM]) for row in first)
    panels = []
    for column, title, y in (
        (said.FILLED, "places that are full", "% of the places"),
        (_SPEED, "speed", f"pages/s, mean of {_STEPS_OF_SPEED * _STEP:g} s"),
    ):
        lines = [
            Line(name, [number(row, "second") for row in rows], [number(row, column) for row in rows])
            for name in names
            for rows in [[row for row in first if row[said.ARM] == name]]
        ]
        panels.append(Panel(title, "s since the first request", y, lines))
    return panels


if __name__ == "__main__":
    main()
