"""Words for how far off predictions are."""

from __future__ import annotations

from experiments.lab.report import Row
from experiments.planner import goal_text


def test_every_web_meets_the_goal_or_misses_it_by_its_worst_round() -> None:
    rows: list[Row] = [
        {"web": "large", "sizes off %": 3.0, "earlier off %": -16.0},
        {"web": "large", "sizes off %": -15.0, "earlier off %": 2.0},
        {"web": "small", "sizes off %": 9.0, "earlier off %": 20.5},
    ]
    assert goal_text(rows, "sizes") == "met on large, small; missed on none"
    assert goal_text(rows, "earlier") == "met on no web; missed on large (-16.0 %), small (+20.5 %)"
