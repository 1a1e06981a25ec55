"""Seeds that have moved are taken up together: as each would be by itself, with a few statements for all of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from sqlalchemy import Engine, event

from scrawler.core.clock import DatabaseClock
from scrawler.core.party.entries import Entry, Lines
from scrawler.core.party.site import SiteContext
from scrawler.core.party.takeup import SiteTaker
from scrawler.core.seen import ExactSeen, MemoryBudget
from scrawler.model.claims import ClaimedSite
from scrawler.model.deltas import Rehoming
from scrawler.model.lanes import ChunkRow, LaneState
from scrawler.model.results import Result
from scrawler.model.seeds import Seed, SeedCounts, SeedState
from scrawler.store.engines.engine import Database
from scrawler.store.lists.frontier import Frontier
from scrawler.urls.analyzer import UrlAnalyzer
from tests.crawl_rules import crawl_rules
from tests.integration.store.crawling import Worker, add, page, seed_delta, site_delta

SITES = 20


def move(worker: Worker, to_portal: bool = False) -> list[ClaimedSite]:
    """Let the seeds of sites move to their www, or to one site; return the sites to which they have moved."""
    add(worker.database, *(f"http://s{number}.org/" for number in range(SITES)))
    deltas = []
    for site in worker.claim(SITES):
        (seed,) = site.seeds
        target = f"http://portal.org/{seed.id}" if to_portal else f"http://www.{site.key}/"
        delta = seed_delta(
            seed.id,
            pages=(page(seed.id, seed.url, result=Result.REDIRECT.value, status=301, depth=0, detail=target),),
            lanes=(LaneState(seed.id, 0, seed.id, 1, 1),),
            chunks=(ChunkRow(seed.id, 0, 0, 0, 1, own_list(seed)),),
            counts=SeedCounts(requests=2, redirects=1, listed=1),
            jar=b"",
            rehoming=Rehoming(target, target.split("/")[2], 1),
            state=SeedState.READY,
        )
        deltas.append(site_delta(site, delta, released=True))
    worker.commit(*deltas)
    return worker.claim(SITES, SITES)


def own_list(seed: Seed) -> bytes:
    lines = Lines(0)
    lines.append(Entry(seed.url, 0, 0))
    return lines.packed()


def taker_of(database: Database) -> SiteTaker:
    return SiteTaker(
        Frontier(database),
        crawl_rules(),
        DatabaseClock(),
        lambda: ExactSeen(MemoryBudget(2**20)),
        lambda scope, aliases, sample: UrlAnalyzer(scope, aliases=aliases, sample=sample),
    )


@contextmanager
def statements() -> Iterator[list[str]]:
    """Give what is asked of databases in a block."""
    asked: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_more: object) -> None:
        asked.append(statement)

    event.listen(Engine, "before_cursor_execute", note)
    try:
        yield asked
    finally:
        event.remove(Engine, "before_cursor_execute", note)


def shown(site: SiteContext) -> list[object]:
    """Return what has come of a take-up."""
    parties = [
        (
            party.seed.id,
            party.begun,
            party.leaving,
            party.led_from,
            [(lane.key, lane.length, lane.unfinished) for lane in party.lanes],
            party.scope.contains(party.seed.url),
            party.scope.contains("http://other.org/"),
            party.redirected.asked_again(b""),
        )
        for party in site.set_aside
    ]
    return [site.id, site.owners, sorted(site.due), parties, [party.seed.url in site.seen for party in site.set_aside]]


def test_sites_to_which_seeds_have_moved_are_taken_up_together(database: Database) -> None:
    claimed = move(Worker.of(database))
    assert len(claimed) == SITES
    alone = [taker_of(database).take_up(one, 10) for one in claimed]
    taker = taker_of(database)
    with statements() as asked:
        taker.look_ahead(claimed)
        together = [taker.take_up(one, 10) for one in claimed]
        taker.forget_ahead()
    assert list(map(shown, together)) == list(map(shown, alone))
    assert all(party.scope.contains(party.seed.url) for site in together for party in site.set_aside)
    assert len(asked) < SITES


def test_seeds_that_have_moved_to_a_site_in_work_come_together(database: Database) -> None:
    (claimed,) = move(Worker.of(database), to_portal=True)
    assert len(claimed.seeds) == SITES
    taker = taker_of(database)
    site = taker.take_up(replace(claimed, seeds=claimed.seeds[:1]), 10)
    with statements() as asked:
        parties = taker.further(site, claimed.seeds[1:])
    assert [party.seed.id for party in parties] == [seed.id for seed in claimed.seeds[1:]]
    assert all(party.scope.contains(party.seed.url) and len(party.lanes) == 1 for party in parties)
    assert len(asked) < SITES
