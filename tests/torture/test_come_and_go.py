"""Machines come and go: one that dies costs no more than its own part of the speed, one that comes finds work."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from scrawler.features.synthweb.spec import WebSpec
from tests.torture.crawl import CrawlUnderTest, Pace, wait_for
from tests.torture.web import Requests, host_of, is_robots, served

PACE = Pace(runs=3, threads=2, seeds_per_thread=4, delay=0.15)  # 50 pages/s a machine: politeness is the limit
KEPT = 0.9  # of the speed of the machines that are left
pytestmark = pytest.mark.heavy

WINDOW = 4.0  # seconds of a measurement
TIMEOUT = 60.0  # seconds


def test_a_dead_machine_costs_its_own_part_of_the_speed(database_url: str, tmp_path: Path) -> None:
    with served(_web(60), 1, tmp_path / "access.log") as web:
        crawl = CrawlUnderTest(tmp_path, database_url, PACE)
        try:
            crawl.add_seeds(web.seeds)
            crawl.start()
            places = PACE.runs * PACE.places
            wait_for(lambda: len(_hosts(web.requests)) >= places, TIMEOUT, f"{places} sites in work")
            before = _rate_from_now(web.requests)
            crawl.lose_run(crawl.runs()[0])
            wait_for(lambda: _dead(crawl) == 1, TIMEOUT, "the killed machine is declared dead")
            least = KEPT * (PACE.runs - 1) / PACE.runs * before
            not_before = time.time() + WINDOW  # a machine with other work may be slow at first

            def kept() -> bool:
                return time.time() >= not_before and _rate(web.requests) >= least

            wait_for(kept, TIMEOUT, f"{least:.0f} pages/s; before it was {before:.0f}")
            assert len(crawl.runs()) == PACE.runs - 1
        finally:
            crawl.stop()


def test_a_machine_that_comes_later_gets_what_the_first_has_no_room_for(database_url: str, tmp_path: Path) -> None:
    sites = 2 * PACE.places
    with served(_web(sites), 1, tmp_path / "access.log") as web:
        crawl = CrawlUnderTest(tmp_path, database_url, Pace(1, 1, PACE.threads, PACE.seeds_per_thread, PACE.delay))
        try:
            crawl.add_seeds(web.seeds)
            crawl.start()
            wait_for(lambda: len(_hosts(web.requests)) == PACE.places, TIMEOUT, "all places are taken")
            owned = "SELECT COUNT(*) FROM site WHERE state = 'active'"
            wait_for(lambda: crawl.sql.one(owned) == sites, TIMEOUT, "the first machine has all sites")
            crawl.start()
            wait_for(lambda: len(_hosts(web.requests)) == sites, TIMEOUT, "all sites are in work")
            crawl.runs()
        finally:
            crawl.stop()


def _web(sites: int) -> WebSpec:
    """Describe sites that are far from their end when a test is over."""
    return WebSpec(sites=sites, mean_pages=1000, equal=True, page_bytes=500, links=8, hidden=0.0)


def _hosts(requests: Requests) -> set[str]:
    """Return the hosts of which a page was asked for."""
    requests.look()
    return {host_of(line.url) for line in requests.pages()}


def _rate_from_now(requests: Requests) -> float:
    until = time.time() + WINDOW
    wait_for(lambda: time.time() >= until, 2 * WINDOW, "the end of a measurement")
    return _rate(requests)


def _rate(requests: Requests) -> float:
    """Return the pages asked for in a second, of late."""
    requests.look()
    since = time.time() - WINDOW
    return sum(line.came >= since and not is_robots(line.url) for line in requests.all) / WINDOW


def _dead(crawl: CrawlUnderTest) -> int:
    return int(crawl.sql.one("SELECT COUNT(*) FROM machine WHERE state = 'dead'"))
