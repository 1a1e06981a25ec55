"""Both downloaders: what nobody asked for is never taken for the answer to the next request."""

from __future__ import annotations

import socket
import threading

import pytest

from scrawler.fetch.downloader import Request
from scrawler.model.results import Result
from tests.integration.fetch.conftest import drive
from tests.integration.fetch.servers import RawServer, Visit, answer, path_of
from tests.limits import HANGS

OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
BEHIND = {
    "another answer": answer(b"nobody asked"),
    "an interim head": b"HTTP/1.1 103 Early Hints\r\n\r\n",
    "a line end": b"\r\n",
    "a body": b"<p>more",
}
BODILESS = {
    "204": b"HTTP/1.1 204 No Content\r\n\r\n",
    "304": b"HTTP/1.1 304 Not Modified\r\nContent-Length: 4\r\n\r\n",
    "length": OK + b"Content-Length: 2\r\n\r\nok",
    "chunks": OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
}


def send_at_once(visit: Visit) -> None:
    visit.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


class Talker:
    """A server that sends something behind an answer, at once or when it is told to, and says what it was asked."""

    def __init__(self, first: bytes, behind: bytes, late: bool) -> None:
        self.first, self.behind, self.late = first, behind, late
        self.may_talk, self.has_talked = threading.Event(), threading.Event()

    def __call__(self, visit: Visit) -> None:
        send_at_once(visit)
        while head := visit.request():
            path = path_of(head)
            if path != "/talks":
                visit.send(answer(path.encode()))
                continue
            visit.send(self.first if self.late else self.first + self.behind)
            if self.late:
                self.may_talk.wait(HANGS)
                visit.send(self.behind)
                self.has_talked.set()


def bodies(downloader, server: RawServer, *paths: str) -> list[str]:
    return [drive(downloader, Request(server.url(path), "127.0.0.1"))[0].body.decode() for path in paths]


@pytest.mark.parametrize("behind", BEHIND.values(), ids=BEHIND)
@pytest.mark.parametrize("first", BODILESS.values(), ids=BODILESS)
@pytest.mark.parametrize("late", [False, True], ids=["at once", "late"])
def test_what_lies_in_the_socket_is_not_the_next_answer(serve, make, first, behind, late):
    talker = Talker(first, behind, late)
    server = serve(talker)
    downloader = make()
    assert bodies(downloader, server, "/a") == ["/a"]
    bodies(downloader, server, "/talks")
    if late:
        talker.may_talk.set()
        assert talker.has_talked.wait(HANGS)
    assert bodies(downloader, server, "/b", "/c", "/d") == ["/b", "/c", "/d"]


def test_an_answer_with_another_behind_it_is_asked_for_again(serve, make):
    def script(visit: Visit) -> None:
        while head := visit.request():
            more = answer(b"of " + path_of(head).encode()) if visit.number == 1 and path_of(head) == "/b" else b""
            visit.send((answer(b"nobody asked") if more else b"") + (more or answer(b"of " + path_of(head).encode())))

    server = serve(script)
    assert bodies(make(), server, "/a", "/b", "/c") == ["of /a", "of /b", "of /c"]
    assert [path_of(head) for head in server.heads] == ["/a", "/b", "/b", "/c"]
    assert server.connections == 3  # from then on each has one of its own


def test_on_its_first_connection_an_answer_is_believed(serve, make):
    def script(visit: Visit) -> None:
        while head := visit.request():
            visit.send(answer(path_of(head).encode()) + b"\r\n")

    server = serve(script)
    assert bodies(make(), server, "/a", "/b", "/c") == ["/a", "/b", "/c"]
    assert len(server.heads) == server.connections == 3


@pytest.mark.parametrize("rest", [b"<p>the body of a 304", b"\r\n"])
def test_what_does_not_begin_as_an_answer_is_asked_for_again(serve, make, rest):
    """It came after the request was out, so that nothing lay in the socket before."""

    def script(visit: Visit) -> None:
        while head := visit.request():
            visit.send((rest if len(server.heads) == 2 else b"") + answer(path_of(head).encode()))

    server = serve(script)
    assert bodies(make(), server, "/a", "/b", "/c") == ["/a", "/b", "/c"]
    assert [path_of(head) for head in server.heads] == ["/a", "/b", "/b", "/c"]


def test_that_an_answer_was_another_ones_may_be_seen_when_the_next_request_begins(serve, make_curl):
    """Its own answer came after it was handed out, and before the next one was asked for."""
    let_go, is_there = threading.Event(), threading.Event()

    def script(visit: Visit) -> None:
        send_at_once(visit)
        while head := visit.request():
            if visit.number == 1 and path_of(head) == "/b":
                visit.send(answer(b"nobody asked"))
                let_go.wait(HANGS)
            visit.send(answer(path_of(head).encode()))
            if let_go.is_set():
                is_there.set()

    server = serve(script)
    downloader = make_curl()
    drive(downloader, Request(server.url("/a"), "127.0.0.1"))
    wrong = drive(downloader, Request(server.url("/b"), "127.0.0.1"))[0]
    assert wrong.body == b"nobody asked"
    let_go.set()
    assert is_there.wait(HANGS)
    assert bodies(downloader, server, "/c") == ["/c"]
    assert downloader.doubted == [wrong.request]


def test_over_tls(serve, make, certificates):
    talker = Talker(answer(b"talks"), answer(b"nobody asked " * 9), late=True)
    server = serve(talker, tls=certificates.server_context())
    downloader = make(ca_file=str(certificates.certificate))

    def body(path: str) -> bytes:
        return drive(downloader, Request(server.url(path, "localhost"), "127.0.0.1"))[0].body

    assert body("/a") == b"/a"
    assert body("/talks") == b"talks"
    talker.may_talk.set()
    assert talker.has_talked.wait(HANGS)
    assert [body("/b"), body("/c")] == [b"/b", b"/c"]


def test_what_is_as_it_should_be_is_asked_for_once_on_one_connection(serve, make):
    server = serve(Talker(b"", b"", late=False))
    downloader = make()
    assert bodies(downloader, server, "/1", "/2", "/3", "/4") == ["/1", "/2", "/3", "/4"]
    assert server.connections == 1
    refused = serve(lambda visit: [visit.send(answer(b"", "400 no", "Connection: close")) for _ in [visit.request()]])
    results = [drive(downloader, Request(refused.url(), "127.0.0.1"))[0].result for _ in range(2)]
    assert results == [Result.HTTP_ERROR] * 2
    assert len(refused.heads) == 2


def test_a_kept_connection_is_no_victim_of_many_requests_in_flight(serve, make):
    """With more in use than the limit, libcurl would close each behind its answer, as it does where more has come."""

    def script(visit: Visit) -> None:
        while head := visit.request():
            if path_of(head) == "/hangs":
                visit.hang()
            visit.send(answer(path_of(head).encode()))

    server, hanging = serve(script), serve(script)
    downloader = make(connections=1)
    if not downloader.at_once:
        pytest.skip("one at a time")
    assert bodies(downloader, server, "/a") == ["/a"]
    for number in range(1, 30):
        downloader.start(Request(hanging.url("/hangs"), "127.0.0.1", number))
    assert bodies(downloader, server, "/b", "/c") == ["/b", "/c"]
    assert [path_of(head) for head in server.heads] == ["/a", "/b", "/c"]
    assert server.connections == 1
    downloader.cancel()
