"""Certificates are checked; where the user will not have it, log, rows and archive say so."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

import pytest
from warcio.archiveiterator import ArchiveIterator

from scrawler.model.results import PageFlag, Result
from scrawler.model.seeds import EndReason
from tests.integration.crawl.conftest import Crawl
from tests.integration.crawl.hostile import by_path, page, run_whole
from tests.integration.fetch.servers import Certificates, RawServer

Serve = Callable[..., RawServer]


def flags(crawl: Crawl) -> dict[str, int]:
    with sqlite3.connect(crawl.folder / crawl.url.rpartition("/")[2]) as connection:
        return dict(connection.execute("SELECT url, flags FROM page"))


@pytest.mark.parametrize("downloader", ["curl", "requests"])
@pytest.mark.parametrize("insecure", [False, True])
def test_a_certificate_that_nobody_signed(crawl: Crawl, serve: Serve, downloader: str, insecure: bool) -> None:
    context = Certificates(crawl.folder).server_context()
    site = {"/": page(links=("/missing", "/page")), "/page": page("page")}
    secret, plain = serve(by_path(site), tls=context), serve(by_path(site))
    crawl.add([secret.url(), plain.url()])
    run_whole(crawl, downloader=downloader, insecure=insecure, robots=False)
    seed = crawl.seed(secret.url())
    (file,) = (crawl.folder / "pages").glob("*.warc.gz")
    with file.open("rb") as stream:
        info = next(iter(ArchiveIterator(stream))).content_stream().read()
    assert (b"certificates: not checked" in info) is insecure
    found = flags(crawl)
    assert {found.pop(plain.url(path)) for path in ("/", "/missing", "/page")} == {0}
    if insecure:
        assert (seed.end_reason, seed.counts.pages) == (EndReason.COMPLETED, 2)
        assert found == {secret.url(path): PageFlag.INSECURE for path in ("/", "/missing", "/page")}
    else:
        assert (seed.end_reason, found) == (EndReason.DEAD, {secret.url(): 0})
        assert {row.result for row in crawl.pages() if row.url == secret.url()} == {Result.TLS_FAILED}


@pytest.mark.parametrize("downloader", ["curl", "requests"])
def test_the_records_say_by_which_protocols_they_came(crawl: Crawl, serve: Serve, downloader: str) -> None:
    context = Certificates(crawl.folder).server_context()
    site = {"/": page(links=("/page",)), "/page": page("page")}
    secret, plain = serve(by_path(site), tls=context), serve(by_path(site))
    crawl.add([secret.url(), plain.url()])
    run_whole(crawl, downloader=downloader, insecure=True, robots=False)
    found = set()
    for file in (crawl.folder / "pages").glob("*.warc.gz"):
        with file.open("rb") as stream:
            for record in ArchiveIterator(stream):
                fields = record.rec_headers.headers
                spoken = tuple(value for name, value in fields if name in ("WARC-Protocol", "WARC-Cipher-Suite"))
                found.add((record.rec_headers.get_header("WARC-Target-URI"), record.rec_type, spoken))
    tls = ("http/1.1", "tls/1.3", "TLS_AES_256_GCM_SHA384")
    expected = {(secret.url(path), kind, tls) for path in site for kind in ("request", "response")}
    expected |= {(plain.url(path), kind, ("http/1.1",)) for path in site for kind in ("request", "response")}
    assert {one for one in found if one[1] != "warcinfo"} == expected
