"""URLs of somebody else: kept, dropped or sent to the owners of their sites, as the mode says."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from sqlalchemy import insert

from scrawler.features.cluster.store.outbox import SentExternals
from scrawler.features.synthweb.process import SynthServer
from scrawler.features.synthweb.spec import WebSpec
from scrawler.features.synthweb.truth import party, reachable
from scrawler.insight.answer import SENT
from scrawler.insight.why import why
from scrawler.model.exchange import Exchanged
from scrawler.model.rows import ExternalRow
from scrawler.model.scope import Boundary, Scope
from scrawler.model.seeds import EndReason, SeedState
from scrawler.model.terms import url_hash
from scrawler.store.claims.boundary import CrawlBoundary
from scrawler.store.commit.inboxes import exchanged
from scrawler.store.engines.engine import open_database
from scrawler.store.schema.tables import outbox
from tests.integration.crawl.hostile import by_host, page

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.integration.crawl.conftest import Crawl
    from tests.integration.fetch.servers import RawServer

SPEC = WebSpec(seed=7, sites=8, mean_pages=8, page_bytes=300, links=8)


def sums(crawl: Crawl) -> Exchanged:
    database = open_database(crawl.url)
    found = exchanged(database)
    database.close()
    return found


def fetched_once(crawl: Crawl) -> None:
    times = Counter(row.url for row in crawl.pages())
    assert not {url for url, number in times.items() if number > 1}


def test_one_seed_leads_to_all_that_can_be_reached_over_all_sites(crawl: Crawl) -> None:
    with SynthServer(SPEC) as server:
        seed = server.web.seeds()[0]
        crawl.add([seed])
        assert crawl.run(mode="exchange").outcome == "ended"
        expected = reachable(server.web, [seed])
    assert len(expected) > len(party(server.web, seed).pages)
    assert crawl.html() == expected
    fetched_once(crawl)
    crawl.check()
    found = sums(crawl)
    assert found.sent == found.received > 0
    assert found.waiting == 0
    assert all(one.state is SeedState.DONE for one in crawl.seeds())
    assert not crawl.candidates() & expected


def test_with_mode_drop_nothing_is_left_but_a_number(crawl: Crawl) -> None:
    with SynthServer(SPEC) as server:
        crawl.add(server.web.seeds()[:2])
        assert crawl.run(mode="drop").outcome == "ended"
        expected = set().union(*(party(server.web, seed).pages for seed in server.web.seeds()[:2]))
    assert crawl.html() == expected
    assert crawl.candidates() == set()
    assert sums(crawl) == Exchanged(dropped=sums(crawl).dropped)
    assert sums(crawl).dropped > 0


def test_a_party_that_had_ended_goes_on_for_a_url_that_comes_late(
    crawl: Crawl, serve: Callable[..., RawServer]
) -> None:
    """`a` leads to `b`, whose hidden page leads back to a hidden page of `a`, which is over by then."""
    sites = {host: {"/": page(host), "/hidden": page(f"hidden {host}")} for host in ("a.example", "b.example")}
    server = serve(by_host(sites))
    first, there = server.url(host="a.example"), server.url("/hidden", host="b.example")
    back = server.url("/hidden", host="a.example")
    sites["a.example"]["/"] = page("start", links=(there,))
    sites["b.example"]["/hidden"] = page("hidden b", links=(back,))
    crawl.add([first])
    resolve = ("a.example=127.0.0.1", "b.example=127.0.0.1")
    assert crawl.run(mode="exchange", resolve=resolve).outcome == "ended"
    assert crawl.fetched() == {first, there, back}
    depths = {row.url: row.depth for row in crawl.pages()}
    assert (depths[first], depths[there], depths[back]) == (0, 0, 2)
    opened = crawl.seed(there)
    assert (opened.hops, opened.base_depth) == (1, 1)
    assert crawl.seed(first).reopened == 1
    assert sums(crawl) == Exchanged(sent=2, received=2, reopened=1)
    database = open_database(crawl.url)
    answer = why(database, crawl.settings(), Scope.HOST, back)
    database.close()
    told = [line for fact in answer.facts if fact.kind == SENT for line in fact.lines]
    assert any(line.startswith("sent to the owner of its site a.example") for line in told)
    assert f"found first on {there}" in told


def test_why_tells_whose_outbox_has_a_url(crawl: Crawl, serve: Callable[..., RawServer]) -> None:
    there = "http://b.example/hidden"
    server = serve(by_host({"a.example": {"/": page("start", links=(there,))}}))
    crawl.add([server.url(host="a.example")])
    run = {"mode": "exchange", "resolve": ("a.example=127.0.0.1", "b.example=127.0.0.1")}
    assert crawl.run(**run).outcome == "ended"
    database = open_database(crawl.url)
    row = {"machine_id": 7, "key_hash": url_hash("b.example"), "url": there, "depth": 1, "hops": 1, "seed_id": 1}
    database.retrying(lambda connection: connection.execute(insert(outbox).values(row)))
    (fact,) = (one for one in why(database, crawl.settings(), Scope.HOST, there).facts if one.kind == SENT)
    database.close()
    assert "waits in the outbox of machine 7" in fact.lines[0]
    assert fact.values["waits"]
    assert not any("no list has it" in line for line in fact.lines)


def test_the_depth_counts_over_all_sites(crawl: Crawl, serve: Callable[..., RawServer]) -> None:
    hosts = ("a.example", "b.example", "c.example")
    server = serve(by_host(sites := {host: {"/": page(host)} for host in hosts}))
    urls = [server.url(host=host) for host in hosts]
    for host, following in zip(hosts, urls[1:], strict=False):
        sites[host]["/"] = page(host, links=(following,))
    crawl.add(urls[:1])
    run = {"mode": "exchange", "resolve": tuple(f"{host}=127.0.0.1" for host in hosts)}
    assert crawl.run(**run, max_depth=1).outcome == "ended"
    assert crawl.fetched() == set(urls[:2])
    assert crawl.candidates() == {urls[2]}


def test_what_may_not_enter_stays_a_candidate(crawl: Crawl, serve: Callable[..., RawServer]) -> None:
    hosts = ("a.example", "www.a.example", "b.example")
    server = serve(by_host(sites := {host: {"/": page(host)} for host in hosts}))
    urls = [server.url(host=host) for host in hosts]
    sites["a.example"]["/"] = page("start", links=tuple(urls))
    crawl.add(urls[:1])
    resolve = tuple(f"{host}=127.0.0.1" for host in hosts)
    assert crawl.run(mode="exchange", boundary="domain", resolve=resolve).outcome == "ended"
    assert crawl.fetched() == set(urls[:2])
    assert crawl.candidates() == {urls[2]}


def test_what_waits_in_inboxes_is_taken_out_with_any_mode(crawl: Crawl) -> None:
    """A crawl that goes on with another mode has what was sent before."""
    with SynthServer(SPEC) as server:
        first, second = server.web.seeds()[:2]
        crawl.add([first])
        assert crawl.run(mode="firewall").outcome == "ended"
        seed, url = crawl.seed(first), server.web.seeds()[1]
        database = open_database(crawl.url)
        boundary = CrawlBoundary(database, Boundary.ANY, Scope.HOST)
        outbox = SentExternals(database, Scope.HOST, boundary, 15)
        with database.begin() as connection:
            outbox.keep(connection, [ExternalRow(seed.id, url_hash(url), url, 0, 1)])
        database.close()
        assert crawl.run(mode="firewall").outcome == "ended"
        assert crawl.html() == set().union(*(party(server.web, one).pages for one in (first, second)))
    assert sums(crawl)._replace(sent=1) == Exchanged(sent=1, received=1)


def test_with_prefixes_a_url_of_the_same_site_finds_the_party_that_has_its_folder(
    crawl: Crawl, serve: Callable[..., RawServer]
) -> None:
    """What is in no party's folder begins one of its own, once those at work there are done."""
    paths = {"/x/": ("/x/1", "/y/"), "/x/1": (), "/y/": ("/x/hidden", "/y/2"), "/x/hidden": (), "/y/2": ()}
    server = serve(by_host({"a.example": {path: page(path, links=links) for path, links in paths.items()}}))
    first = server.url("/x/", host="a.example")
    crawl.add([first], Scope.PREFIX)
    run = {"mode": "exchange", "scope": "prefix", "resolve": ("a.example=127.0.0.1",)}
    assert crawl.run(**run).outcome == "ended"
    assert crawl.fetched() == {server.url(path, host="a.example") for path in paths}
    fetched_once(crawl)
    assert {seed.url for seed in crawl.seeds()} == {first, server.url("/y/", host="a.example")}
    assert crawl.seed(first).reopened == 1
    found = sums(crawl)
    assert found.sent == found.received == 2


def test_a_site_whose_home_page_is_gone_has_others(crawl: Crawl, serve: Callable[..., RawServer]) -> None:
    sites = {"a.example": {"/": b""}, "b.example": {"/there": page("there")}}
    server = serve(by_host(sites))
    first, gone = server.url(host="a.example"), server.url(host="b.example")
    there = server.url("/there", host="b.example")
    sites["a.example"]["/"] = page("start", links=(there,))
    crawl.add([gone])
    resolve = ("a.example=127.0.0.1", "b.example=127.0.0.1")
    crawl.run(mode="exchange", resolve=resolve)
    assert crawl.seed(gone).end_reason is EndReason.HTTP_ERROR
    crawl.add([first])
    assert crawl.run(mode="exchange", resolve=resolve).outcome == "ended"
    assert crawl.fetched() == {first, there}
    assert (crawl.seed(gone).end_reason, crawl.seed(gone).reopened) == (EndReason.COMPLETED, 1)
