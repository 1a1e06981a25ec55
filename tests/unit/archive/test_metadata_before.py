"""What a page leads to, found in front of its answer, with what stands before that or without."""

from __future__ import annotations

import gzip
from dataclasses import replace

import pytest

from scrawler.archive.reading import UnwholeRecordError, metadata_before
from scrawler.archive.record import Exchange, digest, records_of

BODY = b"<html>hello</html>"
URL = "http://127.0.0.1/page"
FIELDS = b"outlink: http://example.org/ L a/@href\r\n"
PLAIN = Exchange(
    url=URL,
    address="127.0.0.1",
    date_ms=1_700_000_000_007,
    request_head=b"GET /page HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    response_head=b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n",
    body=BODY,
    payload_digest=digest(BODY),
)
TOLD = replace(PLAIN, metadata=FIELDS)


def before(*exchanges: Exchange) -> bytes:
    """What stands in a file before the answer of the last exchange."""
    records = [gzip.compress(record) for one in exchanges for record in records_of(one)]
    return b"".join(records[:-1])


@pytest.mark.parametrize("told", [TOLD, replace(TOLD, rendered=b"<p>made by a script</p>" * 100)])
def test_the_record_of_a_page_is_found(told: Exchange) -> None:
    """Also behind a visit of the same URL that led elsewhere."""
    earlier = replace(TOLD, metadata=b"outlink: http://earlier.example/ L a/@href\r\n")
    assert metadata_before(before(told), URL, False) == FIELDS
    assert metadata_before(before(earlier, told), URL, False) == FIELDS


@pytest.mark.parametrize("url", [URL, "http://127.0.0.1/other"])
def test_a_page_without_one_does_not_get_that_of_another(url: str) -> None:
    assert metadata_before(before(replace(TOLD, url=url), PLAIN), URL, False) == b""


def test_what_is_too_short_says_so() -> None:
    """Wherever it is cut, more is wanted; at the longest, a request alone is a page without links."""
    metadata, request, _ = map(gzip.compress, records_of(TOLD))
    data = metadata + request
    for start in range(1, len(data)):
        assert metadata_before(data[start:], URL, False) is None
        is_request_whole = start <= len(metadata)
        assert metadata_before(data[start:], URL, True) == (b"" if is_request_whole else None)


def test_another_record_in_its_place_is_none() -> None:
    with pytest.raises(UnwholeRecordError):
        metadata_before(before(TOLD), "http://127.0.0.1/other", False)
    damaged = bytearray(before(TOLD))
    damaged[-12] ^= 255
    assert metadata_before(bytes(damaged), URL, True) is None
    with pytest.raises(UnwholeRecordError, match="damaged"):
        metadata_before(bytes(1 << 20) + damaged, URL, False)  # no request is so long: nothing more is read
