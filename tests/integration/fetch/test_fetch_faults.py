"""Both downloaders: every fault of the web is a value with a reason."""

from __future__ import annotations

import dataclasses
import socket
import time

import pytest

from scrawler.fetch import wire
from scrawler.fetch.downloader import Request
from scrawler.model.proxy import Proxy
from scrawler.model.results import Result
from tests.integration.fetch.conftest import LIMITS, drive
from tests.integration.fetch.servers import Visit, always, answer, once

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def check(response, result: Result) -> None:
    assert response.result is result, response.detail
    assert response.detail
    assert "\n" not in response.detail


def test_never_answers(serve, fetch):
    def script(visit: Visit) -> None:
        visit.request()
        visit.hang()

    server = serve(script)
    began = time.monotonic()
    response = fetch(server.url(), timeout=0.5)
    check(response, Result.TIMEOUT)
    took = time.monotonic() - began
    assert took > 0.4
    assert response.request_head == server.heads[0]
    assert 400 <= response.elapsed_ms <= 1000 * took + 1


def test_connection_refused(fetch):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    response = fetch(f"http://127.0.0.1:{port}/")
    check(response, Result.CONNECT_FAILED)
    assert (response.status, response.head, response.request_head) == (0, b"", b"")


def test_accepts_and_says_nothing_of_tls(serve, fetch):
    server = serve(lambda visit: visit.hang())
    check(fetch(f"https://127.0.0.1:{server.port}/", connect_timeout=0.5), Result.TIMEOUT)


def test_tls_asked_of_a_plain_server(serve, fetch):
    server = serve(lambda visit: visit.send(b"HTTP/1.1 400 no\r\n\r\n"))
    check(fetch(f"https://127.0.0.1:{server.port}/"), Result.TLS_FAILED)


@pytest.mark.parametrize(
    ("data", "body"),
    [
        (b"", b""),
        (b"HTTP/1.1 200 OK\r\nContent-Le", b""),
        (answer(b"x" * 100)[:-60], b"x" * 40),
        (CHUNKED + b"5\r\nhello\r\n5\r\nwo", None),
        (CHUNKED + b"5\r\nhello\r\n", b"hello"),
    ],
    ids=["nothing", "in-head", "content-length-too-long", "in-chunk", "before-last-chunk"],
)
def test_cut(serve, fetch, data, body):
    response = fetch(serve(once(data)).url())
    check(response, Result.CUT)
    if body is not None:
        assert response.body == body


def test_reset_in_the_body(serve, fetch):
    def script(visit: Visit) -> None:
        visit.request()
        visit.send(answer(b"x" * 1000)[:-500])
        visit.reset()

    check(fetch(serve(script).url()), Result.CUT)


@pytest.mark.parametrize(
    "data",
    [
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"<html><p>an answer as of HTTP/0.9",
        b"\x00\x01\x02\xff" * 100,
        b"HTTP/1.1 abc OK\r\n\r\n",
    ],
    ids=["ssh", "http-0.9", "binary", "status"],
)
def test_not_http(serve, fetch, data):
    response = fetch(serve(once(data)).url())
    check(response, Result.BAD_ANSWER)
    assert response.status == 0


@pytest.mark.parametrize("interim", [False, True], ids=["headers", "interim-heads"])
def test_head_without_end(serve, fetch, interim):
    piece = b"HTTP/1.1 103 Early\r\nLink: <a>\r\n\r\n" * 100 if interim else b"X-Filler: " + b"x" * 4000 + b"\r\n"

    def script(visit: Visit) -> None:
        visit.request()
        visit.send(b"" if interim else b"HTTP/1.1 200 OK\r\n")
        while not visit.stopping.is_set():
            visit.send(piece)

    check(fetch(serve(script).url()), Result.BAD_ANSWER)


def test_head_byte_by_byte_ends_with_the_timeout(serve, fetch):
    def script(visit: Visit) -> None:
        visit.request()
        visit.send(b"HTTP/1.1 200 OK\r\n")
        while not visit.stopping.wait(0.05):
            visit.send(b"X")

    check(fetch(serve(script).url(), timeout=0.6), Result.TIMEOUT)


def test_body_byte_by_byte_ends_with_the_timeout(serve, fetch):
    def script(visit: Visit) -> None:
        visit.request()
        visit.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        while not visit.stopping.wait(0.05):
            visit.send(b"x")

    response = fetch(serve(script).url(), timeout=2.0)  # time enough for the head
    check(response, Result.TIMEOUT)
    assert response.status == 200


@pytest.mark.parametrize("chunked", [False, True])
def test_endless_body(serve, fetch, chunked):
    piece = b"1000\r\n" + b"x" * 4096 + b"\r\n" if chunked else b"x" * 4096

    def script(visit: Visit) -> None:
        visit.request()
        visit.send(CHUNKED if chunked else b"HTTP/1.1 200 OK\r\n\r\n")
        while not visit.stopping.is_set():
            visit.send(piece)

    response = fetch(serve(script).url(), max_body=100_000)
    check(response, Result.TOO_LARGE)
    assert response.body == b"x" * 100_000


def test_one_bad_server_does_not_spoil_the_next_request(serve, make):

    bad, good = serve(once(b"garbage\r\n")), serve(always(answer()))
    downloader = make()
    for server, result in ((bad, Result.BAD_ANSWER), (good, Result.FETCHED), (bad, Result.BAD_ANSWER)):
        assert drive(downloader, Request(server.url(), "127.0.0.1"))[0].result is result


@pytest.mark.parametrize(
    "data",
    [
        b"\n",
        b"\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi",
        b"HTTP/1.1 103 E\r\n\r\n\r\nHTTP/1.1 200 OK\r\n\r\nx",
        b"HTTP/1.1 103 E\r\n\r\nHTTP/2 x\r\n\r\n",
        b"HTTP/2\r\n\r\n",
        b"HTTP/2 x\r\n\r\n",
        b"HTTP/1.1 000 OK\r\n\r\n",
    ],
)
def test_a_head_without_a_status_is_a_bad_answer(serve, fetch, data):
    response = fetch(serve(once(data)).url())
    check(response, Result.BAD_ANSWER)
    assert (response.status, response.head, response.headers) == (0, b"", {})


def test_a_stray_line_end_behind_a_body_spoils_one_answer_at_most(serve, make):
    """The connection that it stands on is given up at once: what comes next there is no head."""
    server = serve(always(answer(b"hello") + b"\r\n"))
    downloader = make()
    results = [drive(downloader, Request(server.url(), "127.0.0.1"))[0].result for _ in range(6)]
    assert results.count(Result.FETCHED) >= 3
    assert set(results) <= {Result.FETCHED, Result.BAD_ANSWER}


def test_what_a_downloader_cannot_cope_with_is_a_result(serve, make, monkeypatch):
    """The answer beside it comes through, and the downloader goes on."""
    parse = wire.parse_headers

    def parse_but(head: bytes) -> dict[str, str]:
        if b"X-Bad" in head:
            raise KeyError("spoilt\nhead")
        return parse(head)

    monkeypatch.setattr(wire, "parse_headers", parse_but)
    monkeypatch.setattr(wire, "COMPILED", None)
    bad, good = serve(always(answer(b"x", "200 OK", "X-Bad: 1"))), serve(always(answer(b"good")))
    downloader = make()
    for _ in range(2):
        responses = drive(downloader, *(Request(server.url(), "127.0.0.1") for server in (bad, good)))
        by_url = {response.request.url: response for response in responses}
        assert by_url[good.url()].body == b"good"
        spoilt = by_url[bad.url()]
        check(spoilt, Result.INTERNAL_ERROR)
        assert spoilt.detail.startswith("KeyError: ")
        assert "at scrawler/fetch/" in spoilt.detail or "at scrawler/features/classic/" in spoilt.detail
        assert "spoilt" in spoilt.fault.trace


def test_a_fault_while_the_body_comes_is_a_result(serve, make_curl, monkeypatch, capfd):
    monkeypatch.setattr(wire, "usual_head", lambda lines: 1 // 0)
    response = drive(make_curl(), Request(serve(always(answer(b"x"))).url(), "127.0.0.1"))[0]
    check(response, Result.INTERNAL_ERROR)
    assert response.detail.startswith("ZeroDivisionError")
    assert not capfd.readouterr().err


def test_what_libcurl_does_not_take_is_a_result(make_curl):
    """No URL or cookie of a crawl is like that, for both are cleaned; were one not, it would be its own fault alone."""
    downloader = make_curl()
    for request in (
        Request("http://127.0.0.1:2/\0", "127.0.0.1"),
        Request("http://127.0.0.1:2/", "127.0.0.1", cookie="\0"),
    ):
        check(drive(downloader, request)[0], Result.INTERNAL_ERROR)
    check(drive(downloader, Request("http://127.0.0.1:2/", "127.0.0.1"))[0], Result.CONNECT_FAILED)


def test_a_request_for_which_no_handle_can_be_made_is_a_fault_of_its_own(serve, make_curl):
    """Libcurl takes no proxy with a zero byte in it; no setting lets one through."""
    downloader, good = make_curl(), serve(always(answer(b"good")))
    limits = dataclasses.replace(LIMITS, proxy=Proxy("http", "a\0b", 80))
    downloader.start(Request(good.url(), "127.0.0.1", limits=limits))
    assert downloader.in_flight == 1
    [response] = downloader.completed()
    check(response, Result.INTERNAL_ERROR)
    assert downloader.in_flight == 0
    assert drive(downloader, Request(good.url(), "127.0.0.1"))[0].body == b"good"
