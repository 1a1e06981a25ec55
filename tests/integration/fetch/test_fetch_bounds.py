"""Both downloaders: what an answer may take is bounded by what comes and is held, in whatever pieces that is."""

from __future__ import annotations

import tracemalloc

import pytest

from scrawler.fetch.downloader import Request
from scrawler.fetch.traffic import Traffic, most_beside
from scrawler.model.results import Result
from tests.integration.fetch.conftest import drive
from tests.integration.fetch.servers import Visit

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
SPARE = most_beside(0)


def test_a_body_in_tiny_chunks_takes_little_more_than_itself(serve, make):
    number = 60_000

    def script(visit: Visit) -> None:
        while visit.request():
            visit.send(CHUNKED + b"2\r\nab\r\n" * number + b"0\r\n\r\n")

    downloader = make(max_body=2 * number)
    request = Request(serve(script).url(), "127.0.0.1")
    tracemalloc.start()
    try:
        (response,) = drive(downloader, request)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert response.result is Result.FETCHED, response.detail
    assert response.body == b"ab" * number
    assert peak < 8 * len(response.body) + SPARE, "an object for each chunk would take 40 bytes and more"


FLOODS = {
    "extensions": (b"", b"1;" + b"x" * 30_000 + b"\r\na\r\n"),
    "an extension": (b"1;", b"x" * 65_536),
    "trailers": (b"1\r\na\r\n0\r\n", b"X-Trailer: y\r\n" * 1_000),
    "interim heads": (None, b"HTTP/1.1 102 Processing\r\nX: y\r\n\r\n" * 1_000),
}


@pytest.mark.parametrize("name", FLOODS)
def test_what_comes_beside_a_body_is_counted_and_stopped(serve, fetch, name):
    first, then = FLOODS[name]
    sent = [0]

    def script(visit: Visit) -> None:
        visit.request()
        visit.send(b"" if first is None else CHUNKED + first)
        while not visit.stopping.is_set():
            visit.send(then)
            sent[0] += len(then)

    response = fetch(serve(script).url())
    assert response.result in (Result.TOO_LARGE, Result.BAD_ANSWER), response.detail
    assert response.detail
    assert sent[0] < 64 << 20, "what lies in the buffers of both systems counts as sent"


def test_a_server_may_send_a_byte_at_a_time(serve, make_curl):
    size = SPARE // 4

    def script(visit: Visit) -> None:
        visit.request()
        visit.send(CHUNKED + b"1\r\na\r\n" * size + b"0\r\n\r\n")

    (response,) = drive(make_curl(), Request(serve(script).url(), "127.0.0.1"))
    assert response.result is Result.FETCHED, response.detail
    assert len(response.body) == size


def test_only_what_is_more_than_small_chunks_take_is_too_much():
    traffic = Traffic(1_000, 500)
    assert not traffic.may_be_too_much(1_000 + SPARE)
    assert traffic.may_be_too_much(1_001 + SPARE)
    assert not traffic.beside(1_000 + SPARE, 500)
    assert traffic.beside(1_001 + SPARE, 500) == SPARE + 1
    assert not traffic.may_be_too_much(1_002 + SPARE), "it was looked at just now"
    body = 10 << 20
    assert not traffic.beside(1_000 + 9 * body + SPARE, 500 + body)
    assert traffic.beside(1_001 + 9 * body + SPARE, 500 + body)
