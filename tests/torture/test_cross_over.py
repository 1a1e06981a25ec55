"""Guests: nothing that can be reached is lost, whoever is killed, and no host ever has two requests at once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from scrawler.features.synthweb.process import ServerProcess
from scrawler.features.synthweb.spec import WebSpec
from scrawler.features.synthweb.truth import reachable
from tests.torture.crawl import CrawlUnderTest, Pace, wait_for
from tests.torture.verify import archive, counters, lists, owners, politeness
from tests.torture.web import Requests, TortureWeb

SPEC = WebSpec(seed=3, sites=12, mean_pages=8, page_bytes=300, links=6, hidden=0.3)
TIMEOUT = 300  # seconds
PACE = Pace(runs=3, threads=1, seeds_per_thread=3, delay=0.1, checkpoint_interval=0.3, mode="cross-over")
_GUESTS = "SELECT machine.pid FROM site JOIN machine ON machine.id = site.owner WHERE site.state = 'visited'"
_OWNERS = (
    "SELECT machine.pid FROM site JOIN machine ON machine.id = site.owner WHERE site.state = 'active'"
    " AND site.id NOT IN (SELECT visits FROM site WHERE state = 'visited')"
)

pytestmark = pytest.mark.heavy


def _killed(url: str, folder: Path, kill: Callable[[CrawlUnderTest], None]) -> None:
    log = folder / "access.log"
    with ServerProcess(SPEC, log=log) as server:
        seeds = tuple(server.web.seeds())
        web = TortureWeb(server.web, seeds, Requests(log))
        expected = reachable(server.web, seeds)
        crawl = CrawlUnderTest(folder, url, PACE)
        try:
            crawl.add_seeds(seeds)
            crawl.start()
            kill(crawl)
            wait_for(lambda: not crawl.runs(), TIMEOUT, "the end of the crawl")
            _verify(crawl, web, expected)
        finally:
            crawl.stop()


def _verify(crawl: CrawlUnderTest, web: TortureWeb, expected: set[str]) -> None:
    web.requests.look()
    rows = crawl.sql.rows(
        "SELECT page.url, guest_of FROM page JOIN seed ON seed.id = page.seed_id WHERE result = 'fetched'"
    )
    assert {url for url, _ in rows if not url.endswith(".pdf")} == expected
    for guest in (False, True):
        urls = [url for url, of in rows if (of is not None) is guest]
        assert urls, "there were both"
        assert len(urls) == len(set(urls)), "no URL is fetched twice by owners, nor by guests"
    problems = [problem for check in (counters, lists, owners, archive) for problem in check(crawl, web)]
    problems += politeness(web, crawl.pace.delay)
    assert not problems, "\n".join(problems)
    assert crawl.sql.one("SELECT COUNT(*) FROM inbox") == 0
    assert crawl.sql.one("SELECT COUNT(*) FROM seed WHERE state <> 'done'") == 0


def _one_of(crawl: CrawlUnderTest, query: str, times: int) -> None:
    """Kill so many machines of those that a query finds."""
    for number in range(times):

        def found() -> list[int]:
            return [pid for (pid,) in crawl.sql.rows(query) if pid in crawl.runs()]

        wait_for(lambda: bool(found()), TIMEOUT, f"kill {number} by: {query}")
        if there := found():
            crawl.kill_machine(there[0])


@pytest.mark.parametrize(("owners_killed", "guests_killed"), [(0, 0), (2, 0), (0, 3)])
def test_nothing_is_lost_and_no_host_is_asked_twice_at_once(
    owners_killed: int, guests_killed: int, database_url: str, tmp_path: Path
) -> None:
    def kill(crawl: CrawlUnderTest) -> None:
        _one_of(crawl, _OWNERS, owners_killed)
        _one_of(crawl, _GUESTS, guests_killed)

    _killed(database_url, tmp_path, kill)
