"""What strangers do at the port of a member, in crowds: it hears its members on, and is none the larger for it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from scrawler.features.cluster.exchange.communicator import MAX_MESSAGE, MOST_STRANGERS, Batch, Item, Note, Receipt
from scrawler.features.cluster.exchange.door import Door
from scrawler.features.cluster.exchange.handshake import GREETING, HELLO
from scrawler.features.cluster.exchange.inbound import MOST_HELD
from scrawler.features.cluster.exchange.sockets import split_address
from scrawler.features.cluster.exchange.tcp import TcpCommunicator
from tests.integration.cluster.strangers import ATTACKS, crowd
from tests.integration.cluster.wire import SECRET, dial, exactly, hello, is_ended, is_open, proved, reset
from tests.limits import HANGS
from tests.torture.crawl import wait_for

FLOOD = 150  # connections

# Echoes notes, and says what it has dropped; with an argument it may have so many files open, and receives nothing.
MEMBER = """
import resource, sys
from scrawler.features.cluster.exchange.communicator import Delivery, Note
from scrawler.features.cluster.exchange.door import Door
from scrawler.features.cluster.exchange.tcp import TcpCommunicator
door = Door("crawl", "b", b"a secret that is long enough")
communicator = TcpCommunicator("127.0.0.1:0", {"a": sys.argv[1]}.get, door)
print(communicator.address, flush=True)
if len(sys.argv) > 2:
    resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[2]), int(sys.argv[2])))
while True:
    found = communicator.receive(600)
    if isinstance(found, Note):
        communicator.tell("echo", {**found.body, "dropped": " ".join(communicator.dropped())}, found.sender)
    elif isinstance(found, Delivery):
        communicator.acknowledge(found)
"""


class Pair:
    """A member in this process, `a`, and `b` in another one."""

    def __init__(self, *given: str) -> None:
        self.addresses: dict[str, str] = {}
        self.a = TcpCommunicator("127.0.0.1:0", self.addresses.get, Door("crawl", "a", SECRET))
        self.b = subprocess.Popen(
            [sys.executable, "-c", MEMBER, self.a.address, *given], stdout=subprocess.PIPE, text=True
        )
        assert self.b.stdout is not None
        self.address = self.addresses["b"] = self.b.stdout.readline().strip()
        self._number = 0

    def close(self) -> None:
        """End both."""
        self.a.close()
        self.b.kill()
        self.b.wait()
        assert self.b.stdout is not None
        self.b.stdout.close()

    def echoes(self) -> str:
        """Send a note, until it comes back; return what `b` has dropped."""
        self._number += 1
        number = self._number
        while True:
            self.a.tell("n", {"n": number}, "b")
            found = self.a.receive(0.5)
            while found is not None and not (isinstance(found, Note) and found.body["n"] == number):
                found = self.a.receive(0)
            if isinstance(found, Note):
                return str(found.body["dropped"])

    def resident(self) -> int:
        """Bytes of memory that `b` has."""
        pages = int(Path(f"/proc/{self.b.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def files(self) -> int:
        """Files and sockets that `b` has open."""
        return len(os.listdir(f"/proc/{self.b.pid}/fd"))

    def seconds(self) -> float:
        """Processor time that `b` has taken."""
        fields = Path(f"/proc/{self.b.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.fixture
def pair() -> Iterator[Pair]:
    with closing(Pair()) as made:
        made.echoes()
        yield made


pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")


def test_crowds_of_strangers_take_no_memory_and_no_files_and_members_get_through(pair: Pair) -> None:
    before, files = pair.resident(), pair.files()
    told = set()
    for attack, reason in ATTACKS.items():
        with crowd(pair.address, FLOOD) as strangers:
            for one in strangers:
                try:
                    attack(pair.address, one)
                except OSError:  # it is rid of already
                    one.close()
            assert pair.files() <= files + MOST_STRANGERS + 2
            told.add(reason)
            while not told <= {"", *pair.echoes().split()}:
                pass
    assert pair.resident() < before + 30_000_000
    wait_for(lambda: pair.files() <= files + 2, HANGS, "that all strangers are rid of")
    assert set(pair.echoes().split()) == told - {""}


def test_the_one_goes_that_has_waited_longest_of_those_from_where_most_come(pair: Pair) -> None:
    """One host's crowd does not keep out others."""
    with ExitStack() as stack:
        place = split_address(pair.address.removeprefix("tcp://"))
        far = stack.enter_context(socket.create_connection(place, HANGS, source_address=("127.0.0.2", 0)))
        greeting = exactly(far, GREETING)
        strangers = stack.enter_context(crowd(pair.address, FLOOD))
        assert all(is_ended(one) for one in strangers[:-MOST_STRANGERS])
        far.sendall(hello(greeting))
        assert len(exactly(far, 32)) == 32


def test_what_was_said_in_another_connection_proves_nothing(pair: Pair) -> None:
    """A member's own words are sent back to it, and to another one, by somebody who stands where a member was."""
    with socket.create_server(("127.0.0.1", 0)) as listener, dial(pair.address) as stranger:
        pair.addresses["b"] = f"tcp://127.0.0.1:{listener.getsockname()[1]}"
        pair.a.tell("n", {"n": 0}, "b")
        victim, _ = listener.accept()
        with victim, dial(pair.a.address) as mirror:
            victim.sendall(exactly(mirror, GREETING))
            said = exactly(victim, HELLO)
            mirror.sendall(said)  # to the one who has said it
            assert is_ended(mirror)
            exactly(stranger, GREETING)
            stranger.sendall(said)  # to another one, whose greeting was another one
            assert is_ended(stranger)
    pair.addresses["b"] = pair.address
    pair.echoes()


def test_a_handshake_by_single_bytes_is_one(pair: Pair) -> None:
    with dial(pair.address) as one:
        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in hello(exactly(one, GREETING)):
            one.sendall(bytes([byte]))
        assert len(exactly(one, 32)) == 32


def test_members_that_send_half_a_message_take_no_more_than_there_is_room_for(pair: Pair) -> None:
    """A message that is whole gets through as soon as some of them are gone, and one connection is a life's."""
    before = pair.resident()
    with ExitStack() as stack:
        halves = [stack.enter_context(proved(pair.address)) for _ in range(3 * MOST_HELD // MAX_MESSAGE)]
        for one in halves:
            one.setblocking(False)
            one.send(MAX_MESSAGE.to_bytes(4) + b"x" * (MAX_MESSAGE - 1))
        assert pair.resident() < before + MOST_HELD + 30_000_000
        for one in halves:
            reset(one)
        pair.echoes()
        lives = [stack.enter_context(proved(pair.address, b"x" * 16)) for _ in range(10)]
        assert all(is_ended(one) for one in lives[:-1])
        assert is_open(lives[-1])
    pair.echoes()


def test_a_flood_of_connections_keeps_no_member_out(pair: Pair) -> None:
    over = threading.Event()

    def flood() -> None:
        while not over.is_set():
            reset(dial(pair.address))

    threads = [threading.Thread(target=flood) for _ in range(2)]
    for one in threads:
        one.start()
    try:
        for _ in range(8):
            pair.echoes()
            with proved(pair.address):  # a new one gets in as well
                pass
    finally:
        over.set()
        for one in threads:
            one.join()


def test_without_files_a_port_waits_and_takes_no_processor_time() -> None:
    with closing(Pair("18")) as pair:
        pair.echoes()
        with crowd(pair.address, 40):
            wait_for(lambda: pair.files() == 18, HANGS, "that it has all files that it may have")
            before = pair.seconds()
            pair.echoes()
            assert not threading.Event().wait(0.5)
            assert pair.seconds() < before + 0.3
        pair.echoes()
        wait_for(lambda: pair.files() < 18, HANGS, "that strangers are gone")
        with proved(pair.address):
            pass


def test_a_member_that_is_frozen_goes_on_and_the_one_who_sends_to_it_as_well(pair: Pair) -> None:
    """Its queue is full by then, and that of the system."""
    items = tuple(Item(n, "http://x/" + "y" * 1900) for n in range(500))
    os.kill(pair.b.pid, signal.SIGSTOP)
    sent = 0
    while pair.a.send(Batch(sent + 1, items), "b"):
        sent += 1
    assert sent >= 32
    os.kill(pair.b.pid, signal.SIGCONT)
    receipts = set()
    while len(receipts) < sent:
        found = pair.a.receive(HANGS)
        assert isinstance(found, Receipt)
        receipts.add(found.number)
    assert pair.echoes() == ""
