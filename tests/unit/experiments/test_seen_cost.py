"""What seen filters lose: the formula, against the filters themselves."""

from __future__ import annotations

import pytest

from experiments.lab.seen_cost import expected_lost, measure


@pytest.mark.parametrize("name", ["rbloom", "pybloom"])
def test_filters_lose_about_what_the_formula_says(name: str) -> None:
    cost = measure(name, 0.05, 10_000, "h.example")
    assert expected_lost(10_000, 0.05) / 2 < cost.lost < expected_lost(10_000, 0.05) * 2  # some 200: 14 sigma
    assert cost.reserved > 0
    assert min(cost.add, cost.known, cost.look_up) > 0


@pytest.mark.parametrize("name", ["compact", "exact"])
def test_what_keeps_whole_hashes_or_urls_loses_nothing(name: str) -> None:
    cost = measure(name, 0.0, 5_000, "h.example")
    assert (cost.lost, cost.false_positives) == (0, 0.0)
    assert expected_lost(5_000, 0.0) == 0


def test_the_expected_loss_stays_below_the_rate_however_many_layers_there_are() -> None:
    shares = [expected_lost(urls, 1e-6) / urls for urls in (100, 2_048, 10_000, 1_000_000, 100_000_000)]
    assert shares == sorted(shares)
    assert 0.9e-6 < shares[-1] < 1e-6
