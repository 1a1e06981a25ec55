from __future__ import annotations

import os
from dataclasses import replace

from scrawler.model.robots import RobotsRow
from scrawler.model.terms import url_hash
from scrawler.store.commit.robots import RobotsCopies
from scrawler.store.engines.engine import Database
from tests.integration.store.crawling import Worker, add, seed_delta, site_delta


def row(site_id: int, origin: str, at: int, body: bytes = b"x") -> RobotsRow:
    return RobotsRow(url_hash(origin), origin, site_id, at, 200, "", body)


def test_the_newest_copies_of_a_site_come_back(database: Database) -> None:
    add(database, "http://a.org/", "http://b.org/")
    worker = Worker.of(database)
    sites = worker.claim(2)
    one, two = (site.id for site in sites)
    origins = [f"http://h{number}.a.org" for number in range(150)]
    given = [row(one, origin, at) for at, origin in enumerate(origins)]
    large = row(two, "https://b.org:8443", 9, os.urandom(600_000))
    whole = [site_delta(site, seed_delta(site.seeds[0].id)) for site in sites]
    worker.commit(replace(whole[0], robots=tuple(given)), replace(whole[1], robots=(large,)))
    copies = RobotsCopies(database)
    assert sorted(copies.of_site(one, 0)) == sorted(given)
    assert sorted(copies.of_site(one, 100)) == sorted(given[100:])
    assert list(copies.of_site(two, 0)) == [large]
    newer = large._replace(fetched_at=10, status=404, detail="gone", body=b"")
    worker.commit(replace(whole[1], robots=(newer,)))
    assert list(copies.of_site(two, 0)) == [newer]


def test_no_more_is_read_than_a_machine_can_hold(database: Database) -> None:
    add(database, "http://a.org/")
    worker = Worker.of(database)
    site = worker.claim_one()
    many = tuple(row(site.id, f"http://{number}.a.org", 0, os.urandom(200_000)) for number in range(100))
    worker.commit(replace(site_delta(site, seed_delta(site.seeds[0].id)), robots=many))
    assert sum(len(copy.body) for copy in RobotsCopies(database).of_site(site.id, 0)) < 15_000_000
