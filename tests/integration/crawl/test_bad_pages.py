"""Pages that are too large, too deep, too many links, wrongly encoded or lying; good sites go on meanwhile."""

from __future__ import annotations

import gzip
import time
from collections.abc import Callable

import pytest

from scrawler.model.results import PageFlag, Result
from scrawler.model.seeds import EndReason
from tests.integration.crawl.conftest import Crawl
from tests.integration.crawl.hostile import GOOD_PAGES, Reply, asked, by_path, good, page, run_whole
from tests.integration.fetch.servers import RawServer, Visit

Serve = Callable[..., RawServer]

LINK = b'<a href="/next">x</a>'
MIB = 1 << 20


def malformed() -> dict[str, tuple[Reply, str]]:
    """Return pages by what is wrong with them, and what their rows say; made here, for most workers want none."""
    bomb = gzip.compress(LINK + b" " * (64 * MIB), 1)
    return {
        "nul-bytes": (page(b"\0\0<p>\0a</p>\0" + b'<a hr\0ef="/no">x</a><a href="/ne\0xt">x</a>' + LINK), ""),
        "broken-utf8": (
            page(b"\xfa\xff caf\xe9 \xc3\x28 \xed\xa0" + LINK, "Content-Type: text/html; charset=utf-8"), ""
        ),
        "unknown-charset": (page(LINK, "Content-Type: text/html; charset=klingon"), ""),
        "charset-lie": (page("é".encode() + LINK, "Content-Type: text/html; charset=iso-2022-kr"), ""),
        "bom-against-header": (
            page(b"\xff\xfe" + LINK.decode().encode("utf-16-le"), "Content-Type: text/html; charset=utf-8"), ""
        ),
        "meta-lie": (page(b'<meta charset="utf-16">' + LINK), ""),
        "plain-body-called-gzip": (page(LINK, "Content-Encoding: gzip"), "decode-error"),
        "cut-gzip": (page(gzip.compress(LINK + b"x" * 100_000, 0)[:-1000], "Content-Encoding: gzip"), "decode-error"),
        "unknown-encoding": (page(LINK, "Content-Encoding: rot13"), "decode-error"),
        "gzip-bomb": (page(bomb, "Content-Encoding: gzip"), "decoded-too-large"),
        "gzip-bomb-in-gzip": (
            page(gzip.compress(bomb), "Content-Encoding: gzip, gzip"),
            "decoded-too-large",
        ),
        "megabyte-of-divs": (page(LINK + b"<div>" * (MIB // 5) + LINK), "deep-html"),
        "divs-and-stray-ends": (page(b"<div></p>" * 50_000 + LINK), "deep-html"),
        "attributes": (page(b"<p " + b" ".join(b"a%d=1" % n for n in range(50_000)) + b">" + LINK), "deep-html"),
        "no-end-in-sight": (page(LINK + b"<!-- " + b"x" * MIB), ""),
        "hrefs-of-all-kinds": (
            page(b"".join(b'<a href="%s">x</a>' % href for href in (
                b"http://[", b"http://a:99999/", b"javascript:void(0)", b"//", b"http://", b"\\\\\\", b"&#0;&#xD800;",
                b"http://" + b"a" * 70_000, b"data:," + b"x" * 70_000, b"http://user:pass@[::1", b"?" * 3000, b"\t\n",
                b"%", b"http://\xff\xff/", b"file:///etc/passwd", b"mailto:a@b", b"http://xn--a/", b"http://0x7f.1:99/"
            )) + LINK), "",
        ),
        "base-of-nonsense": (page(b'<base href="http://[">' + LINK), ""),
    }  # fmt: skip


@pytest.mark.parametrize("profile", ["default", "classic"])
def test_links_of_malformed_pages_are_followed(crawl: Crawl, serve: Serve, profile: str) -> None:
    meant = malformed()
    servers = {name: serve(by_path({"/": reply, "/next": page("next")})) for name, (reply, _) in meant.items()}
    fine = serve(good("fine"))
    crawl.add([*(server.url() for server in servers.values()), fine.url()])
    run_whole(crawl, profile=profile, threads=1, seeds_per_thread=40, max_decoded=4 * MIB)
    notes = {row.url: row.detail for row in crawl.pages()}
    found = {name: (server.url("/next") in crawl.fetched(), notes[server.url()]) for name, server in servers.items()}
    if profile == "classic":
        found = {name: (followed, meant[name][1]) for name, (followed, _) in found.items()}
    assert found == {name: (True, note) for name, (_, note) in meant.items()}
    assert {seed.end_reason for seed in crawl.seeds()} == {EndReason.COMPLETED}
    assert crawl.seed(fine.url()).counts.pages == GOOD_PAGES


DEEP = 16  # pages, each of some 50 ms


def test_other_sites_of_the_thread_go_on_beside_a_site_of_deep_pages(crawl: Crawl, serve: Serve) -> None:
    """One thread, a site of nothing but deep pages, and a quick one: it is done long before."""
    deep = {f"/{n}": page(b"<div>" * (MIB // 4) + f'<a href="/{n + 1}">x</a>'.encode()) for n in range(DEEP)}
    slow, quick = serve(by_path(deep)), serve(good("quick"))
    crawl.add([slow.url("/0"), quick.url()])
    run_whole(crawl, threads=1)
    seeds = {seed.url: seed for seed in crawl.seeds()}
    assert (seeds[slow.url("/0")].counts.pages, seeds[quick.url()].counts.pages) == (DEEP, GOOD_PAGES)
    ends = {row.url: row.fetched_at for row in crawl.pages()}
    quick_ended = max(at for url, at in ends.items() if url.startswith(quick.url()))
    assert sum(at < quick_ended for url, at in ends.items() if url.startswith(slow.url())) < DEEP


@pytest.mark.parametrize(("max_body", "result"), [("32MiB", Result.TOO_LARGE), ("64MiB", Result.FETCHED)])
def test_a_page_of_50_megabytes(crawl: Crawl, serve: Serve, max_body: str, result: Result) -> None:
    size = 50_000_000

    def script(visit: Visit) -> None:
        visit.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n" % size)
        piece = b"<p>a paragraph like all others</p>\n" * 30_000
        visit.send(LINK)
        for _ in range(size // len(piece)):
            visit.send(piece)
        visit.send(b"x" * (size % len(piece) - len(LINK)))

    large = serve(
        by_path({"/": page(links=("/large", "/small")), "/large": script, "/small": page("s"), "/next": page("n")})
    )
    fine = serve(good("fine"))
    crawl.add([large.url(), fine.url()])
    run_whole(crawl, max_body=max_body, max_decoded="64MiB", threads=1)
    rows = {row.url: row for row in crawl.pages()}
    assert rows[large.url("/large")].result == result
    assert rows[large.url("/large")].length == (size if result is Result.FETCHED else 32 * MIB)
    assert rows[large.url("/next")].result == Result.FETCHED  # the link is at the beginning
    assert bool(rows[large.url("/large")].flags & PageFlag.TRUNCATED) is (result is Result.TOO_LARGE)
    assert rows[large.url("/small")].result == Result.FETCHED
    assert crawl.seed(large.url()).end_reason is EndReason.COMPLETED
    assert crawl.seed(fine.url()).counts.pages == GOOD_PAGES


def test_a_hundred_thousand_links_on_a_page(crawl_on_both: Crawl, serve: Serve) -> None:
    crawl = crawl_on_both
    number = 100_000
    internal = "".join(f'<a href="/p{n}">x</a>' for n in range(number // 2))
    external = "".join(f'<a href="http://h{n}.example/">x</a>' for n in range(number // 2))
    many = serve(by_path({"/": page(internal + external)} | {f"/p{n}": page(f"{n}") for n in range(60)}))
    fine = serve(good("fine"))
    crawl.add([many.url(), fine.url()])
    began = time.process_time()
    run_whole(crawl, max_pages=50, seen="exact")  # of 50,000 URLs a Bloom filter passes by one now and then
    assert time.process_time() - began < 60  # of CPU; about 3 s, and anything quadratic takes hours
    seed = crawl.seed(many.url())
    assert (seed.end_reason, seed.counts.pages) == (EndReason.MAX_PAGES, 50)
    assert (seed.counts.listed, seed.counts.candidates) == (number // 2 + 1, number // 2)
    assert len(crawl.candidates()) == number // 2
    assert asked(many).total() == 51
    assert crawl.seed(fine.url()).counts.pages == GOOD_PAGES


@pytest.mark.parametrize(
    ("max_ratio", "note"), [(300, "decode-ratio"), (1000, "decoded-too-large"), (100_000, "decoded-too-large")]
)
def test_a_page_that_swells_is_read_in_part(crawl: Crawl, serve: Serve, max_ratio: int, note: str) -> None:
    """The ratio of the bomb is 1,030 or so; what is repetitive but small is read whole."""
    bomb = page(gzip.compress(LINK + b" " * (32 * MIB)), "Content-Encoding: gzip", links=())
    small = page(gzip.compress(b" " * (3 * MIB) + LINK), "Content-Encoding: gzip")
    server = serve(by_path({"/": bomb, "/next": small}))
    crawl.add([server.url()])
    run_whole(crawl, max_ratio=max_ratio, max_decoded=16 * MIB)
    assert {row.url.removeprefix(server.url()): row.detail for row in crawl.pages()} == {"": note, "next": ""}
