"""Sizes and response times of an earlier crawl's sites, as the planner gets them."""

from __future__ import annotations

import zlib
from dataclasses import replace

import pytest

from scrawler.model.robots import RobotsRow
from scrawler.model.seeds import EndReason, SeedCounts, SeedState
from scrawler.model.sizes import SizedSite
from scrawler.model.terms import url_hash
from scrawler.store.engines.engine import Database
from scrawler.store.reading.sizes import Sizes
from tests.integration.store.crawling import Worker, add, page, seed_delta, site_delta

_BODY = zlib.compress(b"User-agent: *\nCrawl-delay: 5\n")


def test_sites_come_with_what_is_known_of_them(database: Database) -> None:
    """Site a is done, of b one seed is in work and one has no answer, c waits."""
    add(database, "http://a.org/", "http://b.org/", "http://b.org/2", "http://c.org/")
    worker = Worker.of(database)
    a, b = worker.claim(2)
    done, first = a.seeds[0].id, b.seeds[0].id
    times = [page(done, f"http://a.org/{n}", position=n, elapsed_ms=100 + 200 * (n % 2)) for n in range(10)]
    silent = page(done, "http://a.org/x", position=10, status=0, elapsed_ms=60_000, result="timeout")
    origin = "http://a.org"
    robots = RobotsRow(url_hash(origin), origin, a.id, database.now(), 200, "", _BODY)
    missing = replace(SeedCounts(), requests=3, listed=40, pages=2)
    counts = replace(SeedCounts(), requests=12, listed=11, pages=10)
    finished = seed_delta(
        done, pages=(*times, silent), counts=counts, state=SeedState.DONE, end_reason=EndReason.COMPLETED
    )
    worker.commit(site_delta(a, finished, robots=(robots,)), site_delta(b, seed_delta(first, counts=missing)))
    one, two, three = Sizes(database).sites()
    assert one == SizedSite("a.org", (12,), 0, 10, 200.0, pytest.approx(100.0), (_BODY,))
    assert two == SizedSite("b.org", (40,), 1, 2, None, 0.0, ())
    assert three == SizedSite("c.org", (), 1, 0, None, 0.0, ())


def test_each_of_many_sites_comes_once(database: Database) -> None:
    keys = {f"s{n}.org" for n in range(4_500)}
    add(database, *(f"http://{key}/" for key in keys))
    found = [site.key for site in Sizes(database).sites()]
    assert len(found) == len(keys)
    assert set(found) == keys
