"""The numbers of lanes in the database, and what they say."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrawler.model.lanes import LEFTOVER, NORMAL, REFETCH, SITEMAP, SLOW, LaneKey, LaneKind, lane_key, priority
from tests.tables import each


@given(st.integers(0, 20), st.integers(0, 1000), st.sampled_from([NORMAL, SLOW, REFETCH]))
def test_a_lane_tells_how_often_its_urls_were_tried(retries: int, pushbacks: int, first: LaneKey) -> None:
    lane = first.after(retries, pushbacks)
    assert (lane.retries, lane.pushbacks) == (retries, pushbacks)
    assert lane_key(lane.number) is lane, "the database brings it back as it was"
    assert (lane.kind is first.kind) is (first is not NORMAL or not (retries or pushbacks))


@each(
    ("number", "kind"),
    [
        (0, LaneKind.NORMAL),
        (1, LaneKind.RETRY),
        (99, LaneKind.RETRY),
        (100, LaneKind.PUSHED_BACK),
        (203, LaneKind.PUSHED_BACK),
        (-1, LaneKind.LEFTOVER),
        (-3, LaneKind.SITEMAP),
        (-11, LaneKind.PRIORITY),
        (-14, LaneKind.PRIORITY),
        (-1000, LaneKind.SLOW),
        (-1101, LaneKind.SLOW),
        (1_000_000, LaneKind.REFETCH),
        (1_000_102, LaneKind.REFETCH),
    ],
)
def test_what_the_numbers_in_databases_mean(number: int, kind: LaneKind) -> None:
    lane = lane_key(number)
    assert (lane.kind, lane.number) == (kind, number)


@pytest.mark.parametrize("first", [LEFTOVER, SITEMAP, priority(1), priority(4)])
def test_what_is_tried_again_leaves_its_special_lane(first: LaneKey) -> None:
    assert first.after(retries=1) is lane_key(1)
    assert first.after(pushbacks=1) is lane_key(100)


def test_lanes_of_priority_stand_behind_sitemaps_the_best_first() -> None:
    assert priority(0) is NORMAL
    assert [priority(level).level for level in range(5)] == [0, 1, 2, 3, 4]
    in_order = [SITEMAP, *(priority(level) for level in (9, 4, 3, 2, 1)), LEFTOVER, NORMAL, NORMAL.after(retries=1)]
    assert sorted({*in_order}, key=lambda key: key.place) == in_order
