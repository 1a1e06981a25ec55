"""How good estimates of how often pages change are, beside the formulas, and what it brings to heed importance."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import product
from random import Random
from statistics import fmean, median, pstdev

from experiments.lab.report import Row
from scrawler.features.revisit.policies.estimator import (
    DAY_S,
    NO_PRIOR,
    UNKNOWN,
    Checks,
    Gamma,
    SiteRates,
    estimate,
    regular_rate,
)
from scrawler.features.revisit.policies.policy import freshness, optimal_visits


def estimators(rounds: int) -> list[Row]:
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


def first_checks(rounds: int) -> list[Row]:
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


def weighted() -> list[Row]:
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
