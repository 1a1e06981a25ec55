"""Redirects: loops, chains, nonsense, forbidden places, and seeds that find a new home."""

from __future__ import annotations

import threading
from collections.abc import Callable
from itertools import pairwise

import pytest

from scrawler.core.progress import Progress
from scrawler.model.results import Result
from scrawler.model.seeds import EndReason
from scrawler.urls.verdict import Verdict
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


CHAIN = {f"/{n}": redirect(f"/{n + 1}") for n in range(1, 30)}
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
        assert seed.counts.redirects + seed.counts.failures == seed.counts.requests, name
        assert seed.counts.requests == (21 if name == "chain-too-long" else seed.counts.redirects), name
        assert seed.counts.requests <= 21, name
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


def refresh(content: str) -> bytes:
    return page(f'<meta http-equiv="refresh" content="{content}">')


# Twenty redirects lead from the seed to /20, and as many from there, by a link, to /41.
LONG = {f"/{n}": redirect(f"/{n + 1}") for n in (*range(20), *range(21, 41))}
ENDLESS = {f"/endless/{n}": redirect(f"/endless/{n + 1}") for n in range(40)}
REFRESHED = {f"/refreshed/{n}": refresh(f"0; url=/refreshed/{n + 1}") for n in range(40)}
STEPS: dict[str, bytes | str] = {
    **LONG, **ENDLESS, **REFRESHED,
    "/20": page("home", links=("/21", "/moved", "/at-once", "/later", "/loop", "/endless/0", "/refreshed/0")),
    "/41": page("far", links=("/too-deep",)),
    "/moved": redirect("/at-once"), "/at-once": refresh("0.5;url=behind"), "/behind": page("behind", links=("/deep",)),
    "/later": refresh("5; url=/waited-for"), "/loop": redirect("/back"), "/back": redirect("/loop"),
}  # fmt: skip


def test_a_redirect_costs_no_depth_and_twenty_in_a_row_are_followed(crawl: Crawl, serve: Serve) -> None:
    """Neither does a page that refreshes itself at once: a reader gets to where it leads by the same click."""
    server = serve(by_path(STEPS))
    crawl.add([server.url("/0")])
    run_whole(crawl, max_depth=1)
    seed = crawl.seed(server.url("/0"))
    assert seed.end_reason is EndReason.MAX_DEPTH
    rows = {row.url.removeprefix(server.url("")): row for row in crawl.pages()}
    steps = {*LONG, "/20", "/41", "/moved", "/at-once", "/behind", "/later", "/loop", "/back"}
    ends = {f"/{kind}/{n}" for kind in ("endless", "refreshed") for n in range(21)}
    assert rows.keys() == steps | ends
    assert {path for path, row in rows.items() if row.depth == 0} == {f"/{n}" for n in range(21)}
    assert all(row.depth == 1 for path, row in rows.items() if row.depth)
    over = {path for path, row in rows.items() if row.result == Result.TOO_MANY_REDIRECTS}
    assert over == {"/endless/20"}
    assert rows["/endless/20"].detail == "more than 20 redirects in a row, the last to /endless/21"
    assert rows["/behind"].result == rows["/refreshed/20"].result == Result.FETCHED
    assert seed.verdicts[Verdict.TOO_MANY_REDIRECTS] == 1


def test_a_seed_that_refreshes_itself_at_once_leads_on_without_depth(crawl: Crawl, serve: Serve) -> None:
    """But its party stays: what the page there redirects to is a link."""
    pages = {"/": refresh("0;URL='/home/'"), "/home/": page(links=("/a",)), "/a": page("a")}
    gone = {"/": refresh("0; url=/in"), "/in": redirect("http://b.example/")}
    servers = serve(by_path(pages)), serve(by_path(gone))
    crawl.add([server.url() for server in servers])
    run_whole(crawl, max_depth=1)
    assert {(row.url, row.depth) for row in crawl.pages() if row.url.startswith(servers[0].url())} == {
        (servers[0].url("/"), 0), (servers[0].url("/home/"), 0), (servers[0].url("/a"), 1)
    }  # fmt: skip
    stayed = crawl.seed(servers[1].url())
    assert (stayed.home_url, stayed.end_reason, stayed.counts.pages) == (servers[1].url(), EndReason.COMPLETED, 1)
    assert crawl.candidates() == {"http://b.example/"}


def test_a_chain_goes_on_after_a_stop_as_long_as_it_may(crawl: Crawl, serve: Serve) -> None:
    """Its length is in the list: a crawl that is stopped now and then does not follow it for ever."""
    server = serve(by_path({"/": page(links=("/endless/0",)), **ENDLESS}))
    crawl.add([server.url()])
    for _ in range(10):
        stop = threading.Event()

        def one(progress: Progress, stop: threading.Event = stop) -> None:
            if progress.requests >= 6:
                stop.set()

        if crawl.run(one, stop, traps=False).outcome == "ended":
            break
    assert {row.url for row in crawl.pages()} == {server.url("/"), *(server.url(f"/endless/{n}") for n in range(21))}


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
    hosts = [f"h{n}.example" for n in range(25)]
    chain = {host: {"/": f"http://{after}:{{port}}/"} for host, after in pairwise(hosts)}
    server = serve(by_host(chain))
    crawl.add([server.url(host=hosts[0])])
    run_whole(crawl, resolve=tuple(f"{host}=127.0.0.1" for host in hosts))
    seed = crawl.seed(server.url(host=hosts[0]))
    assert (seed.end_reason, seed.rehomed) == (EndReason.REDIRECTED, 20)
    assert asked(server)["/"] == 21
    last = next(row for row in crawl.pages() if row.result == Result.TOO_MANY_REDIRECTS)
    assert last.detail == f"more than 20 redirects in a row, the last to {server.url(host=hosts[21])}"


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
