"""The estimator against its closed forms, against the likelihood itself, and against what it must never do."""

from __future__ import annotations

import math
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrawler.features.revisit.policies.estimator import (
    DAY_S,
    HIGHEST_RATE,
    LOWEST_RATE,
    NO_PRIOR,
    UNKNOWN,
    Checks,
    Gamma,
    SiteRates,
    estimate,
    most_likely,
    regular_rate,
)

SEEN = st.lists(
    st.tuples(st.floats(60, 1e8), st.booleans(), st.none() | st.floats(-1e3, 2e8, allow_subnormal=False)), max_size=30
)


def checks_of(seen: list[tuple[float, bool, float | None]], keep: float = 1.0) -> Checks:
    checks = Checks()
    for interval_s, changed, age_s in seen:
        checks = checks.checked(interval_s, changed, age_s, keep)
    return checks


@pytest.mark.parametrize(("number", "changed"), [(1, 0), (1, 1), (10, 3), (10, 10), (50, 49)])
def test_regular_checks_give_the_closed_form(number: int, changed: int) -> None:
    checks = checks_of([(DAY_S, one < changed, None) for one in range(number)])
    found = estimate(checks, NO_PRIOR).per_s
    if changed:
        assert found == pytest.approx(regular_rate(number, changed, DAY_S), rel=1e-9)
        correction = 0.5
        assert regular_rate(number, changed, DAY_S) == pytest.approx(
            -math.log((number - changed + correction) / (number + correction)) / DAY_S
        )
    else:
        assert found == LOWEST_RATE


def test_its_mean_is_the_rate_where_checks_are_frequent_enough() -> None:
    """Their Figure 6: the naive X / T finds half of the changes here, this estimator next to all."""
    number, rate = 20, 1.0 / DAY_S
    p = -math.expm1(-1)
    chances = [math.comb(number, x) * p**x * (1 - p) ** (number - x) for x in range(number + 1)]
    mean = sum(chance * regular_rate(number, x, DAY_S) for x, chance in enumerate(chances))
    assert mean == pytest.approx(rate, rel=0.01)
    assert sum(chance * x for x, chance in enumerate(chances)) / number / DAY_S < 0.64 * rate


def test_irregular_checks_give_the_most_likely_rate() -> None:
    """The sums that are kept stand for all intervals: the rate is off by far less than its own error."""
    rng = Random(1)
    for _ in range(300):
        rate = math.exp(rng.uniform(-2, 0.5)) / DAY_S
        intervals = [DAY_S * rng.choice((rng.expovariate(1), rng.uniform(0.5, 1.5))) for _ in range(30)]
        seen = [(one, rng.random() < -math.expm1(-rate * one), None) for one in intervals]
        checks = checks_of(seen)
        unchanged = sum(one for one, changed, _ in seen if not changed) + 0.5 * sum(intervals) / 30
        exact = most_likely([(1, one) for one, changed, _ in seen if changed], unchanged)
        found = estimate(checks, NO_PRIOR)
        if checks.changed:
            assert abs(math.log(found.per_s / exact)) < 0.4 * found.error


def test_the_most_likely_rate_is_most_likely() -> None:
    changed, unchanged_s = [(3, 2.0), (1, 30.0)], 40.0

    def likelihood(rate: float) -> float:
        return sum(n * math.log(-math.expm1(-rate * t)) for n, t in changed) - rate * unchanged_s

    found = most_likely(changed, unchanged_s)
    assert all(likelihood(found) > likelihood(found * (1 + shift)) for shift in (-0.01, -1e-4, 1e-4, 0.01))


def test_where_the_server_tells_when_a_page_changed_fewer_checks_are_enough() -> None:
    """Checks so rare that each finds a change say little of how many there were, but for their times."""
    rng, rate, interval = Random(3), 4 / DAY_S, DAY_S
    blind, told = Checks(), Checks()
    for _ in range(60):
        age = rng.expovariate(rate)
        blind = blind.checked(interval, age < interval, keep=1)
        told = told.checked(interval, age < interval, age if age < interval else None, keep=1)
    assert estimate(told, NO_PRIOR).per_s == pytest.approx(rate, rel=0.3)
    assert estimate(told, NO_PRIOR).error < 0.75 * estimate(blind, NO_PRIOR).error


@given(SEEN, st.floats(0.1, 10))
def test_another_unit_of_time_gives_another_unit_of_the_rate(
    seen: list[tuple[float, bool, float | None]], factor: float
) -> None:
    """Invariance: nothing in the estimator knows what a second is, but for its bounds."""
    prior = Gamma(0.7, 1e6)
    scaled = [(factor * t, changed, None if age is None else factor * age) for t, changed, age in seen]
    one = estimate(checks_of(seen), prior)
    other = estimate(checks_of(scaled), Gamma(0.7, factor * 1e6))
    if all(LOWEST_RATE * 1.01 < rate < HIGHEST_RATE / 1.01 for rate in (one.per_s, other.per_s)):
        assert other.per_s * factor == pytest.approx(one.per_s, rel=1e-3)


@given(SEEN)
def test_a_change_raises_the_rate_and_none_lowers_it(seen: list[tuple[float, bool, float | None]]) -> None:
    checks = checks_of(seen)
    now = estimate(checks).per_s
    assert estimate(checks.checked(DAY_S, changed=False, keep=1)).per_s <= now * (1 + 1e-3)
    shortest = min((t for t, _, _ in seen), default=DAY_S) * 1e-3
    assert estimate(checks.checked(shortest, changed=True, keep=1)).per_s >= now * (1 - 1e-3)


@given(SEEN, st.floats(0.5, 1))
def test_it_always_gives_a_rate_within_bounds_and_keeps_28_bytes(
    seen: list[tuple[float, bool, float | None]], keep: float
) -> None:
    checks = checks_of(seen, keep)
    packed = checks.packed()
    assert len(packed) == 28
    again = Checks.unpacked(packed)
    for prior in (NO_PRIOR, UNKNOWN):
        found = estimate(checks, prior)
        assert LOWEST_RATE <= found.per_s <= HIGHEST_RATE
        assert found.error > 0
        assert estimate(again, prior).per_s == pytest.approx(found.per_s, rel=0.05)


@pytest.mark.parametrize("interval_s", [0.0, -5.0, math.inf, math.nan])
def test_an_impossible_interval_tells_nothing(interval_s: float) -> None:
    assert Checks().checked(interval_s, changed=True) == Checks()


def test_what_is_in_the_database_and_none_of_ours_is_nothing() -> None:
    assert Checks.unpacked(b"") == Checks()
    assert Checks.unpacked(b"\xff" * 28) == Checks()
    assert len(Checks().checked(1e300, changed=True).packed()) == 28


def test_the_past_counts_less_and_less() -> None:
    checks = checks_of([(DAY_S, True, None)] * 200 + [(DAY_S, False, None)] * 200, keep=1 - 1 / 64)
    assert estimate(checks).per_s < 0.1 / DAY_S


def test_a_page_that_was_never_checked_is_like_its_site() -> None:
    rng = Random(5)
    site, pages = SiteRates(), [Checks() for _ in range(50)]
    for _ in range(20):
        for number, checks in enumerate(pages):
            rate = (0.05 if number % 2 else 0.2) / DAY_S
            now = checks.checked(DAY_S, rng.random() < -math.expm1(-rate * DAY_S), keep=1)
            site = site.replaced(checks, now)
            pages[number] = now
    prior = site.prior()
    assert estimate(Checks(), prior).per_s == pytest.approx(0.125 / DAY_S, rel=0.3)
    assert site.pages == 50
    # Of one page a short time without a change is no news where pages change rarely; where they do often, it is.
    once = Checks().checked(DAY_S, changed=False)
    assert estimate(once, prior).per_s > estimate(once, Gamma(0.5, 400 * DAY_S)).per_s


@given(st.lists(SEEN, max_size=6), st.randoms(use_true_random=False))
def test_the_order_of_a_sites_pages_makes_no_difference(
    pages: list[list[tuple[float, bool, float | None]]], rng: Random
) -> None:
    def prior(of: list[list[tuple[float, bool, float | None]]]) -> Gamma:
        site = SiteRates()
        for seen in of:
            site = site.replaced(None, checks_of(seen))
        return site.prior()

    shuffled = pages[:]
    rng.shuffle(shuffled)
    one, other = prior(pages), prior(shuffled)
    assert one.shape == pytest.approx(other.shape, rel=1e-6)
    assert one.mean == pytest.approx(other.mean, rel=1e-6)
    assert 0.25 <= one.shape <= 8
