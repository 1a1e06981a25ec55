"""Sender and receiver of machines over a real TCP pair, where the other side is dead, slow, or lies.

The sender's clock is the test's; what is durable is a dictionary.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from scrawler.core.party.site import SiteContext
from scrawler.core.seen import ExactSeen, MemoryBudget
from scrawler.errors import StoreBusyError
from scrawler.features.cluster.exchange.communicator import Batch, Delivery, Item, Receipt
from scrawler.features.cluster.exchange.door import Door
from scrawler.features.cluster.exchange.receiver import UrlReceiver
from scrawler.features.cluster.exchange.sender import UrlSender
from scrawler.features.cluster.exchange.tcp import TcpCommunicator
from scrawler.features.cluster.store.outboxes import OutgoingUrl
from scrawler.model.scope import Scope
from scrawler.model.terms import url_hash

PATIENCE = 60.0  # seconds
AGAIN = 30.0  # seconds of the test's clock after which a batch is sent again
SITES = {url_hash("b.org"): "b", url_hash("c.org"): "c"}


@dataclass
class Outbox:
    """What is to be sent, and what became of it."""

    rows: dict[int, OutgoingUrl] = field(default_factory=dict)
    there: set[str] = field(default_factory=lambda: {"b", "c"})
    durable: set[int] = field(default_factory=set)
    back: set[int] = field(default_factory=set)

    def add(self, number: int, key: str = "b.org") -> None:
        for _ in range(number):
            one = len(self.rows) + len(self.durable) + len(self.back) + 1
            self.rows[one] = OutgoingUrl(one, url_hash(key), f"http://{key}/{one}", 1, 1, b"")

    def first(self, limit: int, after: int = 0) -> Sequence[OutgoingUrl]:
        return [row for one, row in sorted(self.rows.items()) if one > after][:limit]

    def number(self) -> int:
        return len(self.rows)

    def receivers(self, key_hashes: Collection[bytes]) -> Mapping[bytes, str]:
        return {key: SITES[key] for key in key_hashes if SITES[key] in self.there}

    def alive(self, names: Collection[str]) -> Collection[str]:
        return self.there & set(names)

    def acknowledged(self, ids: Collection[int]) -> None:
        self.durable.update(one for one in ids if self.rows.pop(one, None))

    def to_inboxes(self, ids: Collection[int]) -> None:
        self.back.update(one for one in ids if self.rows.pop(one, None))

    def all_to_inboxes(self) -> None:
        self.to_inboxes(list(self.rows))


@contextmanager
def members(*names: str) -> Iterator[tuple[dict[str, str], list[TcpCommunicator]]]:
    """Listen in the names of some machines."""
    addresses: dict[str, str] = {}
    made: list[TcpCommunicator] = []
    try:
        for name in names:
            door = Door("crawl", name, b"a secret that is long enough")
            made.append(TcpCommunicator("127.0.0.1:0", addresses.get, door))
            addresses[name] = made[-1].address
        yield addresses, made
    finally:
        for one in made:
            one.close()


class Sending:
    """A sender whose looks are the test's."""

    def __init__(self, communicator: TcpCommunicator, list_max: int = 10) -> None:
        self.outbox = Outbox()
        self.full: list[bool] = []
        self.failures: list[BaseException] = []
        args = self.outbox, communicator, self.failures.append, self.full.append
        self.sender = UrlSender(*args, list_max, wait=1.0, send_again=AGAIN)

    def look(self, now: float) -> None:
        self.sender.news()
        self.sender._look(now)


def _batches(receiver: TcpCommunicator, number: int) -> list[Delivery]:
    found = [receiver.receive(PATIENCE) for _ in range(number)]
    return [one for one in found if isinstance(one, Delivery)]


def test_what_a_dead_receiver_was_sent_goes_to_the_inboxes() -> None:
    with members("a") as (addresses, (a,)), socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and never listened at
        addresses["b"] = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
        post = Sending(a)
        post.outbox.add(25)
        post.look(100.0)
        assert len(post.outbox.rows) == 25, "nothing is lost, and nothing acknowledged"
        post.outbox.there.discard("b")
        for now in (103.0, 106.0):  # what was sent; what had waited in the list
            post.look(now)
        post.look(106.0 + 10 * AGAIN)
        assert not post.outbox.durable
        assert len(post.outbox.back) == 25


def test_what_waits_for_a_dead_receiver_does_not_wait_until_that_has_acknowledged_what_it_was_sent() -> None:
    with members("a", "b") as (_, (a, _)):
        post = Sending(a, list_max=1)
        post.outbox.add(100)  # a few of them are sent, the others wait for its receipts
        post.outbox.add(3, "c.org")
        post.look(100.0)
        post.outbox.there.discard("b")
        post.look(103.0)
        assert post.outbox.back == set(range(1, 101))
        assert len(post.outbox.rows) == 3, "those of others are as they were"


def test_a_list_stays_as_it_is_where_the_database_is_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    def busy(ids: Collection[int]) -> None:
        raise StoreBusyError("locked")

    with members("a", "b") as (_, (a, _)):
        post = Sending(a, list_max=1)
        post.outbox.add(100)
        post.look(100.0)
        post.outbox.there.discard("b")
        with monkeypatch.context() as locked:
            locked.setattr(post.outbox, "to_inboxes", busy)
            with pytest.raises(StoreBusyError):
                post.look(103.0)
        assert len(post.outbox.rows) == 100
        post.look(106.0)
        assert post.outbox.back == set(range(1, 101))


def test_a_slow_receiver_has_few_batches_and_is_asked_three_times() -> None:
    with members("a", "b") as (_, (a, b)):
        post = Sending(a)
        post.outbox.add(100)
        post.look(100.0)
        first = _batches(b, 4)
        assert [len(one.batch.items) for one in first] == [10] * 4
        assert b.receive(0.2) is None, "no more until one of them is acknowledged"
        post.look(100.0 + AGAIN + 1)
        again = _batches(b, 4)
        assert {one.batch.number for one in again} == {one.batch.number for one in first}
        post.look(100.0 + 4 * AGAIN)
        _batches(b, 4)
        post.look(100.0 + 9 * AGAIN)
        assert post.outbox.back == {item.id for one in first for item in one.batch.items}
        b.acknowledge(first[0])  # too late
        found = a.receive(PATIENCE)
        assert isinstance(found, Receipt)
        post.sender.receipt(found)
        post.look(101.0 + 9 * AGAIN)
        assert not post.outbox.durable


def test_nobody_acknowledges_what_it_was_not_sent() -> None:
    with members("a", "b", "c") as (_, (a, b, c)):
        post = Sending(a)
        post.outbox.add(10)
        post.look(100.0)
        (delivery,) = _batches(b, 1)
        c.acknowledge(Delivery("a", delivery.run, delivery.batch))  # c never had it
        b.acknowledge(Delivery("a", delivery.run, Batch(77, ())))  # there is no such batch
        for _ in range(2):
            found = a.receive(PATIENCE)
            assert isinstance(found, Receipt)
            post.sender.receipt(found)
        post.look(101.0)
        assert len(post.outbox.rows) == 10
        mine = frozenset(range(6, 11))
        for returned in (mine | {999_999, -1}, frozenset()):  # strangers' ids; then it changes its mind
            b.acknowledge(delivery, returned)
            found = a.receive(PATIENCE)
            if isinstance(found, Receipt):
                post.sender.receipt(found)
        post.look(102.0)
        assert (post.outbox.durable, post.outbox.back) == (set(range(1, 6)), mine)
        assert not post.failures


def test_an_outbox_that_is_full_says_so_until_half_of_it_is_acknowledged() -> None:
    with members("a", "b") as (_, (a, b)):
        post = Sending(a, list_max=500)
        post.outbox.add(20_001)  # forty full lists, and one
        post.look(100.0)
        assert post.full == [True]
        while len(post.outbox.rows) > 10_000:
            assert post.full == [True]
            for delivery in _batches(b, 1):
                b.acknowledge(delivery)
            found = a.receive(PATIENCE)
            assert isinstance(found, Receipt)
            post.sender.receipt(found)
            post.look(101.0)
        assert post.full == [True, False]


class Listening:
    """A receiver that has the site b.org, whose holder takes what is brought when the test says so."""

    def __init__(self, communicator: TcpCommunicator) -> None:
        self.site = SiteContext(1, "b.org", 1, ExactSeen(MemoryBudget(1000)), more_seeds=False)
        self.site.collector = object()  # type: ignore[assignment]
        self.came = threading.Semaphore(0)
        self.stop = threading.Event()
        self.failures: list[BaseException] = []
        self.receipts: list[Receipt] = []
        self.turn = threading.RLock()
        self.receiver = UrlReceiver(
            communicator,
            lambda: [self.site],
            lambda site: self.came.release(),
            self.receipts.append,
            lambda names: list(names),
            self.failures.append,
            self.turn,
            self.stop,
            Scope.HOST,
            100,
        )

    def take(self) -> list[int]:
        assert self.came.acquire(timeout=PATIENCE)
        with self.turn:
            taken = [one.id for one in self.site.arrived]
            self.site.put_aside()
        return taken

    @contextmanager
    def running(self) -> Iterator[None]:
        self.receiver.start()
        try:
            yield
        finally:
            self.stop.set()
            self.receiver.close()
            self.receiver.join(PATIENCE)
        assert not self.failures


def _receipt(communicator: TcpCommunicator) -> Receipt:
    found = communicator.receive(PATIENCE)
    assert isinstance(found, Receipt)
    return found


def _items(*urls: str) -> tuple[Item, ...]:
    return tuple(Item(number, url, 1, 1) for number, url in enumerate(urls, 1))


def test_a_batch_is_acknowledged_when_it_is_durable_and_what_is_for_others_goes_back() -> None:
    with members("a", "b") as (_, (a, b)):
        listening = Listening(b)
        with listening.running():
            batch = Batch(1, _items("http://b.org/1", "http://elsewhere.org/", "http://b.org/3"))
            a.send(batch, "b")
            taken = listening.take()
            assert len(taken) == 2
            a.send(batch, "b")  # it is here already, and not durable
            assert a.receive(0.3) is None
            listening.receiver.durable(taken)
            assert _receipt(a) == Receipt("b", 1, frozenset({2}))
            a.send(batch, "b")  # the receipt was lost
            assert _receipt(a) == Receipt("b", 1, frozenset({2}))
        assert not listening.came.acquire(blocking=False)


def test_what_a_sender_lies_about_is_not_believed() -> None:
    with members("a", "b") as (_, (a, b)):
        listening = Listening(b)
        with listening.running():
            same = tuple(Item(1, f"http://b.org/{number}") for number in range(3))  # one id for several
            a.send(Batch(1, same), "b")
            listening.receiver.durable([-99, 5, *listening.take()])  # some that nobody knows
            assert _receipt(a) == Receipt("b", 1)
            a.send(Batch(2, _items("no url", "http://[", "ftp://b.org/", "http://b.org@evil.org/")), "b")
            assert _receipt(a).returned <= {1, 2, 3, 4}
            a.send(Batch(3, ()), "b")
            assert _receipt(a) == Receipt("b", 3)


def test_what_was_brought_to_a_site_that_is_lost_goes_back() -> None:
    with members("a", "b") as (_, (a, b)):
        listening = Listening(b)
        with listening.running():
            a.send(Batch(1, _items("http://b.org/1")), "b")
            listening.take()
            with listening.turn:
                listening.site.lost = True
            assert _receipt(a) == Receipt("b", 1, frozenset({1}))


def test_what_a_liar_sends_for_others_does_not_fill_the_memory() -> None:
    """Receipts are remembered, for one may be lost, but not for any number of URLs that go back."""
    with members("a", "b") as (_, (a, b)):
        listening = Listening(b)
        with listening.running():
            items = tuple(Item(number, f"http://x.org/{number}") for number in range(1, 9_001))
            for number in range(1, 14):
                a.send(Batch(number, items), "b")
                assert len(_receipt(a).returned) == len(items)
            remembered = sum(map(len, listening.receiver._closed.values()))
            assert remembered == listening.receiver._gone_back <= 100_000
            a.send(Batch(1, items[:1]), "b")
            assert _receipt(a) == Receipt("b", 1, frozenset({1})), "what was forgotten is judged anew"
