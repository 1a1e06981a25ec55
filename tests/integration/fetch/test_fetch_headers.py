"""Both downloaders: what is decided at the headers, and how much of a head is read; cookies on their way out."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from scrawler.fetch import wire
from scrawler.fetch.downloader import Request, Response
from scrawler.model.results import Result
from tests.integration.fetch.conftest import drive
from tests.integration.fetch.servers import Visit, always, answer
from tests.limits import HANGS

ACCEPT = ("text/html", "image/*")
KIB, MIB = 1 << 10, 1 << 20


class Pouring:
    """Answers with a large body, and knows how much of it was taken when the client hung up."""

    def __init__(self, size: int, chunked: bool) -> None:
        self.taken, self.over = 0, threading.Event()
        self._size, self._chunked = size, chunked

    def __call__(self, visit: Visit) -> None:
        while visit.request():
            framing = "Transfer-Encoding: chunked" if self._chunked else f"Content-Length: {self._size}"
            visit.send(f"HTTP/1.1 200 OK\r\nContent-Type: application/zip\r\n{framing}\r\n\r\n".encode())
            piece = b"2000\r\n" + bytes(8192) + b"\r\n" if self._chunked else bytes(8192)
            try:
                for _ in range(self._size // 8192):
                    visit.send(piece)
                    self.taken += 8192
                visit.send(b"0\r\n\r\n" if self._chunked else b"")
            finally:
                self.over.set()


@pytest.mark.parametrize("chunked", [False, True])
def test_an_unwanted_body_is_not_downloaded(serve: Callable, make: Callable, chunked: bool) -> None:
    pouring = Pouring(256 * MIB, chunked)
    server = serve(pouring)
    downloader = make(max_body=512 * MIB, timeout=60.0)
    response = drive(downloader, Request(server.url(), "127.0.0.1", accept=ACCEPT), seconds=60)[0]
    assert (response.result, response.status, response.body) == (Result.UNWANTED_TYPE, 200, b"")
    assert (response.content_type, response.detail) == ("application/zip", "application/zip is not accepted")
    assert response.head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert pouring.over.wait(HANGS)
    assert pouring.taken < 32 * MIB  # what the buffers of both sides hold


def test_a_small_unwanted_body_costs_no_connection(serve: Callable, make: Callable) -> None:
    server = serve(always(answer(bytes(20_000), "200 OK", "Content-Type: application/zip")))
    downloader = make()
    for _ in range(3):
        response = drive(downloader, Request(server.url(), "127.0.0.1", accept=ACCEPT))[0]
        assert (response.result, response.body) == (Result.UNWANTED_TYPE, b"")
    assert drive(downloader, Request(server.url(), "127.0.0.1"))[0].body == bytes(20_000)
    assert server.connections == 1


@pytest.mark.parametrize(
    ("status", "content_type", "result"),
    [
        ("200 OK", "Content-Type: text/html; charset=utf-8", Result.FETCHED),
        ("200 OK", "content-type:TEXT/HTML", Result.FETCHED),
        ("200 OK", "Content-Type: image/png", Result.FETCHED),
        ("200 OK", "Content-Type: text/plain", Result.UNWANTED_TYPE),
        ("200 OK", "Content-Type: application/xhtml+xml", Result.UNWANTED_TYPE),
        ("203 Perhaps", "Content-Type: imag/png", Result.UNWANTED_TYPE),
        ("200 OK", "X-None: 1", Result.FETCHED),
        ("200 OK", "Content-Type: ", Result.FETCHED),
        ("200 OK", "Content-Type: nonsense", Result.FETCHED),
        ("301 Moved", "Content-Type: text/plain\r\nLocation: /b", Result.REDIRECT),
        ("404 Not Found", "Content-Type: text/plain", Result.HTTP_ERROR),
    ],
)
@pytest.mark.parametrize("body", [b"", b"text"], ids=["empty", "body"])
def test_which_types_are_wanted(
    serve: Callable, make: Callable, status: str, content_type: str, result: Result, body: bytes
) -> None:
    server = serve(always(answer(body, status, content_type)))
    response = drive(make(), Request(server.url(), "127.0.0.1", accept=ACCEPT))[0]
    assert response.result is result
    assert response.body == (b"" if result is Result.UNWANTED_TYPE else body)


def test_the_accept_header_fits_what_is_wanted(serve: Callable, make: Callable) -> None:
    server = serve(always(answer()))
    for accept in (ACCEPT, ("*/*",)):
        drive(make(accept=accept), Request(server.url(), "127.0.0.1"))
    accepted = [line for head in server.heads for line in head.split(b"\r\n") if line.startswith(b"Accept:")]
    assert accepted == [b"Accept: text/html,image/*,*/*;q=0.1", b"Accept: */*"]


def test_a_cookie_goes_with_its_request_only(serve: Callable, make: Callable) -> None:
    """The handle and the connection are the same for all."""
    server = serve(always(answer()))
    downloader = make()
    for cookie in ("", "a=1; b=caf\xe9", "a=2", "a=2", ""):
        response: Response = drive(downloader, Request(server.url(), "127.0.0.1", cookie=cookie))[0]
        assert response.result is Result.FETCHED
        assert response.request_head == server.heads[-1]
        assert server.heads[-1].count(b"ookie") == bool(cookie)
        assert (f"\r\nCookie: {cookie}\r\n\r\n".encode("latin-1") in server.heads[-1]) is bool(cookie)
    assert server.connections == 1


def head(size: int, lines: int = 8) -> bytes:
    """Return an answer whose head has `size` bytes, spread over `lines` headers."""
    start, end = b"HTTP/1.1 200 OK\r\n", b"Content-Length: 4\r\n\r\n"
    room = size - len(start) - len(end)
    width = room // lines
    headers = b"".join(b"X: " + b"x" * (width - 5) + b"\r\n" for _ in range(lines - 1))
    headers += b"X: " + b"x" * (room - len(headers) - 5) + b"\r\n"
    return start + headers + end + b"page"


@pytest.mark.parametrize(
    ("data", "result"),
    [
        (head(128 * KIB), Result.FETCHED),
        (head(128 * KIB + 1), Result.BAD_ANSWER),
        (head(60_000, wire.MAX_LINES - 3), Result.FETCHED),
        (head(60_000, wire.MAX_LINES + 1), Result.BAD_ANSWER),
        (b"HTTP/1.1 103 Early\r\nLink: <a>\r\n\r\n" * 200 + answer(b"page"), Result.FETCHED),
        (b"HTTP/1.1 103 Early\r\nLink: <a>\r\n\r\n" * 400 + answer(b"page"), Result.BAD_ANSWER),
        (b"HTTP/1.1 200 " + b"O" * 150_000 + b"\r\nContent-Length: 4\r\n\r\npage", Result.BAD_ANSWER),
        (answer(b"page", "200 OK", *["Set-Cookie: a=b"] * 200), Result.FETCHED),
        (b"HTTP/1.1 200 OK\r\nContent-Length:\r\n 4\r\n\r\npage", Result.FETCHED),
    ],
    ids=["size", "too-large", "lines", "too-many-lines", "interims", "too-many-interims", "status", "cookies", "fold"],
)
def test_heads_are_bounded(serve: Callable, make: Callable, data: bytes, result: Result) -> None:
    server = serve(always(data))
    downloader = make(max_head=128 * KIB)
    for _ in range(2):
        response = drive(downloader, Request(server.url(), "127.0.0.1"))[0]
        assert response.result is result, response.detail
        if result is Result.FETCHED:
            assert (response.body, response.detail) == (b"page", "")
        else:
            assert (response.status, response.head, response.body) == (0, b"", b"")
            assert response.detail


@pytest.mark.parametrize("size", [1 * KIB, 4 * KIB])
def test_the_bound_of_heads_is_the_users(serve: Callable, make: Callable, size: int) -> None:
    for data, result in ((head(size), Result.FETCHED), (head(size + 1), Result.BAD_ANSWER)):
        response = drive(make(max_head=size), Request(serve(always(data)).url(), "127.0.0.1"))[0]
        assert response.result is result
    assert response.detail == f"head of more than {size} bytes"


def test_a_large_head_keeps_its_body_away(serve: Callable, make: Callable) -> None:
    """Also where the library itself would take the head."""
    over = threading.Event()
    taken = [0]

    def script(visit: Visit) -> None:
        visit.request()
        visit.send(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 2000 + b"\r\n")
        try:
            while taken[0] < 256 * MIB:
                visit.send(bytes(8192))
                taken[0] += 8192
        finally:
            over.set()

    response = drive(make(max_body=512 * MIB, timeout=60.0, max_head=4096), Request(serve(script).url(), "127.0.0.1"))[
        0
    ]
    assert response.result is Result.BAD_ANSWER
    assert over.wait(HANGS)
    assert taken[0] < 32 * MIB


def sent(head: bytes, name: str) -> list[str]:
    """The values of a header in a request's head."""
    lines = (line.partition(": ") for line in head.decode("latin-1").split("\r\n")[1:])
    return [value for one, _, value in lines if one.lower() == name]


def test_a_request_has_headers_of_its_own_and_the_next_one_does_not(serve: Callable, make: Callable) -> None:
    server = serve(always(answer(b"page", "200 OK", "Content-Type: text/html")))
    downloader = make()
    own = (("If-None-Match", '"x, y"'), ("Authorization", "Basic eDp5"))
    for headers, cookie in ((own, ""), ((), ""), (own, "a=b"), ((), "a=b"), (own[:1], "a=b"), ((), "")):
        response = drive(downloader, Request(server.url(), "127.0.0.1", headers=headers, cookie=cookie))[0]
        asked = server.heads[-1]
        for name in ("if-none-match", "authorization"):
            assert sent(asked, name) == [value for one, value in headers if one.lower() == name]
        assert sent(asked, "cookie") == ([cookie] if cookie else [])
        assert sent(asked, "user-agent") == ["scrawler-test (+mailto:test@example.test)"]
        assert sent(response.request_head, "if-none-match") == sent(asked, "if-none-match")  # as it is archived
    assert server.connections == 1


@pytest.mark.parametrize(
    ("headers", "status", "result"),
    [
        ((("If-None-Match", '"1"'),), "304 Not Modified", Result.NOT_MODIFIED),
        ((("if-modified-since", "Sun, 22 Nov 2026 20:00:00 GMT"),), "304 Not Modified", Result.NOT_MODIFIED),
        ((("If-None-Match", '"1"'),), "200 OK", Result.FETCHED),
        ((("If-None-Match", '"1"'),), "412 Precondition Failed", Result.HTTP_ERROR),
        ((("Authorization", "Basic eDp5"),), "304 Not Modified", Result.HTTP_ERROR),  # nobody has asked for that
        ((), "304 Not Modified", Result.HTTP_ERROR),
    ],
)
def test_an_answer_of_304_is_one_to_a_condition_only(
    serve: Callable, make: Callable, headers: tuple[tuple[str, str], ...], status: str, result: Result
) -> None:
    server = serve(always(f'HTTP/1.1 {status}\r\nETag: "1"\r\nContent-Length: 0\r\n\r\n'.encode()))
    downloader = make()
    for _ in range(2):
        response = drive(downloader, Request(server.url(), "127.0.0.1", headers=headers))[0]
        assert (response.result, response.status, response.body) == (result, int(status[:3]), b"")
        assert response.result.answered
        assert response.headers["etag"] == '"1"'
    assert server.connections == 1


@pytest.mark.parametrize("value", ["x\r\nX-More: 1", "x\ny", "x\0"])
def test_a_header_holds_no_other_one(serve: Callable, make: Callable, value: str) -> None:
    server = serve(always(answer(b"page", "200 OK", "Content-Type: text/html")))
    downloader = make()
    response = drive(downloader, Request(server.url(), "127.0.0.1", headers=(("If-None-Match", value),)))[0]
    assert response.result is Result.INTERNAL_ERROR
    assert drive(downloader, Request(server.url(), "127.0.0.1"))[0].result is Result.FETCHED
    assert not any(b"X-More" in head for head in server.heads)


def test_headers_do_not_go_along_to_another_origin() -> None:
    own = (("Authorization", "Basic eDp5"), ("If-None-Match", '"1"'), ("If-Range", '"1"'))
    request = Request("http://a.example/x", "192.0.2.1", max_body=9, cookie="a=b", headers=own, ignore_length=True)
    within = request.redirected("http://a.example/y", "192.0.2.1", "tag")
    assert within == Request("http://a.example/y", "192.0.2.1", "tag", max_body=9, headers=own[:1])
    for url in ("http://b.example/x", "https://a.example/x", "http://a.example:8080/x", "http://www.a.example/x"):
        assert request.redirected(url, "192.0.2.2", None) == Request(url, "192.0.2.2", max_body=9)
