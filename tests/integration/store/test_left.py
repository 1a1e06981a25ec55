"""What is left of a crawl, as it is read while machines work."""

from __future__ import annotations

from dataclasses import replace

from scrawler.model.seeds import EndReason, SeedCounts, SeedState
from scrawler.store.engines.engine import Database
from scrawler.store.reading.left import crawl_left
from scrawler.store.reading.sizes import Sizes
from tests.integration.store.crawling import Worker, add, page, seed_delta, site_delta


def test_what_is_left_is_told_of_each_site(database: Database) -> None:
    add(database, "http://a.org/", "http://b.org/", "http://b.org/2", "http://c.org/")
    worker = Worker.of(database)
    a, b = worker.claim(2)
    done, first = a.seeds[0].id, b.seeds[0].id
    missing = replace(SeedCounts(), requests=3, listed=40, pages=2)
    counts = replace(SeedCounts(), requests=12, listed=11, pages=10)
    pages = [page(done, f"http://a.org/{n}", position=n, elapsed_ms=100 + 200 * (n % 2)) for n in range(10)]
    finished = seed_delta(done, pages=tuple(pages), counts=counts, state=SeedState.DONE, end_reason=EndReason.COMPLETED)
    worker.commit(site_delta(a, finished), site_delta(b, seed_delta(first, counts=missing)))
    left = crawl_left(database)
    assert [one.sized for one in left.sites] == list(Sizes(database).sites())
    assert [(one.asked, one.unfinished) for one in left.sites] == [(12, 0), (2, 2), (0, 1)], (
        "what has no final result is asked for yet"
    )
    assert (left.step, left.machines) == (1, 1)
    assert left.ended == 1
    assert 0 <= left.ended_in < 60


def test_response_times_are_those_of_all_pages_of_a_site_whichever_seed_they_are_of(database: Database) -> None:
    add(database, "http://a.org/", "http://a.org/2")
    worker = Worker.of(database)
    [site] = worker.claim(1)
    first, second = (one.id for one in site.seeds)
    slow = page(first, "http://a.org/slow", position=0, elapsed_ms=700)
    fast = [page(second, f"http://a.org/{n}", position=n, elapsed_ms=100) for n in range(3)]
    worker.commit(site_delta(site, seed_delta(first, pages=(slow,)), seed_delta(second, pages=tuple(fast))))
    [left] = crawl_left(database).sites
    assert left.sized.response_ms == 250.0
    assert [left.sized] == list(Sizes(database).sites())


def test_of_many_sites_a_sample_is_read_and_those_in_work_with_the_most_left(database: Database) -> None:
    add(database, *(f"http://s{n}.org/" for n in range(100)))
    worker = Worker.of(database)
    [one] = worker.claim(1)
    worker.commit(site_delta(one, seed_delta(one.seeds[0].id, counts=replace(SeedCounts(), requests=3, listed=4_000))))
    left = crawl_left(database, sites=10)
    assert left.step == 10
    assert len(left.sites) in (10, 11)
    assert max(sum(site.sized.requests) for site in left.sites) == 4_000
