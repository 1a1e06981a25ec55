"""Members that send to each other directly: two processes, peers that come and go, and what strangers send."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing

import pytest

from scrawler.errors import SettingsError
from scrawler.features.cluster.exchange.communicator import MAX_MESSAGE, Batch, Delivery, Item, Note, Receipt
from scrawler.features.cluster.exchange.door import Door
from scrawler.features.cluster.exchange.handshake import GREETING, HELLO, MAGIC
from scrawler.features.cluster.exchange.inbound import MOST_HELD
from scrawler.features.cluster.exchange.sockets import split_address
from scrawler.features.cluster.exchange.tcp import TcpCommunicator
from tests.integration.cluster.wire import SECRET, exactly, is_ended, is_open, proved, reset
from tests.limits import HANGS

PATIENCE = 60.0  # seconds

OTHER = """
import sys
from scrawler.features.cluster.exchange.communicator import Delivery, Note
from scrawler.features.cluster.exchange.door import Door
from scrawler.features.cluster.exchange.tcp import TcpCommunicator
door = Door("crawl", "b", b"a secret that is long enough")
communicator = TcpCommunicator("127.0.0.1:0", {"a": sys.argv[1]}.get, door)
print(communicator.address, flush=True)
while True:
    found = communicator.receive(60)
    if isinstance(found, Note):
        communicator.tell("echo", found.body, found.sender)
    elif isinstance(found, Delivery):
        communicator.acknowledge(found, frozenset(one.id for one in found.batch.items if "/mine/" not in one.url))
    else:
        break
communicator.close()
"""

HANGING = """
import socket, threading
from scrawler.features.cluster.exchange.door import Door
from scrawler.features.cluster.exchange.tcp import TcpCommunicator
asked = threading.Event()
look_up = socket.getaddrinfo
def hang(host, *more, **other):
    if host != "hanging.example" or other.get("flags"):
        return look_up(host, *more, **other)
    asked.set()
    threading.Event().wait()
socket.getaddrinfo = hang
door = Door("crawl", "a", b"a secret that is long enough")
communicator = TcpCommunicator("0", {"b": "tcp://hanging.example:7400"}.get, door)
told = communicator.tell("n", {}, "b")
asked.wait()
communicator.close()
print(told, communicator.receive(1))
"""


@pytest.fixture
def member() -> Iterator[Callable[..., TcpCommunicator]]:
    addresses: dict[str, str] = {}
    with ExitStack() as stack:

        def make(name: str, secret: bytes = SECRET, listen: str = "127.0.0.1:0", ports: int = 1) -> TcpCommunicator:
            made = TcpCommunicator(listen, addresses.get, Door("crawl", name, secret), ports)
            stack.callback(made.close)
            addresses[name] = made.address
            return made

        make.addresses = addresses  # type: ignore[attr-defined]
        yield make


def test_two_processes_send_each_other_batches_receipts_and_notes(member: Callable[..., TcpCommunicator]) -> None:
    a = member("a")
    other = subprocess.Popen([sys.executable, "-c", OTHER, a.address], stdout=subprocess.PIPE, text=True)
    try:
        assert other.stdout is not None
        member.addresses["b"] = other.stdout.readline().strip()  # type: ignore[attr-defined]
        assert a.tell("heartbeat", {"load": 3}, "b")
        found = a.receive(PATIENCE)
        assert isinstance(found, Note)
        assert (found.topic, found.body) == ("echo", {"load": 3})
        items = tuple(Item(n, f"http://x/{'mine' if n % 2 else 'no'}/{n}") for n in range(500))
        for number in range(1, 6):
            assert a.send(Batch(number, items), "b")
        returned = frozenset(range(0, 500, 2))
        receipts = [a.receive(PATIENCE) for _ in range(5)]
        assert {one.number for one in receipts if isinstance(one, Receipt)} == {1, 2, 3, 4, 5}
        assert all(isinstance(one, Receipt) and one.returned == returned for one in receipts)
    finally:
        other.kill()
        other.wait()
        other.stdout.close()


def test_a_member_that_is_not_there_fills_its_queue_and_nobody_waits(member: Callable[..., TcpCommunicator]) -> None:
    a = member("a")
    assert not a.send(Batch(1, (Item(1, "http://x/"),)), "nobody")
    with socket.socket() as taken:  # bound, and never listened at
        taken.bind(("127.0.0.1", 0))
        member.addresses["gone"] = f"tcp://127.0.0.1:{taken.getsockname()[1]}"  # type: ignore[attr-defined]
        answers = [a.send(Batch(n, (Item(1, "http://x/"),)), "gone") for n in range(1, 200)]
    assert answers[0]
    assert not answers[-1]


def test_nobody_is_sent_anything_but_over_tcp(member: Callable[..., TcpCommunicator]) -> None:
    """Guests say themselves where they listen."""
    a = member("a")
    for address in ("ipc:///tmp/somewhere", "inproc://here", "udp://127.0.0.1:9", "", "tcp://", "tcp://x", "\0"):
        member.addresses["guest"] = address  # type: ignore[attr-defined]
        assert not a.tell("status", {}, "guest")


def test_a_member_that_comes_back_elsewhere_is_found(member: Callable[..., TcpCommunicator]) -> None:
    a, b = member("a"), member("b")
    a.tell("n", {"n": 1}, "b")
    assert isinstance(b.receive(PATIENCE), Note)
    b.close()
    b = member("b")
    a.tell("n", {"n": 2}, "b")
    found = b.receive(PATIENCE)
    assert isinstance(found, Note)
    assert found.body == {"n": 2}


def test_a_member_is_found_by_its_name(member: Callable[..., TcpCommunicator]) -> None:
    a, b = member("a"), member("b", listen="localhost:0")
    assert b.address.startswith("tcp://localhost:")
    assert a.tell("n", {"n": 1}, "b")
    assert isinstance(b.receive(PATIENCE), Note)
    member.addresses["c"] = "tcp://a..b:7400"  # type: ignore[attr-defined]
    assert a.tell("n", {"n": 1}, "c"), "nobody has looked for it yet"
    assert a.tell("n", {"n": 2}, "b")
    assert isinstance(b.receive(PATIENCE), Note)


def test_who_does_not_know_the_secret_is_not_heard(member: Callable[..., TcpCommunicator]) -> None:
    a, b = member("a"), member("b")
    stranger = member("stranger", secret=b"x" * 16)
    stranger.tell("n", {}, "b")
    host, port = split_address(b.address.removeprefix("tcp://"))
    with socket.create_connection((host, port)) as raw:
        raw.sendall(bytes(range(256)) * 16)
    while not b.dropped().get("forged"):
        assert b.receive(0.1) is None
    assert a.tell("n", {}, "b")
    assert isinstance(b.receive(PATIENCE), Note)
    assert set(b.dropped()) == {"forged"}
    assert stranger.dropped() == a.dropped() == {}


def test_a_listener_without_the_secret_is_sent_nothing(member: Callable[..., TcpCommunicator]) -> None:
    """Somebody else has the port by now at which a member was."""
    a = member("a")
    with socket.create_server(("127.0.0.1", 0)) as other:
        member.addresses["b"] = f"tcp://127.0.0.1:{other.getsockname()[1]}"  # type: ignore[attr-defined]
        assert a.tell("n", {"secret": "word"}, "b")
        connection, _ = other.accept()
        with connection:
            connection.sendall(MAGIC + bytes(GREETING - len(MAGIC)))
            assert len(exactly(connection, HELLO)) == HELLO
            connection.sendall(bytes(32))
            assert exactly(connection, 1) == b""
    while not a.dropped():
        assert a.receive(0.1) is None
    assert set(a.dropped()) == {"forged"}


@pytest.mark.parametrize(
    ("head", "reason"), [(MAX_MESSAGE + 1, "huge"), (0xFFFFFFFF, "huge"), (0x47455420, "huge"), (0, "damaged")]
)
def test_what_is_no_message_costs_its_connection_alone(
    member: Callable[..., TcpCommunicator], head: int, reason: str
) -> None:
    a, b = member("a"), member("b")
    with proved(b.address) as other:
        other.sendall(head.to_bytes(4) + b"x" * 1000)
        assert is_ended(other)
    assert a.tell("n", {}, "b")
    assert isinstance(b.receive(PATIENCE), Note)
    assert b.receive(0) is None
    assert b.dropped() == {reason: 1}


def test_the_member_goes_that_has_said_nothing_for_longest() -> None:
    door = Door("crawl", "a", SECRET)
    with closing(TcpCommunicator("0", {}.get, Door("crawl", "b", SECRET), members=2)) as b, ExitStack() as stack:
        first, second = (stack.enter_context(proved(b.address)) for _ in range(2))
        note = door.note("n", {}, "b")
        assert note is not None
        first.sendall(len(note).to_bytes(4) + note)
        assert isinstance(b.receive(PATIENCE), Note)
        stack.enter_context(proved(b.address))
        assert is_ended(second)
        assert is_open(first)


def test_messages_that_come_in_pieces_are_put_together_and_half_of_one_is_nothing(
    member: Callable[..., TcpCommunicator],
) -> None:
    b = member("b")
    door = Door("crawl", "a", SECRET)
    notes = [door.note("n", {"n": number, "long": "x" * 100 * number}, "b") for number in range(3)]
    said = b"".join(len(note).to_bytes(4) + note for note in notes if note is not None)
    with proved(b.address) as other:
        other.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in said[:-1]:
            other.sendall(bytes([byte]))
        found = [b.receive(PATIENCE) for _ in range(2)]
        assert [one.body["n"] for one in found if isinstance(one, Note)] == [0, 1]
        reset(other)
    assert b.receive(0.1) is None
    assert b.dropped() == {}


def test_nobody_reads_for_those_who_do_not_receive_and_nothing_is_lost_then(
    member: Callable[..., TcpCommunicator],
) -> None:
    """More waits than a member holds: it is still with who sends, and refused there in the end."""
    a, b = member("a"), member("b")
    items = tuple(Item(n, "http://x/" + "y" * 1900) for n in range(500))
    sent = 0
    while (is_sent := a.send(Batch(sent + 1, items), "b")) or sent << 20 <= MOST_HELD:
        sent += is_sent
        assert sent < 400
        if not is_sent:
            time.sleep(0.01)
    numbers = set()
    while len(numbers) < sent:
        found = b.receive(PATIENCE)
        assert isinstance(found, Delivery)
        numbers.add(found.batch.number)
    assert b.dropped() == {}


@pytest.mark.parametrize(("listen", "told"), [("0", "127.0.0.1"), ("*:0", ""), ("0.0.0.0:0", ""), ("[::]:0", "")])
def test_where_a_member_listens(member: Callable[..., TcpCommunicator], listen: str, told: str) -> None:
    """On loopback, unless it is told otherwise."""
    one = member("a", listen=listen)
    port = split_address(one.address.removeprefix("tcp://"))[1]
    assert one.address == f"tcp://{told or socket.gethostname()}:{port}"
    with socket.create_connection(("127.0.0.1", port), PATIENCE):
        pass
    outer = _outer_address()
    if outer is None:
        return
    if not told:
        socket.create_connection((outer, port), PATIENCE).close()
        return
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((outer, port), PATIENCE)


def _outer_address() -> str | None:
    """The address by which this host is seen from others; None: it has no network."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # nothing is sent
        except OSError:
            return None
        return str(probe.getsockname()[0])


def test_all_waits_end_with_the_end_and_nothing_is_left(member: Callable[..., TcpCommunicator]) -> None:
    before = set(threading.enumerate())
    files = len(os.listdir("/proc/self/fd")) if sys.platform == "linux" else 0
    a, b = member("a"), member("b")
    found: list[object] = []
    waiting = threading.Thread(target=lambda: found.append(a.receive(3600)))
    waiting.start()
    assert b.tell("n", {}, "a")
    waiting.join(PATIENCE)
    waiting = threading.Thread(target=lambda: found.append(a.receive(3600)))
    waiting.start()
    member.addresses["gone"] = "tcp://192.0.2.1:9"  # type: ignore[attr-defined]
    assert a.tell("n", {}, "gone")
    began = time.monotonic()
    a.close()
    assert time.monotonic() - began < HANGS / 2
    waiting.join(PATIENCE)
    assert isinstance(found[0], Note)
    assert found[1:] == [None]
    assert a.receive(3600) is None
    assert not a.tell("n", {}, "b")
    a.close()
    b.close()
    assert set(threading.enumerate()) == before
    if files:
        assert len(os.listdir("/proc/self/fd")) == files


def test_what_is_queued_is_sent_at_the_end(member: Callable[..., TcpCommunicator]) -> None:
    a, b = member("a"), member("b")
    for number in range(32):
        assert a.tell("n", {"n": number}, "b")
    a.close()
    assert [one.body["n"] for _ in range(32) if isinstance(one := b.receive(PATIENCE), Note)] == [*range(32)]


def test_a_name_that_is_looked_up_for_ever_keeps_neither_the_end_nor_the_process() -> None:
    done = subprocess.run([sys.executable, "-c", HANGING], capture_output=True, text=True, timeout=HANGS)
    assert (done.returncode, done.stdout, done.stderr) == (0, "True None\n", "")


def test_a_wait_ends_when_somebody_wakes_it(member: Callable[..., TcpCommunicator]) -> None:
    a = member("a")
    found: list[object] = []
    thread = threading.Thread(target=lambda: found.append(a.receive(3600)))
    thread.start()
    a.wake()
    thread.join(PATIENCE)
    assert found == [None]


def test_machines_of_one_host_take_the_next_ports(member: Callable[..., TcpCommunicator]) -> None:
    first = member("a")
    port = split_address(first.address.removeprefix("tcp://"))[1]
    with pytest.raises(SettingsError, match="cannot listen at"):
        member("b", listen=f"127.0.0.1:{port}")
    second = member("c", listen=f"127.0.0.1:{port}", ports=50)
    assert split_address(second.address.removeprefix("tcp://"))[1] > port


def test_a_batch_that_comes_twice_has_two_receipts(member: Callable[..., TcpCommunicator]) -> None:
    a, b = member("a"), member("b")
    for _ in range(2):
        a.send(Batch(1, (Item(1, "http://x/"),)), "b")
        found = b.receive(PATIENCE)
        assert isinstance(found, Delivery)
        b.acknowledge(found)
        assert a.receive(PATIENCE) == Receipt("b", 1)
