from __future__ import annotations

import pytest

from scrawler.fetch.politeness import next_due


@pytest.mark.parametrize(
    ("delay", "crawl_delay", "waits"),
    [
        (1.0, None, 1000),
        (0.0, None, 0),
        (1.0, 5.0, 5000),
        (5.0, 1.0, 5000),
        (0.0, 0.0005, 1),
        (1.0, 3600.0, 60_000),
        (90.0, 3600.0, 90_000),
        (0.1234, None, 124),
    ],
)
def test_the_longer_delay_holds_and_the_sites_is_capped(delay, crawl_delay, waits):
    assert next_due(1_700_000_000_000, delay, crawl_delay) == 1_700_000_000_000 + waits


def test_the_cap_can_be_set():
    assert next_due(0, 1.0, 100.0, cap=10.0) == 10_000
