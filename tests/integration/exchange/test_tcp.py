"""Members that send to each other directly: two processes, peers that come and go, and what strangers send."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from scrawler.errors import SettingsError
from scrawler.exchange.communicator import MAX_MESSAGE, Batch, Delivery, Item, Note, Receipt
from scrawler.exchange.door import Door
from scrawler.exchange.tcp import TcpCommunicator, split_address

pytest.importorskip("zmq")

SECRET = b"a secret that is long enough"
PATIENCE = 60.0  # seconds

OTHER = """
import sys
from scrawler.exchange.communicator import Delivery, Note
from scrawler.exchange.door import Door
from scrawler.exchange.tcp import TcpCommunicator
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
    assert b.dropped()["forged"] == 1


def test_what_is_larger_than_a_message_costs_its_connection_alone(member: Callable[..., TcpCommunicator]) -> None:
    import zmq

    a, b = member("a"), member("b")
    with zmq.Context() as context, context.socket(zmq.PUSH) as out:
        out.setsockopt(zmq.LINGER, 0)
        out.connect(b.address)
        out.send(b"x" * (MAX_MESSAGE + 1))
        assert a.tell("n", {}, "b")
        assert isinstance(b.receive(PATIENCE), Note)
    assert b.receive(0) is None


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
