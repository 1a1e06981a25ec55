"""Cookie gates that span sites, or stand before very many pages: all open, and none is asked without end."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from scrawler.core.machine.machine import Machine
from scrawler.model.results import Result
from scrawler.model.seeds import EndReason
from tests.integration.crawl.conftest import Crawl
from tests.integration.crawl.hostile import NOT_FOUND, RESOLVE, asked, page, redirect, run_whole
from tests.integration.crawl.rig import watch
from tests.integration.crawl.test_crawl_cookies import cookie_of
from tests.integration.fetch.servers import RawServer, Script, Visit, answer, path_of
from tests.limits import HANGS

Serve = Callable[..., RawServer]
Pages = Callable[[str, str, str, str], bytes]  # host, port, path, Cookie header -> answer

BOTH = {"resolve": (*RESOLVE, "sso.site.example=127.0.0.1"), "scope": "host"}
INNER = {"/": ("/1", "/2")}


def by_pages(pages: Pages, after: Callable[[], None] = lambda: None) -> Script:
    """Answer with what `pages` says; `after` is called when a page was asked for."""

    def script(visit: Visit) -> None:
        while head := visit.request():
            host, _, port = head.partition(b"Host: ")[2].partition(b"\r\n")[0].decode().partition(":")
            if path_of(head) == "/robots.txt":
                visit.send(NOT_FOUND)
                continue
            after()
            visit.send(pages(host, port, path_of(head), cookie_of(head)))

    return script


def run_until(crawl: Crawl, server: RawServer, pages: Pages, number: int) -> None:
    """Crawl until so many pages were asked for; the last answer comes when the machine is stopping."""
    asked_for, stopped = threading.Event(), threading.Event()
    left = number

    def wait() -> None:
        nonlocal left
        left -= 1
        if left == 0:
            asked_for.set()
            assert stopped.wait(HANGS)

    def look(machine: Machine) -> None:
        if asked_for.is_set():
            machine.ending.stop()
            stopped.set()

    server.script = by_pages(pages, wait)
    watch(crawl.settings(threads=1, traps=False, **BOTH), look)
    server.script = by_pages(pages)


def passing(location: str, cookie: str) -> bytes:
    """Return a redirect that sets a cookie."""
    return answer(b"", "302 Found", f"Location: {location}", f"Set-Cookie: {cookie}")


def sign_on(believes: bool = True) -> Pages:
    """The site www.site.example sends to another one to sign on; that leads to /back, which sets the cookie."""

    def pages(host: str, port: str, path: str, cookie: str) -> bytes:
        if host == "b.example":
            return redirect(f"http://www.site.example:{port}/back")
        if path == "/back":
            return passing("/", "k=1; Path=/")
        if believes and "k=1" in cookie:
            return page(path, links=INNER.get(path, ()))
        return redirect(f"http://b.example:{port}/sso")

    return pages


def sign_on_of_domain(believes: bool = True) -> Pages:
    """The same where the other site is one of the domain, and sets the cookie itself."""

    def pages(host: str, port: str, path: str, cookie: str) -> bytes:
        home = f"http://www.site.example:{port}/"
        if host == "sso.site.example":
            return passing(home, "k=1; Domain=site.example; Path=/")
        if believes and "k=1" in cookie:
            return page(path, links=INNER.get(path, ()))
        return redirect(f"http://sso.site.example:{port}/sso")

    return pages


each_sign_on = pytest.mark.parametrize("make", [sign_on, sign_on_of_domain])


@each_sign_on
@pytest.mark.parametrize("believes", [True, False])
def test_a_gate_over_two_sites(
    crawl_on_both: Crawl, serve: Serve, make: Callable[[bool], Pages], believes: bool
) -> None:
    """The home URL is asked once more with its cookie; where that does not help the seed has only redirected."""
    crawl, server = crawl_on_both, serve(by_pages(make(believes)))
    home = server.url(host="www.site.example")
    crawl.add([home])
    run_whole(crawl, **BOTH)
    seed = crawl.seed(home)
    assert seed.end_reason is (EndReason.COMPLETED if believes else EndReason.REDIRECTED)
    assert seed.counts.pages == (3 if believes else 0)
    assert [(row.attempts, row.result) for row in crawl.pages() if row.url == home] == [
        (1, Result.REDIRECT), (2, Result.FETCHED if believes else Result.REDIRECT)
    ]  # fmt: skip


@each_sign_on
@pytest.mark.parametrize("believes", [True, False])
def test_a_gate_over_two_sites_opens_however_often_the_crawl_is_stopped(
    crawl: Crawl, serve: Serve, make: Callable[[bool], Pages], believes: bool
) -> None:
    pages = make(believes)
    server = serve(by_pages(pages))
    home = server.url(host="www.site.example")
    crawl.add([home])
    for _ in range(5 if believes else 3):
        run_until(crawl, server, pages, 1)
        assert crawl.seed(home).end_reason is None
    run_whole(crawl, **BOTH)
    seed = crawl.seed(home)
    assert (seed.end_reason, seed.counts.pages) == ((EndReason.COMPLETED, 3) if believes else (EndReason.REDIRECTED, 0))


def test_a_loop_over_two_sites_that_comes_back_elsewhere_covers_nothing(crawl_on_both: Crawl, serve: Serve) -> None:
    def pages(host: str, port: str, path: str, cookie: str) -> bytes:
        if host == "b.example":
            return redirect(f"http://a.example:{port}/c")
        return redirect({"/": "/b", "/b": f"http://b.example:{port}/", "/c": "/b"}[path])

    crawl, server = crawl_on_both, serve(by_pages(pages))
    home = server.url(host="a.example")
    crawl.add([home])
    run_whole(crawl, **BOTH)
    assert crawl.seed(home).end_reason is EndReason.REDIRECTED
    assert max(times for path, times in asked(server).items() if path not in ("/", "/robots.txt")) == 1


def gated_pages(number: int) -> Pages:
    """An open home page links to pages each of which has a gate of its own; one cookie opens all."""

    def pages(host: str, port: str, path: str, cookie: str) -> bytes:
        if path == "/":
            return page("home", links=tuple(f"/p{n}" for n in range(number)))
        if path.startswith("/check"):
            return passing(path.partition("?")[2], f"k{path.rpartition('p')[2]}=1; Path={path.partition('?')[2]}")
        if f"k{path[2:]}=1" in cookie:
            return page(path)
        return redirect(f"/check?{path}")

    return pages


def test_hundreds_of_pages_with_gates_of_their_own(crawl: Crawl, serve: Serve) -> None:
    """All of them are redirected before the first of their gates is asked; a stop between forgets none."""
    number = 300
    server = serve(by_pages(gated_pages(number)))
    crawl.add([server.url()])
    run_until(crawl, server, gated_pages(number), number + number // 2)
    assert crawl.seed(server.url()).end_reason is None
    run_whole(crawl, traps=False)
    seed = crawl.seed(server.url())
    assert (seed.end_reason, seed.counts.pages) == (EndReason.COMPLETED, number + 1)


def test_of_too_many_pages_with_gates_those_that_came_first_are_fetched(
    crawl: Crawl, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scrawler.core.party.gates.MOST_FIRST", 10)
    monkeypatch.setattr("scrawler.core.party.gates.MOST_NEWEST", 5)
    server = serve(by_pages(gated_pages(40)))
    crawl.add([server.url()])
    run_whole(crawl, traps=False)
    assert {server.url(f"/p{n}") for n in range(10)} <= crawl.fetched()
