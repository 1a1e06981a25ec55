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

from scrawler.assembly.building import built
from scrawler.clocks import boot_clock
from scrawler.features.cluster.agents.agent import AgentPorts, AgentThread, Times
from scrawler.features.cluster.agents.members import MembersFile
from scrawler.features.cluster.agents.partition import AgentPartition
from scrawler.features.cluster.agents.run import AgentRun
from scrawler.features.cluster.agents.standing import Standing
from scrawler.features.cluster.agents.views import View
from scrawler.features.cluster.exchange.communicator import Batch, Delivery, Item, Receipt
from scrawler.features.cluster.exchange.door import Door
from scrawler.features.cluster.exchange.tcp import TcpCommunicator
from scrawler.features.cluster.identity import NamedMachine
from scrawler.features.cluster.store.agents import Mail
from scrawler.model.scope import Scope
from scrawler.settings import Settings
from scrawler.store.claims.crawls import Crawls
from scrawler.store.claims.machines import Machines
from scrawler.store.engines.engine import open_database
from scrawler.urls.scope import site_key
from tests.limits import FAR, HANGS
from tests.torture.crawl import wait_for

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
        one = Machines(self.database).register("here", os.getpid(), self.database.now(), NamedMachine("a")).id
        self.view = View({"a": 1, "b": 1})
        self.mail = Mail(self.database, one, Scope.HOST)
        self.failures: list[BaseException] = []
        self.more: list[set[str]] = []  # by whom it went when it found more members in its list than before
        self.stop = threading.Event()
        self.late = 0.0  # seconds that whoever asks takes the thread to be late
        self.went_on = threading.Event()
        self.standing = Standing(FAR, awake=FAR, clock=lambda: boot_clock() + self.late)
        ports = AgentPorts(
            holding=lambda: False,
            give_back_others=lambda: None,
            look_again=lambda: None,
            go_on=self.went_on.set,
            figures=dict,
            more_members=self._note_more,
            failed=self.failures.append,
            say=lambda line: None,
        )
        self.partition = AgentPartition(self.database, one, "a", self.view)
        self.thread = AgentThread(
            self.members, own, self.mail, self.partition, self.standing, TIMES, ports, self.stop, 10, OrderedDict()
        )
        self._wake = own.wake
        self._file, self._list = file, file.read_text()

    def name_members(self, *further: str) -> None:
        """Write another list of agents: these as well, who never say anything."""
        self._file.write_text(self._list + "".join(f"{one} tcp://127.0.0.1:{9 + n}\n" for n, one in enumerate(further)))

    def _note_more(self) -> None:
        self.more.append({*self.partition.map.view.weights})

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


def test_who_was_refused_because_the_thread_was_late_for_a_moment_is_woken(speaker: Speaker) -> None:
    """To itself it has not slept, so that nothing else would wake whoever asked."""
    with speaker.running():
        speaker.late = 2 * FAR
        assert not speaker.standing.may_ask()
        speaker.late = 0.0
        assert speaker.went_on.wait(HANGS)
        assert speaker.standing.may_ask()


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


def test_a_heartbeat_that_was_overtaken_says_nothing_of_views(speaker: Speaker) -> None:
    """Who believed it would claim sites that their owner of a view since has by now."""
    view, numbers = speaker.view.version, itertools.count(1)

    def says(said: str, number: int) -> bool:
        """Let `b` say so, and whatever else until that is heard; return whether views agree then."""
        until = time.monotonic() + HANGS
        while not speaker.member.tell("beat", {"view": said, "number": number}, "a"):
            assert time.monotonic() < until
        speaker.receipt(Batch(next(numbers), ()))
        return speaker.standing.agreed

    with speaker.running():
        wait_for(lambda: not speaker.partition.moving, HANGS, "that nothing of others is held")
        assert says(view, 7)
        assert says("another", 6)
        assert not says("another", 8)
        assert not says(view, 7)
        assert says(view, 9)
    assert not speaker.failures


def test_with_more_members_their_parts_are_smaller_before_anybody_goes_by_them(speaker: Speaker) -> None:
    def goes_by(*names: str) -> bool:
        return {*speaker.partition.map.view.weights} == {*names}

    with speaker.running():
        speaker.name_members("c", "d")
        wait_for(lambda: goes_by("a", "b", "c", "d"), HANGS, "a view with them")
        speaker.name_members()
        wait_for(lambda: goes_by("a", "b"), HANGS, "a view without them")
        speaker.name_members("c")
        wait_for(lambda: goes_by("a", "b", "c"), HANGS, "a view with one of them")
        speaker.name_members("c", "d", "e")
        wait_for(lambda: goes_by("a", "b", "c", "d", "e"), HANGS, "a view with five")
    assert speaker.more == [{"a", "b"}, {"a", "b", "c"}]


def test_the_part_of_an_address_never_grows_in_a_life(tmp_path: Path) -> None:
    """So all together are never more than `per_ip`: who knows only a shorter list is in no view with the others."""
    file = tmp_path / "agents.txt"
    secret = tmp_path / "secret"
    secret.write_bytes(SECRET)

    def name(members: str) -> None:
        file.write_text("".join(f"{one} tcp://127.0.0.1:{port}\n" for port, one in enumerate(members, 9)))

    name("ab")
    given = Settings(agents=file, agent="a", exchange_secret_file=secret, per_ip=8, delay_per_ip=0.5)
    with closing(open_database(f"sqlite:///{tmp_path / 'a.db'}")) as database:
        crawl = Crawls(database).open("crawl", Scope.HOST)
        building = built(Settings(), crawl, 1, database, print, threading.Event())
        building.settings = given
        run = AgentRun(building)
        parts = [run.settings_of(given).per_ip]
        for members in ("abc", "ab", "abcde", "abcdefghij"):
            name(members)
            assert run.members.look() is None
            parts.append(run.settings_of(given).per_ip)
        longest = run.settings_of(given).delay_per_ip
    assert parts == [4, 2, 2, 1, 1]
    assert longest == 5.0
