"""Crawls with random numbers of everything: whatever the threads do, the outcome is the truth."""

from __future__ import annotations

import random
import threading
from typing import TYPE_CHECKING

import pytest

from scrawler.features.synthweb.process import SynthServer
from scrawler.features.synthweb.spec import WebSpec
from scrawler.features.synthweb.truth import party
from scrawler.model.seeds import SeedState
from tests.integration.crawl.rig import watch

if TYPE_CHECKING:
    from scrawler.core.machine.machine import Machine
    from tests.integration.crawl.conftest import Crawl


def html(urls: set[str]) -> set[str]:
    return {url for url in urls if not url.endswith((".pdf", ".png"))}


def draw(dice: random.Random) -> dict[str, object]:
    return {
        "threads": dice.randint(1, 12),
        "seeds_per_thread": dice.randint(1, 6),
        "per_site": dice.randint(1, 4),
        "distribution": dice.choice(["distributor", "free"]),
        "checkpoint_interval": 0.1,
        "checkpoint_pages": dice.choice([1, 3, 50]),
        "delay": dice.choice([0, 0, 0.005]),
    }


@pytest.mark.parametrize("number", range(3))
def test_the_outcome_does_not_depend_on_chance(crawl_on_both: Crawl, number: int) -> None:
    crawl = crawl_on_both
    dice = random.Random(f"{number} {crawl.url.partition(':')[0]}")
    spec = WebSpec(seed=dice.randint(1, 99), sites=12, mean_pages=20, page_bytes=400, alias_every=4, latency_ms=1)
    with SynthServer(spec) as server:
        seeds = server.web.seeds(per_site=dice.randint(1, 8))
        dice.shuffle(seeds)
        crawl.add(seeds)
        for pages in (dice.randint(0, 60), dice.randint(0, 60), None):
            stop = threading.Event()

            def look(machine: Machine, stop: threading.Event = stop, pages: int | None = pages) -> None:
                if pages is not None and machine.crew.totals().pages >= pages:
                    stop.set()

            changes = draw(dice)
            watched = watch(crawl.settings(**changes), look, stop)
            crawl.check()
        assert watched.ended
        asked = server.requests()
    truth = [party(server.web, seed, max_depth=15) for seed in seeds]
    assert html(crawl.fetched()) == set().union(*(one.pages for one in truth)), changes
    assert html(crawl.candidates()) >= html(set().union(*(one.external for one in truth))) - set(seeds)
    assert {seed.state for seed in crawl.seeds()} == {SeedState.DONE}
    assert [url for url, times in asked.items() if times > 1 and not url.endswith("/robots.txt")] == []
