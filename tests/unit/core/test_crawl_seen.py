"""Seen filters: one interface, four parts; never a lost URL, a known rate of errors, a ceiling for memory."""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Callable, Iterable

import pytest

from scrawler.core.party.context import SeedContext
from scrawler.core.party.entries import Entry, EntryRole, decode
from scrawler.core.seen import (
    SEEN_URLS,
    ExactSeen,
    MemoryBudget,
    SeenFilter,
    SeenFullError,
    compact_seen,
    rbloom_seen,
)
from scrawler.features.classic.seen import pybloom_seen
from scrawler.model.lanes import CHUNK_ENTRIES, NORMAL, SITEMAP
from scrawler.model.scope import Scope
from scrawler.model.seeds import Seed
from scrawler.urls.analyzer import UrlAnalyzer
from scrawler.urls.scope import scope_of
from tests.allocations import UNWINDS_WITHOUT_MEMORY

PARTS = [compact_seen, rbloom_seen, pybloom_seen, ExactSeen]


def add_new(seen: SeenFilter, urls: Iterable[str]) -> list[str]:
    """Add those URLs that are not in; returns them."""
    new = seen.unseen(urls)
    seen.add(new)
    return new


@pytest.mark.parametrize("make", PARTS)
def test_each_url_is_new_once(make: Callable[[MemoryBudget], SeenFilter]) -> None:
    seen = make(MemoryBudget(1 << 24))
    urls = [f"http://a/{number}" for number in range(30_000)]
    assert add_new(seen, urls) == urls
    assert add_new(seen, urls) == []
    assert add_new(seen, ["http://b/", "http://a/7", "http://b/"]) == ["http://b/"]
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
        new = add_new(seen, urls)
        assert set(new) == set(urls) - asked
        listed.update(new)
        asked |= set(urls)
    assert set(listed.values()) == {1}


@pytest.mark.parametrize("make", [compact_seen, rbloom_seen])
def test_a_filter_that_is_full_has_added_none_of_what_it_refused(make: Callable[[MemoryBudget], SeenFilter]) -> None:
    seen = make(MemoryBudget(20_000))
    assert len(add_new(seen, (f"http://a/{number}" for number in range(2_000)))) == 2_000
    refused = [f"http://b/{number}" for number in range(1_000)]
    with pytest.raises(SeenFullError):
        add_new(seen, refused)
    assert not any(url in seen for url in refused)
    with pytest.raises(SeenFullError):
        add_new(seen, refused)


@pytest.mark.parametrize("make", [compact_seen, rbloom_seen, pybloom_seen])
def test_errors_stay_rare_over_many_layers(make: Callable[[MemoryBudget], SeenFilter]) -> None:
    seen = make(MemoryBudget(1 << 26))
    add_new(seen, (f"http://a/{number}" for number in range(60_000)))
    assert sum(f"http://b/{number}" in seen for number in range(100_000)) <= 3  # 0.1 expected


@pytest.mark.parametrize("make", PARTS)
def test_the_ceiling_is_an_error_and_memory_is_given_back(make: Callable[[MemoryBudget], SeenFilter]) -> None:
    budget = MemoryBudget(100_000)
    seen = make(budget)
    with pytest.raises(SeenFullError):
        add_new(seen, (f"http://a/{number}" for number in range(1_000_000)))
    seen.close()
    budget.take(100_000)
    with pytest.raises(SeenFullError):
        budget.take(1)


@pytest.mark.parametrize("make", [compact_seen, rbloom_seen])
def test_a_million_urls_take_some_megabytes(make: Callable[[MemoryBudget], SeenFilter]) -> None:
    budget = MemoryBudget(1 << 30)
    seen = make(budget)
    add_new(seen, (f"http://a/{number}" for number in range(1_000_000)))
    budget.take((1 << 30) - 16 * (1 << 20))  # so at most 16 MiB are in use


@UNWINDS_WITHOUT_MEMORY
@pytest.mark.interpreted("compiled code ends the process where there is no memory for a number")
@pytest.mark.parametrize(
    ("make", "before"),
    [(compact_seen, 0), (compact_seen, 100), (compact_seen, CHUNK_ENTRIES * 2 - 1), (rbloom_seen, 0), (ExactSeen, 100)],
)
@pytest.mark.parametrize("role", EntryRole)
def test_whichever_allocation_fails_what_is_seen_is_listed(
    make: Callable[[MemoryBudget], SeenFilter], role: EntryRole, before: int
) -> None:
    """Also what is listed later on is whole."""
    memory = pytest.importorskip("_testcapi")
    old, more, last = ([f"http://a.example/{kind}/{number}" for number in range(255)] for kind in "xyz")
    more = more[:1] if role is EntryRole.SITEMAP else more[:30]
    number = done = 0
    while done < 10:  # some failures are overcome
        seen, party = make(MemoryBudget(1 << 20)), _party()
        _list(party, seen, old[:before], role)
        number += 1
        memory.set_nomemory(number, number + 1)
        try:
            _list(party, seen, more, role)
            done += 1
        except MemoryError:
            done = 0
        finally:
            memory.remove_mem_hooks()
        held = {url for url in old + more if url in seen}
        assert held <= {entry.url for entry in _entries(party)}, number
        for urls in (more, last):
            _list(party, seen, urls, role)
        entries = _entries(party)
        lane = party.lane(SITEMAP if role is EntryRole.SITEMAP else NORMAL)
        assert [entry.position for entry in entries] == list(range(lane.length)), number
        assert {(entry.depth, entry.role) for entry in entries} == {(2, role)}
        assert {entry.url for entry in entries} == {*old[:before], *more, *last}
    assert number > 15
    assert len(entries) == before + len(more) + len(last)


def _party() -> SeedContext:
    home = "http://a.example/"
    scope = scope_of(home, Scope.HOST)
    return SeedContext(Seed(1, 1, home, home, 0, 0), UrlAnalyzer(scope), scope, 0.0)


def _list(party: SeedContext, seen: SeenFilter, urls: list[str], role: EntryRole) -> None:
    if role is not EntryRole.SITEMAP:
        party.list_new(seen, urls, 2, role)
        return
    for url in urls:
        party.list_sitemap(seen, url, 2)


def _entries(party: SeedContext) -> list[Entry]:
    """Return what stands in the lists, as the chunks have it that a checkpoint would write."""
    rows = [row for lane in party.lanes for row in [*lane._sealed, lane._tail_row()] if row.count]
    assert [row.seq for row in rows] == list(range(len(rows)))
    return [entry for row in rows for entry in decode(row.data)]


NOT_COMPILED = pytest.mark.skipif(SEEN_URLS is None, reason="not compiled: python setup.py build_ext --inplace")


@NOT_COMPILED
def test_the_usual_filter_is_small_for_a_small_site_and_takes_as_much_a_url_however_many_there_are() -> None:
    for count, most in [(1, 200), (200, 1_500), (100_000, 11 * 100_000)]:
        seen = compact_seen(MemoryBudget(most))
        for number in range(0, count, 10):
            add_new(seen, (f"http://a/{number}" for number in range(number, min(number + 10, count))))
        assert all(f"http://a/{number}" in seen for number in range(count))


@NOT_COMPILED
def test_what_the_usual_filter_is_given_it_gives_back() -> None:
    url = "".join(["http://", "given-back.org/"])
    budget = MemoryBudget(1 << 20)
    before = sys.getrefcount(url), sys.getrefcount(budget)
    seen = compact_seen(budget)
    for _ in range(3):
        assert seen.unseen([url, url, "http://c/", url, "http://b/", "http://c/"]) == [url, "http://c/", "http://b/"]
        with pytest.raises(TypeError):
            seen.unseen([url, "http://b/", 1])  # type: ignore[list-item]
        with pytest.raises(TypeError):
            seen.unseen(1)  # type: ignore[arg-type]
        with pytest.raises(TypeError):
            seen.add((url,))  # type: ignore[arg-type]
    assert url not in seen, "until it is added"
    seen.add([url, url, 1])  # type: ignore[list-item]
    assert url in seen
    assert 1 not in seen  # type: ignore[comparison-overlap]
    assert add_new(seen, ["\udc80\u00fc", url, "\udc80\u00fc"]) == ["\udc80\u00fc"]
    seen.close()
    seen.close()
    assert url not in seen
    del seen
    assert (sys.getrefcount(url), sys.getrefcount(budget)) == before
    budget.take(1 << 20)
