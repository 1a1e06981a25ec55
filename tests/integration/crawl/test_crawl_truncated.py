"""Pages of which only the beginning came: their links count, once, after the last try, and the result stays."""

from __future__ import annotations

import gzip
import threading
import zlib
from collections.abc import Callable
from hashlib import sha1

import brotli
import pytest
import zstandard

from scrawler.model.results import PageFlag, Result
from scrawler.model.seeds import EndReason, SeedState
from tests.integration.crawl.conftest import Crawl
from tests.integration.crawl.hostile import (
    NOT_FOUND,
    asked,
    by_path,
    check_whole,
    end_details,
    page,
    run_whole,
)
from tests.integration.fetch.servers import RawServer, Script, Visit, path_of

Serve = Callable[..., RawServer]

RETRIES = 2
LINKS = '<a href="/1">1</a><a href="/2">2</a>'
FILLER = "".join(f"<p>{sha1(b'%d' % number).hexdigest()}" for number in range(10_000))  # hardly packed at all
LEAVES = {"/1": page("one"), "/2": page("two")}


def torn(body: bytes | str, *headers: str) -> Script:
    """Announce more than comes, and close."""
    data = body.encode() if isinstance(body, str) else body
    lines = ["HTTP/1.1 200 OK", "Content-Type: text/html", f"Content-Length: {len(data) + 1000}", *headers]

    def script(visit: Visit) -> None:
        visit.send("\r\n".join(lines).encode() + b"\r\n\r\n" + data)

    return script


@pytest.mark.parametrize("profile", ["default", "classic"])
def test_a_seed_that_was_cut_goes_on_with_its_links(crawl: Crawl, serve: Serve, profile: str) -> None:
    server = serve(by_path({"/": torn(LINKS), **LEAVES}))
    crawl.add([server.url()])
    run_whole(crawl, retries=RETRIES, profile=profile)
    seed = crawl.seed(server.url())
    assert seed.end_reason is EndReason.COMPLETED
    assert (seed.counts.pages, seed.counts.failures, seed.counts.retries) == (2, 1, RETRIES)
    assert asked(server) == {"/robots.txt": 1, "/": 1 + RETRIES, "/1": 1, "/2": 1}
    own = next(row for row in crawl.pages() if row.url == server.url())
    assert (own.result, own.flags, own.attempts) == (Result.CUT, PageFlag.TRUNCATED, 1 + RETRIES)
    assert own.detail
    assert seed.verdicts["internal"] == 2


@pytest.mark.parametrize(
    ("coding", "packed"),
    [
        ("gzip", gzip.compress((LINKS + FILLER).encode())),
        ("br", brotli.compress((LINKS + FILLER).encode(), quality=1)),
        ("zstd", zstandard.ZstdCompressor().compress((LINKS + FILLER).encode())),
        ("deflate", zlib.compress((LINKS + FILLER).encode())),
    ],
)
def test_what_came_of_a_packed_body_is_unpacked(crawl: Crawl, serve: Serve, coding: str, packed: bytes) -> None:
    server = serve(by_path({"/": torn(packed[: len(packed) * 9 // 10], f"Content-Encoding: {coding}"), **LEAVES}))
    crawl.add([server.url()])
    assert crawl.run(retries=0).outcome == "ended"
    crawl.check()  # warcio cannot read half a body in Brotli
    assert crawl.seed(server.url()).counts.pages == 2


def test_a_body_beyond_max_body_is_read_as_far_as_it_is_kept(crawl: Crawl, serve: Serve) -> None:
    large = page(LINKS + "x" * 200_000 + '<a href="/3">3</a>')
    server = serve(by_path({"/": large, **LEAVES, "/3": page("three")}))
    crawl.add([server.url()])
    run_whole(crawl, max_body="100000")
    assert asked(server) == {"/robots.txt": 1, "/": 1, "/1": 1, "/2": 1}
    own = next(row for row in crawl.pages() if row.url == server.url())
    assert (own.result, own.flags, own.length) == (Result.TOO_LARGE, PageFlag.TRUNCATED, 100_000)


def test_what_came_in_the_slow_lane_is_read_when_that_is_over_too(crawl: Crawl, serve: Serve) -> None:
    def endless(visit: Visit) -> None:
        visit.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + LINKS.encode())
        visit.hang(60)

    server = serve(by_path({"/": page(links=("/slow",)), "/slow": endless, **LEAVES}))
    crawl.add([server.url()])
    run_whole(crawl, patience=0.5, slow_timeout=1, retries=0)
    row = next(row for row in crawl.pages() if row.url == server.url("/slow"))
    assert (row.result, row.flags) == (Result.TIMEOUT, PageFlag.TRUNCATED | PageFlag.SLOW)
    assert asked(server) == {"/robots.txt": 1, "/": 1, "/slow": 2, "/1": 1, "/2": 1}


def test_a_sitemap_that_was_cut_lists_what_came(crawl: Crawl, serve: Serve) -> None:
    sitemap = '<?xml version="1.0"?><urlset><url><loc>http://127.0.0.1:{0}/1</loc></url><url><loc>http://127'
    replies: dict[str, bytes | Script] = {"/": page("home"), **LEAVES}
    server = serve(by_path(replies))
    replies["/sitemap.xml"] = torn(sitemap.format(server.port))
    crawl.add([server.url()])
    run_whole(crawl, sitemaps="also", retries=RETRIES)
    assert asked(server) == {"/robots.txt": 1, "/": 1, "/sitemap.xml": 1 + RETRIES, "/1": 1}
    row = next(row for row in crawl.pages() if row.url == server.url("/sitemap.xml"))
    assert (row.result, row.flags) == (Result.CUT, PageFlag.TRUNCATED | PageFlag.SITEMAP)
    assert crawl.seed(server.url()).counts.sitemap_urls == 1


def test_a_seed_that_was_cut_before_any_link_came_is_dead(crawl: Crawl, serve: Serve) -> None:
    server = serve(by_path({"/": torn("<p>and then")}))
    crawl.add([server.url()])
    run_whole(crawl, retries=0)
    assert crawl.seed(server.url()).end_reason is EndReason.DEAD
    assert [row.flags for row in crawl.pages()] == [0]


def test_errors_and_what_is_no_page_are_not_read(crawl: Crawl, serve: Serve) -> None:
    def error(visit: Visit) -> None:
        visit.send(b"HTTP/1.1 404 Gone\r\nContent-Type: text/html\r\nContent-Length: 999\r\n\r\n" + LINKS.encode())

    server = serve(by_path({"/": page(links=("/error", "/text")), "/error": error,
                            "/text": torn(LINKS, "Content-Type: text/plain"), **LEAVES}))  # fmt: skip
    crawl.add([server.url()])
    run_whole(crawl, retries=0)
    assert asked(server) == {"/robots.txt": 1, "/": 1, "/error": 1, "/text": 1}
    assert not any(row.flags for row in crawl.pages())


def test_a_seed_that_was_cut_is_not_dead_for_those_who_take_it_up_either(crawl: Crawl, serve: Serve) -> None:
    stop = threading.Event()

    def script(visit: Visit) -> None:
        while head := visit.request():
            if path_of(head) == "/":
                torn('<a href="/gone">gone</a>')(visit)
                return
            if path_of(head) == "/gone" and not stop.is_set():
                stop.set()
                visit.hang(60)
                return
            visit.send(NOT_FOUND)

    server = serve(script)
    crawl.add([server.url()])
    assert crawl.run(stop=stop, retries=0, stop_timeout=0.2).outcome == "stopped"
    assert crawl.seed(server.url()).state is not SeedState.DONE
    run_whole(crawl, retries=0)
    check_whole(crawl)
    assert crawl.seed(server.url()).end_reason is EndReason.COMPLETED
    assert end_details(crawl)[server.url()]
    assert asked(server)["/"] == 1
