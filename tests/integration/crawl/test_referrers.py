"""The page that listed a URL first is kept with it, through lists, retries, redirects and restarts."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from scrawler.core.machine.machine import Machine
from scrawler.insight.why import why
from scrawler.model.scope import Scope
from scrawler.store.engines.engine import open_database
from scrawler.store.reading.page_lists import PageLists, PageView
from tests.integration.crawl.hostile import Reply, by_path, page, redirect
from tests.integration.crawl.rig import watch
from tests.integration.fetch.servers import RawServer, Visit, answer
from tests.limits import HANGS

if TYPE_CHECKING:
    from tests.integration.crawl.conftest import Crawl

Serve = Callable[..., RawServer]

MANY = 150  # links of a page: two of these pages fill more than two chunks
MIDST = "/a/100"  # the page with which the first machine is stopped
XML = "Content-Type: text/xml"
INDEX = b"<sitemapindex><sitemap><loc>/part.xml</loc></sitemap></sitemapindex>"
PART = b"<urlset><url><loc>/mapped</loc></url></urlset>"
OF_ONE, OF_TWO = (tuple(f"/{letter}/{n}" for n in range(MANY)) for letter in "ab")
EXPECTED = {
    "/": "",
    "/one": "/",
    "/two": "/",
    "/i.png": "/",
    "/moved": "/one",
    "/late": "/one",
    "/there": "/moved",
    "/gone": "/there",
    "/behind": "/late",
    "/sitemap.xml": "",  # the usual one, which no page names
    "/part.xml": "/sitemap.xml",
    "/mapped": "/part.xml",
    **dict.fromkeys(OF_ONE, "/one"),
    **dict.fromkeys(OF_TWO, "/two"),
}


def _failing_once() -> Callable[[Visit], None]:
    replies: Iterator[bytes] = iter([b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 99\r\n\r\ncut"])
    return lambda visit: visit.send(next(replies, page("late", links=("/behind",))))


def _site(midst: Callable[[], None]) -> dict[str, Reply]:
    def in_the_midst(visit: Visit) -> None:
        midst()
        visit.send(page("midst"))

    return {
        "/": page("<img src=/i.png>home", links=("/one", "/two", "http://elsewhere.example/x")),
        "/one": page("1", links=("/two", "/moved", "/late", *OF_ONE, "http://elsewhere.example/x")),
        "/two": page("2", links=("/one", *OF_ONE, *OF_TWO, "http://elsewhere.example/y")),
        "/moved": redirect("/there"),
        "/there": page("there", links=("/gone",)),
        "/late": _failing_once(),
        "/i.png": answer(b"\x89PNG", "200 OK", "Content-Type: image/png"),
        "/sitemap.xml": answer(INDEX, "200 OK", XML),
        "/part.xml": answer(PART, "200 OK", XML),
        "/mapped": page("mapped"),
        MIDST: in_the_midst,
    }


@pytest.fixture
def views(crawl_on_both: Crawl, serve: Serve) -> dict[str, PageView]:
    """The rows, by path, of a crawl that was stopped in the midst of its list and went on."""
    crawl = crawl_on_both
    reached, stopped = threading.Event(), threading.Event()

    def midst() -> None:
        reached.set()
        assert stopped.wait(HANGS)

    def stop(machine: Machine) -> None:
        if reached.is_set():
            machine.ending.stop()
            stopped.set()

    server = serve(by_path(_site(midst)))
    crawl.add([server.url()])
    settings = crawl.settings(sitemaps="also", assets=True, traps=False, depth_buffer=128)
    assert not watch(settings, stop).ended
    assert watch(settings).ended
    database = open_database(crawl.url)
    found = list(PageLists(database).all())
    external = why(database, settings, Scope.HOST, "http://elsewhere.example/x")
    fetched = why(database, settings, Scope.HOST, server.url("/a/3"))
    database.close()
    assert f"found first on {server.url()}" in external.facts[0].lines
    assert f"found first on {server.url('/one')}" in fetched.facts[0].lines
    base = server.url()[:-1]
    assert {view.seed for view in found} == {server.url()}
    return {
        view.page.url.removeprefix(base): view._replace(referrer=view.referrer.removeprefix(base)) for view in found
    }


def test_each_row_tells_the_page_that_listed_its_url_first(views: dict[str, PageView]) -> None:
    assert {path: view.referrer for path, view in views.items()} == EXPECTED
    assert views["/late"].page.attempts == 2
    machines = {view.page.warc_file.split("-")[2] for path, view in views.items() if path in OF_ONE}
    assert machines == {"m1", "m2"}
