"""Seeds that redirect to another host are crawled there, once, with all others that lead there."""

from __future__ import annotations

import threading
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from scrawler.core.progress import Progress
from scrawler.features.synthweb.process import SynthServer
from scrawler.features.synthweb.spec import WebSpec
from scrawler.features.synthweb.truth import party
from scrawler.model.seeds import EndReason, SeedState

if TYPE_CHECKING:
    from tests.integration.crawl.conftest import Crawl

SPEC = WebSpec(seed=5, sites=15, mean_pages=15, page_bytes=500, alias_every=3, latency_ms=1)


def html(urls: set[str]) -> set[str]:
    return {url for url in urls if not url.endswith((".pdf", ".png"))}


def aliases(server: SynthServer, per_site: int) -> list[str]:
    web = server.web
    return [url for index in range(15) if web.site(index).alias_of is not None for url in web.seeds_of(index, per_site)]


@pytest.mark.parametrize("with_targets", [False, True])
@pytest.mark.parametrize("threads", [1, 4])
def test_the_party_is_that_of_the_new_home(crawl: Crawl, with_targets: bool, threads: int) -> None:
    with SynthServer(SPEC) as server:
        seeds = server.web.seeds(per_site=3) if with_targets else aliases(server, 3)
        crawl.add(seeds)
        crawl.run(threads=threads, seeds_per_thread=4)
        asked = server.requests()
    found = [party(server.web, seed, max_depth=15) for seed in seeds]
    assert html(crawl.fetched()) == set().union(*(one.pages for one in found))
    for seed, one in zip(seeds, found, strict=True):
        row = crawl.seed(seed)
        assert row.home_url == one.home
        assert row.state is SeedState.DONE
        assert row.end_reason in (EndReason.COMPLETED, EndReason.COVERED)
    assert [url for url, times in asked.items() if times > 1 and not url.endswith("/robots.txt")] == []
    crawl.check()


def test_a_stop_in_between_changes_nothing(crawl: Crawl) -> None:
    with SynthServer(SPEC) as server:
        seeds = aliases(server, 2)
        crawl.add(seeds)
        for limit in (0, 3, 10):
            stop = threading.Event()

            def stop_soon(progress: Progress, stop: threading.Event = stop, limit: int = limit) -> None:
                if progress.pages >= limit:
                    stop.set()

            crawl.run(stop_soon, stop, checkpoint_interval=0.1, delay=0.02)
            crawl.check()
        crawl.run()
        asked = server.requests()
    found = [party(server.web, seed, max_depth=15) for seed in seeds]
    assert html(crawl.fetched()) == set().union(*(one.pages for one in found))
    assert {seed.state for seed in crawl.seeds()} == {SeedState.DONE}
    assert Counter(url for url, times in asked.items() if times > 1 and not url.endswith("/robots.txt")) == {}
    crawl.check()
