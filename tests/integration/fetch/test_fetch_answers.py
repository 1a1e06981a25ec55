"""Both downloaders: what whole answers become."""

from __future__ import annotations

import gzip
import time
import zlib

import pytest

from scrawler.fetch.downloader import INVALID_LENGTH, Request
from scrawler.model.proxy import Proxy
from scrawler.model.results import Result
from tests.integration.fetch.conftest import LIMITS, drive
from tests.integration.fetch.servers import Visit, always, answer, once


def test_a_page_comes_back_as_it_was_sent(serve, fetch):
    raw = answer(b"<p>hi", "200 Fine", "Content-Type: Text/HTML; charset=x", "X-A: 1", "x-a:2")
    server = serve(always(raw))
    before = time.time() * 1000
    response = fetch(server.url("/a?b=c"))
    assert (response.result, response.status, response.body, response.detail) == (Result.FETCHED, 200, b"<p>hi", "")
    assert response.head == raw[: -len(b"<p>hi")]
    assert response.headers["x-a"] == "1, 2"
    assert response.content_type == "text/html"
    assert before - 1 <= response.started_at <= time.time() * 1000
    assert 0 <= response.elapsed_ms < 4000
    assert response.request_head == server.heads[0]


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/?",
        "/a%7Eb~c",
        "/%7e%2f/../x/./y",
        "/a|b^c[d]{e}?q=|'\"<>`\\",
        "//double//",
        "/?a=b?c=/d",
        "/%zz%",
        "/;p=1:2@x",
    ],
)
def test_the_path_is_sent_as_written(serve, fetch, path):
    server = serve(always(answer()))
    response = fetch(server.url(path))
    assert response.result is Result.FETCHED
    assert server.heads[0].split(b"\r\n")[0] == f"GET {path} HTTP/1.1".encode()
    assert response.request_head == server.heads[0]


def test_the_request_is_plain(serve, fetch, monkeypatch, tmp_path):
    (tmp_path / ".netrc").write_text("default login me password secret\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1/")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1/")
    server = serve(always(answer()))
    assert fetch(server.url("/x", "Name.example.test")).result is Result.FETCHED
    assert server.heads[0].decode().split("\r\n") == [
        "GET /x HTTP/1.1",
        f"Host: Name.example.test:{server.port}",
        f"User-Agent: {LIMITS.user_agent}",
        "Accept: text/html,application/xhtml+xml,*/*;q=0.8",
        "Accept-Encoding: gzip, deflate, br, zstd",
        "",
        "",
    ]


def test_the_address_is_the_requests_not_the_names(serve, fetch):
    here = serve(always(answer(b"here")), host="127.0.0.2")
    assert fetch(here.url("/", "no-such-name.invalid"), "127.0.0.2").body == b"here"


def test_ipv6(serve, fetch):
    try:
        server = serve(always(answer()), host="::1")
    except OSError:
        pytest.skip("no IPv6 loopback here")
    response = fetch(server.url("/"), "::1")
    assert response.result is Result.FETCHED
    assert server.heads[0].split(b"\r\n")[1] == f"Host: [::1]:{server.port}".encode()
    assert fetch(server.url("/", "name.example.test"), "::1").result is Result.FETCHED


@pytest.mark.parametrize(
    ("status", "location", "result"),
    [
        (200, None, Result.FETCHED),
        (204, None, Result.FETCHED),
        (301, "/b", Result.REDIRECT),
        (302, "http://127.0.0.1:1/", Result.REDIRECT),
        (303, "file:///etc/passwd", Result.REDIRECT),
        (307, "", Result.HTTP_ERROR),  # it leads nowhere
        (308, "http://[bad", Result.REDIRECT),
        (302, None, Result.HTTP_ERROR),
        (300, "/b", Result.HTTP_ERROR),
        (304, "/b", Result.HTTP_ERROR),
        (401, None, Result.HTTP_ERROR),
        (404, None, Result.HTTP_ERROR),
        (503, None, Result.HTTP_ERROR),
        (999, None, Result.HTTP_ERROR),
    ],
)
def test_status_and_result(serve, fetch, status, location, result):
    extra = () if location is None else (f"Location: {location}",)
    server = serve(always(answer(b"" if status in (204, 304) else b"text", f"{status} Words", *extra)))
    response = fetch(server.url())
    assert (response.result, response.status) == (result, status)
    assert response.headers.get("location") == location
    assert len(server.heads) == 1  # nobody followed


def test_cookies_are_not_kept(serve, make):
    server = serve(always(answer(b"x", "200 OK", "Set-Cookie: a=b; Path=/")))
    downloader = make()
    for _ in range(2):
        drive(downloader, Request(server.url(), "127.0.0.1"))
    assert b"ookie" not in server.heads[1]


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "unheard-of"])
def test_a_coded_body_stays_coded(serve, fetch, coding):
    body = {"gzip": gzip.compress, "deflate": zlib.compress}.get(coding, bytes)(b"page" * 100)
    server = serve(always(answer(body, "200 OK", f"Content-Encoding: {coding}")))
    response = fetch(server.url())
    assert (response.result, response.body) == (Result.FETCHED, body)


def test_chunks_are_joined_and_trailers_are_no_headers(serve, fetch):
    chunks = b"5\r\nhello\r\n6;ext=1\r\n world\r\n0\r\nX-Trailer: HTTP/1.1\r\n\r\n"
    server = serve(always(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks))
    response = fetch(server.url())
    assert (response.result, response.body) == (Result.FETCHED, b"hello world")
    assert response.head.endswith(b"chunked\r\n\r\n")
    assert "x-trailer" not in response.headers


def test_interim_heads_are_left_out(serve, fetch):
    interim = b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n"
    server = serve(always(interim + interim + answer(b"page", "200 OK", "X-Final: yes")))
    response = fetch(server.url())
    assert (response.result, response.status, response.body) == (Result.FETCHED, 200, b"page")
    assert response.head == b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nX-Final: yes\r\n\r\n"
    assert "link" not in response.headers


def test_a_body_until_the_end_of_the_connection(serve, fetch):
    server = serve(once(b"HTTP/1.0 200 OK\r\n\r\nuntil the end"))
    assert (r := fetch(server.url())).result is Result.FETCHED
    assert r.body == b"until the end"


def test_bytes_beyond_content_length_belong_to_nobody(serve, make):
    server = serve(always(answer(b"short")[:-5] + b"short and more"))
    downloader = make()
    first, second = (drive(downloader, Request(server.url(), "127.0.0.1"))[0] for _ in range(2))
    assert first.body == second.body == b"short"
    assert first.result is second.result is Result.FETCHED


def test_connections_are_kept(serve, make):
    server = serve(always(answer(b"x" * 50_000)))
    downloader = make()
    for number in range(20):
        assert drive(downloader, Request(server.url(f"/{number}"), "127.0.0.1"))[0].result is Result.FETCHED
    assert (server.connections, len(server.heads)) == (1, 20)


def test_a_connection_closed_meanwhile_is_opened_again(serve, make):
    server = serve(once(answer()))
    downloader = make()
    for _ in range(5):
        assert drive(downloader, Request(server.url(), "127.0.0.1"))[0].result is Result.FETCHED
    assert server.connections == 5


def closing_at_the_second(visit: Visit) -> None:
    """Answer the first connection's first request, and close that connection when the second one has come."""
    while visit.request() and (visit.number > 1 or len(visit.heads) == 1):
        visit.send(answer())


@pytest.mark.parametrize("way", ["direct", "proxy", "tls"])
def test_a_connection_closed_just_as_it_was_used_again_is_tried_anew(serve, make, certificates, way):
    server = serve(closing_at_the_second, tls=certificates.server_context() if way == "tls" else None)
    proxy = Proxy("http", "127.0.0.1", server.port) if way == "proxy" else None
    downloader = make(proxy=proxy, ca_file=str(certificates.certificate))
    for _ in range(3):
        response = drive(downloader, Request(server.url(host="localhost"), "127.0.0.1"))[0]
        assert response.result is Result.FETCHED, response.detail
    assert (server.connections, len(server.heads)) == (2, 4)


def test_a_page_of_50_megabytes(serve, fetch):
    body = bytes(50_000_000)
    server = serve(always(answer(body)))
    whole = fetch(server.url(), max_body=50_000_000, timeout=20.0)
    assert (whole.result, len(whole.body)) == (Result.FETCHED, 50_000_000)
    part = fetch(server.url())
    assert (part.result, part.status, part.body) == (Result.TOO_LARGE, 200, body[:1_000_000])
    assert "1000000 bytes" in part.detail


def test_a_small_rest_is_read_out_a_large_one_is_not(serve, make):
    sizes = {"/small": 1_050_000, "/large": 9_000_000}

    def script(visit: Visit) -> None:
        while head := visit.request():
            visit.send(answer(bytes(sizes[head.split()[1].decode()])))

    server = serve(script)
    downloader = make()
    for path, connections in (("/small", 1), ("/small", 1), ("/large", 1), ("/small", 2)):
        response = drive(downloader, Request(server.url(path), "127.0.0.1"))[0]
        assert (response.result, len(response.body)) == (Result.TOO_LARGE, 1_000_000)
        assert server.connections == connections


def test_a_body_of_exactly_the_limit_is_whole(serve, fetch):
    server = serve(always(answer(b"12345")))
    assert fetch(server.url(), max_body=5).result is Result.FETCHED
    assert fetch(server.url(), max_body=4).body == b"1234"


@pytest.mark.parametrize("url", ["ftp://h/", "http://me:secret@127.0.0.1/", "http:///", "nonsense", "http://h/\u00e4"])
def test_what_cannot_be_asked_for_ends_as_a_value(make, url):
    tag = object()
    response = drive(make(), Request(url, "127.0.0.1", tag))[0]
    assert response.result is Result.CONNECT_FAILED
    assert response.request.tag is tag
    assert response.detail


@pytest.mark.parametrize(
    ("line", "status", "protocol"),
    [
        (b"HTTP/1.1\t200\tOK", 200, "http/1.1"),
        (b"HTTP/1.1 2000 OK", 0, ""),
        (b"HTTP/1.1 099 X", 0, ""),
    ],
)
def test_a_strange_status_line_is_understood_or_a_bad_answer(serve, fetch, line, status, protocol):
    server = serve(always(line + b"\r\nContent-Length: 2\r\n\r\nhi"))
    response = fetch(server.url())
    assert response.result is (Result.FETCHED if status else Result.BAD_ANSWER)
    assert response.status == status
    assert response.head[:17] == (b"HTTP/1.1 200 OK\r\n" if status else b"")
    assert (response.protocols.http if response.protocols else "") == protocol


def kept_alive(head):
    """Answer each request on a connection with a head and five bytes, and close it for who asks for that."""

    def script(visit):
        while asked := visit.request():
            visit.send(b"HTTP/1.1 200 OK\r\n" + head + b"\r\n\r\nhello")
            if b"\r\nConnection: close\r\n" in asked:
                return

    return script


@pytest.mark.parametrize(
    ("head", "result"),
    [
        (b"Content-Length: abc", Result.FETCHED),
        (b"Content-Length: -5", Result.FETCHED),
        (b"Content-Length:", Result.FETCHED),
        (b"Content-Length: 5 bytes\r\nContent-Length: 5 bytes", Result.FETCHED),
        (b"Content-Length: ,5", Result.FETCHED),
        (b"Content-Length: 5,\r\nContent-Length:", Result.FETCHED),
    ],
)
def test_a_length_that_is_none_is_ignored_when_that_is_asked_for(serve, make_curl, head, result):
    """Only with libcurl: the package requests does not look at what is no number at all."""
    server = serve(kept_alive(head))
    downloader = make_curl()
    for cookie, ignore in (("a=b", False), ("a=b", True), ("a=b", True), ("", False)):  # the same handle each time
        (response,) = drive(downloader, Request(server.url(), "127.0.0.1", cookie=cookie, ignore_length=ignore))
        wanted = result if ignore else Result.BAD_ANSWER
        assert (response.result, response.body) == (wanted, b"hello" if ignore else b"")
        assert ignore or response.detail == INVALID_LENGTH
        assert response.request_head == server.heads[-1]
        assert (head in response.head) is ignore


@pytest.mark.parametrize("second", ["\r\nContent-Length: 3", "\r\nContent-Length: abc", ", 3"])
def test_lengths_that_differ_make_no_answer_and_nobody_waits_for_its_end(serve, make_curl, second):
    """The connection stays open: nobody can tell where the body ends (RFC 9112, 6.3)."""

    def script(visit):
        while visit.request():
            visit.send(b"HTTP/1.1 200 OK\r\nContent-Length: 5" + second.encode() + b"\r\n\r\nhello")

    server = serve(script)
    downloader = make_curl()
    responses = [
        drive(downloader, Request(server.url(), "127.0.0.1", ignore_length=ignore))[0] for ignore in (False, True)
    ]
    assert [response.result for response in responses] == [Result.BAD_ANSWER] * 2
    assert responses[1].detail == "different values of Content-Length"
    assert (responses[0].detail == INVALID_LENGTH) is (second == ", 3"), "what comes in one line is asked for once more"
