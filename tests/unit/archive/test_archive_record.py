"""Records as bytes: heads as archived, digests, dates, ids."""

from __future__ import annotations

import base64
import re
import uuid
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrawler.archive.cdxj import cdxj_line
from scrawler.archive.record import (
    Exchange,
    RevisitOf,
    archived_head,
    base32,
    digest,
    records_of,
    warc_date,
    warcinfo,
)
from scrawler.model.records import CdxRow
from tests.tables import each

BODY = b"<html>hello</html>"
EXCHANGE = Exchange(
    url="http://127.0.0.1/page",
    address="127.0.0.1",
    date_ms=1_700_000_000_007,
    request_head=b"GET /page HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    response_head=b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n",
    body=BODY,
    payload_digest=digest(BODY),
)


def fields(record: bytes) -> dict[str, str]:
    head = record.partition(b"\r\n\r\n")[0].decode()
    lines = head.split("\r\n")
    assert lines[0] == "WARC/1.1"
    return dict(line.split(": ", 1) for line in lines[1:])


def block(record: bytes) -> bytes:
    rest = record.partition(b"\r\n\r\n")[2]
    assert rest.endswith(b"\r\n\r\n")
    return rest[:-4]


@given(st.binary(min_size=20, max_size=20))
def test_base32_is_that_of_the_standard(value: bytes) -> None:
    assert base32(value) == base64.b32encode(value).decode()


def test_dates_have_milliseconds() -> None:
    assert warc_date(0) == "1970-01-01T00:00:00.000Z"
    assert warc_date(1_700_000_000_007) == "2023-11-14T22:13:20.007Z"


@each(
    ("head", "archived"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nX-Archive-Orig-Transfer-Encoding: chunked\r\n\r\n",
        ),
        (
            b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\ntransfer-encoding : gzip,\r\n chunked\r\nA: b\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nX-Archive-Orig-content-length: 5\r\n"
            b"X-Archive-Orig-transfer-encoding : gzip,\r\n chunked\r\nA: b\r\n\r\n",
        ),
        (
            b"HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n",
            b"HTTP/1.1 200 OK\nX-Archive-Orig-Transfer-Encoding: chunked\n\n",
        ),
        (
            b"HTTP/1.1 200 OK\r\nVary: Transfer-Encoding\r\nContent-Length: 5\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nVary: Transfer-Encoding\r\nContent-Length: 5\r\n\r\n",
        ),
        (b"HTTP/1.1 200 OK\r\nA: b\r\n \t\r\n \r\nC: d\r\n\r\n", b"HTTP/1.1 200 OK\r\nA: b\r\nC: d\r\n\r\n"),
        *(  # white to those who strip a line as Python strips text, Latin-1 or UTF-8
            (b"HTTP/1.1 200 OK\r\nA: b\r\n" + white + b"\r\nC: d\r\n\r\n", b"HTTP/1.1 200 OK\r\nA: b\r\nC: d\r\n\r\n")
            for white in (b"\x0b", b"\x0c \x1f", b"\x85\xa0", b"\r", "\xa0\u1680\u2003\u2028\u205f\u3000".encode())
        ),
        (b"HTTP/1.1 200 OK\r\nA: b\r\n folded\r\n\r\n", b"HTTP/1.1 200 OK\r\nA: b\r\n folded\r\n\r\n"),
    ],
)
def test_head_as_archived_fits_the_body_as_archived(head: bytes, archived: bytes) -> None:
    assert archived_head(head) == archived


def test_request_and_response_tell_of_each_other() -> None:
    request, response = records_of(EXCHANGE)
    asked, answered = fields(request), fields(response)
    assert (asked["WARC-Type"], answered["WARC-Type"]) == ("request", "response")
    assert asked["WARC-Concurrent-To"] == answered["WARC-Record-ID"] != asked["WARC-Record-ID"]
    for record, content in ((request, EXCHANGE.request_head), (response, EXCHANGE.response_head + BODY)):
        values = fields(record)
        assert block(record) == content
        assert values["Content-Length"] == str(len(content))
        assert values["WARC-Target-URI"] == EXCHANGE.url
        assert values["WARC-IP-Address"] == "127.0.0.1"
        assert values["WARC-Date"] == "2023-11-14T22:13:20.007Z"
        match = re.fullmatch(r"<urn:uuid:(.+)>", values["WARC-Record-ID"])
        assert match
        identifier = uuid.UUID(match[1])
        assert (identifier.version, identifier.variant) == (4, uuid.RFC_4122)
        assert str(identifier) == match[1]
    assert answered["WARC-Payload-Digest"] == "sha1:" + base32(digest(BODY))
    assert "WARC-Truncated" not in answered


def test_what_was_found_in_an_answer_has_a_record_before_it_that_names_it() -> None:
    outlinks = b"outlink: http://example.org/ L a/@href\r\n"
    metadata, request, response = records_of(replace(EXCHANGE, metadata=outlinks))
    values = fields(metadata)
    assert (values["WARC-Type"], values["Content-Type"]) == ("metadata", "application/warc-fields")
    assert values["WARC-Concurrent-To"] == fields(response)["WARC-Record-ID"] == fields(request)["WARC-Concurrent-To"]
    assert (values["WARC-Target-URI"], values["WARC-Date"]) == (EXCHANGE.url, "2023-11-14T22:13:20.007Z")
    assert block(metadata) == outlinks
    assert values["Content-Length"] == str(len(outlinks))
    assert len({fields(record)["WARC-Record-ID"] for record in (metadata, request, response)}) == 3


@pytest.mark.parametrize("revisit_of", [None, RevisitOf("http://127.0.0.1/first", 1_600_000_000_000)])
def test_each_block_has_its_digest_where_that_is_asked_for(revisit_of: RevisitOf | None) -> None:
    exchange = replace(EXCHANGE, metadata=b"outlink: http://example.org/ L a/@href\r\n", revisit_of=revisit_of)
    plain, digested = records_of(exchange), records_of(exchange, block_digests=True)
    assert [block(record) for record in digested] == [block(record) for record in plain]
    for record in digested:
        assert fields(record)["WARC-Block-Digest"] == "sha1:" + base32(digest(block(record)))
    assert all("WARC-Block-Digest" not in fields(record) for record in plain)
    assert fields(plain[2])["WARC-Payload-Digest"] == fields(digested[2])["WARC-Payload-Digest"]


def test_record_ids_never_repeat() -> None:
    records = [record for _ in range(1000) for record in records_of(EXCHANGE)]
    assert len({fields(record)["WARC-Record-ID"] for record in records}) == 2000


def test_a_body_that_is_not_whole_is_marked() -> None:
    assert fields(records_of(replace(EXCHANGE, truncated="time"))[1])["WARC-Truncated"] == "time"


def test_a_revisit_names_the_earlier_record_and_leaves_the_payload_out() -> None:
    revisit = replace(EXCHANGE, revisit_of=RevisitOf("http://127.0.0.1/first", 1_600_000_000_000))
    record = records_of(revisit)[1]
    values = fields(record)
    assert values["WARC-Type"] == "revisit"
    assert values["WARC-Profile"] == "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
    assert values["WARC-Refers-To-Target-URI"] == "http://127.0.0.1/first"
    assert values["WARC-Refers-To-Date"] == "2020-09-13T12:26:40.000Z"
    assert values["WARC-Payload-Digest"] == "sha1:" + base32(digest(BODY))
    assert block(record) == EXCHANGE.response_head


def test_a_page_that_its_server_calls_unchanged_is_a_revisit_by_another_profile() -> None:
    head = b"HTTP/1.1 304 Not Modified\r\nETag: x\r\n\r\n"
    earlier = RevisitOf("http://127.0.0.1/first", 1_600_000_000_000, said_by_server=True)
    record = records_of(replace(EXCHANGE, response_head=head, body=b"", revisit_of=earlier))[1]
    values = fields(record)
    assert values["WARC-Type"] == "revisit"
    assert values["WARC-Profile"] == "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
    assert values["WARC-Refers-To-Target-URI"] == "http://127.0.0.1/first"
    assert values["WARC-Refers-To-Date"] == "2020-09-13T12:26:40.000Z"
    assert values["WARC-Payload-Digest"] == "sha1:" + base32(digest(BODY))
    assert block(record) == head


@pytest.mark.parametrize("change", [{"body": b""}, {"truncated": "length"}])
def test_an_empty_or_cut_payload_is_never_a_revisit(change: dict[str, object]) -> None:
    revisit = replace(EXCHANGE, revisit_of=RevisitOf("http://127.0.0.1/first", 1), **change)  # type: ignore[arg-type]
    with pytest.raises(AssertionError):
        records_of(revisit)


def test_warcinfo_keeps_each_value_on_its_line() -> None:
    record = warcinfo("a.warc.gz", {"operator": "A\r\nB  C", "robots": "obey"}, 0)
    assert fields(record)["WARC-Filename"] == "a.warc.gz"
    lines = block(record).decode().split("\r\n")
    assert "operator: A B C" in lines
    assert "robots: obey" in lines
    assert "format: WARC File Format 1.1" in lines


@pytest.mark.parametrize(
    ("revisit", "mime", "expected"),
    [(False, "text/html", "text/html"), (False, "", "unk"), (True, "text/html", "warc/revisit")],
)
def test_cdxj_line(revisit: bool, mime: str, expected: str) -> None:
    row = CdxRow(
        "http://www.example.com/A?b", 1_700_000_000_999, mime, 200, digest(BODY), 321, 1234, "x.warc.gz", revisit
    )
    assert cdxj_line(row).decode() == (
        'com,example)/a?b 20231114221320 {"url": "http://www.example.com/A?b", '
        f'"mime": "{expected}", "status": "200", "digest": "{base32(digest(BODY))}", '
        '"length": "321", "offset": "1234", "filename": "x.warc.gz"}\n'
    )
