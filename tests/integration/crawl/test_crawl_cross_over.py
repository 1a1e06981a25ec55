"""Guests: a machine that has nothing else to do fetches what leads out of its sites itself."""

from __future__ import annotations

import threading
from collections import Counter
from typing import TYPE_CHECKING, Any

from scrawler.features.synthweb.process import SynthServer
from scrawler.features.synthweb.spec import WebSpec
from scrawler.features.synthweb.truth import party, reachable
from scrawler.insight.why import why
from scrawler.model.exchange import Exchanged, Guests
from scrawler.model.scope import Scope
from scrawler.model.seeds import SeedState
from scrawler.store.commit.inboxes import exchanged
from scrawler.store.engines.engine import open_database
from scrawler.store.sums.guests import guests
from tests.integration.crawl.hostile import by_host, page
from tests.integration.fetch.servers import answer

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrawler.core.progress import Progress
    from tests.integration.crawl.conftest import Crawl
    from tests.integration.fetch.servers import RawServer

SPEC = WebSpec(seed=7, sites=8, mean_pages=8, page_bytes=300, links=8)


def told(crawl: Crawl) -> Guests:
    database = open_database(crawl.url)
    found = guests(database)
    assert exchanged(database) == Exchanged(), "nothing is sent to anybody"
    database.close()
    return found


def test_one_seed_leads_to_all_that_can_be_reached_over_all_sites(crawl: Crawl) -> None:
    with SynthServer(SPEC) as server:
        seed = server.web.seeds()[0]
        crawl.add([seed])
        assert crawl.run(mode="cross-over").outcome == "ended"
        expected = reachable(server.web, [seed])
        own = party(server.web, seed).pages
    assert len(expected) > len(own)
    assert crawl.html() == expected
    found = told(crawl)
    assert found.waiting == 0
    assert found.pages >= len(expected - own)
    assert all(one.state is SeedState.DONE for one in crawl.seeds())


def test_a_guest_knows_nothing_of_what_the_owner_has_fetched(crawl: Crawl, serve: Callable[..., RawServer]) -> None:
    """`a` leads to a hidden page of `b`, which leads to the home page of `b`: that is fetched twice, the rest once."""
    sites = {host: {"/": page(host), "/hidden": page(f"hidden {host}")} for host in ("a.example", "b.example")}
    server = serve(by_host(sites))
    a, b = (server.url(host=f"{host}.example") for host in "ab")
    hidden = server.url("/hidden", host="b.example")
    sites["a.example"]["/"] = page("start", links=(hidden, b))
    sites["b.example"]["/hidden"] = page("hidden b", links=(b,))
    crawl.add([a, b])
    resolve = ("a.example=127.0.0.1", "b.example=127.0.0.1")
    assert crawl.run(mode="cross-over", resolve=resolve).outcome == "ended"
    assert Counter(row.url for row in crawl.pages()) == {a: 1, b: 2, hidden: 1}
    assert told(crawl)[:2] + told(crawl)[3:] == (1, 2, 1, 0)
    depths = {row.url: row.depth for row in crawl.pages() if row.url == hidden}
    assert depths == {hidden: 0}
    assert crawl.run(mode="cross-over", resolve=resolve).outcome == "ended"
    assert len(crawl.pages()) == 4


def test_guests_are_told_of_everywhere(crawl: Crawl, serve: Callable[..., RawServer]) -> None:
    """Depth and boundary hold over all sites, robots.txt is asked, and what a guest did is told by all commands."""
    hosts = ("a.example", "b.example", "c.example", "d.example")
    sites = {host: {"/": page(host), "/hidden": page(f"hidden {host}")} for host in hosts}
    sites["b.example"]["/robots.txt"] = answer(b"User-agent: *\nDisallow: /secret\n")
    server = serve(by_host(sites))
    a, b, c, d = (server.url(host=host) for host in hosts)
    hidden, secret = server.url("/hidden", host="b.example"), server.url("/secret", host="b.example")
    sites["a.example"]["/"] = page("start", links=(hidden, secret))
    sites["b.example"]["/hidden"] = page("hidden b", links=(b, c))
    sites["c.example"]["/"] = page("c", links=(d,))
    crawl.add([a, b])
    resolve = tuple(f"{host}=127.0.0.1" for host in hosts)
    assert crawl.run(mode="cross-over", resolve=resolve, max_depth=2).outcome == "ended"
    assert crawl.fetched() == {a, b, hidden, c}, "d is three links away"
    assert {row.url for row in crawl.pages() if row.result == "robots-denied"} == {secret}
    assert crawl.candidates() == {d}
    database = open_database(crawl.url)
    said_of = why(database, crawl.settings(), Scope.HOST, hidden)
    said = [line for fact in said_of.facts for line in fact.lines]
    assert any(line.startswith("as a guest at its site") for line in said)
    database.close()
    with crawl.opened() as opened:
        report = opened.report().as_json()["links"]
        own = opened.report(a).as_json()["links"]
    told_of = {"guest_parties": 3, "guest_pages": 3, "guest_overlap": 1, "guest_waiting": 0}
    assert {name: report[name] for name in told_of} == told_of
    assert (own["guest_parties"], own["guest_pages"]) == (2, 2), "of what the seed itself has found"


def test_guests_go_on_with_any_mode_and_leave_for_new_seeds(crawl: Crawl, serve: Callable[..., RawServer]) -> None:
    sites = {host: {"/": page(host)} for host in ("a.example", "b.example")}
    server = serve(by_host(sites))
    a, b = (server.url(host=f"{host}.example") for host in "ab")
    pages = [server.url(f"/{number}", host="b.example") for number in range(8)]
    sites["a.example"]["/"] = page("start", links=pages[:1])
    for number, following in enumerate([*pages[1:], pages[0]]):
        sites["b.example"][f"/{number}"] = page(f"b {number}", links=(following,))
    crawl.add([a])
    resolve = ("a.example=127.0.0.1", "b.example=127.0.0.1")
    stop = threading.Event()

    def look(progress: Progress) -> None:
        if progress.pages >= 3:
            stop.set()

    run: dict[str, Any] = {"resolve": resolve, "delay": 0.2, "delay_factor": 0}
    assert crawl.run(look, stop, mode="cross-over", **run).outcome == "stopped"
    assert pages[0] in crawl.fetched()
    assert len(crawl.fetched()) < 9
    crawl.add([b])
    assert crawl.run(mode="firewall", **run).outcome == "ended"
    assert crawl.fetched() == {a, b, *pages}
    assert all(one.state is SeedState.DONE for one in crawl.seeds())
