"""Redirects: loops, chains, nonsense, forbidden places, and seeds that find a new home."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest

from scrawler.model.results import Result
from scrawler.model.seeds import EndReason
from tests.integration.crawl.conftest import Crawl
from tests.integration.crawl.hostile import (
    GOOD_PAGES,
    RESOLVE,
    asked,
    by_host,
    by_path,
    good,
    page,
    redirect,
    run_whole,
)
from tests.integration.fetch.servers import RawServer, Visit, path_of

Serve = Callable[..., RawServer]

WWW: dict[str, dict[str, bytes | str]] = {
    "site.example": {"/": "/hop", "/hop": "http://www.site.example:{port}/"},
    "www.site.example": {"/": page(links=("/1", "/2")), "/1": page("one"), "/2": page("two")},
}


CHAIN = {f"/{n}": redirect(f"/{n + 1}") for n in range(1, 9)}
INSIDE = {
    "to-itself": {"/": redirect("/")},
    "loop": {"/": redirect("/a"), "/a": redirect("/b"), "/b": redirect("/")},
    "chain-too-long": {"/": redirect("/1")} | CHAIN,
    "to-file": {"/": redirect("file:///etc/passwd")},
    "to-javascript": {"/": redirect("javascript:alert(1)")},
    "to-nonsense": {"/": redirect("http://[")},
    "to-length": {"/": redirect("/" + "x" * 5000)},
}


def test_redirects_that_lead_nowhere(crawl: Crawl, serve: Serve) -> None:
    servers = {name: serve(by_path(replies)) for name, replies in INSIDE.items()}
    fine = serve(good("fine"))
    crawl.add([fine.url(), *(server.url() for server in servers.values())])
    run_whole(crawl, threads=2)
    for name, server in servers.items():
        seed = crawl.seed(server.url())
        assert seed.end_reason is EndReason.REDIRECTED, name
        assert seed.counts.redirects == seed.counts.requests, name
        assert seed.counts.requests <= 6, name
        assert asked(server).total() == seed.counts.requests + 1, name  # and robots.txt
    assert crawl.seed(fine.url()).counts.pages == GOOD_PAGES


SHOWN = {
    "choices": page("choose", links=("/a", "/b"), status="300 Multiple Choices"),
    "choices-and-favourite": page("choose", "Location: /c", links=("/a", "/b"), status="300 Multiple Choices"),
    "empty": page("go there", "Location: ", links=("/a", "/b"), status="301 Moved Permanently"),
    "without": page("go there", links=("/a", "/b"), status="302 Found"),
}


def test_what_redirects_without_saying_where_is_read(crawl: Crawl, serve: Serve) -> None:
    pages = {"/a": page("a"), "/b": page("b"), "/sitemap.xml": page(status="404 Not Found")}
    servers = {name: serve(by_path(pages | {"/": reply})) for name, reply in SHOWN.items()}
    mute = serve(by_path({"/": page("nothing", status="300 Multiple Choices")}))
    shy = page('<meta name="robots" content="nofollow"><a href="/a">a</a>', status="300 Multiple Choices")
    forbidding = serve(by_path(pages | {"/": shy}))
    crawl.add([server.url() for server in (*servers.values(), mute, forbidding)])
    run_whole(crawl, threads=2, sitemaps="also")
    for name, server in servers.items():
        seed = crawl.seed(server.url())
        assert (seed.end_reason, seed.counts.pages) == (EndReason.COMPLETED, 2), name
        assert {row.url: row.result for row in crawl.pages()}[server.url()] == Result.HTTP_ERROR, name
        assert asked(server)["/sitemap.xml"] == 1, name
    for server in (mute, forbidding):
        seed = crawl.seed(server.url())
        assert (seed.end_reason, seed.counts.pages) == (EndReason.HTTP_ERROR, 0)


def test_endless_choices_are_a_trap(crawl: Crawl, serve: Serve) -> None:
    def script(visit: Visit) -> None:
        while head := visit.request():
            number = int("0" + path_of(head).rpartition("/")[2].removesuffix("robots.txt"))
            following = tuple(f"/choose/{next}" for next in range(2 * number + 1, 2 * number + 3))
            visit.send(page(f"choose from {number}", links=following, status="300 Multiple Choices"))

    server = serve(script)
    crawl.add([server.url()])
    run_whole(crawl, max_depth=1_000, near_duplicates="all")
    seed = crawl.seed(server.url())
    assert seed.counts.requests < 200
    assert seed.counts.trapped > 0
    assert seed.counts.near_duplicates > 0


def test_five_redirects_are_followed(crawl: Crawl, serve: Serve) -> None:
    server = serve(
        by_path({f"/{n}": redirect(f"/{n + 1}") for n in range(5)} | {"/5": page(links=("/6",)), "/6": page("6")})
    )
    crawl.add([server.url("/0")])
    run_whole(crawl)
    assert crawl.seed(server.url("/0")).end_reason is EndReason.COMPLETED
    assert {row.url: row.depth for row in crawl.pages() if row.result == Result.FETCHED} == {
        server.url("/5"): 0,
        server.url("/6"): 1,
    }


def test_letters_in_a_location_are_read_as_utf8(crawl: Crawl, serve: Serve) -> None:
    server = serve(by_path({"/": redirect("/café"), "/caf%C3%A9": page("here")}))
    crawl.add([server.url()])
    run_whole(crawl)
    assert crawl.fetched() == {server.url("/caf%C3%A9")}


def test_a_redirect_of_a_page_is_a_link(crawl: Crawl, serve: Serve) -> None:
    server = serve(by_path({
        "/": page(links=("/away", "/file", "/loop-1", "/good")),
        "/away": redirect("http://b.example/x"),
        "/file": redirect("file:///etc/passwd"),
        "/loop-1": redirect("/loop-2"),
        "/loop-2": redirect("/loop-1"),
        "/good": page("good"),
    }))  # fmt: skip
    crawl.add([server.url()])
    run_whole(crawl)
    seed = crawl.seed(server.url())
    assert (seed.end_reason, seed.counts.pages, seed.counts.redirects) == (EndReason.COMPLETED, 2, 4)
    assert crawl.candidates() == {"http://b.example/x"}


@pytest.mark.parametrize("first", ["site.example", "www.site.example"])
def test_a_seed_that_redirects_to_its_www_host_is_crawled_there(crawl_on_both: Crawl, serve: Serve, first: str) -> None:
    """Also when the new home is a seed, before or after; together they have each page once."""
    crawl = crawl_on_both
    server = serve(by_host(WWW))
    bare, www = (server.url(host=host) for host in ("site.example", "www.site.example"))
    crawl.add([bare])
    if first == "www.site.example":
        crawl.add([www])
    run_whole(crawl, resolve=RESOLVE, threads=1)
    moved = crawl.seed(bare)
    assert (moved.url, moved.home_url, moved.rehomed, moved.counts.redirects) == (bare, www, 2, 2)
    assert crawl.fetched() == {www, www + "1", www + "2"}
    assert set(asked(server)) == {"/robots.txt", "/", "/hop", "/1", "/2"}
    if first == "site.example":
        assert (moved.end_reason, moved.counts.pages) == (EndReason.COMPLETED, 3)


def test_a_new_home_that_was_crawled_before_covers_the_seed(crawl_on_both: Crawl, serve: Serve) -> None:
    crawl = crawl_on_both
    server = serve(by_host(WWW))
    bare, www = (server.url(host=host) for host in ("site.example", "www.site.example"))
    crawl.add([www])
    run_whole(crawl, resolve=RESOLVE)
    crawl.add([bare])
    run_whole(crawl, resolve=RESOLVE)
    assert crawl.seed(www).end_reason is EndReason.COMPLETED
    assert crawl.seed(bare).end_reason is EndReason.COVERED
    assert crawl.fetched() == {www, www + "1", www + "2"}
    assert asked(server)["/"] == 2  # once of each host


def test_a_loop_over_two_sites_ends(crawl_on_both: Crawl, serve: Serve) -> None:
    crawl = crawl_on_both
    server = serve(
        by_host({"a.example": {"/": "http://b.example:{port}/"}, "b.example": {"/": "http://a.example:{port}/"}})
    )
    fine = serve(good("fine"))
    seed = server.url(host="a.example")
    crawl.add([seed, fine.url()])
    run_whole(crawl, resolve=RESOLVE)
    assert (crawl.seed(seed).end_reason, crawl.seed(seed).counts.requests) == (EndReason.REDIRECTED, 2)
    assert asked(server)["/"] == 2
    assert crawl.seed(fine.url()).counts.pages == GOOD_PAGES


def test_a_redirect_to_what_another_seed_of_the_site_has_is_covered(crawl: Crawl, serve: Serve) -> None:
    server = serve(
        by_path({"/": page(links=("/1",)), "/1": page("one"), "/old": redirect("/hop"), "/hop": redirect("/")})
    )
    crawl.add([server.url("/"), server.url("/old")])
    run_whole(crawl)
    assert crawl.seed(server.url("/")).end_reason is EndReason.COMPLETED
    assert crawl.seed(server.url("/old")).end_reason is EndReason.COVERED
    assert max(asked(server).values()) == 1


def test_a_chain_over_many_sites_ends(crawl: Crawl, serve: Serve) -> None:
    hosts = [f"h{n}.example" for n in range(9)]
    chain = {host: {"/": f"http://{after}:{{port}}/"} for host, after in pairwise(hosts)}
    server = serve(by_host(chain))
    crawl.add([server.url(host=hosts[0])])
    run_whole(crawl, resolve=tuple(f"{host}=127.0.0.1" for host in hosts))
    seed = crawl.seed(server.url(host=hosts[0]))
    assert (seed.end_reason, seed.rehomed) == (EndReason.REDIRECTED, 5)
    assert asked(server)["/"] == 6


def test_a_redirect_to_a_forbidden_address_is_not_followed(crawl: Crawl, serve: Serve) -> None:
    """Link-local addresses are refused even where private ones are allowed, also behind a name."""
    targets = ["http://169.254.169.254/latest/", "http://cloud.example/latest/"]
    servers = [serve(by_path({"/": redirect(target)})) for target in targets]
    crawl.add([server.url() for server in servers])
    run_whole(crawl, resolve=("cloud.example=169.254.169.254",))
    for server, target in zip(servers, targets, strict=True):
        seed = crawl.seed(server.url())
        assert (seed.end_reason, seed.home_url) == (EndReason.PRIVATE_ADDRESS, target)
    assert {row.result for row in crawl.pages() if row.url in targets} == {Result.PRIVATE_ADDRESS}
