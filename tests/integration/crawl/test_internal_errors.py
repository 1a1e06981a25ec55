"""A fault of this program that an answer meets ends its URL, and with five of them its seed; nothing else."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from scrawler.app import retry_seeds
from scrawler.archive import warc
from scrawler.archive.warc import WarcWriter
from scrawler.core.answers.lister import SitemapLister
from scrawler.core.durable.handover import Handover
from scrawler.core.fault_log import MOST_BYTES, FaultLog
from scrawler.core.party import health
from scrawler.core.party.parties import Parties
from scrawler.errors import ArchiveError, PluginError, StoreError
from scrawler.extract.lexbor import LexborExtractor
from scrawler.faults import MOST_FAULTS, Fault
from scrawler.fetch.cookies import CookieJar
from scrawler.fetch.robots import RobotsRules
from scrawler.model.results import Result
from scrawler.model.rows import PageRow
from scrawler.model.seeds import EndReason
from tests.integration.crawl.conftest import Crawl
from tests.integration.crawl.hostile import GOOD_PAGES, asked, by_path, end_details, good, page, run_whole
from tests.integration.fetch.servers import RawServer, answer

Serve = Callable[..., RawServer]
PAGES = tuple(f"/{name}" for name in ("ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen"))


class Poison(Exception):
    """What no part of the program has foreseen."""


def poisoned(
    call: Callable[..., Any], error: type[BaseException] = Poison, mark: bytes = b"poison"
) -> Callable[..., Any]:
    """Let a call raise for whatever holds the mark."""

    def raising(*arguments: Any, **named: Any) -> Any:
        if mark.decode() in repr(arguments):
            raise error("two\nlines")
        return call(*arguments, **named)

    return raising


def many(bad: int) -> dict[str, bytes]:
    """A site of a home page and eight more, so many of which are poisoned."""
    pages = {path: page(f"{'poison' if n < bad else 'well'} {path}") for n, path in enumerate(PAGES)}
    return {"/": page(links=PAGES), **pages}


def rows(crawl: Crawl, server: RawServer) -> dict[str, PageRow]:
    return {row.url.removeprefix(server.url("")): row for row in crawl.pages() if row.url.startswith(server.url())}


@pytest.mark.parametrize("error", [Poison, MemoryError, RecursionError, SystemExit, KeyboardInterrupt])
def test_a_page_that_cannot_be_read_is_a_result(
    crawl: Crawl, serve: Serve, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    """Its record is kept, kind and place are told, the traceback is in the file that the summary names."""
    monkeypatch.setattr(LexborExtractor, "links", poisoned(LexborExtractor.links, error))
    server, beside = serve(by_path(many(2))), serve(by_path(many(0)))
    crawl.add([server.url(), beside.url()])
    summary = run_whole(crawl, extractor="lexbor")
    found = rows(crawl, server)
    bad = [found.pop(path) for path in PAGES[:2]]
    for row in bad:
        assert (row.result, row.status, row.attempts) == (Result.INTERNAL_ERROR, 200, 1)
        assert row.detail.startswith(f"{error.__name__}: two lines, at ")
        assert row.warc_file
    assert {row.result for row in found.values()} == {Result.FETCHED}
    seed = crawl.seed(server.url())
    assert (seed.end_reason, seed.counts.internal_errors) == (EndReason.COMPLETED, 2)
    assert seed.counts.requests == len(PAGES) + 1
    assert crawl.seed(beside.url()).counts.pages == len(PAGES) + 1
    assert summary.internal_errors == summary.errors == 2
    text = (crawl.folder / "output_urls" / "crawl.internal-errors.txt").read_text()
    assert summary.fault_file == str(crawl.folder / "output_urls" / "crawl.internal-errors.txt")
    assert text.count("Traceback") == text.count(f"{error.__name__}: two") == 2
    assert server.url("/ant") in text


def test_an_answer_of_which_no_record_can_be_made_is_a_result(
    crawl: Crawl, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page is finished without a record; of a robots.txt nothing is believed."""
    monkeypatch.setattr(warc, "records_of", poisoned(warc.records_of))
    server, beside = serve(by_path(many(2))), serve(by_path({**many(0), "/robots.txt": answer(b"# poison")}))
    crawl.add([server.url(), beside.url()])
    run_whole(crawl)
    found = rows(crawl, server)
    for row in [found.pop(path) for path in PAGES[:2]]:
        assert (row.result, row.warc_file) == (Result.INTERNAL_ERROR, "")
        assert row.detail.startswith("Poison: two lines, at ")
    assert {row.result for row in found.values()} == {Result.FETCHED}
    assert {row.result for row in rows(crawl, beside).values()} == {Result.ROBOTS_UNAVAILABLE}
    assert set(asked(beside)) == {"/robots.txt"}


def test_a_seed_with_five_of_them_ends_and_can_be_taken_up_again(
    crawl: Crawl, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad, beside = serve(by_path(many(7))), serve(good("well"))
    crawl.add([bad.url(), beside.url()])
    with monkeypatch.context() as patched:
        patched.setattr(LexborExtractor, "links", poisoned(LexborExtractor.links))
        run_whole(crawl, extractor="lexbor")
    seed = crawl.seed(bad.url())
    assert seed.end_reason is EndReason.INTERNAL_ERROR
    assert MOST_FAULTS <= seed.counts.internal_errors <= MOST_FAULTS + 1  # the next one was on its way
    assert end_details(crawl)[bad.url()].startswith("Poison: two lines, at ")
    assert crawl.seed(beside.url()).counts.pages == GOOD_PAGES
    retry_seeds(crawl.settings(), [EndReason.INTERNAL_ERROR], threading.Event())
    summary = run_whole(crawl)
    seed = crawl.seed(bad.url())
    assert (seed.end_reason, seed.counts.internal_errors) == (EndReason.COMPLETED, 0)
    assert seed.counts.pages == len(PAGES) + 1
    assert (summary.internal_errors, summary.fault_file) == (0, "")


def test_a_seed_whose_own_page_meets_one_ends_so(crawl: Crawl, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LexborExtractor, "links", poisoned(LexborExtractor.links))
    server = serve(by_path({"/": page("poison")}))
    crawl.add([server.url()])
    run_whole(crawl, extractor="lexbor")
    assert crawl.seed(server.url()).end_reason is EndReason.INTERNAL_ERROR


def test_a_robots_txt_that_meets_one_forbids_all(crawl: Crawl, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RobotsRules, "parse", poisoned(RobotsRules.parse))
    pages = {
        **many(0),
        "/robots.txt": answer(b"User-agent: *\nDisallow: /poison\n", "200 OK", "Content-Type: text/plain"),
    }
    server, beside = serve(by_path(pages)), serve(good("well"))
    crawl.add([server.url(), beside.url()])
    summary = run_whole(crawl)
    assert set(asked(server)) == {"/robots.txt"}
    seed, row = crawl.seed(server.url()), rows(crawl, server)["/"]
    assert (seed.end_reason, seed.counts.internal_errors) == (EndReason.ROBOTS_UNAVAILABLE, 1)
    assert (row.result, row.detail[:31]) == (Result.ROBOTS_UNAVAILABLE, "robots.txt: Poison: two lines, ")
    assert summary.internal_errors == 1
    assert crawl.seed(beside.url()).counts.pages == GOOD_PAGES


def test_a_robots_txt_that_cannot_be_followed_ends_the_urls_for_which_it_is_asked(
    crawl: Crawl, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    allows = RobotsRules.allows
    monkeypatch.setattr(RobotsRules, "allows", poisoned(lambda self, url: allows(self, url), mark=b"/bee"))
    server = serve(by_path(many(0)))
    crawl.add([server.url()])
    run_whole(crawl)
    assert "/bee" not in asked(server)
    found = rows(crawl, server)
    assert found.pop("/bee").result == Result.INTERNAL_ERROR
    assert {row.result for row in found.values()} == {Result.FETCHED}


@pytest.mark.parametrize("call", ["take", "header"])
def test_cookies_that_meet_one(crawl: Crawl, serve: Serve, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    """Of the answer that sets them, or of the URL to which they would be sent."""
    monkeypatch.setattr(CookieJar, call, poisoned(getattr(CookieJar, call), mark=b"/bee"))
    pages = dict.fromkeys(PAGES, page("well", "Set-Cookie: a=b"))
    server = serve(by_path({"/": page("", "Set-Cookie: a=b", links=PAGES), **pages}))
    crawl.add([server.url()])
    run_whole(crawl)
    found = rows(crawl, server)
    assert found.pop("/bee").result == Result.INTERNAL_ERROR
    assert {row.result for row in found.values()} == {Result.FETCHED}


@pytest.mark.parametrize("call", ["wants", "_list_slice"])
def test_a_sitemap_that_meets_one(crawl: Crawl, serve: Serve, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    monkeypatch.setattr(SitemapLister, call, poisoned(getattr(SitemapLister, call), mark=b"/sitemap.xml"))
    server = serve(by_path({}))
    urls = "".join(f"<url><loc>{server.url(path)}</loc></url>" for path in PAGES)
    sitemap = answer(f"<urlset>{urls}</urlset>".encode(), "200 OK", "Content-Type: application/xml")
    server.script = by_path({"/": page(links=PAGES[:3]), **dict.fromkeys(PAGES, page()), "/sitemap.xml": sitemap})
    crawl.add([server.url()])
    run_whole(crawl, sitemaps="also")
    found = rows(crawl, server)
    assert found.pop("/sitemap.xml").result == Result.INTERNAL_ERROR
    assert set(found) == {"/", *PAGES[:3]}
    assert crawl.seed(server.url()).end_reason is EndReason.COMPLETED


def test_a_large_page_is_read_outside_the_turn_and_may_meet_one(
    crawl: Crawl, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LexborExtractor, "links", poisoned(LexborExtractor.links))
    server = serve(by_path({**many(0), "/bee": page("poison" + "x" * 400_000)}))
    crawl.add([server.url()])
    run_whole(crawl, extractor="lexbor")
    found = rows(crawl, server)
    assert found.pop("/bee").result == Result.INTERNAL_ERROR
    assert {row.result for row in found.values()} == {Result.FETCHED}


def test_a_header_that_says_when_to_come_back_meets_one(
    crawl: Crawl, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "retry_after", poisoned(health.retry_after))
    busy = page("", "Retry-After: poison", status="503 Busy")
    server = serve(by_path({**many(0), "/bee": busy}))
    crawl.add([server.url()])
    run_whole(crawl)
    found = rows(crawl, server)
    assert (found["/bee"].result, found["/bee"].status) == (Result.INTERNAL_ERROR, 503)
    assert found.pop("/bee").warc_file
    assert {row.result for row in found.values()} == {Result.FETCHED}


@pytest.mark.parametrize(
    ("owner", "call", "error"),
    [
        (LexborExtractor, "links", PluginError),
        (LexborExtractor, "links", StoreError),
        (LexborExtractor, "links", ArchiveError),
        (WarcWriter, "write", Poison),
        (Parties, "choose", Poison),
        (Handover, "changed", Poison),
    ],
)
def test_what_is_no_fault_of_an_answer_ends_the_machine(
    crawl: Crawl, serve: Serve, monkeypatch: pytest.MonkeyPatch, owner: type, call: str, error: type[BaseException]
) -> None:
    """Others' parts, the disk, the database, the machinery: the URL is not blamed, and the next run has it all."""
    server = serve(by_path({**many(0), "/": page("poison", links=PAGES)}))
    crawl.add([server.url()])
    mark = b"poison" if owner in (LexborExtractor, WarcWriter) else b""
    with monkeypatch.context() as patched:
        patched.setattr(owner, call, poisoned(getattr(owner, call), error, mark))
        with pytest.raises(error):
            crawl.run(extractor="lexbor")
    assert Result.INTERNAL_ERROR not in {row.result for row in crawl.pages()}
    crawl.check()
    run_whole(crawl)
    assert crawl.seed(server.url()).counts.pages == len(PAGES) + 1


def test_the_file_of_tracebacks_is_bounded(tmp_path: Any) -> None:
    """A few of each kind a machine, one megabyte in all; what stands in the text is no matter."""
    path = tmp_path / "new" / "faults.txt"
    log = FaultLog(path)
    for number in range(20):
        log.tell("http://a/", Fault(f"Poison: {number}, at here:1", "trace \ud800\n"))
    assert path.read_bytes().count(b"trace \\ud800") == 5
    for number in range(200):
        log.tell("http://a/", Fault(f"Poison, at there:{number}", "x" * 10_000))
    assert MOST_BYTES - 11_000 < path.stat().st_size <= MOST_BYTES
    FaultLog(tmp_path).tell("http://a/", Fault("", ""))  # a folder stands there: that is not worth a crawl


def test_tracebacks_give_no_orders_to_a_terminal(tmp_path: Any) -> None:
    path = tmp_path / "faults.txt"
    FaultLog(path).tell("http://a/", Fault("Poison", "Traceback:\n  Poison: \x1b[2J\x9b2J\r\u202e größer\n"))
    assert path.read_text().partition("http://a/\n")[2] == "Traceback:\n  Poison: \\x1b[2J\\x9b2J\\r\\u202e größer\n\n"
