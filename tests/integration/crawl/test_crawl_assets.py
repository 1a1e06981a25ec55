"""Images, scripts and styles of pages: left alone, or fetched with them."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from scrawler.model.results import PageFlag, Result
from scrawler.model.seeds import EndReason
from tests.integration.crawl.conftest import Crawl
from tests.integration.crawl.hostile import NOT_FOUND, Reply, asked, by_path, page, redirect, run_whole
from tests.integration.fetch.servers import RawServer, Visit, answer, path_of

Serve = Callable[..., RawServer]

PNG = answer(b"\x89PNG", "200 OK", "Content-Type: image/png")
CSS = answer(b"@import '/imported.css'; p { background: url(/background.png) }", "200 OK", "Content-Type: text/css")
HOME = page(
    "<link rel=stylesheet href=/style.css><img src=/i.png srcset='/i2.png 2x, http://cdn.example/i3.png 3x'>"
    "<img src='data:image/png;base64,AAAA'><script src='http://cdn.example/x.js'></script><img src='/page'>"
    "<img src=/as-html><img src=/moved.png><img src=/out.png><img src=/loop-1.png><img src=/secret/i.png>"
    "<img src=/gone.png><img src=/again.png><a href=/linked.png>x</a><div data-src=/lazy.png></div>",
    links=("/page",),
)
SITE: dict[str, Reply] = {
    "/robots.txt": answer(b"User-agent: *\nDisallow: /secret/", "200 OK", "Content-Type: text/plain"),
    "/": HOME,
    "/page": page("<img src=/deep.png><img src=/i.png>", links=("/too-deep",)),
    "/as-html": page("<img src=/no.png>", links=("/no",)),
    "/style.css": CSS,
    "/again.png": answer(b"\x89PNG", "200 OK", "Content-Type: image/png", "Refresh: 0; url=/no"),  # it shows no page
    "/moved.png": redirect("/moved-to.zip"),
    "/out.png": redirect("http://cdn.example/out.png"),
    "/loop-1.png": redirect("/loop-2.png"),
    "/loop-2.png": redirect("/loop-1.png"),
    **dict.fromkeys(("/i.png", "/i2.png", "/deep.png", "/moved-to.zip"), PNG),
}
PAGES = {"/": 0, "/page": 1}
ASSETS = {
    **dict.fromkeys(("/style.css", "/i.png", "/i2.png", "/as-html", "/moved.png", "/out.png", "/loop-1.png"), 1),
    **dict.fromkeys(("/gone.png", "/again.png", "/secret/i.png"), 1),
    "/deep.png": 2,
    **dict.fromkeys(("/moved-to.zip", "/loop-2.png"), 1),  # a redirect costs no depth
}


@pytest.mark.parametrize("profile", ["default", "classic"])
def test_assets_are_fetched_on_wish(crawl: Crawl, serve: Serve, profile: str) -> None:
    server = serve(by_path(SITE))
    crawl.add([server.url()])
    run_whole(crawl, profile=profile, assets=True, max_depth=1)
    rows = {row.url.removeprefix(server.url("")): row for row in crawl.pages()}
    assert {path: row.depth for path, row in rows.items() if not row.flags & PageFlag.ASSET} == PAGES
    assert {path: row.depth for path, row in rows.items() if row.flags & PageFlag.ASSET} == ASSETS
    assert rows["/secret/i.png"].result == Result.ROBOTS_DENIED
    assert set(asked(server)) == {"/robots.txt", *rows} - {"/secret/i.png"}
    assert crawl.candidates() == set()
    seed = crawl.seed(server.url())
    assert (seed.counts.assets, seed.counts.listed) == (len(ASSETS), len(PAGES) + len(ASSETS))
    assert seed.verdicts["external-asset"] == 3
    assert seed.end_reason is EndReason.MAX_DEPTH  # of /too-deep, which is a page


def test_assets_are_left_alone_otherwise(crawl: Crawl, serve: Serve) -> None:
    server = serve(by_path(SITE))
    crawl.add([server.url()])
    run_whole(crawl, max_depth=1)
    assert set(asked(server)) == {"/robots.txt", *PAGES}
    seed = crawl.seed(server.url())
    assert (seed.counts.assets, seed.verdicts.get("external-asset"), crawl.candidates()) == (0, None, set())


def test_a_page_that_forbids_to_follow_its_links_has_no_assets(crawl: Crawl, serve: Serve) -> None:
    server = serve(by_path({"/": page("<meta name=robots content=nofollow><img src=/i.png>", links=("/page",))}))
    crawl.add([server.url()])
    run_whole(crawl, assets=True)
    assert set(asked(server)) == {"/robots.txt", "/"}
    assert crawl.seed(server.url()).verdicts["nofollow"] == 2


def test_redirects_of_assets_end(crawl: Crawl, serve: Serve) -> None:
    def script(visit: Visit) -> None:
        while head := visit.request():
            path = path_of(head)
            number = path.partition("?")[2]
            visit.send(page("<img src='/x.png?0'>") if path == "/" else redirect(f"/x.png?{int(number or 0) + 1}"))

    server = serve(script)
    crawl.add([server.url()])
    run_whole(crawl, assets=True, robots=False, max_depth=3)
    assert len(asked(server)) == 22  # the page, an asset, and twenty redirects


def test_an_asset_stays_one_over_stops_and_retries(crawl_on_both: Crawl, serve: Serve) -> None:
    crawl, stop = crawl_on_both, threading.Event()

    def script(visit: Visit) -> None:
        while head := visit.request():
            path = path_of(head)
            if path == "/":
                visit.send(page("".join(f"<img src='/{n}.html'>" for n in range(20))))
            elif path == "/0.html" and not stop.is_set():
                stop.set()  # all assets stand in the list, but only a later machine fetches them
                visit.hang()
            elif path.endswith(".html"):
                failed = path == "/7.html" and asked(server)[path] == 1
                visit.send(answer(b"", "500 Later") if failed else page("x", links=("/no",)))
            else:
                visit.send(NOT_FOUND)

    server = serve(script)
    crawl.add([server.url()])
    assert crawl.run(stop=stop, assets=True, stop_timeout=0).outcome != "ended"
    assert set(asked(server)) == {"/robots.txt", "/", "/0.html"}
    run_whole(crawl, assets=True)
    assert set(asked(server)) == {"/robots.txt", "/", *(f"/{n}.html" for n in range(20))}
    assert {path for path, times in asked(server).items() if times > 1 and path != "/robots.txt"} == {
        "/0.html", "/7.html",
    }  # fmt: skip
    assert sorted(row.flags for row in crawl.pages()) == [0, *[PageFlag.ASSET] * 20]
    seed = crawl.seed(server.url())
    assert (seed.counts.assets, seed.counts.pages, seed.counts.retries) == (20, 21, 1)
