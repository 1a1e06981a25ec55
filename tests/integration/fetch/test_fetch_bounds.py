"""Both downloaders: what an answer may take is bounded by what comes and is held, in whatever pieces that is."""

from __future__ import annotations

import threading
import tracemalloc

import pytest

from scrawler.fetch import transfer
from scrawler.fetch.bodies import FREE, SOME, BodyRoom
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


class Room(BodyRoom):
    """Room for bodies, that knows how much of it was taken at most."""

    def __init__(self, most: int) -> None:
        super().__init__(most)
        self.most = 0
        self.has_two = threading.Event()  # whether two bodies have all the room that they need

    def take(self, held: int, wanted: int) -> bool:
        has_room = super().take(held, wanted)
        self.most = max(self.most, self._some + self._all)
        if has_room and self._all >= 2 * wanted:
            self.has_two.set()
        return has_room

    def is_free(self) -> bool:
        return self._some + self._all + self.waiting == 0


@pytest.mark.parametrize("says_length", [True, False])
def test_bodies_that_find_no_room_wait_for_it_and_come_whole(serve, make_curl, says_length):
    size, number = 3 << 20, 8
    body = bytes(range(256)) * (size // 256)

    def script(visit: Visit) -> None:
        visit.request()
        head = f"Content-Length: {size}" if says_length else "Connection: close"
        visit.send(f"HTTP/1.1 200 OK\r\n{head}\r\n\r\n".encode() + body)

    server, room = serve(script), Room(8 << 20)
    downloader = make_curl(max_body=4 << 20, bodies=room)
    done = drive(downloader, *(Request(server.url(f"/{at}"), "127.0.0.1") for at in range(number)))
    assert [response.result for response in done] == [Result.FETCHED] * number
    assert all(response.body == body for response in done)
    assert room.most <= 8 << 20
    downloader.close()
    assert room.is_free()


@pytest.mark.interpreted("shortens a time")
def test_a_body_that_comes_no_more_gives_way_to_one_that_waits(serve, make_curl, monkeypatch):
    monkeypatch.setattr(transfer, "IDLE", 0.3)
    size = 3 << 20

    def script(visit: Visit) -> None:
        hangs = b"/hangs" in visit.request()
        visit.send(f"HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n".encode() + bytes(size - hangs))
        if hangs:
            visit.hang()

    server, room = serve(script), Room(8 << 20)
    holders, other = make_curl(max_body=size, bodies=room), make_curl(max_body=size, bodies=room)
    ended = []

    def hold() -> None:
        ended.extend(drive(holders, *(Request(server.url(f"/hangs/{at}"), "127.0.0.1") for at in (1, 2))))
        holders.wait(0.001)  # as a collector does that has read what came

    thread = threading.Thread(target=hold)
    thread.start()
    assert room.has_two.wait(60)  # what was sent need not have come
    (response,) = drive(other, Request(server.url("/comes"), "127.0.0.1"))
    assert response.result is Result.FETCHED, response.detail
    server.stop()
    thread.join()
    assert any(one.result is Result.TIMEOUT and "others waited" in one.detail for one in ended)


def test_room_is_for_bodies_that_can_come_to_their_end():
    room = BodyRoom(8 << 20)
    assert room.take(0, SOME)
    assert not room.take(0, SOME), "a quarter is for those that may want more"
    assert room.take(SOME, 6 << 20)
    assert room.take(0, SOME), "who has all that it may need is no more among those"
    assert not room.take(0, 3 << 20)
    assert not room.take(SOME, 3 << 20)
    room.give_back(6 << 20)
    assert room.take(SOME, 100 << 20), "a single one may be as large as it is"
    assert not room.take(0, SOME + 1)
    room.give_back(100 << 20)
    assert room.take(0, SOME)
    assert FREE < SOME
