"""A seed whose site has moved: the hosts from which it was led away belong to its party as well."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from scrawler.app import retry_urls
from scrawler.core.progress import Progress
from scrawler.features.revisit.orders import begin_again
from scrawler.insight.why import why
from scrawler.model.results import Result
from scrawler.model.scope import Scope
from scrawler.model.seeds import EndReason
from scrawler.settings import Settings
from scrawler.store.engines.engine import open_database
from tests.integration.crawl.conftest import Crawl
from tests.integration.crawl.hostile import NOT_FOUND, answer, page, redirect, run_whole
from tests.integration.fetch.servers import RawServer, Visit, path_of

Serve = Callable[..., RawServer]
Site = Mapping[str, str | tuple[str, ...]]  # where a path redirects to, or the links of its page

HOSTS = ("shop.test", "www.shop.test", "old.test", "sign-on.test")
RESOLVE = tuple(f"{host}=127.0.0.1" for host in HOSTS)
GIVEN, HOME = "http://shop.test:{port}", "http://www.shop.test:{port}"


def by_name(sites: Mapping[str, Site], served: list[str], robots: Mapping[str, bytes]) -> Callable[[Visit], None]:
    """Sites of several names at one port; what each is asked for is noted in `served`."""

    def reply(host: str, port: str, path: str) -> bytes:
        if path == "/robots.txt":
            return robots.get(host, NOT_FOUND)
        there = sites[host].get(path, sites[host].get("*"))
        if there is None:
            return NOT_FOUND
        if isinstance(there, str):
            return redirect(there.format(port=port, path=path))
        return page(f"{host}{path}", links=tuple(link.format(port=port) for link in there))

    def script(visit: Visit) -> None:
        while head := visit.request():
            host, _, port = head.partition(b"Host: ")[2].partition(b"\r\n")[0].decode().partition(":")
            served.append(host + path_of(head))
            visit.send(reply(host, port, path_of(head)))

    return script


MOVED: dict[str, Site] = {
    "shop.test": {"*": HOME + "{path}", "/own": ("/own/1", HOME + "/b"), "/own/1": ()},
    "www.shop.test": {
        "/": ("/a", GIVEN + "/contact", GIVEN + "/docs/", GIVEN + "/own", GIVEN + "/secret", GIVEN + "/"),
        "/a": (), "/b": (), "/contact": (), "/secret": (),
        "/docs/": ("one.html", "http://other.test/"), "/docs/one.html": (),
    },
}  # fmt: skip
FORBIDS = {"shop.test": answer(b"User-agent: *\nDisallow: /secret", "200 OK", "Content-Type: text/plain")}
FOUND = {"www.shop.test" + path for path in ("/", "/a", "/b", "/contact", "/docs/", "/docs/one.html")}
OWN = {"shop.test/own", "shop.test/own/1"}


def short(server: RawServer, crawl: Crawl, *results: Result) -> set[str]:
    """Return the URLs with one of these results, without scheme and port."""
    found = [row.url for row in crawl.pages() if row.result in results]
    assert len(found) == len(set(found))
    return {url.removeprefix("http://").replace(f":{server.port}", "") for url in found}


@pytest.mark.parametrize("scope", ["host", "prefix", "domain"])
def test_links_to_the_host_that_was_given_are_inside(crawl_on_both: Crawl, serve: Serve, scope: str) -> None:
    """Each host has its own robots.txt; one seed of the given host that is there as well has each page once with it."""
    crawl, served = crawl_on_both, list[str]()
    server = serve(by_name(MOVED, served, FORBIDS))
    given, other = server.url(host="shop.test"), server.url("/contact", host="shop.test")
    crawl.add([given, other])
    run_whole(crawl, resolve=RESOLVE, scope=scope)
    assert short(server, crawl, Result.FETCHED) == FOUND | OWN
    assert short(server, crawl, Result.ROBOTS_DENIED) == {"shop.test/secret"}
    assert crawl.candidates() == {"http://other.test/"}
    assert max(Counter(one for one in served if not one.endswith("/robots.txt")).values()) == 1
    moved = crawl.seed(given)
    home = given if scope == "domain" else server.url(host="www.shop.test")  # there it is one site
    assert (moved.home_url, moved.end_reason) == (home, EndReason.COMPLETED)
    assert crawl.seed(other).end_reason in (EndReason.COMPLETED, EndReason.COVERED)
    sites = {seed.site_id for seed in crawl.seeds()}
    assert len(sites) == 1
    database = open_database(crawl.url)
    for path, outcome in (("/contact", "redirect"), ("/secret", "robots-denied"), ("/never", "not-seen")):
        told = why(database, Settings(), Scope(scope), server.url(path, host="shop.test"))
        assert told.outcome == outcome
    assert "internal to seed " + given in str(told.facts)
    database.close()


CHAIN: dict[str, Site] = {
    "old.test": {"*": "http://sign-on.test:{port}/in"},
    "sign-on.test": {"/in": GIVEN + "/", "/more": ()},
    "shop.test": {"*": HOME + "{path}"},
    "www.shop.test": {
        "/": ("http://old.test:{port}/x", GIVEN + "/y", "http://sign-on.test:{port}/more", "/z"), "/y": (), "/z": (),
    },
}  # fmt: skip


@pytest.mark.parametrize("scope", ["host", "domain"])
def test_of_a_chain_of_moves_the_first_belongs_to_the_last_and_a_sign_on_does_not(
    crawl: Crawl, serve: Serve, scope: str
) -> None:
    """Also where the crawl is stopped on the way, and goes on."""
    served: list[str] = []
    server = serve(by_name(CHAIN, served, {}))
    given = server.url(host="old.test")
    crawl.add([given])
    for requests in (2, 6):
        stop = threading.Event()

        def look(progress: Progress, stop: threading.Event = stop, most: int = requests) -> None:
            if progress.requests >= most:
                stop.set()

        crawl.run(look, stop, resolve=RESOLVE, scope=scope)
    run_whole(crawl, resolve=RESOLVE, scope=scope)
    assert crawl.seed(given).home_url == server.url(host="shop.test" if scope == "domain" else "www.shop.test")
    assert short(server, crawl, Result.FETCHED) == {"www.shop.test/", "www.shop.test/y", "www.shop.test/z"}
    assert "old.test/x" in short(server, crawl, Result.REDIRECT)
    # Where the given host leads away from the party again, that is a candidate; what stands between is none of it.
    assert crawl.candidates() == {server.url("/in", host="sign-on.test"), server.url("/more", host="sign-on.test")}


def test_a_given_host_that_others_are_to_crawl_is_left_to_them(crawl: Crawl, serve: Serve) -> None:
    """The list of a home page that moves waits for the seeds below it, so that no host is asked by two."""
    sites: dict[str, Site] = {
        "shop.test": {"/": HOME + "/", "/below/": ("/below/1", "/below/2"), "/below/1": (), "/below/2": ()},
        "www.shop.test": {"/": (GIVEN + "/below/1", GIVEN + "/alone"), },
    }  # fmt: skip
    served: list[str] = []
    server = serve(by_name({**sites, "shop.test": {**sites["shop.test"], "/alone": ()}}, served, {}))
    crawl.add([server.url(host="shop.test"), server.url("/below/", host="shop.test")])
    run_whole(crawl, resolve=RESOLVE)
    below = {f"shop.test/below/{name}" for name in ("", "1", "2")}
    assert short(server, crawl, Result.FETCHED) == {"www.shop.test/", "shop.test/alone", *below}
    assert not crawl.candidates()
    order: list[Any] = [one for one in served if not one.endswith("robots.txt")]
    assert order.index("www.shop.test/") > max(order.index(one) for one in below)


def test_what_comes_after_the_first_visit_reaches_the_given_host_too(crawl: Crawl, serve: Serve) -> None:
    """A retry of single URLs, and a round of all: both ask what the party has asked at the host that was given."""
    given_host: dict[str, str | tuple[str, ...]] = {"/": HOME + "/", "/own": ("/own/1",), "/own/1": ()}
    sites: dict[str, Site] = {
        "shop.test": given_host, "www.shop.test": {"/": (GIVEN + "/own", GIVEN + "/later", "/a"), "/a": ()},
    }  # fmt: skip
    served: list[str] = []
    server = serve(by_name(sites, served, {}))
    crawl.add([server.url(host="shop.test")])
    run_whole(crawl, resolve=RESOLVE)
    assert short(server, crawl, Result.HTTP_ERROR) == {"shop.test/later"}
    given_host["/later"] = ()
    told: list[str] = []
    retry_urls(crawl.settings(), [Result.HTTP_ERROR], threading.Event(), told.append)
    assert told == ["URLs to be asked for again (http-error): 1"]
    run_whole(crawl, resolve=RESOLVE)
    whole = {"www.shop.test/", "www.shop.test/a", "shop.test/own", "shop.test/own/1", "shop.test/later"}
    assert short(server, crawl, Result.FETCHED) == whole
    served.clear()
    begin_again(crawl.settings(), (), 0, threading.Event())
    crawl.run(resolve=RESOLVE)
    assert {one for one in served if not one.endswith("/robots.txt")} == whole


def test_another_seed_of_the_given_host_joins_the_party_later(crawl_on_both: Crawl, serve: Serve) -> None:
    """It is of the site to which its own has moved: nothing is asked for twice, and new pages are of both hosts."""
    crawl, served = crawl_on_both, list[str]()
    given_host: dict[str, str | tuple[str, ...]] = {
        "/": HOME + "/", "/own": ("/own/1",), "/own/1": (), "/new": ("/new/1", HOME + "/new/2"), "/new/1": (),
        "/contact": HOME + "/contact", "/late": HOME + "/late",
    }  # fmt: skip
    site: dict[str, str | tuple[str, ...]] = {"/": (GIVEN + "/own", "/contact"), "/contact": (), "/new/2": ()}
    server = serve(by_name({"shop.test": given_host, "www.shop.test": {**site, "/late": ("/later",)}}, served, {}))
    crawl.add([server.url(host="shop.test")])
    run_whole(crawl, resolve=RESOLVE)
    first = {"www.shop.test/", "www.shop.test/contact", "shop.test/own", "shop.test/own/1"}
    assert short(server, crawl, Result.FETCHED) == first
    more = [server.url(path, host="shop.test") for path in ("/own/1", "/contact", "/new", "/late")]
    crawl.add(more)
    run_whole(crawl, resolve=RESOLVE)
    more_pages = {"shop.test/new", "shop.test/new/1", "www.shop.test/new/2", "www.shop.test/late"}
    assert short(server, crawl, Result.FETCHED) == first | more_pages
    assert [crawl.seed(url).end_reason for url in more] == [
        EndReason.COVERED, EndReason.COVERED, EndReason.COMPLETED, EndReason.COMPLETED,
    ]  # fmt: skip
    assert len({seed.site_id for seed in crawl.seeds()}) == 1
    assert crawl.candidates() == set()
    asked = Counter(one for one in served if not one.endswith("/robots.txt"))
    assert asked.pop("shop.test/contact") == 1, "it is where its redirect leads that was known"
    assert set(asked.values()) == {1}
    served.clear()
    begin_again(crawl.settings(), (), 0, threading.Event())
    crawl.run(resolve=RESOLVE)
    assert set(served) >= first | more_pages
