"""What a 304 makes of a stored head, and what is kept of pages that an earlier crawl has fetched."""

from __future__ import annotations

import pytest

from scrawler.features.earlier.known import EarlierPayloads, EarlierRoom, EarlierSite, EarlierVisit, EarlierVisits
from scrawler.features.earlier.restoring import refreshed_head
from scrawler.fetch.wire import parse_headers

STORED = (
    b'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\nContent-Length: 12\r\nETag: "1"\r\n'
    b"X-Folded: one\r\n two\r\nSet-Cookie: old=1\r\nX-Robots-Tag: none\r\n\r\n"
)
URL = "http://a.example/page"
VISIT = EarlierVisit(
    etag='W/"a, b"',
    last_modified="Sun, 01 Nov 2026 10:00:00 GMT",
    digest=bytes(range(20)),
    payload_url=URL,
    payload_at=1_793_527_200_123,
    crawl=1,
    warc_file="crawl-1-m1-00000.warc.gz",
    warc_offset=1 << 33,
    warc_length=1_000,
    length=5_000,
    revisit=0,
)


class NoRecords:
    """No earlier crawl has a record."""

    def holds(self, url: str, digest: bytes, body: bytes) -> bool:
        return False

    def read(self, url: str, visit: EarlierVisit) -> None:
        return None


def test_what_a_304_says_takes_the_place_of_what_was_said_but_not_of_the_body() -> None:
    said = (
        b"HTTP/1.1 304 Not Modified\r\nContent-Length: 0\r\ncontent-type: text/plain\r\nTransfer-Encoding: chunked\r\n"
        b"x-robots-tag: all\r\nSet-Cookie: new=2\r\nX-Folded: three\r\n\tfour\r\n\r\n"
    )
    head = refreshed_head(STORED, said)
    assert head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert head.endswith(b"\r\n\r\n")
    assert parse_headers(head) == {
        "content-type": "text/html",
        "content-encoding": "gzip",
        "content-length": "12",
        "etag": '"1"',
        "x-folded": "three four",
        "set-cookie": "new=2",
        "x-robots-tag": "all",
    }


def test_of_a_304_that_says_nothing_all_is_as_it_was_but_for_cookies() -> None:
    kept = parse_headers(refreshed_head(STORED, b"HTTP/1.1 304 Not Modified\r\n\r\n"))
    assert kept == {name: value for name, value in parse_headers(STORED).items() if name != "set-cookie"}


@pytest.mark.parametrize("line_end", [b"\r\n", b"\n"])
def test_heads_of_any_line_ends_are_taken(line_end: bytes) -> None:
    stored, said = b"HTTP/1.0 200 OK\nA: 1\nB: 2\n\n", b"HTTP/1.0 304 X\nB: 3\n\n"
    head = refreshed_head(stored.replace(b"\n", line_end), said.replace(b"\n", line_end))
    assert parse_headers(head) == {"a": "1", "b": "3"}


def test_a_visit_comes_back_as_it_was_kept() -> None:
    visits = EarlierVisits(EarlierRoom())
    other = VISIT._replace(payload_url="http://a.example/elsewhere", etag="", revisit=1)
    for number in range(100):
        assert visits.remember(f"{URL}/{number}", VISIT._replace(payload_url=f"{URL}/{number}", warc_offset=number))
    assert visits.remember(URL, VISIT)
    assert visits.remember("http://a.example/other", other)
    assert visits.remember("http://a.example/whole", None)
    assert visits.get(URL) == VISIT
    assert visits.get("http://a.example/other") == other
    assert visits.get(f"{URL}/7") == VISIT._replace(payload_url=f"{URL}/7", warc_offset=7)
    assert visits.get("http://a.example/whole") is None
    assert visits.knows("http://a.example/whole")
    assert not visits.knows("http://a.example/none")
    visits.close()
    assert visits.get(URL) is None


def test_pages_are_asked_for_by_what_their_server_sent_then() -> None:
    site = EarlierSite(EarlierPayloads(EarlierRoom()), EarlierVisits(EarlierRoom()), NoRecords())
    site.visits.remember(URL, VISIT)
    site.visits.remember("http://a.example/any", VISIT._replace(etag='"x", *', last_modified="a\x7f\tb"))
    assert site.conditions(URL) == (("If-None-Match", VISIT.etag), ("If-Modified-Since", VISIT.last_modified))
    assert site.conditions("http://a.example/any") == (), "what is no single tag, or no value, is not sent back"
    assert site.conditions("http://a.example/none") == ()


def test_small_sites_share_the_room_without_taking_all_of_it() -> None:
    room = EarlierRoom(10)
    sites = [EarlierVisits(room) for _ in range(10)]
    assert all(one.remember(URL, VISIT) for one in sites)
    assert not EarlierVisits(room).remember(URL, VISIT)
    sites[0].close()
    assert EarlierVisits(room).remember(URL, VISIT)
