"""A URL that is visited again: what is asked, what the answer is, what row and record say of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from warcio.archiveiterator import ArchiveIterator

from scrawler.assembly import machine as machine_parts
from scrawler.core.party.site import SiteContext
from scrawler.model.results import Result
from scrawler.model.seeds import EndReason
from scrawler.model.visits import KnownVisit, conditions
from scrawler.store.engines.engine import open_database
from tests.consistency import check_records
from tests.integration.crawl.hostile import NOT_FOUND, page
from tests.integration.fetch.servers import RawServer, Visit, path_of

if TYPE_CHECKING:
    from tests.integration.crawl.conftest import Crawl

Serve = Callable[..., RawServer]

NOT_MODIFIED = b'HTTP/1.1 304 Not Modified\r\nETag: "1"\r\nContent-Length: 0\r\n\r\n'
SAME, CHANGED = "/same", "/changed"


class Site:
    """Three pages with an ETag; one of them is another one later."""

    def __init__(self) -> None:
        self.changed = False

    def __call__(self, visit: Visit) -> None:
        while head := visit.request():
            path = path_of(head)
            tag = '"2"' if self.changed and path == CHANGED else '"1"'
            if path not in ("/", SAME, CHANGED):
                visit.send(NOT_FOUND)
            elif f"If-None-Match: {tag}\r\n".encode() in head:
                visit.send(NOT_MODIFIED)
            else:
                visit.send(page(f"{path} {tag}", f"ETag: {tag}", links=(SAME, CHANGED)))


def list_again(url: str) -> None:
    """Let all lists of a crawl be fetched from their beginning, as a lane of revisits is."""
    database = open_database(url)
    with database.begin() as connection:
        connection.exec_driver_sql("UPDATE seed SET state = 'ready', end_reason = NULL")
        connection.exec_driver_sql("UPDATE site SET state = 'ready'")
        connection.exec_driver_sql("UPDATE lane SET cursor_position = 0, ahead = '[]'")
    database.close()


def bring_back(visited: Mapping[str, KnownVisit], _origins: Any, _stores: Any, site: SiteContext) -> None:
    site.visited = visited


def profiles(crawl: Crawl) -> dict[str, list[str]]:
    """Path -> profiles of its revisit records."""
    found: dict[str, list[str]] = {}
    for path in (crawl.folder / "pages").glob("*.warc.gz"):
        with path.open("rb") as file:
            for record in ArchiveIterator(file):
                if record.rec_type == "revisit":
                    url = record.rec_headers.get_header("WARC-Target-URI")
                    profile = record.rec_headers.get_header("WARC-Profile").rpartition("/")[2]
                    found.setdefault("/" + url.rpartition("/")[2], []).append(profile)
    return found


@pytest.mark.parametrize("profile", ["default", "classic"])
def test_a_url_is_visited_again(
    crawl_on_both: Crawl, serve: Serve, monkeypatch: pytest.MonkeyPatch, profile: str
) -> None:
    crawl, site = crawl_on_both, Site()
    server = serve(site)
    crawl.add([server.url()])
    crawl.run(profile=profile)
    first = {row.url: row for row in crawl.pages()}
    visited = {url: KnownVisit(row.visit, row.url, row.fetched_at, row.digest, '"1"') for url, row in first.items()}
    assert len(first) == 3
    monkeypatch.setattr(machine_parts, "recall_robots", partial(bring_back, visited))
    site.changed = True
    list_again(crawl.url)
    crawl.run(profile=profile)
    rows = {(row.url.removeprefix(server.url("")), row.visit): row for row in crawl.pages()}
    assert {key: row.result for key, row in rows.items()} == {
        ("/", 0): Result.FETCHED,
        (SAME, 0): Result.FETCHED,
        (CHANGED, 0): Result.FETCHED,
        ("/", 1): Result.NOT_MODIFIED,
        (SAME, 1): Result.NOT_MODIFIED,
        (CHANGED, 1): Result.FETCHED,
    }
    same = rows[SAME, 1]
    assert (same.status, same.length, same.revisit, same.digest) == (304, 0, 1, rows[SAME, 0].digest)
    assert rows[CHANGED, 1].digest != rows[CHANGED, 0].digest
    counts = crawl.seed(server.url()).counts
    assert (counts.pages, counts.not_modified, counts.requests) == (4, 2, 6)
    assert crawl.seed(server.url()).end_reason is EndReason.COMPLETED
    assert profiles(crawl) == {"/": ["server-not-modified"], SAME: ["server-not-modified"]}
    check_records(crawl.url, crawl.folder / "pages")


def test_what_is_asked_of_a_page_that_is_known() -> None:
    known = KnownVisit(0, "http://a.example/", 1, b"d" * 20, '"x"', "Sun, 22 Nov 2026 20:00:00 GMT")
    assert conditions(known) == (
        ("If-None-Match", '"x"'),
        ("If-Modified-Since", "Sun, 22 Nov 2026 20:00:00 GMT"),
    )
    assert conditions(known._replace(etag="")) == (("If-Modified-Since", "Sun, 22 Nov 2026 20:00:00 GMT"),)
    assert conditions(known._replace(etag="", last_modified="")) == ()


@pytest.mark.parametrize(
    "tag",
    [
        '"x"\r\nCookie: a=b',
        '"x"\n',
        "\r",
        '"\0"',
        '"\x1f"',
        '"a\tb"',
        '"\x7f"',
        '"\u20ac"',
        '"\udc80"',
        "*",
        " * ",
        '"x", *',
        "",
    ],
)
def test_a_tag_is_not_named_that_is_no_value_of_a_header_or_stands_for_all(tag: str) -> None:
    known = KnownVisit(0, "http://a.example/", 1, b"d" * 20, tag, tag)
    assert conditions(known) == ()


@pytest.mark.parametrize("tag", ['"x"', 'W/"x y"', "unquoted", '"\xe4"', '"a", "b"', '"*"'])
def test_a_tag_is_named_as_it_was_sent(tag: str) -> None:
    known = KnownVisit(0, "http://a.example/", 1, b"d" * 20, tag)
    assert conditions(known) == (("If-None-Match", tag),)


@pytest.mark.parametrize("digest", [b"", b"d" * 19, b"d" * 32])
def test_what_the_archive_cannot_refer_to_is_asked_for_as_a_whole(
    crawl: Crawl, serve: Serve, monkeypatch: pytest.MonkeyPatch, digest: bytes
) -> None:
    server = serve(Site())
    crawl.add([server.url()])
    crawl.run()
    visited = {row.url: KnownVisit(0, row.url, row.fetched_at, digest, '"1"') for row in crawl.pages()}
    monkeypatch.setattr(machine_parts, "recall_robots", partial(bring_back, visited))
    list_again(crawl.url)
    crawl.run()
    assert [(row.result, row.visit) for row in crawl.pages() if row.visit] == [(Result.FETCHED, 1)] * 3
    check_records(crawl.url, crawl.folder / "pages")
