"""What was tried against the endpoints; docs/explanation/who-may-push.md says what came of it."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from contextlib import ExitStack, closing, suppress

import pytest

from scrawler.features.push import app, server
from scrawler.features.push.intake import digest_of, new_key
from scrawler.features.push.store.pushes import Pushes
from scrawler.model.scope import Scope
from scrawler.store.engines.engine import open_database
from scrawler.urls.scope import site_key
from tests.integration.listen.conftest import KEY, Rig
from tests.limits import HANGS
from tests.torture.crawl import wait_for


def key_for(rig: Rig) -> str:
    """Make a key for pings."""
    with closing(open_database(rig.url)) as database:
        pushes = Pushes(database, 1, 1)
        site = pushes.site(site_key(rig.server.url("/"), Scope.HOST))
        assert site is not None
        key = new_key()
        pushes.add_key(site, rig.host, digest_of(key))
    return key


def test_pings_with_a_key_and_without(rig: Rig) -> None:
    key = key_for(rig)
    url = rig.server.url
    with rig.listening():
        assert rig.post_json("/ping", {"urls": [url("/one")]}, Authorization=f"Bearer {key}").status == 200
        assert rig.post_form("/ping", {"key": key, "url": url("/two")}).status == 200
        form = {"Content-Type": "application/x-www-form-urlencoded", "Authorization": f"Bearer {key}"}
        assert rig.ask("POST", "/ping", json.dumps({"urls": [url("/curl")]}).encode(), form).status == 200
        lines = f"{url('/three')}\n{url('/four')}\n".encode()
        assert rig.ask("POST", "/ping", lines, {"Authorization": f"Bearer {key}"}).said["accepted"] == 2
        assert rig.post_json("/ping", {"urls": [url("/five")]}).status == 401
        assert rig.post_json("/ping", {"urls": [url("/five")]}, Authorization="Bearer " + "x" * 43).status == 401
        elsewhere = {"urls": ["http://elsewhere.example/"]}
        assert rig.post_json("/ping", elsewhere, Authorization=f"Bearer {key}").status == 422
        assert rig.ask("GET", f"/ping?key={key}&url={url('/x')}").status == 405  # a key in a URL is in many logs
        assert rig.pushed() == {"/one", "/two", "/three", "/four", "/curl"}
    stored = rig.sql("SELECT key_hash FROM push_key")[0][0]
    assert bytes(stored) == digest_of(key)


def test_a_message_that_is_too_large_is_refused_however_its_length_is_told(rig: Rig) -> None:
    with rig.listening(largest=10_000):
        head = f"POST /indexnow HTTP/1.1\r\nHost: x\r\nContent-Length: {10**12}\r\n\r\n".encode()
        assert b" 413 " in rig.raw(head).partition(b"\r\n")[0]
        chunked = b"POST /ping HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        assert b" 413 " in rig.raw(chunked + b"4000\r\n" + b"x" * 0x4000 + b"\r\n").partition(b"\r\n")[0]
        assert rig.post_json("/ping", {"urls": ["x"]}, **{"Content-Encoding": "gzip"}).status == 415
        assert rig.sql("SELECT count(*) FROM pushed") == [(0,)]


def test_deep_json_ends_nothing(rig: Rig) -> None:
    with rig.listening():
        body = b"[" * 90_000
        assert rig.ask("POST", "/indexnow", body).status == 400
        assert rig.ask("POST", "/ping", body).status == 400
        assert rig.ask("GET", "/health").status == 200


@pytest.mark.parametrize(
    "head",
    [
        b"POST /ping HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST /ping HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
        b"POST /ping HTTP/1.1\r\nHost: x\r\nContent-Length: +5\r\n\r\nhello",
        b"POST /ping HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
        b"POST /ping HTTP/1.1\r\nHost: x\r\nHost: y\r\nContent-Length: 0\r\n\r\n",
        b"POST /ping HTTP/1.1\r\nHost: x\r\nX: a\r\n b\r\nContent-Length : 0\r\n\r\n",
        b"GET /health\x00 HTTP/1.1\r\nHost: x\r\n\r\n",
    ],
)
def test_requests_that_two_servers_would_read_in_two_ways_are_refused(rig: Rig, head: bytes) -> None:
    with rig.listening():
        answer = rig.raw(head)
        assert answer.startswith((b"HTTP/1.1 400", b"HTTP/1.1 501")) or answer == b""
        assert answer.count(b"HTTP/1.1 ") <= 1  # no second request was read out of the first one


def test_a_head_that_is_too_long_is_refused(rig: Rig) -> None:
    with rig.listening():
        answer = rig.raw(b"GET /health HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 40_000)
        assert answer == b"" or answer.startswith(b"HTTP/1.1 4")


def test_who_sends_slowly_is_given_up(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "_HEAD_TIME", 0.3)
    monkeypatch.setattr(app, "_BODY_TIME", 0.3)
    with rig.listening():
        assert rig.raw(b"GET /hea") == b""  # the connection ends: nothing was asked
        answer = rig.raw(b"POST /ping HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\n{")
        assert answer.startswith(b"HTTP/1.1 408 ")


def test_an_address_has_so_many_connections_and_others_go_on(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "_OF_AN_ADDRESS", 4)
    with rig.listening():
        held = [socket.create_connection(("127.0.0.1", rig.port), HANGS) for _ in range(4)]
        try:
            one_more = socket.create_connection(("127.0.0.1", rig.port), HANGS)
            with one_more, suppress(ConnectionResetError):
                assert one_more.recv(1) == b""
        finally:
            for sock in held:
                sock.close()
        rig.wait_until_it_answers()


def test_one_address_that_sends_slowly_leaves_room_for_others(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "_AT_WORK_EACH", 2)
    with rig.listening(), ExitStack() as held:
        for _ in range(2):
            slow = held.enter_context(socket.create_connection(("127.0.0.1", rig.port), HANGS))
            slow.sendall(b"POST /ping HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\n")
        wait_for(lambda: rig.post_json("/ping", {"urls": ["x"]}).status == 503, HANGS, "both are at work")
        other = http.client.HTTPConnection("127.0.0.1", rig.port, HANGS, source_address=("127.0.0.2", 0))
        with closing(other):
            other.request("POST", "/ping", b'{"urls": ["x"]}', {"Content-Type": "application/json"})
            assert other.getresponse().status == 401


def test_who_floods_is_told_to_wait(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "_BURST", 5.0)
    monkeypatch.setattr(server, "_RATE", 0.001)
    with rig.listening():
        answers = [rig.post_json("/ping", {"urls": ["x"]}) for _ in range(8)]
        assert [answer.status for answer in answers] == [401] * 5 + [429] * 3
        assert int(answers[-1].headers["retry-after"]) > 1
        assert rig.ask("GET", "/health").status == 200


def test_a_forged_address_counts_for_nothing_without_a_trusted_proxy(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "_BURST", 2.0)
    monkeypatch.setattr(server, "_RATE", 0.001)
    with rig.listening():
        answers = [
            rig.post_json("/ping", {"urls": ["x"]}, **{"X-Forwarded-For": f"192.0.2.{number}"}) for number in range(4)
        ]
        assert [answer.status for answer in answers] == [401, 401, 429, 429]


def test_many_senders_at_once_have_what_was_acknowledged(rig: Rig) -> None:
    key = key_for(rig)
    accepted: list[str] = []
    with rig.listening():

        def send(number: int) -> None:
            path = f"/page{number}"
            answer = rig.post_json("/ping", {"urls": [rig.server.url(path)]}, Authorization=f"Bearer {key}")
            if answer.status == 200:
                accepted.append(path)

        senders = [threading.Thread(target=send, args=(number,)) for number in range(20)]
        for sender in senders:
            sender.start()
        for sender in senders:
            sender.join()
    assert rig.pushed() == set(accepted)
    assert len(accepted) >= 10


def test_what_is_refused_writes_no_row_for_each_message(rig: Rig) -> None:
    with rig.listening():
        for number in range(20):
            rig.get("/indexnow", url=f"http://unknown{number}.example/", key=KEY)
    assert rig.sql("SELECT site_id, source, refused FROM push_tally") == [(0, "indexnow", 20)]


def test_a_message_is_judged_by_the_scope_and_the_length_of_urls(rig: Rig) -> None:
    key = key_for(rig)
    with rig.listening(max_url_length=100):
        body = {"urls": [rig.server.url("/ok"), rig.server.url("/" + "x" * 200), "http://elsewhere.example/", "no url"]}
        answer = rig.ask("POST", "/ping", json.dumps(body).encode(), {"Authorization": f"Bearer {key}"})
        assert answer.said["accepted"] == 1
        assert rig.pushed() == {"/ok"}
