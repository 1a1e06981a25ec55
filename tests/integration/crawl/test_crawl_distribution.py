"""Seeds come to collectors in turn, stay level, and a site with very many of them leaves the others their share."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from scrawler.core.collecting import places
from scrawler.features.synthweb.process import SynthServer
from scrawler.features.synthweb.spec import WebSpec
from scrawler.features.synthweb.truth import party
from scrawler.model.seeds import EndReason, SeedState
from scrawler.settings.parts import PART_KINDS
from tests.integration.crawl.hostile import page
from tests.integration.crawl.rig import watch
from tests.integration.fetch.servers import RawServer, Visit
from tests.limits import HANGS

if TYPE_CHECKING:
    from scrawler.core.machine.machine import Machine
    from tests.integration.crawl.conftest import Crawl

Serve = Callable[..., RawServer]


def spread(counts: list[int]) -> int:
    return max(counts) - min(counts)


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sites keep their places however long a busy machine takes for their first answers."""
    for name in ("SOON", "_LATEST"):
        monkeypatch.setattr(places, name, HANGS)


@pytest.mark.usefixtures("patient")
def test_seeds_are_dealt_in_turn(crawl: Crawl) -> None:
    with SynthServer(WebSpec(seed=5, sites=12, equal=True, mean_pages=12, page_bytes=500, latency_ms=10)) as server:
        crawl.add(server.web.seeds())
        watched = watch(crawl.settings(threads=4, seeds_per_thread=10))
    assert max(watched.held, key=sum) == [3, 3, 3, 3]
    assert watched.ended


@pytest.mark.parametrize("distribution", PART_KINDS["distribution"].own)
def test_no_collector_holds_more_than_its_capacity(crawl: Crawl, distribution: str) -> None:
    with SynthServer(WebSpec(seed=5, sites=30, mean_pages=8, page_bytes=500, latency_ms=3)) as server:
        crawl.add(server.web.seeds(per_site=3))
        watched = watch(crawl.settings(threads=4, seeds_per_thread=3, distribution=distribution))
    assert max(max(counts) for counts in watched.held) == 3
    assert all(seed.state is SeedState.DONE for seed in crawl.seeds())
    crawl.check()


def test_hosts_that_never_answer_end_their_seeds_and_keep_nobody_from_the_others(crawl: Crawl) -> None:
    spec = WebSpec(seed=5, sites=24, mean_pages=8, page_bytes=500, dead_share=0.15)
    with SynthServer(spec) as server:
        crawl.add(server.web.seeds())
        watched = watch(
            crawl.settings(threads=4, seeds_per_thread=3, distribution="free", connect_timeout=0.2, retries=0)
        )
        parties = [party(server.web, seed, max_depth=15) for seed in server.web.seeds()]
    assert watched.ended
    found = {row.url for row in crawl.pages() if row.status == 200 and row.content_type == "text/html"}
    assert found >= set().union(*(one.pages for one in parties))
    dead = {one.home for one in parties if one.dead}
    assert len(dead) >= 3
    ended = {seed.home_url: seed.end_reason for seed in crawl.seeds()}
    assert {url for url, reason in ended.items() if reason is EndReason.DEAD} == dead


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("delay", [0, 0.02])
def test_sites_move_until_collectors_are_level(crawl: Crawl, delay: float) -> None:
    """Collectors 0 and 2 get sites that end soon, 1 and 3 the largest ones."""
    with SynthServer(WebSpec(seed=6, sites=60, mean_pages=12, page_bytes=500, latency_ms=50)) as server:
        web = server.web
        by_size = sorted(
            (index for index in range(60) if web.site(index).alias_of is None), key=lambda index: web.site(index).pages
        )
        pairs = zip(by_size[:10], reversed(by_size[-10:]), strict=True)
        crawl.add(web.seeds_of(index)[0] for pair in pairs for index in pair)
        watched = watch(crawl.settings(threads=4, seeds_per_thread=10, delay=delay, max_pages=40))
    assert max(watched.held, key=sum) == [5, 5, 5, 5]
    assert 0 < watched.moves <= 20
    level = [spread(counts) < 2 for counts in watched.settled]
    assert sum(level) > 0.5 * len(level), "nearly never without moves; a busy machine looks in the middle of some"
    assert all(seed.state is SeedState.DONE for seed in crawl.seeds())
    crawl.check()


def test_250_seeds_of_one_host_leave_the_others_their_share(crawl: Crawl) -> None:
    """They are more than all places together."""
    with SynthServer(WebSpec(seed=9, sites=60, equal=True, mean_pages=300, page_bytes=300, latency_ms=2)) as server:
        web = server.web
        seeds = web.seeds_of(0, 250)
        assert len(seeds) == 250
        others = [web.seeds_of(index)[0] for index in range(1, 60)]
        crawl.add(seeds + others)
        watched = watch(crawl.settings(threads=20, seeds_per_thread=10, max_pages=6))
        asked = server.requests()
    busy = [sum(count > 0 for count in counts) for counts in watched.held]
    assert max(busy) == 20
    assert all(seed.state is SeedState.DONE for seed in crawl.seeds())
    assert {row.url for row in crawl.pages()} >= set(seeds)
    assert max(asked.values()) == 1
    crawl.check()


def test_a_site_whose_place_was_taken_claims_no_more_seeds_until_there_is_room(crawl: Crawl) -> None:
    """While further seeds of a site are brought, the place of the last one goes to another site."""
    waiting: list[int] = []

    def look(machine: Machine) -> None:
        waiting.append(max((len(site.set_aside) for site in machine.crew.held_sites()), default=0))

    with SynthServer(WebSpec(seed=5, sites=2, equal=True, mean_pages=60, page_bytes=500)) as server:
        crawl.add(server.web.seeds(per_site=50))
        watched = watch(crawl.settings(threads=1, seeds_per_thread=1, delay=0.005), look)
    assert watched.ended
    assert max(waiting) <= 2, "all seeds of a site were claimed at once"
    crawl.check()


def test_others_know_how_many_seeds_a_machine_can_hold_before_it_asks_for_a_page(crawl: Crawl, serve: Serve) -> None:
    """Who has not told gets no site from others, and a crawl may be over before the second heartbeat."""
    told: list[tuple[int]] = []

    def script(visit: Visit) -> None:
        with closing(sqlite3.connect(crawl.url.removeprefix("sqlite:///"))) as database:
            told.extend(database.execute("SELECT capacity FROM machine"))
        while visit.request():
            visit.send(page("x"))

    crawl.add([serve(script).url("/")])
    crawl.run(threads=3, seeds_per_thread=7)
    assert set(told) == {(21,)}
