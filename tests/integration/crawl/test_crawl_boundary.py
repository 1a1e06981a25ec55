"""What may enter a crawl at all, by promotion of candidates and by redirects of seeds."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from scrawler.app import retry_seeds
from scrawler.insight.answer import CANDIDATE, OUTSIDE, REFUSED
from scrawler.insight.why import why
from scrawler.model.results import Result
from scrawler.model.scope import Scope
from scrawler.model.seeds import EndReason, SeedState
from scrawler.seeds.promoter import promote
from scrawler.store.claims.boundary import CrawlBoundary
from scrawler.store.claims.seeds import Seeds
from scrawler.store.engines.engine import open_database
from scrawler.store.reading.candidates import Candidates
from scrawler.urls.verdict import Verdict
from tests.integration.crawl.conftest import Crawl
from tests.integration.crawl.hostile import by_host, page, run_whole
from tests.integration.fetch.servers import RawServer

Serve = Callable[..., RawServer]

HOSTS = ("a.example", "www.a.example", "b.example", "given.example")
RESOLVE = tuple(f"{host}=127.0.0.1" for host in HOSTS)


def hosts_asked(server: RawServer) -> set[str]:
    return {head.partition(b"Host: ")[2].partition(b":")[0].decode() for head in server.heads}


@pytest.mark.parametrize(
    ("boundary", "entered"),
    [("any", set(HOSTS)), ("domain", set(HOSTS) - {"b.example"}), ("host", {"a.example", "given.example"})],
)
def test_candidates_are_promoted_inside_the_boundary(
    crawl: Crawl, serve: Serve, boundary: str, entered: set[str]
) -> None:
    server = serve(by_host(sites := {host: {"/": page(host)} for host in HOSTS}))
    urls = {host: server.url(host=host) for host in HOSTS}
    sites["a.example"]["/"] = page("start", links=tuple(urls.values()))
    crawl.add([urls["a.example"], urls["given.example"]])
    run_whole(crawl, resolve=RESOLVE, hops=1, boundary=boundary)
    assert hosts_asked(server) == entered
    assert {seed.url for seed in crawl.seeds()} == {urls[host] for host in entered}
    assert crawl.candidates() == {urls[host] for host in set(HOSTS) - entered}
    database = open_database(crawl.url)
    outcomes = {host: why(database, crawl.settings(), Scope.HOST, urls[host]).outcome for host in HOSTS}
    database.close()
    assert {host for host, outcome in outcomes.items() if outcome == OUTSIDE} == set(HOSTS) - entered


def test_a_wider_boundary_takes_in_what_a_narrow_one_has_left(crawl: Crawl, serve: Serve) -> None:
    server = serve(by_host(sites := {host: {"/": page(host)} for host in HOSTS}))
    urls = {host: server.url(host=host) for host in HOSTS}
    sites["a.example"]["/"] = page("start", links=tuple(urls.values()))
    crawl.add([urls["a.example"]])
    run_whole(crawl, resolve=RESOLVE, hops=1, boundary="host")
    assert hosts_asked(server) == {"a.example"}
    crawl.add([urls["b.example"]])  # a seed that is given widens it
    run_whole(crawl, resolve=RESOLVE, hops=1, boundary="domain")
    assert hosts_asked(server) == {"a.example", "www.a.example", "b.example"}
    database = open_database(crawl.url)
    seeds, candidates = Seeds(database), Candidates(database)
    narrow, anything = (
        CrawlBoundary(database, crawl.settings(boundary=name).boundary, Scope.HOST).rule() for name in ("host", "any")
    )
    assert promote(candidates, seeds, Scope.HOST, narrow) == (0, 1)
    assert why(database, crawl.settings(), Scope.HOST, urls["given.example"]).outcome == OUTSIDE
    assert promote(candidates, seeds, Scope.HOST, anything) == (1, 0)
    database.close()


@pytest.mark.parametrize(("boundary", "target"), [("domain", "b.example"), ("host", "www.a.example")])
def test_a_seed_that_redirects_outside_ends_and_nothing_is_asked_there(
    crawl_on_both: Crawl, serve: Serve, boundary: str, target: str
) -> None:
    crawl = crawl_on_both
    sites = {host: {"/": page(host)} for host in HOSTS} | {"a.example": {"/": f"http://{target}:{{port}}/"}}
    server = serve(by_host(sites))
    first, there = server.url(host="a.example"), server.url(host=target)
    crawl.add([first])
    run_whole(crawl, resolve=RESOLVE, boundary=boundary)
    seed = crawl.seed(first)
    assert (seed.state, seed.end_reason) == (SeedState.DONE, EndReason.OUTSIDE_BOUNDARY)
    assert (seed.home_url, seed.counts.redirects, seed.counts.pages) == (there, 1, 0)
    assert seed.verdicts[Verdict.OUTSIDE_BOUNDARY] == 1
    assert hosts_asked(server) == {"a.example"}
    database = open_database(crawl.url)
    words = f"no seed that was given has the {boundary} {target}"
    of_seed, of_target = (why(database, crawl.settings(), Scope.HOST, url) for url in (first, there))
    database.close()
    assert any(words in line for fact in of_seed.facts for line in fact.lines)
    assert of_target.outcome == OUTSIDE
    assert [fact.kind for fact in of_target.facts][:2] == ["boundary", "rejection"]
    assert any(words in line for fact in of_target.facts for line in fact.lines)
    retry_seeds(crawl.settings(), (EndReason.OUTSIDE_BOUNDARY,), threading.Event())
    run_whole(crawl, resolve=RESOLVE)  # without a boundary it goes on where it was
    assert (crawl.seed(first).end_reason, crawl.fetched()) == (EndReason.COMPLETED, {there})
    database = open_database(crawl.url)
    of_target = why(database, crawl.settings(), Scope.HOST, there)
    database.close()
    assert of_target.outcome == Result.FETCHED
    assert "outside" not in " ".join(line for fact in of_target.facts for line in fact.lines)


def test_a_seed_that_is_retried_and_still_led_outside_is_refused_again(crawl: Crawl, serve: Serve) -> None:
    server = serve(by_host({"a.example": {"/": "http://b.example:{port}/"}, "b.example": {"/": page("b")}}))
    crawl.add([server.url(host="a.example")])
    run_whole(crawl, resolve=RESOLVE, boundary="host")
    retry_seeds(crawl.settings(), (EndReason.OUTSIDE_BOUNDARY,), threading.Event())
    run_whole(crawl, resolve=RESOLVE, boundary="host")
    database = open_database(crawl.url)
    there = why(database, crawl.settings(), Scope.HOST, server.url(host="b.example"))
    database.close()
    assert [fact.kind for fact in there.facts][:2] == ["boundary", "rejection"]


@pytest.mark.parametrize(
    ("boundary", "target", "scope"),
    [
        ("domain", "www.a.example", Scope.HOST),
        ("host", "given.example", Scope.HOST),
        ("host", "www.a.example", Scope.DOMAIN),  # one site, which no boundary divides
    ],
)
def test_a_seed_that_redirects_inside_is_crawled_there(
    crawl: Crawl, serve: Serve, boundary: str, target: str, scope: Scope
) -> None:
    sites = {host: {"/": page(host)} for host in HOSTS} | {"a.example": {"/": f"http://{target}:{{port}}/"}}
    server = serve(by_host(sites))
    first = server.url(host="a.example")
    crawl.add([first, server.url("/other", host="given.example")], scope)
    run_whole(crawl, resolve=RESOLVE, boundary=boundary, scope=scope.value)
    assert crawl.seed(first).end_reason is EndReason.COMPLETED
    assert server.url(host=target) in crawl.fetched()


def test_without_a_boundary_an_external_url_is_a_candidate_as_ever(crawl: Crawl, serve: Serve) -> None:
    server = serve(by_host(sites := {host: {"/": page(host)} for host in HOSTS}))
    urls = {host: server.url(host=host) for host in HOSTS}
    sites["a.example"]["/"] = page("start", links=tuple(urls.values()))
    crawl.add([urls["a.example"]])
    run_whole(crawl, resolve=RESOLVE)
    database = open_database(crawl.url)
    assert why(database, crawl.settings(), Scope.HOST, urls["b.example"]).outcome == CANDIDATE
    assert why(database, crawl.settings(boundary="host"), Scope.HOST, "mailto:me@b.example").outcome == REFUSED
    database.close()
