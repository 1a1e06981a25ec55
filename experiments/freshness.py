"""How fresh a collection stays that is visited by each policy, with equal budgets; and how good estimates of rates are.

python -m experiments.freshness
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path
from statistics import fmean

import click

from experiments.lab.collection import SITE_PAGES, Arm, Course, Web, run, theory
from experiments.lab.command import experiment
from experiments.lab.estimates import estimators, first_checks, weighted
from experiments.lab.plots import Line, Panel
from experiments.lab.report import Claim, Plot, Report, Row, number, row_text, write_report
from scrawler.features.revisit.policies.schedule import Policy
from scrawler.features.synthweb.spec import WebSpec

_CHANGES = 0.1  # a day, in the mean of the pages that change
_COMING_DAYS = 60  # so long as many pages come as go in the synthetic web
_STEADY = 0.5  # of the time is for learning; freshness is taken over the rest

ARMS = (
    Arm(Policy.OPTIMAL, False),
    Arm(Policy.FIXED, True),
    Arm(Policy.PROPORTIONAL, True),
    Arm(Policy.OPTIMAL, True),
    Arm(Policy.ADAPTIVE, False),
)


@experiment
@click.option("--pages", default=100_000, show_default=True, help="Pages of the first web; of the second a tenth.")
@click.option("--days", default=365, show_default=True, help="Of virtual time.")
@click.option("--every", default=30.0, show_default=True, help="Budget: days between two visits of a page, on average.")
@click.option("--workers", default=2, show_default=True, help="Processes.")
def main(quick: bool, results: Path, pages: int, days: int, every: float, workers: int) -> None:
    """How fresh does a collection stay by each policy, beside what theory says is possible?"""
    if quick:
        pages, days, workers = 1_000, 120, 1
    webs = [
        Web("Poisson", pages, days, every, WebSpec(changes=_CHANGES)),
        Web("mixed", pages // 10, days, every, WebSpec(changes=_CHANGES, still=0.3, periodic=0.25, bursty=0.25)),
        Web("coming", pages // 10, min(days, _COMING_DAYS), every / 3, WebSpec(changes=_CHANGES, coming=0.5)),
    ]
    jobs = list(product(webs, ARMS))
    with ProcessPoolExecutor(workers) as pool:
        found = list(pool.map(run, *zip(*jobs, strict=True)))
    rows = [_row(web, arm, course) for (web, arm), course in zip(jobs, found, strict=True)]
    for row in rows:
        click.echo(row_text(row))
    courses = {(web.name, arm): course for (web, arm), course in zip(jobs, found, strict=True)}
    rounds = 200 if quick else 4_000
    of_rates, first = estimators(rounds), first_checks(rounds)
    write_report(report(webs, rows, courses, of_rates, first), results)


def _row(web: Web, arm: Arm, course: Course) -> Row:
    steady = int(_STEADY * len(course.fresh))
    row: dict[str, str | int | float] = {
        "arm": f"{web.name}: {arm.name}",
        "pages": web.pages,
        "visits a page": course.visits / web.pages,
        "freshness": fmean(course.fresh[steady:]),
        "age, days": fmean(course.ages[steady:]),
        "freshness, whole time": fmean(course.fresh),
    }
    return row | theory(web, arm.policy) if arm.knows and web.name == "Poisson" else row


def report(
    webs: Sequence[Web],
    rows: Sequence[Row],
    courses: dict[tuple[str, Arm], Course],
    estimators: Sequence[Row],
    first: Sequence[Row],
) -> Report:
    """Put together what was found."""
    return Report(
        "freshness",
        "Freshness of a collection by policy, and what is learned of rates",
        "arm",
        rows,
        notes=_notes(webs),
        claims=_claims(rows, estimators),
        plots=[Plot("Freshness and age over time", [panel for web in webs for panel in _panels(web, courses)])],
        series={"time": list(_over_time(webs, courses)), "estimator": estimators},
        tables={
            "Estimates of a rate of 1, by checks at intervals in which so many changes are expected": estimators,
            "Median factor by which an estimate is off after a few weekly checks": first,
            "Weighted freshness in theory, pages of importance by a power law": weighted(),
        },
    )


def _claims(rows: Sequence[Row], estimators: Sequence[Row]) -> list[Claim]:
    paper = "Cho, Garcia-Molina 2003"
    by_name = {str(row["arm"]).removeprefix("Poisson: "): row for row in rows if str(row["arm"]).startswith("Poisson")}
    fixed, best = by_name["fixed"], by_name["optimal, true rates"]
    claims = [
        Claim(
            f"freshness, {name}",
            paper,
            f"{number(by_name[name], 'freshness in theory'):.3f}",
            f"{number(by_name[name], 'freshness'):.3f}",
        )
        for name in ("fixed", "proportional, true rates", "optimal, true rates")
    ]
    over = number(fixed, "freshness") - number(by_name["proportional, true rates"], "freshness")
    gain = number(best, "freshness") - number(fixed, "freshness")
    claims.append(Claim("uniform over proportional, freshness", paper, "above 0 for any rates", f"{over:+.3f}"))
    claims.append(Claim("optimal over uniform, freshness", paper, "0 or above", f"{gain:+.3f}"))
    for name in ("adaptive", "optimal, learned"):
        share = number(by_name[name], "freshness") / number(best, "freshness in theory")
        claims.append(Claim(f"freshness, {name}, over the theoretical optimum", "no goal", "-", f"{share:.1%}"))
    far = max(abs(number(row, "mean here") / number(row, "mean by formula") - 1) for row in estimators)
    claims.append(Claim("estimator's mean, off from the formula", paper, "0", f"{far:.1%} at most"))
    far = max(abs(number(row, "sd here") / number(row, "sd by formula") - 1) for row in estimators)
    claims.append(Claim("estimator's deviation, off from the formula", paper, "0", f"{far:.1%} at most"))
    return claims


def _panels(web: Web, courses: dict[tuple[str, Arm], Course]) -> Iterator[Panel]:
    for title, of in _FIGURES.items():
        lines = []
        for arm in ARMS:
            values = of(courses[web.name, arm])
            weeks = range(6, len(values), 7)
            bold = arm == Arm(Policy.OPTIMAL, False)
            lines.append(Line(arm.name, [day + 1 for day in weeks], [values[day] for day in weeks], bold=bold))
        yield Panel(f"{title}, {web.name}", "days", title, lines)


_FIGURES: dict[str, Callable[[Course], list[float]]] = {
    "freshness": lambda course: course.fresh,
    "age in days": lambda course: course.ages,
}


def _over_time(webs: Sequence[Web], courses: dict[tuple[str, Arm], Course]) -> Iterator[Row]:
    for web, arm in product(webs, ARMS):
        course = courses[web.name, arm]
        for day in range(6, len(course.fresh), 7):
            yield {
                "web": web.name,
                "arm": arm.name,
                "day": day + 1,
                "freshness": course.fresh[day],
                "age, days": course.ages[day],
            }


def _notes(webs: Sequence[Web]) -> list[str]:
    web, _, coming = webs
    return [
        f"{web.pages:,} pages for {web.days} days of virtual time, with a visit of each page every {web.every_days:g}"
        f" days on average, whatever the policy. Pages change {_CHANGES:g} times a day in the mean (lognormal, sigma"
        f" {web.spec.change_spread:g}); {SITE_PAGES} pages are a site. Of the mixed web 30 % of the pages never"
        " change; of the others a quarter each change at a fixed period and in bursts of 8. In the coming web"
        " half of the pages, but for home pages, are there for 15 to 60 days of some 180; it has"
        f" {coming.days} days, and one visit a page every {coming.every_days:g} days. What has come is found at the"
        " home page of its site, and is not up to date before; what is gone is not until a visit has found that.",
        "freshness: share of the copies that are up to date, at the end of each day; age: time since the page changed,"
        " 0 while the copy is up to date. Both over the second half of the time, but for the last column.",
        "All is decided by scrawler.features.revisit.policies; what is learned are changed or not, per visit, and"
        " nothing else. Those with true rates are told the mean rate of each page, of mixed pages as well.",
        "naive mean: changes found over time; formulas: the mean and deviation of Cho and Garcia-Molina's estimator"
        " over the binomial distribution; irregular: exponentially distributed intervals, by the likelihood.",
    ]


if __name__ == "__main__":
    main()
