"""What a server says to be as an earlier crawl has it is not sent again, and is read all the same (`dedup_from`)."""

from __future__ import annotations

import gzip
import zlib
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

from scrawler.features.synthweb.process import SynthServer
from scrawler.features.synthweb.spec import Validators, WebSpec
from scrawler.model.results import PageFlag, Result
from scrawler.model.rows import PageRow
from scrawler.model.terms import url_hash
from scrawler.model.visits import WHOLE_EVERY
from tests.consistency import check_records
from tests.integration.crawl.earlier import another, file_of, records
from tests.integration.crawl.hostile import NOT_FOUND, page
from tests.integration.fetch.servers import RawServer, Visit, answer, path_of

if TYPE_CHECKING:
    from tests.integration.crawl.conftest import Crawl

Serve = Callable[..., RawServer]
PROFILES = "http://netpreserve.org/warc/1.1/revisit/"
WORDS = "some words of a page that stays, "


@pytest.fixture
def later(crawl: Crawl, tmp_path: Path) -> Crawl:
    """A crawl that may refer to the first one; its files lie in a folder of its own."""
    return another(crawl, tmp_path / "later")


class Tagged:
    """A site whose pages have ETags, which it knows again; it counts what it answers to whom."""

    def __init__(self, pages: Mapping[str, bytes], *headers: str) -> None:
        self.pages = dict(pages)
        self.headers = headers
        self.asked: Counter[tuple[str, bool]] = Counter()  # path, whether under a condition
        self.answers: Counter[int] = Counter()  # of pages
        self.says: Callable[[str, str], bytes | None] = lambda path, tag: None  # instead, to a condition that holds

    def __call__(self, visit: Visit) -> None:
        while head := visit.request():
            path = path_of(head)
            if path not in self.pages:
                visit.send(NOT_FOUND)
                continue
            body = self.pages[path]
            tag = f'"{zlib.crc32(body):x}"'
            known = f"If-None-Match: {tag}".encode() in head
            self.asked[path, b"If-None-Match:" in head or b"If-Modified-Since:" in head] += 1
            reply = (self.says(path, tag) or _unchanged(tag)) if known else page(body, f"ETag: {tag}", *self.headers)
            self.answers[int(reply.split(b" ", 2)[1])] += 1
            visit.send(reply)

    def forget(self) -> None:
        self.asked.clear()
        self.answers.clear()


def _unchanged(tag: str, *headers: str) -> bytes:
    return "\r\n".join(("HTTP/1.1 304 Not Modified", f"ETag: {tag}", *headers, "", "")).encode()


def _body(text: str, *links: str) -> bytes:
    return "".join(f'<a href="{link}">x</a>' for link in links).encode() + text.encode()


def _site() -> dict[str, bytes]:
    """Pages that stay, of which two are the same, and one that changes; a page is found through one that stays."""
    return {
        "/": _body(WORDS + "home", "/kept", "/copy", "/changes", "/image"),
        "/kept": _body(WORDS * 9, "/deep"),
        "/copy": _body(WORDS * 9, "/deep"),
        "/deep": _body(Random(1).randbytes(4_000).hex(), "/deeper"),
        "/deeper": _body(WORDS + "deeper"),
        "/changes": _body("first"),
        "/image": _body("no links here"),
    }


def _told(rows: list[PageRow]) -> set[tuple[object, ...]]:
    """What pages came to, but for the status."""
    return {(row.url, row.result, row.digest, row.length, row.depth, row.content_type) for row in rows}


def _crawled(serve: Serve, site: Tagged, crawl: Crawl, *later: Crawl) -> str:
    """Serve a site, add its root to all of the crawls, and run the first one; return the root."""
    root = serve(site).url("/")
    for one in (crawl, *later):
        one.add([root])
    crawl.run()
    return root


def test_what_is_unchanged_is_not_sent_again_and_its_links_are_followed(
    crawl: Crawl, later: Crawl, serve: Serve
) -> None:
    site = Tagged(_site())
    root = _crawled(serve, site, crawl, later)
    assert not any(conditional for _, conditional in site.asked)
    site.forget()
    site.pages["/changes"] = _body("second", "/new")
    site.pages["/new"] = _body("new")
    summary = later.run(dedup_from=file_of(crawl))

    assert site.answers == {304: 6, 200: 2}, "as often as there are pages: none was asked for twice"
    before = {row.url: row for row in crawl.pages()}
    rows = {row.url: row for row in later.pages()}
    assert set(rows) == {*before, root + "new"}
    unchanged = {url for url, row in rows.items() if row.status == 304}
    assert unchanged == set(before) - {root + "changes"}
    assert all(row.result == Result.FETCHED for row in rows.values())
    assert {rows[url].digest for url in unchanged} == {before[url].digest for url in unchanged}
    revisits = records(later, "revisit")
    assert set(revisits) == unchanged
    assert {profile for profile, _, _ in revisits.values()} == {PROFILES + "server-not-modified"}
    assert set(records(later, "response")) == {root + "changes", root + "new"}
    assert sum(bool(row.flags & PageFlag.EARLIER) for row in rows.values()) == 5, "of two that are the same, one"
    assert summary.saved == later.seeds()[0].counts.saved == sum(rows[url].length for url in unchanged)
    assert later.seeds()[0].counts.bytes == sum(row.length for row in rows.values() if row.status == 200)
    check_records(later.url, later.folder / "pages", earlier=[crawl.url])
    later.check()
    with later.opened() as opened:
        for path, body in site.pages.items():
            assert opened.read(root + path[1:]) == body
        told = opened.report().as_json()["earlier"]
        assert told["pages_not_sent"] == 6
        assert told["bytes_not_sent"] == summary.saved
        assert told["payloads_archived"] == 5
        packed = opened.pack(later.folder / "later.wacz")
        assert (packed.earlier, packed.earlier_crawl) == (6, file_of(crawl))
        assert "not sent again" in str(opened.why(root + "kept"))


def test_synthetic_sites_come_out_the_same_with_and_without(crawl: Crawl, later: Crawl, tmp_path: Path) -> None:
    """Also where sites lie; but for one that says 304 of what has changed, which nobody can know."""
    plain = another(crawl, tmp_path / "plain")
    spec = WebSpec(seed=6, sites=3, mean_pages=40, page_bytes=2000, validators=Validators.TRUE)
    with SynthServer(spec) as server:
        for one in (crawl, later, plain):
            one.add(server.web.seeds())
        crawl.run()
        later.run(dedup_from=file_of(crawl))
        plain.run()
    assert _told(later.pages()) == _told(plain.pages())
    statuses = Counter(row.status for row in later.pages() if row.result == Result.FETCHED)
    assert statuses[304] > 5 * statuses[200], "its PDF files alone have no ETag"
    assert not records(later, "response")
    check_records(later.url, later.folder / "pages", earlier=[crawl.url])
    later.check()


def test_traps_see_no_difference(crawl: Crawl, later: Crawl, serve: Serve, tmp_path: Path) -> None:
    """Pages of one pattern: some new, some the same as others. The first crawl took all; the others look for traps."""
    plain = another(crawl, tmp_path / "plain")
    words = [f"{number} " + " ".join(f"word{number}x{word}" for word in range(40)) for number in range(40)]
    links = [f"/list?of={number}" for number in range(40)]
    pages = {"/": _body("home", *links[:5], "/same?of=0")}
    for number, link in enumerate(links):
        pages[link] = _body(words[number], *links[number + 1 : number + 6])
    same = [f"/same?of={number}" for number in range(40)]
    # Two pages by turns: one alone under many URLs in a row may be a refusal, whose answers are held, but for a 304.
    pages |= {link: _body("same" * (1 + number % 2), *same) for number, link in enumerate(same)}
    site = Tagged(pages)
    root = serve(site).url("/")
    for one in (crawl, later, plain):
        one.add([root])
    crawl.run(traps=False)
    site.forget()
    plain.run(trap_pages=5, threads=1, delay=0.002)  # without a delay the next page is asked for before one is read
    later.run(trap_pages=5, threads=1, delay=0.002, dedup_from=file_of(crawl))
    told = [{(row.url, row.result, row.simhash) for row in one.pages()} for one in (plain, later)]
    assert told[0] == told[1]
    assert any(row.result == Result.TRAP for row in later.pages())
    assert site.answers[304] == len(later.fetched())


@pytest.mark.parametrize("damage", ["deleted", "cut", "replaced", "flipped", "flipped, and tried again"])
def test_what_the_earlier_archive_does_not_hold_any_more_is_asked_for_as_a_whole(
    crawl: Crawl, later: Crawl, serve: Serve, damage: str
) -> None:
    site = Tagged(_site())
    root = _crawled(serve, site, crawl, later)
    (warc,) = (crawl.folder / "pages").glob("*.warc.gz")
    deep = next(row for row in crawl.pages() if row.url == root + "deep")
    data = bytearray(warc.read_bytes())
    if damage == "deleted":
        warc.unlink()
    elif damage == "cut":
        warc.write_bytes(data[: min(row.warc_offset for row in crawl.pages())])
    elif damage == "replaced":
        warc.write_bytes(bytes(len(data)))
    else:
        data[deep.warc_offset + deep.warc_length - 6] ^= 255  # of the checksum: what stands before that reads well
        warc.write_bytes(data)
    site.forget()
    if damage == "flipped, and tried again":  # as where a machine is killed that had found out what is damaged
        site.says = lambda path, tag: answer(b"?", "500 Oops") if path == "/deep" else None
    later.run(dedup_from=file_of(crawl), threads=1, retry_pause=0)

    assert _told(later.pages()) == _told(crawl.pages())
    whole = {path for (path, conditional) in site.asked if not conditional}
    if damage.startswith("flipped"):
        assert whole == {"/deep"}
        assert site.asked["/deep", True] == site.asked["/deep", False] == 1, "once more, and no more than that"
        assert set(records(later, "response")) == {root + "deep"}
    else:
        assert whole == set(site.pages)
        assert not site.answers[304], "nobody has asked for what is not there"
    with later.opened() as opened:
        for path, body in site.pages.items():
            assert opened.read(root + path[1:]) == body, "no record refers to what is gone"
    later.check()


def test_a_server_that_cannot_mean_it_is_asked_once_more_for_all_of_a_page(
    crawl: Crawl, later: Crawl, serve: Serve
) -> None:
    """It names another version than the one that was asked for, or cannot cope with a condition."""
    lies = {
        "/": lambda tag: _unchanged('"another"'),
        "/kept": lambda tag: answer(b"?", "412 Precondition Failed"),
        "/deep": lambda tag: answer(b"?", "400 Bad Request"),
        "/deeper": lambda tag: answer(b"?", "501 Not Implemented"),
        "/changes": lambda tag: _unchanged("W/" + tag),
        "/image": lambda tag: answer(b"?", "429 Too Many Requests", "Retry-After: 0"),
    }
    site = Tagged(_site())
    root = _crawled(serve, site, crawl, later)
    site.forget()
    site.says = lambda path, tag: lies[path](tag) if path in lies else None
    later.run(dedup_from=file_of(crawl), retries=0)
    assert _told(later.pages()) == _told(crawl.pages())
    twice = {path for path in site.pages if site.asked[path, True] == site.asked[path, False] == 1}
    assert twice == set(lies) - {"/changes"}
    assert {row.url.removeprefix(root[:-1]) for row in later.pages() if row.status == 200} == twice
    later.check()


def test_headers_that_come_with_a_304_count_and_old_cookies_do_not(crawl: Crawl, later: Crawl, serve: Serve) -> None:
    """A page that is not to be followed any more is not, though its body has links, and was followed before."""
    site = Tagged(_site(), "Set-Cookie: old=1")
    server = serve(site)
    root = server.url("/")
    for one in (crawl, later):
        one.add([root])
    crawl.run()
    first = len(server.heads)
    site.says = lambda path, tag: _unchanged(tag, "X-Robots-Tag: nofollow", "Set-Cookie: new=2")
    later.run(dedup_from=file_of(crawl), threads=1, obey_meta=True)
    assert {row.url for row in later.pages()} == {root}
    assert later.pages()[0].flags & PageFlag.NOFOLLOW
    assert not any(b"old=1" in head for head in server.heads[first:])


def test_a_compressed_page_and_a_sitemap_are_read_from_the_earlier_archive(
    crawl: Crawl, later: Crawl, serve: Serve
) -> None:
    root = ""
    asked: Counter[int] = Counter()

    def reply(visit: Visit) -> None:
        while head := visit.request():
            path = path_of(head)
            bodies = {
                "/": (gzip.compress(_body("home", "/linked"), mtime=0), "Content-Encoding: gzip"),
                "/linked": (_body("linked"), "X-A: b"),
                "/listed": (_body("listed"), "X-A: b"),
                "/sitemap.xml": (f"<urlset><url><loc>{root}listed</loc></url></urlset>".encode(), "X-A: b"),
            }
            if path not in bodies:
                visit.send(NOT_FOUND)
                continue
            body, header = bodies[path]
            modified = "Last-Modified: Sun, 01 Nov 2026 10:00:00 GMT"
            known = b"If-Modified-Since: Sun, 01 Nov 2026 10:00:00 GMT" in head
            kind = "Content-Type: application/xml" if path.endswith("xml") else "Content-Type: text/html"
            asked[304 if known else 200] += 1
            visit.send(_unchanged('""') if known else answer(body, "200 OK", header, modified, kind))

    root = serve(reply).url("/")
    for one in (crawl, later):
        one.add([root])
    crawl.run(sitemaps="also")
    assert len(crawl.fetched()) == 4
    asked.clear()
    later.run(sitemaps="also", dedup_from=file_of(crawl))
    assert asked == {304: 4}
    assert {row.url: (row.result, row.flags & PageFlag.SITEMAP) for row in later.pages()} == {
        row.url: (row.result, row.flags & PageFlag.SITEMAP) for row in crawl.pages()
    }


def test_a_chain_of_crawls_refers_to_the_first_and_asks_for_some_pages_as_a_whole(
    crawl: Crawl, later: Crawl, serve: Serve, tmp_path: Path
) -> None:
    third = another(crawl, tmp_path / "third")
    site = Tagged({})
    root = serve(site).url("/")
    is_due = {number: (2 + url_hash(f"{root}{number}")[0]) % WHOLE_EVERY == 0 for number in range(1_000)}
    due = [number for number, now in is_due.items() if now][:3]  # which these are hangs on the port
    pages = {f"/{number}": _body(f"{WORDS} {number}") for number in (*due, *range(1_000, 1_037))}
    pages["/"] = _body("home", *pages)
    site.pages |= pages
    for one in (crawl, later, third):
        one.add([root])
    crawl.run()
    later.run(dedup_from=file_of(crawl))
    site.forget()
    third.run(dedup_from=file_of(later))
    assert site.answers[304] + site.answers[200] == 41
    assert 3 <= site.answers[200] < 15, "one in sixteen, by its URL"
    assert third.fetched() == crawl.fetched()
    assert not records(third, "response")
    times = {row.url: row.fetched_at for row in crawl.pages()}
    check_records(third.url, third.folder / "pages", earlier=[crawl.url])
    assert len(times) == 41
    with third.opened() as opened:
        assert opened.read(f"{root}1007") == pages["/1007"]


def test_limits_of_this_crawl_hold_for_what_is_recalled(crawl: Crawl, later: Crawl, serve: Serve) -> None:
    """What is larger than this crawl takes, or of another type, is asked for, and judged as it comes."""
    site = Tagged(_site() | {"/kept": _body("x" * 5_000, "/deep")})
    root = _crawled(serve, site, crawl, later)
    site.forget()
    later.run(dedup_from=file_of(crawl), max_body=3_000, accept=["text/html"])
    rows = {row.url: row for row in later.pages()}
    assert rows[root + "kept"].result == Result.TOO_LARGE
    assert rows[root].status == 304
