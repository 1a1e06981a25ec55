"""The thread of one agent, and somebody who knows the secret and says whatever comes to mind."""

from __future__ import annotations

import itertools
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest

from scrawler.agents.agent import AgentPorts, AgentThread, Times
from scrawler.agents.members import MembersFile
from scrawler.agents.partition import AgentPartition
from scrawler.agents.standing import Standing
from scrawler.agents.views import View
from scrawler.exchange.communicator import Batch, Delivery, Item, Receipt
from scrawler.exchange.door import Door
from scrawler.model.scope import Scope
from scrawler.store.agents import Mail
from scrawler.store.engine import open_database
from scrawler.store.machines import Machines
from scrawler.urls.scope import site_key
from tests.limits import FAR, HANGS

pytest.importorskip("zmq")

from scrawler.exchange.tcp import TcpCommunicator

SECRET = b"a secret that is long enough"
TIMES = Times(beat=0.1, suspect=FAR / 2, dead=FAR)
NO_URLS = (
    "#//[",
    ".~&",
    "http://[",
    "]\\~:",
    "http:",
    "x" * 2000,
    "ftp://a.org/",
    "HTTP://B.org",
    "http://b.org@a.org/",
)
NOTES = ("beat", "ask", "report", "over", "how", "status", "no such thing", "x" * 64)
BODIES: tuple[dict[str, str | int | float], ...] = (
    {},
    {"view": 7, "wave": "x", "quiet": "no", "sent": 1.5, "received": "", "waiting": -1, "stirred": 1e308},
    {"wave": 10**4000, "view": "x" * 60_000},
    {"reply": "ipc:///tmp/x", "wave": -1},
)


class Speaker:
    """The thread of agent `a`, which has `b` for its only other member."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        listening: dict[str, str] = {}
        self.member = stack.enter_context(
            closing(TcpCommunicator("127.0.0.1:0", listening.get, Door("crawl", "b", SECRET)))
        )
        own = stack.enter_context(
            closing(
                TcpCommunicator("127.0.0.1:0", lambda name: self.members.address_of(name), Door("crawl", "a", SECRET))
            )
        )
        listening["a"] = own.address
        file = folder / "agents.txt"
        file.write_text(f"a {own.address}\nb {self.member.address}\n")
        self.members = MembersFile(file)
        self.database = stack.enter_context(closing(open_database(f"sqlite:///{folder / 'a.db'}")))
        one = Machines(self.database).register("here", os.getpid(), self.database.now(), "a", 1).id
        self.view = View({"a": 1, "b": 1})
        self.mail = Mail(self.database, one, Scope.HOST)
        self.failures: list[BaseException] = []
        self.stop = threading.Event()
        self.standing = Standing(FAR)
        ports = AgentPorts(
            holding=lambda: False,
            give_back_others=lambda: None,
            look_again=lambda: None,
            figures=dict,
            failed=self.failures.append,
            say=lambda line: None,
        )
        partition = AgentPartition(self.database, one, "a", self.view)
        self.thread = AgentThread(
            self.members, own, self.mail, partition, self.standing, TIMES, ports, self.stop, 10, OrderedDict()
        )
        self._wake = own.wake

    @contextmanager
    def running(self) -> Iterator[None]:
        self.thread.start()
        try:
            yield
        finally:
            self.stop.set()
            self._wake()
            self.thread.join(HANGS)
        assert not self.failures

    def receipt(self, batch: Batch) -> Receipt:
        """Send a batch, again as all senders do where a queue is full, until it is acknowledged; return the receipt."""
        until, again = time.monotonic() + HANGS, 0.0
        while time.monotonic() < until:
            assert not self.failures
            if time.monotonic() >= again:
                self.member.send(batch, "a")
                again = time.monotonic() + 1.0
            found = self.member.receive(1.0)
            if isinstance(found, Receipt) and found.number == batch.number:
                return found
        raise AssertionError(f"the agent takes no batch any more: {self.failures}")

    def waiting(self) -> list[str]:
        return [one.url for one in self.mail.letters(0, 1_000)]


@pytest.fixture
def speaker(tmp_path: Path) -> Iterator[Speaker]:
    with ExitStack() as stack:
        yield Speaker(tmp_path, stack)


def test_whatever_a_member_says_the_thread_goes_on_and_takes_what_is_its_own(speaker: Speaker) -> None:
    hosts = (f"http://{number}.example/" for number in itertools.count())
    mine, other = (next(url for url in hosts if speaker.view.owner(site_key(url, Scope.HOST)) == name) for name in "ab")
    b = speaker.member
    with speaker.running():
        for topic, body in itertools.product(NOTES, BODIES):
            assert b.tell(topic, body, "a")
        b.acknowledge(Delivery("a", "no such life", Batch(9, ())))  # it never was sent that
        items = [Item(number, url, 65_535, 65_535) for number, url in enumerate((*NO_URLS, other, mine), 1)]
        batch = Batch(1, tuple(items))
        assert speaker.receipt(batch).returned == {len(NO_URLS) + 1}, "what is no URL is not sent for ever"
        assert speaker.receipt(batch).returned == {len(NO_URLS) + 1}  # as if the receipt had been lost
        assert speaker.waiting() == [mine], "it is taken once"
        speaker.receipt(Batch(2, (Item(1, mine), Item(1, other), Item(1, mine))))  # one number for several
        assert not speaker.standing.over, "others do not end what this one has not found to be over"
    assert not speaker.failures
