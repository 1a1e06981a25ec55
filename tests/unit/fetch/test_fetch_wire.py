from __future__ import annotations

import pytest

from scrawler.fetch import wire
from scrawler.fetch.downloader import Protocols
from scrawler.fetch.wire import RequestTarget
from tests.tables import each


@each(
    ("url", "target"),
    [
        ("http://h/", RequestTarget("http", "h", "/")),
        ("https://h:81/a?b#c", RequestTarget("https", "h:81", "/a?b")),
        ("http://[::1]:8/x:@y", RequestTarget("http", "[::1]:8", "/x:@y")),
        ("http://h", RequestTarget("http", "h", "/")),
        ("http://h/#", RequestTarget("http", "h", "/")),
        ("http://h#a/b@c", RequestTarget("http", "h", "/")),
        ("https://h/x@y?z=//k", RequestTarget("https", "h", "/x@y?z=//k")),
        ("http:///", None),
        ("http:///h/x", None),
        ("https:///x", None),
        ("https://", None),
        ("http://h/\u00e9", None),
        ("http://h?x", None),
        ("http://u@h/", None),
        ("mailto:a@b", None),
        ("ftp://h/", None),
        ("http://h:25/", None),
        ("http://[::1]:110/", None),
    ],
)
def test_split_url(url, target):
    assert wire.split_url(url) == target


def test_header_values_are_a_line_each():
    head = b"HTTP/1.1 200 OK\r\nX-Robots-Tag: a: b\r\nA: x-robots-tag: no\r\n"
    head += b"x-robots-TAG :c,\r\n  d\nX-Robots-Tag:\r\n\r\n"
    assert wire.header_values(head, "x-robots-tag") == ["a: b", "c, d", ""]


@pytest.mark.parametrize(("authority", "host"), [("h", "h"), ("h:81", "h"), ("[::1]", "::1"), ("[::1]:8", "::1")])
def test_host(authority, host):
    assert RequestTarget("http", authority, "/").host == host


def test_parse_headers_joins_folds_and_skips():
    head = b"HTTP/1.1 200 OK\r\nA: 1\r\nb:two\r\n  more\r\na : 3\r\nnonsense\r\n folded nonsense\r\nC:\xe9\r\n\r\n"
    assert wire.parse_headers(head) == {"a": "1, 3", "b": "two more", "c": "\u00e9"}


@pytest.mark.parametrize("name", ["Location", "Refresh", "Retry-After"])
@pytest.mark.parametrize("second", ["/m", "/other", "/x\r\n  http://folded/"])
def test_a_field_that_says_one_thing_says_it_once(name, second):
    head = f"HTTP/1.1 302 F\r\n{name}: /m\r\nA: 1\r\n{name}: {second}\r\nA: 2\r\n\r\n"
    assert wire.parse_headers(head.encode()) == {name.lower(): "/m", "a": "1, 2"}


def test_final_head_of_interim_and_trailers():
    lines = [
        b"HTTP/1.1 103 E\r\n",
        b"L: 1\r\n",
        b"\r\n",
        b"HTTP/1.1 200 OK\r\n",
        b"A: 1\r\n",
        b"\r\n",
        b"T: 1\r\n",
        b"\r\n",
    ]
    assert wire.final_head(lines) == lines[3:6]
    assert wire.final_head(lines[:3]) == []
    assert wire.final_head([b"HTTP/1.1 101 S\r\n", b"\r\n"]) == [b"HTTP/1.1 101 S\r\n", b"\r\n"]


def test_http2_becomes_http1_text():
    second = [b"HTTP/2 404 \r\n", b"a: b\r\n", b"\r\n"]
    assert wire.as_http1(second, wire.status_line(second[0])) == b"HTTP/1.1 404 Not Found\r\na: b\r\n\r\n"
    first = [b"HTTP/1.0 200 Yes\r\n", b"\r\n"]
    assert wire.as_http1(first, wire.status_line(first[0])) == b"HTTP/1.0 200 Yes\r\n\r\n"


@each(
    ("line", "status"),
    [
        ("HTTP/1.1 200 OK", 200),
        ("HTTP/1.1\t200\tOK", 200),
        ("HTTP/1.1 200OK", 200),
        ("HTTP/2 404", 404),
        ("HTTP/1.1 999 X", 999),
        ("HTTP/1.1 2000 OK", 0),
        ("HTTP/1.1 099 X", 0),
        ("HTTP/1.1 20 X", 0),
        ("HTTP/1.1 OK", 0),
        ("HTTP/1.1", 0),
        ("", 0),
    ],
)
def test_a_status_has_three_digits(line, status):
    assert wire.status_line(f"{line}\r\n".encode()).status == status


@pytest.mark.parametrize("line", ["HTTP/1.1\t200\tOK", "HTTP/1.1 \t200 OK", "HTTP/1.1 200OK", "HTTP/1.1 200\tOK"])
def test_an_odd_status_line_is_archived_as_one_that_readers_know(line):
    head = [f"{line}\r\n".encode(), b"a: b\r\n", b"\r\n"]
    first = wire.status_line(head[0])
    assert wire.as_http1(head, first) == b"HTTP/1.1 200 OK\r\na: b\r\n\r\n"
    assert wire.protocols_of(first.http) == Protocols("http/1.1")
    assert not first.is_interim
    assert wire.status_line(head[0].replace(b"200", b"103")).is_interim


@pytest.mark.parametrize(
    ("line", "length"), [(b"CONTENT-LENGTH: 12\r\n", 12), (b"Content-Length: x\r\n", None), (b"A: 12\r\n", None)]
)
def test_announced_length(line, length):
    assert wire.announced_length([b"HTTP/1.1 200 OK\r\n", line, b"\r\n"]) == length


def head_of(*headers: str) -> list[bytes]:
    return [f"{line}\r\n".encode() for line in ("HTTP/1.1 200 OK", *headers, "")]


@each(
    ("headers", "unwanted"),
    [
        (["Content-Type: image/png"], "image/png"),
        (["Content-Type: image/png", "content-type: text/html"], ""),
        (["Content-Type: text/html", "Content-Type: image/png;x=y"], "image/png"),
        (["Content-Type: text/html", "Content-Type: png"], ""),
        (["Content-Type:", " image/png"], "image/png"),
        (["Content-Type: text/html charset=utf-8"], ""),
        (["Content-Type: png"], ""),
        (["Content-Type: */*"], ""),
        ([], ""),
    ],
)
def test_the_media_type_that_is_judged_is_the_one_that_counts(headers: list[str], unwanted: str) -> None:
    assert wire.unwanted_type(head_of(*headers), ("text/html", "application/*")) == unwanted
