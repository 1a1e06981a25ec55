"""The rate that the progress line tells."""

from __future__ import annotations

import pytest

from scrawler.core.progress import PageRate


def test_bursts_between_looks_are_in_the_rate_of_all_looks() -> None:
    rate = PageRate(100.0)
    told = [rate.look(100.0 + look / 2, 150 * ((look + 1) // 2)) for look in range(1, 61)]  # 150 a second, all at once
    assert all(120 <= one <= 180 for one in told[9:])


def test_the_rate_is_of_the_last_seconds() -> None:
    rate = PageRate(0.0)
    assert rate.look(2.0, 100) == 50
    for look in range(5, 30):
        rate.look(look / 2, 100)
    assert rate.look(15.0, 200) == pytest.approx(20.0)


def test_a_look_after_a_long_pause_counts_from_the_one_before() -> None:
    rate = PageRate(0.0)
    rate.look(1.0, 10)
    assert rate.look(101.0, 210) == pytest.approx(2.0)
