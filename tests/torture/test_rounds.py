"""Rounds lose nothing: two machines visit pages again for ever, and one or other is killed at any moment."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

import pytest

from scrawler.features.synthweb.spec import WebSpec
from tests.consistency import check_records
from tests.limits import HANGS
from tests.torture.crawl import CrawlUnderTest, Pace, wait_for
from tests.torture.sql import PlainSql
from tests.torture.web import served

pytestmark = pytest.mark.heavy

WEB = WebSpec(seed=5, sites=12, mean_pages=8, max_pages=20, page_bytes=800, links=5, changes=1_440.0)
WISHES = (
    "--revisit=optimal", "--revisit-budget=50000000", "--revisit-site-budget=5000000", "--revisit-interval=1s",
    "--revisit-min=1s", "--revisit-max=5s", "--revisit-pause=0",
)  # fmt: skip
KEPT = Pace(runs=2, threads=2, delay=0.02, checkpoint_interval=0.2, more=("--keep", *WISHES))
KILLS = 6
NUMBER = int(os.environ.get("SEED", "1"))


def test_killed_machines_lose_nothing_of_rounds(database_url: str, tmp_path: Path) -> None:
    chance = Random(NUMBER)
    with served(WEB, 1, tmp_path / "access.log") as web:
        crawl = CrawlUnderTest(tmp_path, database_url, KEPT)
        try:
            crawl.add_seeds(web.seeds)
            crawl.start()
            for _ in range(KILLS):
                _wait_for_visits(crawl.sql, 20 + chance.randrange(40))
                crawl.kill_machine(chance.choice(crawl.machines()))
            _wait_for_visits(crawl.sql, 20)
            # One that comes later than the order would go on.
            wait_for(lambda: _have_begun(crawl), HANGS, "all machines have begun")
            crawl.order("stop")
            wait_for(lambda: not crawl.runs(), HANGS, "all machines have stopped")
            last = CrawlUnderTest(tmp_path, database_url, Pace(runs=1, delay=0.02, more=WISHES))
            last.start()  # what was begun is brought to its end
            wait_for(lambda: not last.runs(), HANGS, "no round is left")
        finally:
            crawl.stop()
        _check(crawl.sql)
        check_records(database_url, tmp_path / "pages")


def _have_begun(crawl: CrawlUnderTest) -> bool:
    """Whether each machine that runs has its row."""
    return {row[0] for row in crawl.sql.rows("SELECT pid FROM machine")} >= set(crawl.machines())


def _wait_for_visits(sql: PlainSql, more: int) -> None:
    """Wait until so many more visits after the first ones are committed."""
    query = "SELECT count(*) FROM page WHERE visit > 0"
    before = sql.one(query)
    wait_for(lambda: sql.one(query) >= before + more, HANGS, f"{more} more visits")


def _check(sql: PlainSql) -> None:
    """Nothing is there twice, nothing is missing, and nothing waits that nobody would look at again."""
    twice = sql.rows("SELECT url, visit FROM page GROUP BY url, visit HAVING count(*) > 1")
    assert twice == []
    gaps = sql.rows("SELECT url FROM page GROUP BY url HAVING count(*) <> max(visit) + 1")
    assert gaps == []  # each visit that was counted is there
    known = sql.rows("SELECT url_hash, visit FROM url_state ORDER BY url_hash")
    assert known == sql.rows("SELECT url_hash, max(visit) FROM page GROUP BY url_hash ORDER BY url_hash")
    assert sql.one("SELECT max(visit) FROM url_state") >= 2
    assert sql.one("SELECT count(*) FROM url_state WHERE due_at <= 0") == 0  # each will be due again
    assert sql.one("SELECT count(*) FROM lane WHERE cursor_position < length") == 0
    assert sql.rows("SELECT DISTINCT state FROM seed") == [("done",)]
    assert sql.one("SELECT count(*) FROM seed_round") == sql.one("SELECT sum(round) FROM seed")
    counted = "pages + redirects + not_modified + http_errors + failures + denied + unwanted + trapped"
    assert sql.one(f"SELECT sum({counted}) FROM seed") == sql.one("SELECT count(*) FROM page")
    cells = "SELECT demand_cell, count(*) FROM url_state GROUP BY demand_cell ORDER BY demand_cell"
    added = "FROM revisit_demand WHERE site_id {} GROUP BY cell HAVING sum(pages) <> 0 ORDER BY cell"
    for whose in ("= 0", "> 0"):  # of all, and of each site
        sums = [(cell, int(pages)) for cell, pages in sql.rows("SELECT cell, sum(pages) " + added.format(whose))]
        assert sums == sql.rows(cells)
