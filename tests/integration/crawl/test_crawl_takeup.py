"""What a stop leaves is taken up where it was: lanes, chunks, filters, and what passes from seed to seed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from scrawler.core.machine.machine import Machine
from scrawler.features.synthweb.process import SynthServer
from scrawler.features.synthweb.spec import WebSpec
from scrawler.features.synthweb.truth import party
from scrawler.model.lanes import CHUNK_ENTRIES
from scrawler.model.scope import Scope
from scrawler.model.seeds import EndReason, SeedState
from tests.integration.crawl.hostile import asked, by_path, page
from tests.integration.crawl.rig import watch
from tests.integration.fetch.servers import RawServer
from tests.truth import home_pages

if TYPE_CHECKING:
    from tests.integration.crawl.conftest import Crawl

ONE_SITE = WebSpec(seed=3, sites=1, equal=True, mean_pages=90, page_bytes=500, hidden=0.3)


def pages_twice(server: SynthServer) -> list[str]:
    return [url for url, times in server.requests().items() if times > 1 and not url.endswith("/robots.txt")]


def html(urls: set[str]) -> set[str]:
    return {url for url in urls if not url.endswith((".pdf", ".png"))}


def run_until(crawl: Crawl, pages: int, **changes: object) -> None:
    """Run, and stop once so many pages have been fetched in this run."""
    stop = threading.Event()

    def look(machine: Machine) -> None:
        if machine.crew.totals().pages >= pages:
            stop.set()

    watch(crawl.settings(**changes), look, stop)


def test_a_long_party_goes_on_from_its_chunks(crawl: Crawl) -> None:
    """It is stopped with many URLs listed, so that the next run has to read its lists from the database."""
    with SynthServer(WebSpec(seed=2, sites=1, equal=True, mean_pages=1200, page_bytes=0, links=8, hidden=0)) as server:
        crawl.add(server.web.seeds())
        run_until(crawl, 400, threads=1, traps=False)  # pages without text are soon taken for one
        counts = crawl.seeds()[0].counts
        assert counts.listed - counts.pages > 512
        crawl.check()

        def bounded(machine: Machine) -> None:
            parties = [party for site in machine.crew.held_sites() for party in site.parties]
            lanes = [lane for party in parties for lane in party.lanes]
            for lane in lanes:
                assert lane.in_memory <= 128 + 2 * CHUNK_ENTRIES

        second = watch(crawl.settings(threads=1, depth_buffer=128, traps=False), bounded)
        assert second.ended
        assert second.chunks_read > 2
        assert pages_twice(server) == []
        assert crawl.seeds()[0].counts.pages >= home_pages(server.web, 0)
        assert html(crawl.fetched()) == party(server.web, server.web.seeds()[0]).pages
    crawl.check()


def test_lanes_of_an_ended_seed_go_to_a_seed_of_a_later_run(crawl: Crawl) -> None:
    with SynthServer(ONE_SITE) as server:
        first, second, third = server.web.seeds(per_site=3)
        crawl.add([first])
        crawl.run(max_pages=10)
        assert crawl.seed(first).end_reason is EndReason.MAX_PAGES
        crawl.add([second])
        crawl.run(max_pages=15)
        crawl.add([third])
        crawl.run()
        assert pages_twice(server) == []
        truth = [party(server.web, seed, max_depth=15) for seed in (first, second, third)]
    assert html(crawl.fetched()) == set().union(*(one.pages for one in truth))
    crawl.check()


def test_more_begun_seeds_of_a_site_than_the_next_run_takes(crawl: Crawl) -> None:
    with SynthServer(ONE_SITE) as server:
        seeds = server.web.seeds(per_site=8)
        crawl.add(seeds)
        run_until(crawl, 5, seeds_per_thread=8, delay=0.01)
        assert sum(seed.state is SeedState.ACTIVE for seed in crawl.seeds()) > 2
        crawl.run(seeds_per_thread=2)
        assert pages_twice(server) == []
        truth = [party(server.web, seed, max_depth=15) for seed in seeds]
    assert html(crawl.fetched()) == set().union(*(one.pages for one in truth))
    for seed in crawl.seeds():
        assert seed.end_reason is (EndReason.COMPLETED if seed.counts.requests else EndReason.COVERED)
    crawl.check()


@pytest.mark.parametrize("stops", [False, True])
def test_what_is_out_of_a_holders_prefix_is_left_to_the_next_seed(crawl_on_both: Crawl, stops: bool) -> None:
    """Seeds / (capped), /t1/..., /t2/...: what / has listed in /t1/ and /t2/ is fetched for the seed of that folder."""
    with SynthServer(WebSpec(seed=3, sites=1, equal=True, mean_pages=200, page_bytes=300, hidden=0)) as server:
        root = f"http://{server.web.site(0).authority}/"
        seeds = [root, f"{root}t1/p148.html", f"{root}t2/p156.html", f"{root}t0/p140.html"]
        crawl_on_both.add(seeds, Scope.PREFIX)
        if stops:
            run_until(crawl_on_both, 30, scope="prefix", max_pages=60, seeds_per_thread=1, delay=0.005)
            run_until(crawl_on_both, 45, scope="prefix", max_pages=60, seeds_per_thread=1, delay=0.005)
        crawl_on_both.run(scope="prefix", max_pages=60, seeds_per_thread=1)
        assert pages_twice(server) == []
    crawl_on_both.check()
    rows = crawl_on_both.pages()
    by_url = {seed.id: seed.url for seed in crawl_on_both.seeds()}
    for row in rows:
        assert row.url.startswith(by_url[row.seed_id].rpartition("/")[0])
    assert crawl_on_both.seed(root).counts.pages == 60
    handed_on = [row for row in rows if row.lane_seed != row.seed_id]
    assert {by_url[row.seed_id] for row in handed_on} >= set(seeds[1:3])


def test_seeds_that_end_before_their_own_url_was_fetched_leave_it_to_the_next(crawl: Crawl) -> None:
    with SynthServer(ONE_SITE) as server:
        *capped, last = server.web.seeds(per_site=8)
        crawl.add(capped)
        crawl.run(max_time=0.25, delay=0.1)
        assert {seed.end_reason for seed in crawl.seeds()} == {EndReason.MAX_TIME}
        assert len(crawl.pages()) < len(capped)
        crawl.add([last])
        crawl.run()
        assert pages_twice(server) == []
        truth = [party(server.web, seed, max_depth=15) for seed in (*capped, last)]
    assert html(crawl.fetched()) == set().union(*(one.pages for one in truth))
    crawl.check()


def test_a_seed_whose_url_was_fetched_is_covered(crawl: Crawl) -> None:
    with SynthServer(ONE_SITE) as server:
        home, *_ = server.web.seeds()
        crawl.add([home])
        crawl.run()
        fetched = sorted(html(crawl.fetched()) - {home})
        crawl.add(fetched[:30])
        crawl.run(seeds_per_thread=4)
        assert pages_twice(server) == []
    for seed in crawl.seeds():
        assert seed.end_reason is (EndReason.COMPLETED if seed.url == home else EndReason.COVERED)
        assert (seed.counts.requests > 0) == (seed.url == home)
    crawl.check()


def test_the_ceiling_of_seen_memory_ends_the_large_seed_alone(crawl: Crawl, serve: Callable[..., RawServer]) -> None:
    """1 MiB holds some 7,000 URLs of an exact filter; the large seed finds more, and those after it get what it had."""
    lists = [f"/list{number}" for number in range(20)]
    pages = {path: page(path, links=tuple(f"{path}/{number}" for number in range(1_000))) for path in lists}
    large = serve(by_path({"/": page(links=tuple(lists)), **pages}))
    with SynthServer(WebSpec(seed=4, sites=3, equal=True, mean_pages=40, page_bytes=300)) as small:
        crawl.add([large.url(), *small.web.seeds()])
        crawl.run(seen="exact", seen_memory=2**20, threads=1, seeds_per_thread=1)
    reasons = [seed.end_reason for seed in crawl.seeds()]
    assert reasons == [EndReason.SEEN_MEMORY, *[EndReason.COMPLETED] * 3]
    assert 4 < sum(path in lists for path in asked(large)) < len(lists)
    crawl.check()


def test_max_pages_holds_with_several_requests_in_flight(crawl: Crawl) -> None:
    with SynthServer(WebSpec(seed=3, sites=6, equal=True, mean_pages=90, page_bytes=300, latency_ms=3)) as server:
        seeds = server.web.seeds(per_site=3)
        crawl.add(seeds)
        watch(crawl.settings(per_site=3, max_pages=7, threads=2))
        assert pages_twice(server) == []
    assert max(seed.counts.pages for seed in crawl.seeds()) == 7
    assert all(seed.state is SeedState.DONE for seed in crawl.seeds())
    crawl.check()
