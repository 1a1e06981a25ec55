"""Media types that nobody wants: their bodies stay where they are, and the rows say so."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from scrawler.model.results import Result
from scrawler.model.seeds import EndReason
from tests.integration.crawl.conftest import Crawl
from tests.integration.crawl.hostile import asked, by_path, end_details, page, run_whole
from tests.integration.fetch.servers import RawServer, answer

Serve = Callable[..., RawServer]


def typed(media_type: str, body: bytes = b"content", status: str = "200 OK") -> bytes:
    return answer(body, status, *([f"Content-Type: {media_type}"] if media_type else []))


SITE = {
    "/robots.txt": typed("text/plain", b"User-agent: *\nDisallow: /closed\n"),
    "/": page(links=("/paper", "/image", "/archive", "/untyped", "/empty", "/gone", "/moved", "/closed", "/xhtml")),
    "/paper": typed("application/pdf; x=y"),
    "/image": typed("image/PNG"),
    "/archive": typed("application/zip", bytes(100_000)),
    "/untyped": typed(""),
    "/empty": typed("text/css", b""),
    "/gone": typed("text/plain", b"no", "404 Not Found"),
    "/moved": answer(b"moved", "302 Found", "Content-Type: text/plain", "Location: /paper"),
    "/xhtml": typed("application/xhtml+xml"),
}
UNWANTED, FETCHED = Result.UNWANTED_TYPE, Result.FETCHED
EXPECTED = {
    "/": FETCHED, "/paper": FETCHED, "/image": UNWANTED, "/archive": UNWANTED, "/untyped": FETCHED, "/empty": UNWANTED,
    "/gone": Result.HTTP_ERROR, "/moved": Result.REDIRECT, "/closed": Result.ROBOTS_DENIED, "/xhtml": UNWANTED,
}  # fmt: skip


@pytest.mark.parametrize("downloader", ["curl", "requests"])
def test_only_what_is_accepted_is_downloaded(crawl: Crawl, serve: Serve, downloader: str) -> None:
    server, picture = serve(by_path(SITE)), serve(by_path({"/": typed("image/png")}))
    crawl.add([server.url(), picture.url()])
    summary = run_whole(crawl, downloader=downloader, accept="text/html,application/pdf")
    rows = {row.url: row for row in crawl.pages()}
    assert {path: rows[server.url(path)].result for path in EXPECTED} == EXPECTED
    seed = crawl.seed(server.url())
    counts = seed.counts
    assert (seed.end_reason, counts.unwanted, counts.pages, counts.failures) == (EndReason.COMPLETED, 4, 3, 0)
    for row in rows.values():
        if row.result == UNWANTED:
            assert (row.status, row.length, row.warc_file, row.digest, row.attempts) == (200, 0, "", b"", 1)
            assert row.detail == f"{row.content_type} is not accepted"
    assert rows[server.url("/image")].content_type == "image/png"
    assert counts.bytes == sum(row.length for row in rows.values())
    assert summary.errors == 2, "the missing page and the denied one; to be unwanted is no error"
    assert asked(server).total() == len(EXPECTED)
    assert b"\r\nAccept: text/html,application/pdf,*/*;q=0.1\r\n" in server.heads[-1]
    unwanted = crawl.seed(picture.url())
    assert (unwanted.end_reason, unwanted.counts.unwanted) == (EndReason.UNWANTED_TYPE, 1)
    assert end_details(crawl)[picture.url()] == "image/png is not accepted"


def test_everything_is_accepted_where_nothing_is_said(crawl: Crawl, serve: Serve) -> None:
    server = serve(by_path(SITE))
    crawl.add([server.url()])
    run_whole(crawl)
    assert UNWANTED not in {row.result for row in crawl.pages()}
    assert crawl.seed(server.url()).counts.pages == 7


def test_links_to_accepted_types_are_not_refused_by_their_extension(crawl: Crawl, serve: Serve) -> None:
    paths = ("/film.mp4", "/film.webm", "/picture.png", "/all.zip")
    server = serve(by_path({"/": page(links=paths)} | {path: typed("video/mp4") for path in paths}))
    crawl.add([server.url()])
    run_whole(crawl, accept="text/html,video/mp4")
    assert crawl.fetched() == {server.url(path) for path in ("/", "/film.mp4", "/film.webm")}
    assert crawl.seed(server.url()).verdicts["file-type"] == 2
