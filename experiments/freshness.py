"""How fresh a collection stays that is visited by each policy, with equal budgets; and how good estimates of rates are.

python -m experiments.freshness
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from heapq import heapify, heappop, heappush
from itertools import product
from pathlib import Path
from random import Random
from statistics import fmean, median, pstdev
from typing import NamedTuple

import click
import numpy as np

from experiments.lab.command import experiment
from experiments.lab.plots import Line, Panel
from experiments.lab.report import Claim, Plot, Report, Row, number, row_text, write_report
from scrawler.revisit.estimator import (
    DAY_S,
    NO_PRIOR,
    UNKNOWN,
    Checks,
    Gamma,
    SiteRates,
    estimate,
    regular_rate,
)
from scrawler.revisit.policy import Bounds, Demand, age_s, freshness, optimal_visits
from scrawler.revisit.schedule import Policy, Visited, next_visit
from scrawler.synthweb.changes import Changes, PageChanges
from scrawler.synthweb.spec import WebSpec

_CHANGES = 0.1  # a day, in the mean of the pages that change
_SITE_PAGES = 200
_COMING_DAYS = 60  # so long as many pages come as go in the synthetic web
_BOUNDS = Bounds(3_600.0, 365 * DAY_S)
_STEADY = 0.5  # of the time is for learning; freshness is taken over the rest


class Web(NamedTuple):
    """Pages that change, and how often they can be visited."""

    name: str
    pages: int
    days: int
    every_days: float  # the budget: so often on the average can each page be visited
    spec: WebSpec


class Arm(NamedTuple):
    """A policy, and whether it knows how often pages change, or learns it."""

    policy: Policy
    knows: bool

    @property
    def name(self) -> str:
        """What it is called in tables."""
        if self.policy not in (Policy.PROPORTIONAL, Policy.OPTIMAL):
            return str(self.policy)
        return f"{self.policy}, {'true rates' if self.knows else 'learned'}"


ARMS = (
    Arm(Policy.OPTIMAL, False),
    Arm(Policy.FIXED, True),
    Arm(Policy.PROPORTIONAL, True),
    Arm(Policy.OPTIMAL, True),
    Arm(Policy.ADAPTIVE, False),
)


class Course(NamedTuple):
    """What came of an arm, day by day."""

    visits: int
    fresh: list[float]  # share of the copies that are up to date
    ages: list[float]  # mean age of copies in days


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
    estimators, first = _estimators(rounds), _first_checks(rounds)
    write_report(report(webs, rows, courses, estimators, first), results)


# --- a year of a collection


def run(web: Web, arm: Arm) -> Course:
    """Visit the pages of a web by a policy, as often as the budget allows: always the page that is due first.

    What is there at the beginning is fetched then. Visits come at equal times, so that all policies have as many,
    whatever they ask for; who is not due yet is visited early, and who is due waits where the policy asks for too much.
    """
    pages = _pages(web)
    collection = Collection(pages, arm, web.pages / (web.every_days * DAY_S))
    pause = web.every_days * DAY_S / web.pages
    fresh, ages, visits = list[float](), list[float](), 0
    for day in range(1, web.days + 1):
        while (visits + 1) * pause <= day * DAY_S:
            visits += 1
            collection.visit(visits * pause)
        stale_s = collection.stale_s(day * DAY_S)
        fresh.append(float((stale_s == 0).mean()))
        ages.append(float(stale_s.mean()) / DAY_S)
    return Course(visits, fresh, ages)


class Home:
    """The home page of a site: it leads to all others, and changes as well when one of them comes or goes."""

    def __init__(self, own: PageChanges, others: Sequence[PageChanges], days: int) -> None:
        """Take its own changes, the other pages, and the time that counts."""
        ends = (end for page in others for end in page.life if 0.0 < end < days * DAY_S)
        self._own = own
        self._turns = sorted(ends)
        self.rate = own.rate + len(self._turns) / (days * DAY_S)
        self.life = own.life

    def next(self, after: float) -> float:
        """Return the time of the next change, later than `after`."""
        turn = bisect_right(self._turns, after)
        own = self._own.next(after)
        return min(own, self._turns[turn]) if turn < len(self._turns) else own


def _pages(web: Web) -> list[PageChanges | Home]:
    """Return the pages of all sites, of which the first of each is its home page."""
    changes = Changes(web.spec)
    found: list[PageChanges | Home] = []
    for first in range(0, web.pages, _SITE_PAGES):
        count = min(_SITE_PAGES, web.pages - first)
        others = [changes.of(first // _SITE_PAGES, page, is_leaf=True) for page in range(1, count)]
        found += [Home(changes.of(first // _SITE_PAGES, 0), others, web.days), *others]
    return found


class Collection:
    """Copies of pages, and when each is due; a page's state is what a database would hold of it.

    A page that comes is found by the next visit to its site's home page, and visited then; one that is found gone is
    visited no more.
    """

    def __init__(self, pages: Sequence[PageChanges | Home], arm: Arm, budget: float) -> None:
        """Fetch all pages at time 0, and spread the first visits over the time that a round takes."""
        self._pages = pages
        self._arm = arm
        self._born = np.array([page.life.born for page in pages])
        self._gone = np.array([page.life.gone for page in pages])
        self._held = (self._born <= 0.0) & (self._gone > 0.0)  # of what there are copies
        # When each copy ceases to be up to date; what there is no copy of is not since it came.
        self._stale_at = np.where(self._held, [min(page.next(0.0), page.life.gone) for page in pages], self._born)
        self._awaited: dict[int, list[int]] = {}  # pages that come, by site, the last first
        for page in np.flatnonzero(self._born > 0.0)[np.argsort(-self._born[self._born > 0.0])]:
            self._awaited.setdefault(int(page) // _SITE_PAGES, []).append(int(page))
        self._visited = [0.0] * len(pages)
        self._checks = [Checks()] * len(pages)
        self._moments = [SiteRates()] * len(pages)
        self._sites = [SiteRates()] * (len(pages) // _SITE_PAGES + 1)
        first = [max(page.rate, 1e-10) if arm.knows else UNKNOWN.mean for page in pages]
        self._rates = first
        self._demand = Demand(budget, _BOUNDS)
        held = [int(page) for page in np.flatnonzero(self._held)]
        for page in held:
            self._demand.add(first[page], 1.0)
        random = Random(1)
        self._due = []
        for page in held:
            due = next_visit(arm.policy, Visited(first[page]), self._demand)
            self._due.append((random.random() * due.after_s, page))
        heapify(self._due)

    def stale_s(self, now: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """Return how long each page that is there, or of which there is a copy, has not been up to date."""
        counted = self._held | ((self._born <= now) & (self._gone > now))
        return np.maximum(0.0, now - self._stale_at[counted])

    def visit(self, now: float) -> None:
        """Visit the page that is due first."""
        _, page = heappop(self._due)
        if self._gone[page] <= now:
            self._leave(page)
            return
        if not self._held[page]:
            self._held[page] = True
            self._demand.add(self._rates[page], 1.0)
        elif not self._arm.knows:
            self._learn(page, now - self._visited[page], bool(self._stale_at[page] <= now))
        after_s = next_visit(self._arm.policy, Visited(self._rates[page]), self._demand).after_s
        self._visited[page] = now
        self._stale_at[page] = min(self._pages[page].next(now), self._gone[page])
        heappush(self._due, (now + after_s, page))
        if page % _SITE_PAGES == 0:
            self._find(page // _SITE_PAGES, now)

    def _find(self, site: int, now: float) -> None:
        """Find the pages that have come to a site: they are visited next."""
        awaited = self._awaited.get(site, [])
        while awaited and self._born[awaited[-1]] <= now:
            heappush(self._due, (0.0, awaited.pop()))

    def _leave(self, page: int) -> None:
        """Drop the copy of a page that is gone, if there is one."""
        if self._held[page]:
            self._held[page] = False
            self._demand.remove(self._rates[page], 1.0)

    def _learn(self, page: int, interval: float, changed: bool) -> None:
        site, checks = page // _SITE_PAGES, self._checks[page].checked(interval, changed)
        moments = SiteRates().replaced(None, checks)
        self._sites[site] = self._sites[site].swapped(self._moments[page], moments)
        self._moments[page] = moments
        self._checks[page] = checks
        rate = estimate(checks, self._sites[site].prior()).per_s
        self._demand.replace(self._rates[page], rate, 1.0)
        self._rates[page] = rate


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


def theory(web: Web, policy: Policy) -> dict[str, float]:
    """Return freshness and age that the closed forms give for Poisson processes of known rates."""
    rates = [max(page.rate, 1e-10) for page in _pages(web)]
    demand = Demand(web.pages / (web.every_days * DAY_S), _BOUNDS)
    for rate in rates:
        demand.add(rate, 1.0)
    intervals = [next_visit(policy, Visited(rate), demand).after_s for rate in rates]
    return {
        "freshness in theory": fmean(map(freshness, rates, intervals)),
        "age in theory, days": fmean(map(age_s, rates, intervals)) / DAY_S,
    }


# --- estimators


def _estimators(rounds: int) -> list[Row]:
    """Return mean and deviation of estimates, as shares of the true rate, beside the formulas."""
    rng = Random(2)
    return [_estimated(rng, checks, ratio, rounds) for checks, ratio in product((10, 50), (0.1, 0.3, 1.0, 2.0))]


def _estimated(rng: Random, checks: int, ratio: float, rounds: int) -> Row:
    """Check a page, whose rate is 1, so many times at intervals of `ratio`, and estimate; again and again."""
    chances = _binomial(checks, -math.expm1(-ratio))
    regular = [regular_rate(checks, found, ratio) for found in range(checks + 1)]
    mean = sum(map(lambda chance, one: chance * one, chances, regular))
    spread = math.sqrt(sum(chance * (one - mean) ** 2 for chance, one in zip(chances, regular, strict=True)))
    same = [_estimate_once(rng, [ratio] * checks) for _ in range(rounds)]
    other = [_estimate_once(rng, [rng.expovariate(1 / ratio) for _ in range(checks)]) for _ in range(rounds)]
    return {
        "checks": checks,
        "changes an interval": ratio,
        "naive mean": -math.expm1(-ratio) / ratio,
        "mean by formula": mean,
        "mean here": fmean(same),
        "sd by formula": spread,
        "sd here": pstdev(same),
        "asymptotic sd": math.sqrt(math.expm1(ratio) / checks) / ratio,
        "irregular: mean": fmean(other),
        "irregular: sd": pstdev(other),
    }


def _estimate_once(rng: Random, intervals: Sequence[float]) -> float:
    """Return the estimate of a rate of one change a day, from checks at intervals in days."""
    checks = Checks()
    for days in intervals:
        checks = checks.checked(days * DAY_S, rng.random() < -math.expm1(-days), keep=1.0)
    return estimate(checks, NO_PRIOR).per_s * DAY_S


def _binomial(number_of: int, chance: float) -> list[float]:
    return [math.comb(number_of, one) * chance**one * (1 - chance) ** (number_of - one) for one in range(number_of + 1)]


def _first_checks(rounds: int) -> list[Row]:
    """Return how far off estimates are after a few checks, with the prior of the site and without."""
    rng, checked = Random(3), (1, 2, 4, 8, 16)
    errors: dict[tuple[str, int], list[float]] = {}
    for _ in range(max(rounds // 100, 4)):
        site_rate = math.exp(rng.gauss(-3, 1)) / DAY_S
        rates = [rng.gammavariate(2, site_rate / 2) for _ in range(100)]
        prior = _site_of(rng, rates).prior()
        for rate in rates:
            for (way, known), (count, checks) in product(_priors(prior).items(), _courses(rng, rate, checked)):
                errors.setdefault((way, count), []).append(abs(math.log(estimate(checks, known).per_s / rate)))
    return [
        {"checks": count, **{way: math.exp(median(errors[way, count])) for way in _priors(UNKNOWN)}}
        for count in checked
    ]


def _priors(site: Gamma) -> dict[str, Gamma]:
    return {"no prior": NO_PRIOR, "general prior": UNKNOWN, "prior of the site": site}


def _courses(rng: Random, rate: float, checked: Sequence[int]) -> Iterator[tuple[int, Checks]]:
    checks = Checks()
    for count in range(1, max(checked) + 1):
        checks = checks.checked(7 * DAY_S, rng.random() < -math.expm1(-rate * 7 * DAY_S))
        if count in checked:
            yield count, checks


def _site_of(rng: Random, rates: Sequence[float]) -> SiteRates:
    """Return what is known of a site by ten checks of each of its other pages."""
    site = SiteRates()
    for rate in rates:
        ((_, checks),) = _courses(rng, rate, [10])
        site = site.replaced(None, checks)
    return site


# --- weights


def _weighted() -> list[Row]:
    """Return what it brings to heed importance, in theory: 500 pages with rates and weights as the web has them."""
    rng = Random(4)
    pages = [(math.exp(rng.gauss(-1.1, 1.5)) / 30, rng.paretovariate(1.1)) for _ in range(500)]
    total = sum(weight for _, weight in pages)
    rows: list[Row] = []
    for every in (10, 30, 90):
        budget = len(pages) / every
        ways: dict[str, Sequence[float]] = {
            "uniform": [budget / len(pages)] * len(pages),
            "by rates alone": optimal_visits([(rate, 1.0) for rate, _ in pages], budget),
            "by rates and weights": optimal_visits(pages, budget),
        }
        shares = {
            name: sum(
                weight * freshness(rate, 1 / often)
                for (rate, weight), often in zip(pages, visits, strict=True)
                if often > 0
            )
            / total
            for name, visits in ways.items()
        }
        rows.append({"days between visits": every, **shares})
    return rows


# --- the report


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
            "Weighted freshness in theory, pages of importance by a power law": _weighted(),
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
        f" {web.spec.change_spread:g}); {_SITE_PAGES} pages are a site. Of the mixed web 30 % of the pages never"
        " change; of the others a quarter each change at a fixed period and in bursts of 8. In the coming web"
        " half of the pages, but for home pages, are there for 15 to 60 days of some 180; it has"
        f" {coming.days} days, and one visit a page every {coming.every_days:g} days. What has come is found at the"
        " home page of its site, and is not up to date before; what is gone is not until a visit has found that.",
        "freshness: share of the copies that are up to date, at the end of each day; age: time since the page changed,"
        " 0 while the copy is up to date. Both over the second half of the time, but for the last column.",
        "All is decided by scrawler.revisit; what is learned are changed or not, per visit, and nothing else. Those"
        " with true rates are told the mean rate of each page, of mixed pages as well.",
        "naive mean: changes found over time; formulas: the mean and deviation of Cho and Garcia-Molina's estimator"
        " over the binomial distribution; irregular: exponentially distributed intervals, by the likelihood.",
    ]


if __name__ == "__main__":
    main()
