"""What webhooks get: at least once, in order, under one id, whatever receivers say and whoever sends."""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import select, update

from scrawler.features.push.store.tables import webhook
from scrawler.features.push.telling.hooks import HookSender
from scrawler.features.push.telling.sender import HttpSender
from scrawler.features.push.webhooks import Hook, SettledChanges, Webhooks
from scrawler.features.revisit.log import Changes
from scrawler.store.claims.machines import Machines
from scrawler.store.engines.engine import Database
from scrawler.store.schema.tables import machine
from tests.integration.fetch.servers import answer
from tests.integration.push.conftest import Receiver, found

if TYPE_CHECKING:
    from pathlib import Path

Receive = Callable[..., Receiver]
KEY = b"0123456789abcdef"


def sender_of(database: Database, url: str, holder: str = "", http: HttpSender | None = None) -> HookSender:
    http = http or HttpSender(True, (), "Test/1.0")
    parts = Webhooks(database), Changes(database), SettledChanges(database)
    made = HookSender(url, KEY, "crawl", "1", *parts, http, holder or "no process 1 2")
    made.add()
    return made


def state(database: Database) -> Hook:
    row = database.rows(select(*(webhook.c[name] for name in Hook._fields)))[0]
    return Hook._make(row)


def test_changes_from_now_on_are_delivered_once_and_signed(database: Database, receive: Receive) -> None:
    found(database, 1, 2)
    receiver = receive()
    hook = sender_of(database, receiver.url)
    assert hook.step().delivered == 0, "what was found before is not for it"
    found(database, 3, 4)
    assert hook.step().delivered == 2
    assert hook.step().delivered == 0
    found(database, 5)
    assert hook.step().delivered == 1
    assert receiver.ids() == [3, 4, 5]
    signed = f"{receiver.header(0, 'webhook-id')}.{receiver.header(0, 'webhook-timestamp')}.".encode()
    code = hmac.new(KEY, signed + receiver.bodies[0], hashlib.sha256).digest()
    assert receiver.header(0, "webhook-signature") == f"v1,{base64.b64encode(code).decode()}"
    assert abs(int(receiver.header(0, "webhook-timestamp")) - time.time()) < 600
    assert (state(database).delivered, state(database).messages, state(database).error) == (3, 2, "")
    assert Webhooks(database).all()[0].waiting == 0


def test_what_fails_is_sent_again_as_it_was(database: Database, receive: Receive) -> None:
    receiver = receive(answer(b"", "503 Service Unavailable", "Retry-After: 100"), answer(b"", "302 Found"))
    hook = sender_of(database, receiver.url)
    found(database, 1, 2)
    assert hook.step().error == "it answers 503"
    found(database, 3)
    waits = state(database)
    assert 100_000 <= waits.next_at - waits.error_at < 101_000
    assert hook.step().delivered == 0, "it waits"
    assert len(receiver.heads) == 1
    assert hook.step(at_once=True).error == "it answers 302"
    assert state(database).tries == 2
    assert Webhooks(database).all()[0].waiting == 3
    # another process, after a kill: the same message under the same id
    database.retrying(lambda connection: connection.execute(update(webhook).values(held_until=0)))
    other = sender_of(database, receiver.url, "another process 3 4")
    assert other.step(at_once=True).delivered == 2
    assert other.step().delivered == 1
    assert receiver.ids() == [1, 2, 1, 2, 1, 2, 3]
    assert len({receiver.header(number, "webhook-id") for number in range(3)}) == 1
    assert len(set(receiver.bodies[:3])) == 1
    assert receiver.header(3, "webhook-id") != receiver.header(0, "webhook-id")
    assert hook.step(at_once=True).delivered == 0, "who was taken over sends nothing more"


def test_one_process_sends_at_a_time_until_it_is_gone(database: Database, receive: Receive) -> None:
    receiver = receive()
    hook = sender_of(database, receiver.url, "unknown namespace 1 1")
    assert hook.step().delivered == 0  # and has it now
    found(database, 1)
    other = sender_of(database, receiver.url, "another namespace 1 1")
    assert other.step().delivered == 0
    hook.release()
    assert other.step().delivered == 1


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_nothing_private_is_asked_unless_it_is_allowed(database: Database, receive: Receive) -> None:
    receiver = receive()
    hook = sender_of(database, receiver.url, http=HttpSender(False, (), "Test/1.0"))
    found(database, 1)
    assert "127.0.0.1, a private address: --webhook-private" in hook.step().error
    assert not receiver.heads
    named = receiver.url.replace("127.0.0.1", "hook.example")
    guarded = HttpSender(False, (), "Test/1.0", {"hook.example": "127.0.0.1"})
    assert "a private address" in guarded.send(named, [], b"{}", 5.0).error
    allowed = HttpSender(False, ("127.0.0.1",), "Test/1.0", {"hook.example": "127.0.0.1"})
    assert allowed.send(named, [], b"{}", 60.0).error == ""


@pytest.mark.parametrize(
    ("said", "error"),
    [
        (answer(b"x" * 1_000_000), ""),  # more than anybody reads
        (answer(b"", "410 Gone"), "it answers 410"),
        (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 50_000 + b"\r\n", "ead"),
        (b"nonsense\r\n\r\n", "HTTP/0.9"),
    ],
)
def test_what_receivers_say_is_bounded(receive: Receive, said: bytes, error: str) -> None:
    sent = HttpSender(True, (), "Test/1.0").send(receive(said).url, [], b"{}", 60.0)
    assert (sent.error == "") if not error else (error in sent.error), sent


def test_a_receiver_that_says_nothing_is_given_up(receive: Receive) -> None:
    began = time.monotonic()
    assert "timed out" in HttpSender(True, (), "Test/1.0").send(receive(b"").url, [], b"{}", 0.5).error
    assert time.monotonic() - began < 60


@pytest.mark.parametrize("database_url", ["mariadb", "postgresql"], indirect=True)
def test_nothing_is_left_out_that_is_committed_late(database: Database, receive: Receive, tmp_path: Path) -> None:
    """A machine has an id before another one's row is there; it may commit, or never do so."""
    receiver = receive()
    hook = sender_of(database, receiver.url)
    alive = Machines(database).register("host", os.getpid(), database.now()).id
    found(database, 1, 3)
    assert hook.step().delivered == 1
    found(database, 2)
    assert hook.step().delivered == 2
    found(database, 5)
    assert hook.step().delivered == 0

    def commits(connection: object) -> None:
        connection.execute(update(machine).where(machine.c.id == alive).values(checkpoints=machine.c.checkpoints + 1))  # type: ignore[attr-defined]

    database.retrying(commits)
    assert hook.step().delivered == 1, "what was on its way then is there, or never comes"
    assert receiver.ids() == [1, 2, 3, 5]
