"""How often a machine without work asks whether there is any, or the crawl is over."""

from __future__ import annotations

import pytest

from scrawler.core.distribution.selector import look_again_after


@pytest.mark.parametrize(("idle", "after"), [(0.0, 0.03), (0.5, 0.03), (4.0, 0.2), (20.0, 1.0), (3600.0, 2.0)])
def test_the_longer_there_was_nothing_the_more_seldom(idle: float, after: float) -> None:
    assert look_again_after(idle) == pytest.approx(after)
