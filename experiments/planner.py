"""Whether the planner tells when a crawl ends, and what the distributor brings: python -m experiments.planner."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import click

from experiments.lab.command import experiment
from experiments.lab.crawls import Crawl, crawled
from experiments.lab.plots import Line, Panel
from experiments.lab.report import ROUND, Claim, Plot, Report, Row, row_text, write_report
from experiments.lab.scrawler_command import DATABASE
from experiments.lab.sweep import gains_text, sweep, sweep_panels
from experiments.lab.true_sites import OVERHEAD, true_sites
from scrawler.features.plan.inputs import Gatherer, Limits
from scrawler.features.plan.rules import CPU_PER_REQUEST, PlannedSite, PlanRules, plan_rules
from scrawler.features.plan.simulation import Run, simulate
from scrawler.features.synthweb.process import SynthServer
from scrawler.features.synthweb.spec import WebSpec
from scrawler.settings import Settings
from scrawler.store.engines.engine import open_database
from scrawler.store.reading.sizes import Sizes

GOAL = 15.0  # percent by which a prediction may be off
TIMEOUT = 300.0  # seconds
_SOURCES = {"sizes": "known sizes", "earlier": "an earlier crawl"}  # columns' names -> what is predicted from
_STEPS = 40  # points of an actual curve


@dataclass(frozen=True, slots=True)
class Web:
    """A web to crawl; `earlier` are other settings for the crawl before, from whose database it is planned."""

    name: str
    spec: WebSpec
    settings: Mapping[str, object]
    earlier: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Compared:
    """One crawl with its predictions: from the true sizes, and from an earlier crawl."""

    web: str
    crawl: Crawl
    truth: Run
    earlier: Run


def webs(quick: bool) -> list[Web]:
    """Return the webs: politeness, threads, places and processor bind; quick: crawls of some seconds."""
    classic = WebSpec(seed=2, sites=24, mean_pages=5 if quick else 30, latency_ms=60)
    few_threads = {"delay": 0, "profile": "classic", "threads": 3}
    chosen = [
        Web(
            "one large site",
            WebSpec(seed=3, sites=30, mean_pages=4 if quick else 40, latency_ms=30),
            {"delay": 0.1},
            {"delay": 0.05},
        ),
        Web("classic", classic, few_threads, {"threads": 6}),
        Web("classic, free", classic, {**few_threads, "distribution": "free"}, {"threads": 6}),
        Web(
            "many small sites",
            WebSpec(seed=2, sites=200 if quick else 1_500, mean_pages=3, equal=True, latency_ms=20),
            {"delay": 0.1, "threads": 4},
            {"threads": 8},
        ),
        Web(
            "processor",
            WebSpec(seed=6, sites=40, mean_pages=30 if quick else 250, equal=True),
            {"delay": 0},
            {"delay": 0.01},
        ),
    ]
    return [web for web in chosen if not (quick and web.name == "classic, free")]


@experiment
@click.option("--rounds", default=0, help="Crawls of each web that are compared.  [default: 3, with --quick 1]")
def main(quick: bool, results: Path, rounds: int) -> None:
    """Crawl webs that politeness, threads, places or the processor bind, and compare with what was predicted."""
    cost = CPU_PER_REQUEST["scanner"] if quick else _request_cost()
    click.echo(f"a request takes {1e6 * cost:,.0f} us of the processor")
    compared = [one for web in webs(quick) for one in _crawls(web, cost, quick, rounds or (1 if quick else 3))]
    rows = [_row(number, one) for number, one in enumerate(compared)]
    swept = sweep(quick)
    off = {source: [abs(float(row[f"{source} off %"])) for row in rows] for source in _SOURCES}
    claims = [
        Claim("prediction off by, from known sizes", "goal", f"at most {GOAL:.0f} %", _percents(off["sizes"])),
        Claim("prediction off by, from an earlier crawl", "goal", f"at most {GOAL:.0f} %", _percents(off["earlier"])),
        Claim("distributor over free competition", "paper 004, section 3.3", "+34.7 %", gains_text(swept)),
    ]
    notes = [
        f"a request takes {1e6 * cost:,.0f} us of the processor"
        + (", as assumed" if quick else ", from a short crawl of the same kind of web just before, on this machine")
        + f"; an answer is taken to need {1e3 * OVERHEAD:g} ms beyond its latency, a constant for this server",
        *(f"{GOAL:.0f} % at most, from {whence}: {goal_text(rows, source)}" for source, whence in _SOURCES.items()),
        "times are from the first request to the last answer, by the server's log",
        *(["sizes of an earlier crawl are those of the crawl itself"] if quick else []),
        "free competition is compared by simulation: 20 classic threads of 10 seeds, no delay; sizes and response times"
        " are lognormal",
    ]
    plots = [
        Plot("Predicted and actual progress", [_progress_panel(one) for one in _last_of_each(compared)]),
        Plot("Distributor over free competition, simulated", sweep_panels(swept), "sweep"),
    ]
    write_report(
        Report(
            "planner", "When a crawl ends: predicted and actual", "web", rows, notes, claims, plots, {"sweep": swept}
        ),
        results,
    )


# -- crawls and predictions ------------------------------------------------------------------------------------


def _request_cost() -> float:
    """Measure the seconds that a request takes where nothing but the processor binds."""
    spec = WebSpec(seed=9, sites=40, mean_pages=100, equal=True)
    with SynthServer(spec) as server, crawled(server, server.web.seeds(), timeout=TIMEOUT) as crawl:
        return crawl.seconds / len(crawl.requests)


def _crawls(web: Web, cost: float, quick: bool, rounds: int) -> Iterator[Compared]:
    """Crawl a web, the first time for its database alone (quick: that is compared as well)."""
    rules = _rules(web, cost)
    with SynthServer(web.spec) as server:
        truth = simulate(true_sites(server.web), rules)
        seeds = server.web.seeds()
        known: list[PlannedSite] = []
        for number in range(rounds + (not quick)):
            settings: dict[str, Any] = {**web.settings, **(web.earlier if not (quick or number) else {})}
            with crawled(server, seeds, timeout=TIMEOUT, **settings) as crawl:
                known = known or _known_sites(crawl.folder)
            if quick or number:
                compared = Compared(web.name, crawl, truth, simulate(known, rules))
                click.echo(row_text(_row(number, compared)))
                yield compared


def _rules(web: Web, cost: float) -> PlanRules:
    settings = Settings.model_validate(web.settings)
    measured = settings.extractor != "html5lib"
    return plan_rules(
        settings,
        cores=1,
        cpu_per_request=cost if measured else CPU_PER_REQUEST[settings.extractor],
        database_rows=1e9,
    )


def _known_sites(folder: Path) -> list[PlannedSite]:
    """Return the sites as the database of a crawl knows them."""
    with closing(open_database(f"sqlite:///{folder / DATABASE}")) as database:
        known = list(Sizes(database).sites())
    return Gatherer(known, Limits("SCrawler-experiment", 60.0, None), None, None).all_known().sites


def _row(number: int, one: Compared) -> Row:
    actual = one.crawl.seconds
    return {
        ROUND: number,
        "web": one.web,
        "requests": len(one.crawl.requests),
        "bound by": next(iter(one.truth.bounds)).value,
        "actual s": actual,
        "by sizes s": one.truth.seconds,
        "sizes off %": 100 * (one.truth.seconds / actual - 1),
        "by earlier s": one.earlier.seconds,
        "earlier off %": 100 * (one.earlier.seconds / actual - 1),
    }


def _percents(values: Sequence[float]) -> str:
    return f"{median(values):.1f} % (median), {max(values):.1f} % (most)"


def goal_text(rows: Sequence[Row], source: str) -> str:
    """Say on which webs all predictions met the goal, and by how much others were off."""
    off: dict[str, list[float]] = {}
    for row in rows:
        off.setdefault(str(row["web"]), []).append(float(row[f"{source} off %"]))
    most = {web: max(values, key=abs) for web, values in off.items()}
    met = [web for web, value in most.items() if abs(value) <= GOAL]
    missed = [f"{web} ({value:+.1f} %)" for web, value in most.items() if abs(value) > GOAL]
    return f"met on {', '.join(met) or 'no web'}; missed on {', '.join(missed) or 'none'}"


def _last_of_each(compared: Sequence[Compared]) -> list[Compared]:
    return list({one.web: one for one in compared}.values())


def _progress_panel(one: Compared) -> Panel:
    """Return the share of requests over time: the server's log is without robots.txt, the prediction with."""
    first = min(line.came for line in one.crawl.requests)
    times = [one.crawl.seconds * step / _STEPS for step in range(_STEPS + 1)]
    answered = [line.at - first for line in one.crawl.requests]
    shares = [100 * sum(at <= until for at in answered) / len(answered) for until in times]
    lines = [Line("actual", times, shares, bold=True)]
    for name, run in (("from sizes", one.truth), ("from an earlier crawl", one.earlier)):
        times = [run.seconds * step / _STEPS for step in range(_STEPS + 1)]
        shares = [100 * run.requests_by(until) / run.requests for until in times]
        lines.append(Line(name, times, shares, dashed=name != "from sizes"))
    return Panel(one.web, "time in s", "% of all requests", lines)


if __name__ == "__main__":
    main()
