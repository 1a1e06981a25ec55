"""What a party fetches next, where its lists are in several places."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from scrawler.core.party.context import SeedContext
from scrawler.core.party.depth import Lane
from scrawler.core.party.entries import Entry, encode
from scrawler.core.party.parties import Choice, Parties
from scrawler.core.party.site import SiteContext
from scrawler.core.seen import ExactSeen, MemoryBudget
from scrawler.model.deltas import Rehoming
from scrawler.model.lanes import NORMAL, REFETCH, SITEMAP, ChunkRow, LaneKey, LaneState, priority
from scrawler.model.seeds import EndReason, Seed
from scrawler.urls.analyzer import UrlAnalyzer
from scrawler.urls.scope import scope_of
from tests.crawl_rules import crawl_rules

HOME = "http://a.org/"
RULES = crawl_rules(retries=2, retry_pause_ms=20_000)


def test_the_first_reason_to_leave_stands_but_a_move_gives_way() -> None:
    scope = scope_of(HOME, RULES.scope)
    party = SeedContext(Seed(1, 1, HOME, HOME, 0, 0), UrlAnalyzer(scope), scope, 0.0)
    move = Rehoming("http://b.org/", "b.org", 1)
    party.leave(move)
    assert party.leaving is move
    party.leave(EndReason.INTERNAL_ERROR, "a fault")
    party.leave(EndReason.SEEN_MEMORY)
    party.leave(move)
    assert (party.leaving, party.end_detail) == (EndReason.INTERNAL_ERROR, "a fault")
    party.finish(EndReason.INTERNAL_ERROR, "told otherwise")
    assert (party.end, party.end_detail, party.ended) == (EndReason.INTERNAL_ERROR, "a fault", True)


def test_a_chunk_is_read_while_retries_are_not_due() -> None:
    asked: list[tuple[Lane, Callable[[list[ChunkRow]], None]]] = []
    parties = Parties(
        RULES, lambda lane, _, done: asked.append((lane, done)), lambda *_: None, look_again=lambda site: None
    )
    scope = scope_of(HOME, RULES.scope)
    party = SeedContext(Seed(1, 1, HOME, HOME, 0, 0), UrlAnalyzer(scope), scope, 0.0)
    party.begun = True
    party.lanes = [Lane(LaneState(1, NORMAL.number, 1, 0, 1))]  # its one entry is in the database
    party.lane(NORMAL.after(retries=1)).append_entry(Entry(HOME + "broken", 1, 7, not_before=60_000))
    site = SiteContext(1, "a.org", 1, ExactSeen(MemoryBudget(2**20)), False, parties=[party])
    assert parties.choose(site, 0.0, 0) == 60.0
    [(lane, done)] = asked
    assert parties.choose(site, 0.0, 0) == 60.0
    assert len(asked) == 1, "it is on its way"
    done([ChunkRow(1, NORMAL.number, 0, 0, 1, encode([Entry(HOME, 0, 0)]))])
    assert parties.choose(site, 0.0, 0) == Choice(party, lane, Entry(HOME, 0, 0))


@pytest.mark.parametrize("lane", [NORMAL.after(retries=1), REFETCH])
def test_a_retry_that_would_wait_longer_than_any_pause_is_due(lane: LaneKey) -> None:
    """It was listed before the clock was set back, or by a machine whose clock is ahead."""
    parties = Parties(RULES, lambda *_: None, lambda *_: None, look_again=lambda site: None)
    scope = scope_of(HOME, RULES.scope)
    party = SeedContext(Seed(1, 1, HOME, HOME, 0, 0), UrlAnalyzer(scope), scope, 0.0)
    party.begun = True
    longest = RULES.longest_retry_ms
    party.lane(lane).append_entry(Entry(HOME + "broken", 1, 7, not_before=1_000 + longest))
    party.ordered = lane is REFETCH
    site = SiteContext(1, "a.org", 1, ExactSeen(MemoryBudget(2**20)), False, parties=[party])
    assert parties.choose(site, 0.0, 1_000) == longest / 1000
    assert isinstance(parties.choose(site, 0.0, 999), Choice), "the clock was set back"


def _party() -> SeedContext:
    scope = scope_of(HOME, RULES.scope)
    return SeedContext(Seed(1, 1, HOME, HOME, 0, 0), UrlAnalyzer(scope), scope, 0.0)


def _taken(party: SeedContext) -> list[str]:
    """Take all that is at hand; return it in order."""
    urls = []
    while isinstance(found := party.next_lane(0, 0), tuple):
        lane, entry = found
        lane.finish(lane.take())
        urls.append(entry.url)
    return urls


def test_what_promises_more_is_asked_for_first() -> None:
    party, seen = _party(), ExactSeen(MemoryBudget(2**20))
    levels = {HOME + name: int(name[-1]) for name in ("a0", "b2", "c4", "d2", "e0", "f3")}
    party.list_new(seen, [HOME], 0)
    assert party.list_by_level(seen, [HOME, *levels], 1, levels.__getitem__) == list(levels)
    party.list_sitemap(seen, HOME + "sitemap.xml", 0)
    assert [lane.key for lane in party.lanes] == [SITEMAP, priority(4), priority(3), priority(2), NORMAL]
    expected = [HOME + name for name in ("sitemap.xml", "c4", "f3", "b2", "d2", "", "a0", "e0")]
    assert _taken(party) == expected
    assert party.counts.listed == 8


def test_positions_in_lanes_of_priority_differ_and_are_not_that_of_the_seeds_own_url() -> None:
    party, seen = _party(), ExactSeen(MemoryBudget(2**20))
    party.list_by_level(seen, [HOME + f"p{n}" for n in range(300)], 1, lambda url: 1 + len(url) % 2)
    party.list_by_level(seen, [HOME + f"q{n}" for n in range(300)], 1, lambda url: 1 + len(url) % 2)
    positions = []
    for level in (1, 2):
        lane = party.lane(priority(level))
        while (entry := lane.peek()) is not None:
            positions.append(entry.position)
            lane.take()
    assert len(positions) == 600
    assert min(positions) == 1


def test_a_lane_whose_chunk_is_away_is_waited_for() -> None:
    """Otherwise the order would depend on how fast the database is."""
    party = _party()
    party.lanes = [Lane(LaneState(1, priority(2).number, 1, 0, 1)), Lane(LaneState(1, priority(1).number, 1, 0, 0))]
    party.lane(priority(1)).append(HOME + "less", 1)
    party.lane(NORMAL).append(HOME, 0)
    assert party.next_lane(0, 0) is None
    assert party.missing_lane() is party.lanes[0]
    party.lanes[0].filled([ChunkRow(1, priority(2).number, 0, 0, 1, encode([Entry(HOME + "more", 1, 1)]))])
    assert _taken(party) == [HOME + "more", HOME + "less", HOME]


def test_the_store_is_asked_once_whether_the_page_is_fetched_to_which_many_seeds_lead() -> None:
    asked: list[Callable[[bool], None]] = []
    parties = Parties(RULES, lambda *_: None, lambda site, key, done: asked.append(done), look_again=lambda site: None)
    scope = scope_of(HOME, RULES.scope)
    made = [
        SeedContext(Seed(number, 1, f"http://moved{number}.org/", HOME, 1, 0), UrlAnalyzer(scope), scope, 0.0)
        for number in range(3)
    ]
    site = SiteContext(1, "a.org", 1, ExactSeen(MemoryBudget(2**20)), False, parties=made[:1])
    site.seen.add([HOME])
    parties.choose(site, 0.0, 0)
    asked[0](True)
    site.parties = made[1:]
    parties.choose(site, 0.0, 0)
    assert [party.end for party in made] == 3 * [EndReason.COVERED]
    assert len(asked) == 1
