from __future__ import annotations

import pytest

from scrawler.fetch.politeness import pause, slow_pause


@pytest.mark.parametrize(
    ("delay", "crawl_delay", "waits"),
    [
        (1.0, None, 1000),
        (0.0, None, 0),
        (1.0, 5.0, 5000),
        (5.0, 1.0, 5000),
        (0.0, 0.0005, 1),
        (1.0, 3600.0, 3_600_000),
        (0.1234, None, 124),
    ],
)
def test_the_longer_delay_holds(delay, crawl_delay, waits):
    assert pause(delay, crawl_delay) * 1000 == waits


@pytest.mark.parametrize(
    ("elapsed", "delay", "factor", "pause"),
    [(0.5, 1.0, 2.0, 1.0), (100.0, 1.0, 2.0, 30.0), (100.0, 0.0, 2.0, 0.0), (100.0, 1.0, 0.0, 0.0)],
)
def test_slow_answers_ask_for_longer_pauses_if_there_are_any(elapsed, delay, factor, pause):
    assert slow_pause(elapsed, delay, factor, cap=30.0) == pause
