"""Cookies in whole crawls: each party has its own, they go with it, and robots.txt is asked for without."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from warcio.archiveiterator import ArchiveIterator

from scrawler.model.results import Result
from scrawler.model.scope import Scope
from scrawler.model.seeds import EndReason
from tests.integration.crawl.conftest import Crawl
from tests.integration.crawl.hostile import RESOLVE, asked, page, redirect, run_whole
from tests.integration.crawl.rig import running, watch
from tests.integration.fetch.servers import RawServer, Script, Visit, answer, path_of
from tests.limits import HANGS
from tests.torture.crawl import wait_for

Serve = Callable[..., RawServer]

MISSING = answer(b"no such page", "404 Not Found")
each_downloader = pytest.mark.parametrize("downloader", ["curl", "requests"])


def cookie_of(head: bytes) -> str:
    """What stands in the Cookie header of a request."""
    return head.partition(b"\r\nCookie: ")[2].partition(b"\r\n")[0].decode()


def walled(pages: int, page_headers: tuple[str, ...] = ()) -> Script:
    """A site whose pages are shown to those only who bring the cookie that its front page sets with a redirect."""

    def script(visit: Visit) -> None:
        while head := visit.request():
            path, cookie = path_of(head), cookie_of(head)
            if path == "/robots.txt":
                visit.send(MISSING)
            elif "sid=1" not in cookie:
                door = answer(
                    b"", "302 Found", "Location: /1", "Set-Cookie: sid=1; Path=/", "Set-Cookie: z=; Max-Age=0"
                )
                visit.send(door if path == "/" else answer(b"no", "403 Forbidden"))
            else:
                number = int(path[1:] or 0)
                links = tuple(f"/{n}" for n in range(2, pages + 1)) if number == 1 else ()
                visit.send(page(f"page {number}", *page_headers, links=links))

    return script


@each_downloader
@pytest.mark.parametrize("cookies", [True, False])
def test_a_site_behind_a_cookie(crawl: Crawl, serve: Serve, downloader: str, cookies: bool) -> None:
    server = serve(walled(5))
    crawl.add([server.url()])
    run_whole(crawl, downloader=downloader, cookies=cookies)
    seed = crawl.seed(server.url())
    if not cookies:
        assert (seed.end_reason, seed.counts.http_errors) == (EndReason.HTTP_ERROR, 1)
        assert not any(map(cookie_of, server.heads))
        return
    assert (seed.end_reason, seed.counts.pages) == (EndReason.COMPLETED, 5)
    assert {path_of(head): cookie_of(head) for head in server.heads} == {
        "/robots.txt": "", "/": "", **{f"/{n}": "sid=1" for n in range(1, 6)}
    }  # fmt: skip
    (file,) = (crawl.folder / "pages").glob("*.warc.gz")
    with file.open("rb") as stream:
        recorded = [
            record.content_stream().read() for record in ArchiveIterator(stream, no_record_parse=True)
            if record.rec_type == "request"
        ]  # fmt: skip
    assert recorded == server.heads, "the archive shows requests as they were sent"


@each_downloader
def test_each_party_has_a_jar_of_its_own(crawl: Crawl, serve: Serve, downloader: str) -> None:
    """Two seeds of one site: what one is told, the other does not say."""

    def script(visit: Visit) -> None:
        while head := visit.request():
            path = path_of(head)
            if path in ("/a", "/b"):
                links = tuple(f"{path}{n}" for n in range(4))
                visit.send(page(path, f"Set-Cookie: who={path[1]}; Path=/", links=links))
            else:
                visit.send(MISSING if path == "/robots.txt" else page(path))

    server = serve(script)
    crawl.add([server.url("/a"), server.url("/b")])
    run_whole(crawl, downloader=downloader)
    sent = {path_of(head): cookie_of(head) for head in server.heads}
    assert sent == {
        "/robots.txt": "", "/a": "", "/b": "", **{f"/{who}{n}": f"who={who}" for who in "ab" for n in range(4)}
    }  # fmt: skip


def test_cookies_of_a_domain_stay_in_it_and_out_of_robots_txt(crawl: Crawl, serve: Serve) -> None:
    """A party over two hosts, and a seed that leads to another site: nothing of the first goes there."""

    def script(visit: Visit) -> None:
        while head := visit.request():
            host = head.partition(b"Host: ")[2].partition(b":")[0].decode()
            path = path_of(head)
            if path == "/robots.txt":
                visit.send(answer(b"", "200 OK", "Set-Cookie: robots=1; Path=/"))
            elif path == "/away":
                visit.send(answer(b"", "302 Found", f"Location: {server.url('/', 'c.elsewhere.example')}",
                                  "Set-Cookie: mine=1; Path=/", "Set-Cookie: no=1; Domain=example"))  # fmt: skip
            else:
                cookies = "Set-Cookie: host=a; Path=/", "Set-Cookie: all=1; Domain=site.example; Path=/"
                there = server.url("/there", "b.site.example")
                visit.send(page(host + path, *cookies, links=(there, "/here") if path == "/" else ()))

    server = serve(script)
    names = ("a.site.example", "b.site.example", "away.example", "c.elsewhere.example")
    crawl.add([server.url("/", names[0]), server.url("/away", names[2])], Scope.DOMAIN)
    run_whole(crawl, scope=Scope.DOMAIN, resolve=tuple(f"{name}=127.0.0.1" for name in names))
    assert {row.result for row in crawl.pages()} == {Result.FETCHED, Result.REDIRECT}
    sent = {}
    for head in server.heads:
        host = head.partition(b"Host: ")[2].partition(b":")[0].decode()
        sent[host, path_of(head)] = cookie_of(head)
    assert {place: cookie for place, cookie in sent.items() if cookie} == {
        ("a.site.example", "/here"): "host=a; all=1",
        ("b.site.example", "/there"): "all=1",
        ("c.elsewhere.example", "/here"): "host=a",  # its own, and neither of those that the way there had set
    }
    assert {host for host, path in sent if path == "/robots.txt"} == set(names)


def test_the_jar_goes_with_the_party_to_another_thread(crawl: Crawl, serve: Serve) -> None:
    """One thread is dealt the sites of one page, the other the long ones: these move."""
    servers = [serve(walled(30 if n % 2 else 1)) for n in range(12)]
    crawl.add([server.url() for server in servers])
    watched = watch(crawl.settings(threads=2, delay=0.01))
    assert watched.moves > 0
    assert {seed.end_reason for seed in crawl.seeds()} == {EndReason.COMPLETED}
    assert len(crawl.fetched()) == 6 * 30 + 6


def test_a_flood_of_cookies_does_no_harm(crawl: Crawl, serve: Serve) -> None:
    flood = tuple(f"Set-Cookie: c{n}={'x' * 300}; Path=/" for n in range(45))
    server = serve(walled(12, flood))
    crawl.add([server.url()])
    run_whole(crawl)
    assert crawl.seed(server.url()).counts.pages == 12
    longest = max(map(len, map(cookie_of, server.heads)))
    assert 3_500 < longest <= 4_096


@pytest.mark.parametrize("retries", [0, 2])
@pytest.mark.parametrize("believes", [True, False])
def test_a_page_that_sets_a_cookie_and_leads_to_itself_is_asked_once_more(
    crawl: Crawl, serve: Serve, believes: bool, retries: int
) -> None:
    bounce = redirect("/?x=1#top").replace(b"\r\n\r\n", b"\r\nSet-Cookie: sid=1\r\n\r\n")

    def script(visit: Visit) -> None:
        while head := visit.request():
            if path_of(head) == "/robots.txt":
                visit.send(MISSING)
            else:
                visit.send(page("in") if believes and "sid" in cookie_of(head) else bounce)

    server = serve(script)
    crawl.add([server.url("/?x=1")])
    run_whole(crawl, retries=retries)
    seed = crawl.seed(server.url("/?x=1"))
    assert seed.end_reason is (EndReason.COMPLETED if believes else EndReason.REDIRECTED)
    assert (seed.counts.requests, seed.counts.retries, seed.counts.pages) == (2, 1, int(believes))


def gated(believes: bool = True, each: bool = False) -> Script:
    """A site whose pages lead to /check, and are led back from there with a cookie that opens all, or one, of them."""

    def script(visit: Visit) -> None:
        while head := visit.request():
            path, _, back = path_of(head).partition("?")
            if path == "/robots.txt":
                visit.send(MISSING)
            elif path == "/check":
                cookie = f"Set-Cookie: pass={back}; Path={back if each else '/'}\r\n\r\n".encode()
                visit.send(redirect(back).replace(b"\r\n\r\n", b"\r\n" + cookie))
            elif believes and f"pass={path if each else '/'}" in cookie_of(head):
                visit.send(page(path, links=("/1", "/2") if path == "/" else ()))
            else:
                visit.send(redirect(f"/check?{path}"))

    return script


@each_downloader
@pytest.mark.parametrize("believes", [True, False])
def test_a_cookie_gate_over_two_urls(crawl: Crawl, serve: Serve, believes: bool, downloader: str) -> None:
    """The URL is asked once more when the cookie is there, and only once; both of its answers have their rows."""
    server = serve(gated(believes))
    crawl.add([server.url()])
    run_whole(crawl, downloader=downloader)
    seed, pages = crawl.seed(server.url()), ("/1", "/2") if believes else ()
    assert seed.end_reason is (EndReason.COMPLETED if believes else EndReason.REDIRECTED)
    paths = [path_of(head) for head in server.heads]
    assert paths[1:] == ["/", "/check?/", "/", *pages]
    counts = seed.counts
    assert (counts.requests, counts.retries) == (len(paths) - 1, 0)
    assert (counts.pages, counts.redirects, counts.listed) == (3, 2, 4) if believes else (0, 3, 2)
    assert [(row.attempts, row.result) for row in crawl.pages() if row.url == server.url()] == [
        (1, Result.REDIRECT), (2, Result.FETCHED if believes else Result.REDIRECT)
    ]  # fmt: skip


def test_each_page_may_have_a_gate_but_not_without_cookies(crawl: Crawl, serve: Serve) -> None:
    server, closed = serve(gated(each=True)), serve(gated())
    crawl.add([server.url()])
    run_whole(crawl, per_site=2)
    assert crawl.seed(server.url()).counts.pages == 3
    assert {path: times for path, times in asked(server).items() if path != "/robots.txt"} == {
        "/": 2, "/1": 2, "/2": 2, "/check?/": 1, "/check?/1": 1, "/check?/2": 1
    }  # fmt: skip
    crawl.add([closed.url()])
    run_whole(crawl, cookies=False)
    assert crawl.seed(closed.url()).end_reason is EndReason.REDIRECTED
    assert asked(closed)["/"] == 1


@pytest.mark.parametrize("again", [False, True], ids=["before the gate", "before the second answer"])
def test_a_gate_opens_also_for_whoever_comes_after_a_kill(crawl_on_both: Crawl, serve: Serve, again: bool) -> None:
    """The machine is killed once what came before is committed, and while the next answer is on its way."""
    crawl, asked_for, let_go = crawl_on_both, threading.Event(), threading.Event()
    inner = gated()

    class Slow(Visit):
        """Keeps an answer back until the machine is dead."""

        def request(self) -> bytes:
            head = super().request()
            path = path_of(head) if head else ""
            if not let_go.is_set() and (path == "/" and "pass=" in cookie_of(head) if again else path == "/check?/"):
                asked_for.set()
                assert let_go.wait(HANGS)
            return head

    server = serve(lambda visit: inner(Slow(visit.sock, visit.number, visit.stopping, server.heads)))
    crawl.add([server.url()])
    with running(crawl, "--checkpoint-interval", "0.1") as process:
        assert asked_for.wait(HANGS)
        wait_for(lambda: len(crawl.pages()) == 1 + again, HANGS, "what came before is committed")
        process.kill()
        process.wait()
    let_go.set()
    run_whole(crawl)
    seed = crawl.seed(server.url())
    assert (seed.end_reason, seed.counts.pages, seed.counts.redirects) == (EndReason.COMPLETED, 3, 2)
    assert [path_of(head) for head in server.heads].count("/") <= 3


def test_a_party_has_its_cookies_after_a_restart(crawl_on_both: Crawl, serve: Serve) -> None:
    crawl, stop = crawl_on_both, threading.Event()
    site = walled(24)

    class Stopping(Visit):
        """Lets the crawl stop when a page in the middle is asked for."""

        def request(self) -> bytes:
            head = super().request()
            if head and path_of(head) == "/5":
                stop.set()
            return head

    server = serve(lambda visit: site(Stopping(visit.sock, visit.number, visit.stopping, server.heads)))
    crawl.add([server.url()])
    crawl.run(stop=stop, delay=0.3)
    assert 5 <= len(crawl.fetched()) < 24
    run_whole(crawl)
    seed = crawl.seed(server.url())
    assert (seed.end_reason, seed.counts.pages, seed.counts.http_errors) == (EndReason.COMPLETED, 24, 0)
    assert [path_of(head) for head in server.heads].count("/") == 1


def test_cookies_of_the_domain_go_with_a_seed_to_its_new_home(crawl_on_both: Crawl, serve: Serve) -> None:
    """The bare host sets them with its redirect to www, where nobody is let in without; its own stay away."""
    crawl = crawl_on_both

    def script(visit: Visit) -> None:
        while head := visit.request():
            host = head.partition(b"Host: ")[2].partition(b":")[0].decode()
            if path_of(head) == "/robots.txt":
                visit.send(MISSING)
            elif host == "site.example":
                cookies = "Set-Cookie: all=1; Domain=site.example; Path=/", "Set-Cookie: bare=1; Path=/"
                visit.send(answer(b"", "301 Moved", f"Location: {www}", *cookies))
            elif cookie_of(head) == "all=1":
                visit.send(page(path_of(head), links=("/1", "/2")))
            else:
                visit.send(answer(b"no", "403 Forbidden"))

    server = serve(script)
    bare, www = (server.url(host=host) for host in ("site.example", "www.site.example"))
    crawl.add([bare])
    run_whole(crawl, resolve=RESOLVE)
    seed = crawl.seed(bare)
    assert (seed.end_reason, seed.home_url, seed.counts.pages) == (EndReason.COMPLETED, www, 3)
