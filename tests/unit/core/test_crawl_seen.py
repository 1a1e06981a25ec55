"""Seen filters: one interface, three parts; never a lost URL, a known rate of errors, a ceiling for memory."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable

import pytest

from scrawler.core.seen import ExactSeen, MemoryBudget, SeenFilter, SeenFullError, pybloom_seen, rbloom_seen

PARTS = [rbloom_seen, pybloom_seen, ExactSeen]


@pytest.mark.parametrize("make", PARTS)
def test_each_url_is_new_once(make: Callable[[MemoryBudget], SeenFilter]) -> None:
    seen = make(MemoryBudget(1 << 24))
    urls = [f"http://a/{number}" for number in range(30_000)]
    assert seen.add_new(urls) == urls
    assert seen.add_new(urls) == []
    assert seen.add_new(["http://b/", "http://a/7", "http://b/"]) == ["http://b/"]
    assert "http://b/" in seen
    assert "http://c/" not in seen


@pytest.mark.parametrize("make", PARTS)
def test_pages_that_share_most_links_bring_each_once(make: Callable[[MemoryBudget], SeenFilter]) -> None:
    seen, chance, listed = make(MemoryBudget(1 << 24)), random.Random(5), Counter[str]()
    menu = [f"http://a/menu/{number}" for number in range(80)]
    asked: set[str] = set()
    for page in range(300):
        urls = [*menu, *(f"http://a/{chance.randrange(5_000)}" for _ in range(40 if page % 50 else 900))]
        chance.shuffle(urls)
        new = seen.add_new(urls)
        assert set(new) == set(urls) - asked
        listed.update(new)
        asked |= set(urls)
    assert set(listed.values()) == {1}


def test_a_filter_that_is_full_has_added_none_of_what_it_refused() -> None:
    seen = rbloom_seen(MemoryBudget(20_000))
    assert len(seen.add_new(f"http://a/{number}" for number in range(2_000))) == 2_000
    refused = [f"http://b/{number}" for number in range(100)]
    with pytest.raises(SeenFullError):
        seen.add_new(refused)
    assert not any(url in seen for url in refused)
    with pytest.raises(SeenFullError):
        seen.add_new(refused)


@pytest.mark.parametrize("make", [rbloom_seen, pybloom_seen])
def test_errors_stay_rare_over_many_layers(make: Callable[[MemoryBudget], SeenFilter]) -> None:
    seen = make(MemoryBudget(1 << 26))
    seen.add_new(f"http://a/{number}" for number in range(60_000))
    assert sum(f"http://b/{number}" in seen for number in range(100_000)) <= 3  # 0.1 expected


@pytest.mark.parametrize("make", PARTS)
def test_the_ceiling_is_an_error_and_memory_is_given_back(make: Callable[[MemoryBudget], SeenFilter]) -> None:
    budget = MemoryBudget(100_000)
    seen = make(budget)
    with pytest.raises(SeenFullError):
        seen.add_new(f"http://a/{number}" for number in range(1_000_000))
    seen.close()
    budget.take(100_000)
    with pytest.raises(SeenFullError):
        budget.take(1)


def test_a_million_urls_take_some_megabytes() -> None:
    budget = MemoryBudget(1 << 30)
    seen = rbloom_seen(budget)
    seen.add_new(f"http://a/{number}" for number in range(1_000_000))
    budget.take((1 << 30) - 16 * (1 << 20))  # so at most 16 MiB are in use
