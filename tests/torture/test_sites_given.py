"""Sites that one machine gives to another while either of them is killed: nothing is lost, and no page comes twice."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from scrawler.features.synthweb.spec import WebSpec
from tests.limits import HANGS
from tests.torture.crawl import CrawlUnderTest, Pace, wait_for
from tests.torture.verify import verify
from tests.torture.web import served

PACE = Pace(runs=1, threads=2, seeds_per_thread=4, delay=0.2)
# As many sites as a machine has places; they take half a minute, in which a second machine has long begun.
WEB = WebSpec(seed=3, sites=8, mean_pages=160, equal=True, page_bytes=500, links=8)
_OF_EACH = "SELECT owner, COUNT(*) FROM site WHERE state = 'active' GROUP BY owner"
_GIVEN = "SELECT COUNT(*) FROM site WHERE token > 1"
_COMMIT = 0.5  # seconds that a checkpoint takes at most
pytestmark = pytest.mark.heavy


@pytest.mark.parametrize("killed", ["nobody", "giver", "taker"])
def test_sites_are_given_and_nothing_is_lost(killed: str, database_url: str, tmp_path: Path) -> None:
    with served(WEB, 1, tmp_path / "access.log") as web:
        crawl = CrawlUnderTest(tmp_path, database_url, PACE)
        try:
            crawl.add_seeds(web.seeds)
            crawl.start()
            wait_for(lambda: [held for _, held in crawl.sql.rows(_OF_EACH)] == [WEB.sites], HANGS, "one has all sites")
            crawl.start()
            wait_for(lambda: crawl.sql.one(_GIVEN) > 0 or not crawl.runs(), HANGS, "a site that has another owner")
            giver, taker = crawl.runs()
            if killed != "nobody":
                crawl.kill_run(giver if killed == "giver" else taker)
            wait_for(lambda: not crawl.runs(), HANGS, "the end of the crawl")
            again = PACE.places * math.ceil((PACE.checkpoint_interval + _COMMIT) / PACE.delay)
            verify(crawl, web, 0 if killed == "nobody" else again).raise_if_any()
            if killed == "nobody":  # they do not go to and fro, though one may go back from a machine that stands
                assert crawl.sql.one("SELECT SUM(token) FROM site") <= 2 * WEB.sites
        finally:
            crawl.stop()
