"""`scrawler pages`: what came of URLs, and what the pages say of themselves."""

from __future__ import annotations

from tests.e2e.conftest import CRAWL, Rows, Scrawler
from tests.integration.fetch.servers import RawServer, always, answer

CANONICAL, DIRECTIVES = b"<link rel=canonical href=http://www.example/>", b"<meta name=SCrawler-test content=none>"


def test_pages_shows_canonical_urls_and_flags(scrawler: Scrawler, rows: Rows) -> None:
    server = RawServer(
        always(answer(CANONICAL + DIRECTIVES + b"<a href=/x>x</a>", "200 OK", "Content-Type: text/html"))
    )
    try:
        scrawler("import", "-", given=server.url())
        scrawler(*CRAWL, "--no-robots")
    finally:
        server.stop()
    (row,) = rows("pages", "--seed", server.url())
    assert (row["url"], row["canonical"], row["flags"]) == (server.url(), "http://www.example/", "noindex nofollow")
    (seed,) = rows("seeds")
    assert (seed["pages"], seed["end_reason"]) == (1, "completed")
