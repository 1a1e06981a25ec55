"""Budgets of visits: what is left of them at a time."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from scrawler.features.revisit.store.budget import allowance, spent

DAY, HOUR = 86_400_000, 3_600_000
NOW = 10**12


def test_an_hours_share_is_there_to_begin_with_and_no_flood_follows_a_quiet_day() -> None:
    assert allowance(0, 2400, NOW).visits == allowance(NOW - DAY, 2400, NOW).visits == 100
    clock = spent(0, 2400, NOW, 100)
    left = allowance(clock, 2400, NOW)
    assert left.visits == 0
    assert NOW < left.next_at <= NOW + 36_001
    assert allowance(clock, 2400, left.next_at).visits == 1


def test_a_budget_of_few_visits_has_one_at_last() -> None:
    assert allowance(0, 1, NOW).visits == 1
    clock = spent(0, 1, NOW, 1)
    assert allowance(clock, 1, NOW + DAY - HOUR).visits == 0
    assert allowance(clock, 1, NOW + DAY + HOUR).visits == 1


def test_a_clock_that_was_ahead_takes_nothing_away_for_long() -> None:
    ahead = NOW + 365 * DAY
    left = allowance(ahead, 2400, NOW)
    assert left.visits == 0
    assert left.next_at <= NOW + 36_001
    assert spent(ahead, 2400, NOW, 0) == NOW


@given(st.integers(1, 10**9), st.lists(st.integers(0, 6 * HOUR), min_size=1, max_size=60))
def test_no_more_is_spent_than_the_budget_and_an_hours_share(per_day: int, waits: list[int]) -> None:
    now, clock, visits = NOW, 0, 0
    for wait in waits:
        now += wait
        some = allowance(clock, per_day, now).visits
        clock = spent(clock, per_day, now, some)
        visits += some
        assert clock <= now
    lag = max(HOUR, DAY // per_day + 1)
    assert visits <= (now - NOW + lag) * per_day / DAY + 1
