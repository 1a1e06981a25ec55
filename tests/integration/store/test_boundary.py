from __future__ import annotations

import pytest

from scrawler.model.scope import Boundary, Scope
from scrawler.store.claims.boundary import CrawlBoundary
from scrawler.store.claims.crawls import Crawls
from scrawler.store.engines.engine import Database
from tests.integration.store.crawling import add


@pytest.fixture(autouse=True)
def _a_crawl(database: Database) -> None:
    Crawls(database).open("crawl", Scope.HOST)


def test_the_boundary_follows_the_seeds_that_are_given_and_the_settings(database: Database) -> None:
    add(database, "http://a.org/")
    add(database, "http://promoted.org/", hops=1)
    boundary = CrawlBoundary(database, Boundary.HOST, Scope.HOST)
    assert not boundary.refusal("https://a.org:8443/x")
    assert boundary.refusal("http://www.a.org/").endswith("has the host www.a.org")
    assert boundary.refusal("http://promoted.org/"), "what was promoted does not widen it"
    add(database, "http://www.a.org/late")
    assert not boundary.refusal("http://www.a.org/")
    boundary.boundary = Boundary.DOMAIN
    assert not boundary.refusal("http://deep.down.a.org/")
    assert boundary.refusal("http://promoted.org/").endswith("has the domain promoted.org")
    boundary.boundary = Boundary.ANY
    assert not boundary.refusal("http://promoted.org/")


def test_names_are_read_once_as_long_as_no_seed_comes(database: Database) -> None:
    add(database, *(f"http://{number}.example.org/" for number in range(5)))
    boundary = CrawlBoundary(database, Boundary.HOST, Scope.HOST)
    assert boundary.rule() is boundary.rule()
    before = boundary.rule()
    add(database, "http://more.example.org/")
    assert len(boundary.rule().names) == len(before.names) + 1


def test_where_a_domain_is_one_site_no_host_of_it_is_outside(database: Database) -> None:
    add(database, "http://www.a.org/")
    boundary = CrawlBoundary(database, Boundary.HOST, Scope.DOMAIN)
    assert not boundary.refusal("http://a.org/")
    assert boundary.refusal("http://b.org/")
