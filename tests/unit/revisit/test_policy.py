"""The division of visits among pages, against the theorems that say what it must be."""

from __future__ import annotations

import math
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrawler.features.revisit.policies.policy import (
    Bounds,
    Demand,
    age_s,
    best_interval,
    freshness,
    memoryless_visits,
    optimal_visits,
    solved,
    urgency,
)
from scrawler.features.revisit.policies.schedule import Policy, Visited, next_visit

DAY_S = 86_400.0
RATES = st.floats(1e-9, 1e-2)
WEIGHTS = st.floats(0.01, 100)
PAGES = st.lists(st.tuples(RATES, WEIGHTS), min_size=1, max_size=40)


def demand_of(pages: list[tuple[float, float]], budget: float, bounds: Bounds | None = None) -> Demand:
    demand = Demand(budget, bounds) if bounds else Demand(budget)
    for rate, weight in pages:
        demand.add(rate, weight)
    return demand


def total_freshness(pages: list[tuple[float, float]], visits: list[float]) -> float:
    return sum(
        weight * freshness(rate, 1 / often) for (rate, weight), often in zip(pages, visits, strict=True) if often > 0
    )


@pytest.mark.parametrize("ratio", [1e-7, 1e-3, 0.1, 1.0, 5.0, 50.0])
def test_freshness_and_age_are_means_over_time(ratio: float) -> None:
    steps = 100_000
    points = [(one + 0.5) / steps * ratio for one in range(steps)]
    assert freshness(1.0, ratio) == pytest.approx(sum(math.exp(-t) for t in points) / steps, rel=1e-6)
    # The age at t is the mean of t - s over the first change at s: t - (1 - exp(-t)).
    assert age_s(1.0, ratio) == pytest.approx(sum(t + math.expm1(-t) for t in points) / steps, rel=1e-4)


@given(RATES, WEIGHTS, st.floats(1e-3, 1 - 1e-9))
def test_the_interval_is_where_the_urgency_meets_the_multiplier(rate: float, weight: float, share: float) -> None:
    multiplier = share * weight / rate
    interval = best_interval(rate, weight, multiplier)
    assert urgency(rate, weight, interval) == pytest.approx(multiplier, rel=1e-9)
    assert urgency(rate, weight, 0.9 * interval) < multiplier < urgency(rate, weight, 1.1 * interval) or share > 0.999


@given(RATES, WEIGHTS, st.floats(1 + 1e-6, 1e9))
def test_a_page_that_changes_too_fast_for_its_weight_is_not_visited(rate: float, weight: float, more: float) -> None:
    assert best_interval(rate, weight, more * weight / rate) == math.inf
    assert memoryless_visits(rate, weight, more * weight / rate) == 0


@given(RATES, WEIGHTS, st.floats(1e-6, 0.5), st.floats(1, 1.9))
def test_a_higher_multiplier_means_fewer_visits_and_weight_more(
    rate: float, weight: float, share: float, more: float
) -> None:
    multiplier = share * weight / rate
    rounded = 1 + 1e-9  # where the two hardly differ, their order is that of the last bits
    own = best_interval(rate, weight, multiplier)
    assert own <= rounded * best_interval(rate, weight, more * multiplier)
    assert best_interval(rate, more * weight, multiplier) <= rounded * own


@given(PAGES, st.floats(1e-6, 1e-2))
@settings(max_examples=40)
def test_the_exact_solution_meets_the_budget_and_no_shift_is_better(
    pages: list[tuple[float, float]], budget: float
) -> None:
    """The conditions of Karush, Kuhn and Tucker: equal gains where there are visits, none higher elsewhere."""
    own = optimal_visits(pages, budget)
    assert sum(own) == pytest.approx(budget, rel=1e-6)
    best = total_freshness(pages, own)
    for one, other in pairwise(range(len(pages))):
        for source, sink in ((one, other), (other, one)):
            shifted = own[:]
            moved = 0.05 * shifted[source]
            shifted[source] -= moved
            shifted[sink] += moved
            assert total_freshness(pages, shifted) <= best * (1 + 1e-7)


@given(PAGES, st.floats(1e-6, 1e-2))
@settings(max_examples=40)
def test_optimal_is_no_worse_than_uniform_and_that_than_proportional(
    pages: list[tuple[float, float]], budget: float
) -> None:
    """Cho and Garcia-Molina's Theorem: for equal weights, whatever the rates."""
    rates = [rate for rate, _ in pages]
    even = [(rate, 1.0) for rate in rates]
    best = total_freshness(even, optimal_visits(even, budget))
    uniform = total_freshness(even, [budget / len(rates)] * len(rates))
    proportional = total_freshness(even, [budget * rate / sum(rates) for rate in rates])
    assert best >= uniform * (1 - 1e-7)
    assert uniform >= proportional * (1 - 1e-9)


def test_visits_at_random_times_have_the_closed_form_of_azar() -> None:
    """Where all pages are visited, m = sum of sqrt(rate x weight), over (budget + sum of rates), squared."""
    pages = [(1e-5, 1.0), (2e-5, 1.5), (4e-5, 3.0)]
    budget = 1e-3
    m = solved(lambda m: sum(memoryless_visits(rate, weight, m) for rate, weight in pages), budget).high
    assert m == pytest.approx((sum(math.sqrt(r * w) for r, w in pages) / (budget + sum(r for r, _ in pages))) ** 2)


@given(PAGES, st.floats(1e-7, 1e-2))
@settings(max_examples=25)
def test_a_histogram_of_pages_uses_the_budget(pages: list[tuple[float, float]], budget: float) -> None:
    demand = demand_of(pages, budget)
    assert demand.visits() == pytest.approx(budget, rel=1e-6)
    assert sum(1 / demand.interval_s(rate, weight) for rate, weight in pages) == pytest.approx(budget, rel=1e-6)


def test_a_histogram_is_next_to_as_good_as_looking_at_all_pages() -> None:
    rng = Random(1)
    pages = [(math.exp(rng.gauss(-14, 2)), math.exp(rng.gauss(0, 1))) for _ in range(2_000)]
    for budget in (0.0005, 0.02):
        demand = demand_of(pages, budget)
        own = [1 / demand.interval_s(rate, weight) for rate, weight in pages]
        assert sum(own) == pytest.approx(budget, rel=1e-6)
        assert total_freshness(pages, own) > 0.998 * total_freshness(pages, optimal_visits(pages, budget))
    assert demand.cells < 2_500


def test_one_page_more_is_counted_and_nothing_is_solved_anew() -> None:
    demand = demand_of([(1e-6 * one, 1.0) for one in range(1, 1001)], 0.001)
    before = demand.multiplier()
    for one in range(5):
        demand.replace(1e-6 * (one + 1), 1e-5, 1.0)
    assert demand.multiplier() == before
    assert demand.pages == 1000
    for one in range(6, 501):
        demand.remove(1e-6 * one, 1.0)
    assert demand.multiplier() != before
    assert demand.visits() == pytest.approx(0.001, rel=1e-6)


def test_a_merged_histogram_is_that_of_all_pages() -> None:
    pages = [(1e-6 * one, 1.0 + one % 3) for one in range(1, 301)]
    one, other = demand_of(pages[:100], 0.001), demand_of(pages[100:], 0.001)
    one.merge(other)
    assert one.multiplier() == pytest.approx(demand_of(pages, 0.001).multiplier(), rel=1e-6)
    assert one.pages == 300


def test_what_came_and_went_leaves_nothing() -> None:
    demand = demand_of([(1e-6 * one, 1.0) for one in range(1, 101)], 0.001)
    for one in range(1, 101):
        demand.remove(1e-6 * one, 1.0)
    assert (demand.pages, demand.cells, demand.multiplier()) == (0, 0, 0.0)


@pytest.mark.parametrize("value", [0.0, -1.0, math.inf, math.nan, 1e300])
def test_what_is_no_rate_does_no_harm(value: float) -> None:
    demand = demand_of([(value, 1.0), (1e-6, value)], 0.001)
    assert demand.multiplier() > 0
    assert demand.interval_s(value, value) > 0


@given(PAGES, st.sampled_from(Policy), st.floats(1e-8, 1))
@settings(max_examples=60)
def test_every_policy_stays_within_the_bounds(pages: list[tuple[float, float]], policy: Policy, budget: float) -> None:
    bounds = Bounds(3_600, 90 * DAY_S)
    demand = demand_of(pages, budget, bounds)
    for rate, weight in pages[:3]:
        due = next_visit(policy, Visited(rate, weight), demand)
        assert bounds.shortest_s <= due.after_s <= bounds.longest_s
        assert due.reason


def test_adaptive_visits_a_page_as_often_as_it_changes_within_the_bounds() -> None:
    demand = demand_of([(1e-6, 1.0)], 1e-6, Bounds(3_600.0, 30 * DAY_S))
    often, sometimes, never = (
        next_visit(Policy.ADAPTIVE, Visited(rate), demand).after_s for rate in (1.0, 1e-6, 1e-12)
    )
    assert (often, never) == (3_600.0, 30 * DAY_S)
    assert sometimes == pytest.approx(1e6)


def test_fixed_has_its_interval_and_else_what_the_budget_gives() -> None:
    demand = demand_of([(1e-6, 1.0)] * 100, 1e-3)
    assert next_visit(Policy.FIXED, Visited(1e-6), demand, every_s=DAY_S).after_s == DAY_S
    assert next_visit(Policy.FIXED, Visited(1e-6), demand).after_s == pytest.approx(1e5)
    assert next_visit(Policy.PROPORTIONAL, Visited(1e-6), demand).after_s == pytest.approx(1e5)


def test_reasons_are_words() -> None:
    demand = demand_of([(1e-6, 1.0)] * 99 + [(0.5, 1.0)], 1e-5, Bounds())
    assert "too often" in next_visit(Policy.OPTIMAL, Visited(0.5), demand).reason
    assert "up to date" in next_visit(Policy.OPTIMAL, Visited(1e-6), demand).reason
