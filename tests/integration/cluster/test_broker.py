"""Members that send by way of a broker, Redis or RabbitMQ: one that restarts, freezes, or holds what strangers put."""

from __future__ import annotations

import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from scrawler.features.cluster.exchange.communicator import MAX_MESSAGE, Arrival, Batch, Delivery, Item, Note, Receipt
from scrawler.features.cluster.exchange.door import Door
from tests.limits import HANGS
from tests.torture.broker import BROKERS, Broker
from tests.torture.crawl import wait_for

pytest.importorskip("kombu")
pytest.importorskip("redis")

from kombu import Connection

from scrawler.features.cluster.exchange.broker import BrokerCommunicator

SECRET = b"a secret that is long enough"
ITEM = Item(7, "http://a.example/x", 3, 1, b"\x01\x02")

pytestmark = pytest.mark.servers


@pytest.fixture(params=[*BROKERS])
def broker(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Broker]:
    kind = BROKERS[request.param]
    if kind is None:
        pytest.skip(f"needs {request.param}-server")
    with ExitStack() as stack:
        made = kind(tmp_path)
        stack.callback(made.kill)
        stack.callback(made.thaw)
        yield made


@pytest.fixture
def member(broker: Broker) -> Iterator[Callable[..., BrokerCommunicator]]:
    with ExitStack() as stack:

        def make(name: str, said: list[str] | None = None) -> BrokerCommunicator:
            say = (lambda line: None) if said is None else said.append
            made = BrokerCommunicator(broker.url, Door("crawl", name, SECRET, say=say), say)
            stack.callback(made.close)
            return made

        yield make


def arrived(a: BrokerCommunicator, b: BrokerCommunicator, number: int) -> Arrival:
    """Send a batch until it arrives: a queue that is not there yet, or a broker that is away, loses it."""
    until = time.monotonic() + HANGS
    while time.monotonic() < until:
        a.send(Batch(number, (ITEM,)), b.name)
        if (found := b.receive(1.0)) is not None:
            return found
    raise AssertionError("nothing arrives")


def threads() -> int:
    return sum(one.name.startswith("broker-") for one in threading.enumerate())


def test_members_send_each_other_batches_receipts_and_notes(
    member: Callable[..., BrokerCommunicator], broker: Broker
) -> None:
    a, b = member("a"), member("b")
    there = arrived(a, b, 5)
    assert isinstance(there, Delivery)
    assert (there.sender, there.batch) == ("a", Batch(5, (ITEM,)))
    bomb = zlib.compress(bytes(MAX_MESSAGE * 20))
    _put(broker, "scrawler.crawl.b", [b"nonsense" * 20, b"x" * (MAX_MESSAGE + 1000)])
    _put(broker, "scrawler.crawl.b", [bomb], headers={"compression": "application/x-gzip"})  # as kombu would unpack it
    _put(broker, "scrawler.crawl.b", [b"nonsense" * 20], headers={"compression": "no such thing"})
    if broker.name == "redis":
        from redis import Redis as Client

        with Client.from_url(broker.url) as client:
            client.lpush("scrawler.crawl.b", b"no JSON", b"[]", b'{"body": 1, "properties": {}, "headers": []}')
    wait_for(lambda: (b.receive(0.1), sum(b.dropped().values()))[1] >= 4, HANGS, "what strangers put is dropped")
    assert (b.dropped()["damaged"], b.dropped()["huge"]) == (3, 1), "a bomb is not unpacked"
    assert isinstance(arrived(a, b, 6), Delivery)
    answers: list[Arrival] = []

    def answered() -> bool:
        b.acknowledge(there, frozenset({7}))
        b.tell("heartbeat", {"load": 0.5}, "a")
        answers.extend(one for one in (a.receive(1.0), a.receive(1.0)) if one is not None)
        return len({type(one) for one in answers}) == 2

    wait_for(answered, HANGS, "a receipt and a note")
    assert Receipt("b", 5, frozenset({7})) in answers
    assert any(isinstance(one, Note) and one.body == {"load": 0.5} for one in answers)
    while a.receive(0.2) is not None or b.receive(0.2) is not None:
        pass
    queues = _queues(broker)
    assert {"scrawler.crawl.a", "scrawler.crawl.b"} <= queues or broker.name == "redis"  # Redis has no empty ones
    a.close()
    b.close()
    assert threads() == 0
    assert not _queues(broker) & {"scrawler.crawl.a", "scrawler.crawl.b"}, "nothing is left at the broker"


def test_a_broker_that_is_killed_and_comes_back_is_found_again(
    member: Callable[..., BrokerCommunicator], broker: Broker
) -> None:
    said: list[str] = []
    a, b = member("a", said), member("b", said)
    arrived(a, b, 1)
    broker.restart()
    assert isinstance(arrived(a, b, 2), Delivery)
    assert any("away" in line for line in said)
    assert any("back" in line for line in said)
    assert not any("guest:guest" in line for line in said), "what is said has no password"


def test_with_a_broker_that_hangs_nobody_waits_and_all_threads_end(
    member: Callable[..., BrokerCommunicator], broker: Broker
) -> None:
    """It takes connections and answers nothing: nothing that is sent then blocks, and the end does not hang on it."""
    a, b = member("a"), member("b")
    arrived(a, b, 1)
    broker.freeze()
    items = tuple(Item(number, "http://x/" + "y" * 900) for number in range(1_000))
    began = time.monotonic()
    answers = [a.send(Batch(number, items), "b") for number in range(2, 102)]
    assert not answers[-1], "the queue is full, and says so"
    assert time.monotonic() - began < HANGS
    a.close()
    b.close()
    wait_for(lambda: threads() == 0, HANGS, "the ends of all threads")


@pytest.mark.parametrize("broker", ["redis"], indirect=True)  # RabbitMQ is told so with the queue
def test_what_a_member_that_was_killed_has_not_read_is_not_kept_for_ever(
    member: Callable[..., BrokerCommunicator], broker: Broker
) -> None:
    """Its queue is bounded, and the broker forgets it after a while."""
    from redis import Redis as Client

    a = member("a")
    with Client.from_url(broker.url) as client:

        def kept() -> bool:
            a.send(Batch(1, (ITEM,)), "gone")
            return bool(client.exists("scrawler.crawl.gone"))

        wait_for(kept, HANGS, "what waits for the member that is gone")
        wait_for(lambda: 0 < client.ttl("scrawler.crawl.gone") <= 3600, HANGS, "a time after which it is forgotten")


def _put(broker: Broker, queue: str, messages: list[bytes], headers: dict[str, str] | None = None) -> None:
    with Connection(broker.url) as stranger, stranger.channel() as channel:
        producer = stranger.Producer(channel, serializer=None)
        for data in messages:
            producer.publish(
                data,
                exchange="",
                routing_key=queue,
                content_type="application/octet-stream",
                content_encoding="binary",
                headers=headers,
            )


def _queues(broker: Broker) -> set[str]:
    """Return which queues of members are at the broker."""
    if broker.name == "redis":
        from redis import Redis as Client

        with Client.from_url(broker.url) as client:
            return {key.decode() for key in client.keys("*scrawler*")}
    found = set()
    for name in ("a", "b"):
        with Connection(broker.url) as asked, asked.channel() as channel:
            try:
                channel.queue_declare(f"scrawler.crawl.{name}", passive=True)
            except asked.channel_errors:
                continue
            found.add(f"scrawler.crawl.{name}")
    return found
