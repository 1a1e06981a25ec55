"""Whole crawls of a synthetic web that knows its own truth."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from scrawler.core.progress import Progress
from scrawler.features.synthweb.process import SynthServer
from scrawler.features.synthweb.spec import WebSpec
from scrawler.features.synthweb.truth import party
from scrawler.model.scope import Scope
from scrawler.model.seeds import EndReason, SeedState
from scrawler.store.commit.externals import AsCandidates
from scrawler.store.engines.engine import open_database
from scrawler.store.reading.candidates import Candidates
from scrawler.urls.verdict import COUNTED_AGAIN, Verdict
from tests.integration.crawl.rig import watch

if TYPE_CHECKING:
    from tests.integration.crawl.conftest import Crawl

SPEC = WebSpec(seed=7, sites=12, mean_pages=30, page_bytes=3000)


@pytest.fixture(scope="module")
def served() -> Iterator[SynthServer]:
    with SynthServer(SPEC) as server:
        yield server


def truth(server: SynthServer, seeds: list[str], robots: bool = True) -> tuple[set[str], set[str], set[str]]:
    """Pages, all URLs asked for, and external URLs of the parties of `seeds`."""
    parties = [party(server.web, seed, max_depth=15, robots=robots) for seed in seeds]
    pages = set().union(*(one.pages for one in parties))
    asked = set().union(*(one.requested for one in parties))
    return pages, asked, set().union(*(one.external for one in parties))


@pytest.fixture
def other(crawl: Crawl, tmp_path_factory: pytest.TempPathFactory) -> Crawl:
    """A second crawl."""
    folder = tmp_path_factory.mktemp("other")
    return type(crawl)(folder, f"sqlite:///{folder / 'crawl.db'}")


def outcomes(crawl: Crawl) -> set[tuple[str, str, int]]:
    """What came of every URL; for which seed of its site it was fetched is a matter of time."""
    return {(row.url, row.result, row.status) for row in crawl.pages()}


def times_found(crawl: Crawl) -> dict[str, int]:
    """On how many pages each candidate seed was found."""
    with closing(open_database(crawl.url)) as database:
        return {view.url: view.times for view in Candidates(database).merged()}


def links_by_verdict(crawl: Crawl) -> Counter[str]:
    """What all links are: differs as well where a link more leads to what is known anyway."""
    every = sum((Counter(seed.verdicts) for seed in crawl.seeds()), Counter())
    # Which of them are new, or too deep as yet, is a matter of time.
    return Counter({verdict: every[verdict] for verdict in set(Verdict) - COUNTED_AGAIN})


def html(urls: set[str]) -> set[str]:
    return {url for url in urls if not url.endswith((".pdf", ".png"))}


@pytest.mark.on_each_engine
def test_pages_and_candidates_are_the_truth(crawl_on_both: Crawl, served: SynthServer) -> None:
    seeds = served.web.seeds()
    crawl_on_both.add(seeds)
    summary = crawl_on_both.run()
    pages, _, external = truth(served, seeds)
    assert summary.outcome == "ended"
    assert html(crawl_on_both.fetched()) == pages
    assert html(crawl_on_both.candidates()) == html(external) - set(seeds)
    assert all(seed.state is SeedState.DONE for seed in crawl_on_both.seeds())
    crawl_on_both.check()


def test_no_page_is_asked_for_twice(crawl: Crawl) -> None:
    with SynthServer(SPEC) as server:
        seeds = server.web.seeds(per_site=3)
        crawl.add(seeds)
        crawl.run(threads=3, seeds_per_thread=4)
        asked = server.requests()
    pages, _, _ = truth(server, seeds)
    assert html(crawl.fetched()) == pages
    assert max(asked.values()) == 1
    crawl.check()


def test_both_profiles_find_the_same(crawl: Crawl, other: Crawl) -> None:
    with SynthServer(replace(SPEC, seed=23, page_bytes=300)) as server:
        seeds = server.web.seeds(per_site=2)
        for one, profile in ((crawl, "default"), (other, "classic")):
            one.add(seeds)
            one.run(profile=profile)
            one.check()
    assert html(crawl.fetched()) == truth(server, seeds)[0]
    assert outcomes(crawl) == outcomes(other)
    assert times_found(crawl) == times_found(other)
    assert links_by_verdict(crawl) == links_by_verdict(other)


@pytest.mark.parametrize("distribution", ["distributor", "free"])
def test_each_distribution_crawls_all(crawl: Crawl, served: SynthServer, distribution: str) -> None:
    seeds = served.web.seeds(per_site=2)
    crawl.add(seeds)
    crawl.run(distribution=distribution, threads=5, seeds_per_thread=2)
    assert html(crawl.fetched()) == truth(served, seeds)[0]
    crawl.check()


def test_stop_and_start_goes_on_where_it_stopped(crawl_on_both: Crawl) -> None:
    with SynthServer(SPEC) as server:
        seeds = server.web.seeds(per_site=2)
        crawl_on_both.add(seeds)
        for _ in range(4):
            stop = threading.Event()

            def stop_soon(progress: Progress, stop: threading.Event = stop) -> None:
                if progress.pages > 20:
                    stop.set()

            crawl_on_both.run(stop_soon, stop, delay=0.02, checkpoint_interval=0.2)
            crawl_on_both.check()
        summary = crawl_on_both.run()
        asked = server.requests()
    assert summary.outcome == "ended"
    assert html(crawl_on_both.fetched()) == truth(server, seeds)[0]
    crawl_on_both.check()
    pages_twice = {url for url, times in asked.items() if times > 1 and not url.endswith("/robots.txt")}
    assert not pages_twice


def test_limits_are_end_reasons(crawl: Crawl, served: SynthServer) -> None:
    seeds = [seed for seed in served.web.seeds() if len(party(served.web, seed).pages) > 5]
    crawl.add(seeds)
    crawl.run(max_pages=5)
    for seed in crawl.seeds():
        assert seed.end_reason is EndReason.MAX_PAGES
        assert seed.counts.pages == 5
    crawl.check()


def test_depth_is_a_limit(crawl: Crawl, served: SynthServer) -> None:
    seeds = served.web.seeds()
    crawl.add(seeds)
    crawl.run(max_depth=1)
    expected = [party(served.web, seed, max_depth=1) for seed in seeds]
    assert html(crawl.fetched()) == set().union(*(one.pages for one in expected))
    for seed, one in zip(seeds, expected, strict=True):
        reason = crawl.seed(seed).end_reason
        if one.pages and one != party(served.web, seed):
            assert reason is EndReason.MAX_DEPTH


def test_what_a_capped_seed_leaves_goes_to_the_next_seed_of_its_site(crawl: Crawl) -> None:
    with SynthServer(WebSpec(seed=3, sites=1, equal=True, mean_pages=60, page_bytes=500, hidden=0.3)) as server:
        seeds = server.web.seeds(per_site=3)
        crawl.add(seeds)
        crawl.run(max_pages=25, seeds_per_thread=1)
        asked = server.requests()
    crawl.check()
    assert max(asked.values()) == 1
    fetched = [seed.counts.pages for seed in crawl.seeds()]
    whole = len(truth(server, seeds)[0])
    assert sum(fetched) >= min(whole, 25 * len(seeds))


def test_hops_turn_candidates_into_seeds(crawl: Crawl, served: SynthServer) -> None:
    seeds = served.web.seeds()[:1]
    crawl.add(seeds)
    crawl.run(hops=1)
    crawled = {seed.url: seed for seed in crawl.seeds()}
    external = party(served.web, seeds[0], max_depth=15).external
    assert set(crawled) >= external
    assert {crawled[url].hops for url in external} == {1}
    assert max(seed.hops for seed in crawled.values()) == 1


def test_a_crawl_is_not_over_while_another_machine_promotes(crawl: Crawl, served: SynthServer) -> None:
    """It does so between our look at the seeds, none of which is left, and our own try, which finds nothing to do."""
    first, promoted = served.web.seeds()[:2]
    crawl.add([first])

    class AnotherPromotes(AsCandidates):
        def become_seeds(self) -> int:
            crawl.add([promoted])
            return 0

    assert watch(crawl.settings(), make_externals=AnotherPromotes).ended
    assert {seed.state for seed in crawl.seeds()} == {SeedState.DONE}
    assert html(crawl.fetched()) == truth(served, [first, promoted])[0]


def test_domain_scope_keeps_hosts_apart_by_robots_and_clock(crawl: Crawl, served: SynthServer) -> None:
    seeds = served.web.seeds()[:4]
    crawl.add(seeds, Scope.DOMAIN)
    crawl.run(scope="domain")
    assert html(crawl.fetched()) == truth(served, seeds)[0]
    crawl.check()
