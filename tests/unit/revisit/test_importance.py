"""Weights of pages."""

from __future__ import annotations

import pytest

from scrawler.features.revisit.policies.importance import RankError, by_depth, by_links, read_ranks
from tests.tables import each


def known(url: str) -> str | None:
    return url.lower() if url.startswith("http") else None


def test_weights_fall_with_depth_and_rise_with_links() -> None:
    assert [by_depth(one) for one in (0, 1, 3)] == [1, 0.5, 0.25]
    assert 1 == by_links(0) < by_links(1) < by_links(1_000) < 10


def test_a_file_of_ranks() -> None:
    ranks = read_ranks(["# ours\n", "\n", "http://A.example/\t3\n", "http://b.example/ 0.5\n"], known)
    assert len(ranks) == 2
    assert ranks.weight("http://a.example/") == 3
    assert ranks.weight("http://b.example/") == 0.5
    assert ranks.weight("http://c.example/") == 0.5  # nothing is said of it


@each(
    "line",
    ["http://a/", "http://a/ x", "http://a/ 0", "http://a/ -1", "http://a/ nan", "http://a/ inf", "a 1", "b c d"],
)
def test_a_line_that_is_none_is_told(line: str) -> None:
    with pytest.raises(RankError, match="line 2: "):
        read_ranks(["http://a.example/ 1", line], known)


def test_no_ranks_are_no_ranks() -> None:
    assert read_ranks([], known).weight("http://a/") == 1.0
