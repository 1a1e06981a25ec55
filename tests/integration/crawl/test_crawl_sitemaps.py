"""Sitemaps as a source of a party's URLs: found, followed, listed in slices, and what hostile ones can do."""

from __future__ import annotations

import gzip
import signal
import threading
from collections.abc import Callable, Mapping
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import select

from scrawler.core.machine.machine import Machine
from scrawler.core.party.sitemaps import MAX_SITEMAPS
from scrawler.model.results import PageFlag, Result
from scrawler.model.rows import PageRow
from scrawler.model.seeds import EndReason
from scrawler.model.terms import url_hash
from scrawler.store.engines.engine import open_database
from scrawler.store.schema.tables import sitemap_url
from scrawler.urls.verdict import Verdict
from tests.integration.crawl.hostile import NOT_FOUND, asked, by_path, good, page, redirect, run_whole
from tests.integration.crawl.rig import running, watch
from tests.integration.fetch.servers import RawServer, answer, path_of

if TYPE_CHECKING:
    from tests.integration.crawl.conftest import Crawl

Serve = Callable[..., RawServer]

XML = "Content-Type: application/xml"
SITEMAPS = "http://www.sitemaps.org/schemas/sitemap/0.9"
HOME = page("home", links=("/1",))
EXACT = ("--seen", "exact")  # of 50,000 URLs the default filter takes one for seen in some 3 runs of 100


def urlset(*urls: str, lastmod: str = "") -> bytes:
    date = f"<lastmod>{lastmod}</lastmod>" if lastmod else ""
    return f'<urlset xmlns="{SITEMAPS}">{"".join(f"<url><loc>{u}</loc>{date}</url>" for u in urls)}</urlset>'.encode()


def index(*urls: str) -> bytes:
    entries = "".join(f"<sitemap><loc>{url}</loc></sitemap>" for url in urls)
    return f'<sitemapindex xmlns="{SITEMAPS}">{entries}</sitemapindex>'.encode()


def robots(*sitemaps: str) -> bytes:
    lines = "".join(f"Sitemap: {url}\n" for url in sitemaps)
    return answer(f"User-agent: *\nDisallow: /secret\n{lines}".encode(), "200 OK", "Content-Type: text/plain")


def serving(serve: Serve, make: Callable[[str], Mapping[str, Any]]) -> RawServer:
    """Serve replies that are made of the server's own origin."""
    replies: dict[str, Any] = {}
    server = serve(by_path(replies))
    replies.update(make(server.url("")))
    return server


def rows(crawl: Crawl) -> dict[str, PageRow]:
    return {row.url.partition("//")[2].partition("/")[2]: row for row in crawl.pages()}


def lastmods(crawl: Crawl) -> dict[bytes, tuple[int, str]]:
    with closing(open_database(crawl.url)) as database:
        found = database.reading(lambda connection: list(connection.execute(select(sitemap_url))))
    return {row.url_hash: (row.lastmod, row.sitemap) for row in found}


def test_pages_that_no_link_leads_to(crawl_on_both: Crawl, serve: Serve) -> None:
    def site(me: str) -> dict[str, bytes]:
        zipped = gzip.compress(urlset(me + "/3", me + "/3?utm_source=map", me + "/secret"))
        replies = {
            "/robots.txt": robots(me + "/index.xml"),
            "/": page("home", links=("/1", "/index.xml", *(f"/more{n}" for n in range(20)))),
            "/index.xml": answer(index(me + "/a.xml", me + "/b.xml.gz", me + "/gone.xml"), "200 OK", XML),
            "/a.xml": answer(urlset(me + "/2", "http://o.example/x", lastmod="2024-05-06"), "200 OK", XML),
            "/b.xml.gz": answer(zipped, "200 OK", "Content-Type: application/gzip"),
        }
        return replies | {f"/{n}": page(str(n)) for n in (1, 2, 3)}

    crawl, server = crawl_on_both, serving(serve, site)
    crawl.add([server.url()])
    run_whole(crawl, sitemaps="also", accept=("text/html",))
    found = rows(crawl)
    assert {path for path, row in found.items() if row.result == Result.FETCHED} == {
        *("", "1", "2", "3", "index.xml", "a.xml", "b.xml.gz")
    }
    assert found["secret"].result == Result.ROBOTS_DENIED
    sitemaps = {path: row.depth for path, row in found.items() if row.flags & PageFlag.SITEMAP}
    assert sitemaps == {"index.xml": 1, "a.xml": 2, "b.xml.gz": 2, "gone.xml": 2}
    assert all(found[path].warc_length for path in sitemaps)
    assert {found[path].depth for path in ("1", "2", "3", "secret")} == {1}
    order = [path_of(head) for head in server.heads]
    assert order[:6] == ["/robots.txt", "/", "/index.xml", "/a.xml", "/b.xml.gz", "/gone.xml"]
    seed = crawl.seed(server.url())
    assert seed.end_reason is EndReason.COMPLETED
    assert (seed.counts.sitemap_urls, seed.counts.http_errors, seed.counts.listed) == (3, 21, 29)
    assert crawl.candidates() == {"http://o.example/x"}
    said = lastmods(crawl)
    assert said[url_hash(server.url("/2"))] == (1_714_953_600_000, server.url("/a.xml"))
    assert said[url_hash(server.url("/3"))] == (0, server.url("/b.xml.gz"))


@pytest.mark.parametrize(("mode", "there"), [("also", True), ("also", False), ("seed", True), ("off", True)])
def test_the_usual_place_is_looked_at_only_when_told_to(crawl: Crawl, serve: Serve, mode: str, there: bool) -> None:
    moved = {"/sitemap.xml": redirect("/map.txt"), "/map.txt": answer(b"/no\n", "200 OK")}
    replies = {"/": HOME, "/1": page("1"), "/2": page("2")} | (moved if there else {})
    server = serving(serve, lambda me: replies | {"/map.txt": answer(f"{me}/2\n".encode(), "200 OK")})
    crawl.add([server.url()])
    run_whole(crawl, sitemaps=mode)
    assert asked(server)["/sitemap.xml"] == (mode == "also")
    assert (server.url("/2") in crawl.fetched()) == (mode == "also" and there)
    assert crawl.seed(server.url()).end_reason is EndReason.COMPLETED


HOMES = {
    "404": NOT_FOUND,
    "403": page("no", status="403 Forbidden"),
    "401": page("who", "WWW-Authenticate: Basic", status="401 Unauthorized"),
    "500": page("oh", status="500 Internal Server Error"),
    "type": answer(b"%PDF", "200 OK", "Content-Type: application/pdf"),
    "robots": page("home"),
}
USUAL = ("/sitemap.xml", "/sitemap_index.xml", "/wp-sitemap.xml")


def test_sitemaps_are_read_whatever_becomes_of_the_home_page(crawl: Crawl, serve: Serve) -> None:
    """Of the usual names the next one is asked for where the one before is none; a sitemap may be larger than pages."""
    servers = {}
    for number, (name, home) in enumerate(HOMES.items()):
        place, filler = USUAL[number % 3], " " * 3_000

        def site(me: str, home: bytes = home, place: str = place, filler: str = filler) -> dict[str, bytes]:
            html = page("soft")  # says 200 where there is none
            there = answer(urlset(me + "/1") + filler.encode(), "200 OK", XML)
            return {"/": home, "/1": page("1"), "/wp-sitemap.xml": html} | {place: there}

        rules = answer(b"User-agent: *\nDisallow: /$", "200 OK", "Content-Type: text/plain")
        forbids = {"/robots.txt": rules} if name == "robots" else {}
        servers[name, place] = serving(serve, lambda me, site=site, forbids=forbids: site(me) | forbids)
    lone = serving(serve, lambda me: {"/": HOME})
    crawl.add([server.url() for server in (*servers.values(), lone)])
    run_whole(crawl, sitemaps="also", accept=("text/html",), max_body=2_000, threads=2)
    for (name, place), server in servers.items():
        seed = crawl.seed(server.url())
        assert (seed.end_reason, seed.counts.sitemap_urls) == (EndReason.COMPLETED, 1), name
        assert server.url("/1") in crawl.fetched(), name
        order = [path for path in map(path_of, server.heads) if path in USUAL]
        assert order == list(USUAL[: USUAL.index(place) + 1]), name
    assert all(asked(lone)[path] == 1 for path in USUAL)


RSS = "<rss version='2.0'><channel><link>{me}/</link><item><link>{me}/1</link><pubDate>Mon, 06 May 2024 00:00:00 GMT"
RSS += "</pubDate></item></channel></rss>"
ATOM = "<feed xmlns='http://www.w3.org/2005/Atom'><entry><link href='1'/><updated>2024-05-06T02:00:00+02:00</updated>"
ATOM += "</entry></feed>"
SEEDS = {
    "urlset": ("<urlset><url><loc>{me}/1</loc><lastmod>2024-05-06</lastmod></url></urlset>", "text/xml"),
    "index": ("<sitemapindex><sitemap><loc>/more</loc></sitemap></sitemapindex>", "application/xml"),
    "rss": (RSS, "application/rss+xml"),
    "atom": (ATOM, "application/atom+xml"),
    "text": ("{me}/1\n{me}/1\n", "text/plain"),
}


@pytest.mark.parametrize("kind", SEEDS)
def test_a_seed_that_is_a_list(crawl: Crawl, serve: Serve, kind: str) -> None:
    text, content_type = SEEDS[kind]

    def site(me: str) -> dict[str, bytes]:
        more = answer(urlset(me + "/1", lastmod="2024-05-06"), "200 OK", XML)
        mine = answer(text.format(me=me).encode(), "200 OK", f"Content-Type: {content_type}")
        return {"/list": mine, "/more": more, "/1": page("one")}

    server = serving(serve, site)
    crawl.add([server.url("/list")])
    run_whole(crawl, sitemaps="seed")
    assert server.url("/1") in crawl.fetched()
    assert "/sitemap.xml" not in asked(server)
    assert rows(crawl)["list"].flags == PageFlag.SITEMAP
    assert rows(crawl)["list"].depth == 0
    assert lastmods(crawl)[url_hash(server.url("/1"))][0] == (0 if kind == "text" else 1_714_953_600_000)
    assert crawl.seed(server.url("/list")).end_reason is EndReason.COMPLETED


def test_a_seed_that_is_a_list_is_a_page_when_sitemaps_are_off(crawl: Crawl, serve: Serve) -> None:
    server = serving(serve, lambda me: {"/": answer(urlset(me + "/1"), "200 OK", XML), "/1": page("one")})
    crawl.add([server.url()])
    run_whole(crawl)
    assert set(asked(server)) == {"/robots.txt", "/"}


LAUGHS = b'<!DOCTYPE urlset [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><urlset><url><loc>&b;</loc></url></urlset>'
FILE = b'<!DOCTYPE urlset [<!ENTITY f SYSTEM "file:///etc/passwd">]><urlset><url><loc>/&f;</loc></url></urlset>'


def hostile_site(me: str) -> dict[str, bytes]:
    names = ["laughs", "file", "bomb", "itself", "html", "broken", "loop", "nest0"]
    elsewhere = ["http://o.example/sitemap.xml", "https://o.example/sitemap.xml"]
    bomb = gzip.compress(urlset("/bombed").removesuffix(b"</urlset>") + b" " * (60 << 20), 1)
    replies = {
        "/robots.txt": robots(*(f"{me}/{name}" for name in names), *elsewhere),
        "/": HOME, "/1": page("one"), "/bombed": page("bombed"), "/before": page("before"), "/x": page("x"),
        "/laughs": answer(LAUGHS, "200 OK", XML), "/file": answer(FILE, "200 OK", XML),
        "/bomb": answer(bomb, "200 OK", XML),
        "/itself": answer(index(me + "/itself", me + "/itself?a", "http://o.example/s.xml", "http://["), "200 OK", XML),
        "/html": page("no sitemap", links=("/x",)),
        "/broken": answer(urlset(me + "/before").removesuffix(b"</urlset>") + b"<url><loc>/after", "200 OK", XML),
        "/loop": redirect("/loop2"), "/loop2": redirect("/loop"),
    }  # fmt: skip
    return replies | {f"/nest{n}": answer(index(f"{me}/nest{n + 1}"), "200 OK", XML) for n in range(4)}


def test_hostile_sitemaps_cost_little_and_give_what_they_can(crawl: Crawl, serve: Serve) -> None:
    server, fine = serving(serve, hostile_site), serve(good("fine"))
    crawl.add([server.url(), fine.url()])
    run_whole(crawl, sitemaps="also", threads=1)
    found, seed = rows(crawl), crawl.seed(server.url())
    for path in ("", "1", "bombed", "before", "x"):
        assert found[path].result == Result.FETCHED, path
    assert found["laughs"].detail == found["file"].detail == "declarations"
    assert found["bomb"].detail == "decoded-too-large"
    assert found["broken"].detail == "bad-xml"
    assert found["itself?a"].result == Result.HTTP_ERROR
    assert "nest2" in found
    assert "nest3" not in found
    assert seed.verdicts[Verdict.SITEMAP_LIMIT] == 1
    assert seed.verdicts[Verdict.SITEMAP_ELSEWHERE] == 4
    assert seed.end_reason is EndReason.COMPLETED
    assert all(times == 1 for times in asked(server).values())


def test_no_party_has_more_than_a_thousand_sitemaps(crawl: Crawl, serve: Serve) -> None:
    many = index(*(f"/{n}.xml" for n in range(MAX_SITEMAPS + 7)))
    server = serve(by_path({"/": HOME, "/1": NOT_FOUND, "/sitemap.xml": answer(many, "200 OK", XML)}))
    crawl.add([server.url()])
    run_whole(crawl, sitemaps="also")
    assert crawl.seed(server.url()).verdicts[Verdict.SITEMAP_LIMIT] == 8
    assert sum(bool(row.flags & PageFlag.SITEMAP) for row in crawl.pages()) == MAX_SITEMAPS


def test_a_machine_that_is_killed_while_it_lists(crawl_on_both: Crawl, serve: Serve) -> None:
    """Its successor reads the sitemap again, and lists what was not committed."""
    crawl, number = crawl_on_both, 49_700

    def site(me: str) -> dict[str, bytes]:
        urls = [f"{me}/p{n}" for n in range(number)]
        urls[100:100] = [f"http://o{n}.example/" for n in range(300)]
        one = page("one", links=("/sitemap.xml",))
        return {"/": HOME, "/1": one, "/sitemap.xml": answer(urlset(*urls), "200 OK", XML)}

    server = serving(serve, site)
    crawl.add([server.url()])
    with running(crawl, "--sitemaps", "also", "--max-pages", "3", "--checkpoint-pages", "500", *EXACT) as process:
        tick = threading.Event()
        for _ in range(2_000):
            if lastmods(crawl):
                break
            tick.wait(0.01)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert 0 < len(lastmods(crawl)) < number
    assert rows(crawl).keys() == {""}
    assert crawl.candidates() == set()
    crawl.check()
    run_whole(crawl, sitemaps="also", max_pages=3, seen="exact")
    assert asked(server)["/sitemap.xml"] == 2
    seed = crawl.seed(server.url())
    assert (seed.counts.sitemap_urls, seed.counts.listed) == (number, number + 3)
    assert len(lastmods(crawl)) == number
    assert len(crawl.candidates()) == 300


def test_a_stop_waits_for_the_list_in_work(crawl: Crawl, serve: Serve) -> None:
    stop = threading.Event()
    paths = [f"/p{n}" for n in range(2_000)]

    def site(me: str) -> dict[str, bytes]:
        return {"/": HOME, "/sitemap.xml": answer(urlset(*(me + path for path in paths)), "200 OK", XML)}

    server = serving(serve, site)
    crawl.add([server.url()])

    def look(machine: Machine) -> None:
        if any(party.counts.sitemap_urls for site in machine.crew.held_sites() for party in site.parties):
            stop.set()

    watch(crawl.settings(sitemaps="also", delay=0.05), look, stop)
    assert asked(server)["/sitemap.xml"] == 1
    assert rows(crawl)["sitemap.xml"].result == Result.FETCHED
    assert crawl.seed(server.url()).counts.sitemap_urls == len(paths)
