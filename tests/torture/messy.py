"""Networks between machines: one hands messages on twice, late and in another order, one keeps them until told."""

from __future__ import annotations

import heapq
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from random import Random
from types import TracebackType
from typing import Generic, Self, TypeVar

import zmq
from sqlalchemy import select, update

from scrawler.store.engine import open_database
from scrawler.store.tables import machine

_LOOK = 20  # milliseconds
_LINGER = 0
_TWICE, _LATE = 0.3, 0.5  # shares of messages


class Network:
    """Stands in front of a member's address (`tcp://host:port`); others send to `address`. A context manager."""

    def __init__(self, target: str) -> None:
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._in = self._context.socket(zmq.PULL)
        self._in.setsockopt(zmq.LINGER, _LINGER)
        self.address = f"tcp://127.0.0.1:{self._in.bind_to_random_port('tcp://127.0.0.1')}"
        self._out = self._context.socket(zmq.PUSH)
        self._out.setsockopt(zmq.LINGER, _LINGER)
        self._out.connect(target)
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="network")
        self.came = self.dropped = 0  # messages

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        self._thread.join()
        self._in.close()
        self._out.close()
        self._context.term()

    def _run(self) -> None:
        while not self._closing.is_set():
            if self._in.poll(_LOOK):
                message = self._in.recv()
                self._take(message)
                self.came += 1
            self._go_on()

    def _take(self, message: bytes) -> None:
        raise NotImplementedError

    def _go_on(self) -> None:
        raise NotImplementedError

    def _hand_on(self, message: bytes) -> None:
        try:
            self._out.send(message, zmq.DONTWAIT)
        except zmq.Again:  # nobody listens there: it is lost, as on the way
            self.dropped += 1


class MessyNetwork(Network):
    """Hands messages on twice, late and in another order; which ones, chance decides."""

    def __init__(self, target: str, seed: int, longest: float = 1.0, lost: float = 0.0) -> None:
        """Let a message be late by up to `longest` seconds, so that it overtakes others; lose so large a share."""
        super().__init__(target)
        self._chance = Random(seed)
        self._longest, self._lost = longest, lost
        self._waiting: list[tuple[float, int, bytes]] = []  # (when, number, message)
        self._newest = 0
        self.twice = self.overtaken = 0  # messages

    def _take(self, message: bytes) -> None:
        if self._chance.random() < self._lost:
            self.dropped += 1
            return
        copies = 2 if self._chance.random() < _TWICE else 1
        self.twice += copies - 1
        for _ in range(copies):
            late = self._chance.uniform(0, self._longest) if self._chance.random() < _LATE else 0.0
            heapq.heappush(self._waiting, (time.monotonic() + late, self.came, message))

    def _go_on(self) -> None:
        while self._waiting and self._waiting[0][0] <= time.monotonic():
            _, number, message = heapq.heappop(self._waiting)
            self.overtaken += number < self._newest
            self._newest = max(self._newest, number)
            self._hand_on(message)


class GatedNetwork(Network):
    """Keeps all messages while it is closed; it begins open."""

    def __init__(self, target: str) -> None:
        super().__init__(target)
        self._kept: deque[bytes] = deque()
        self._open = threading.Event()
        self._open.set()

    @property
    def keeps(self) -> int:
        """How many messages wait here."""
        return len(self._kept)

    def close(self) -> None:
        """Keep what comes from now on."""
        self._open.clear()

    def open(self) -> None:
        """Hand on what was kept, and what comes from now on."""
        self._open.set()

    def _take(self, message: bytes) -> None:
        self._kept.append(message)

    def _go_on(self) -> None:
        while self._kept and self._open.is_set():
            self._hand_on(self._kept.popleft())


Made = TypeVar("Made", bound=Network)


class Networks(Generic[Made]):
    """Puts a network before each machine of a database that listens, as soon as it has said where."""

    def __init__(self, url: str, make: Callable[[str, int], Made]) -> None:
        """`make` is given the address of a machine and its id."""
        self._url = url
        self._make = make
        self._stack = ExitStack()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="networks")
        self._failed: list[Exception] = []
        self.of: dict[int, Made] = {}  # by the machine's id

    def _watch(self) -> None:
        try:
            with closing(open_database(self._url)) as database:
                while not self._closing.wait(0.05):
                    for one, address in database.rows(select(machine.c.id, machine.c.address)):
                        if address and one not in self.of:
                            network = self._stack.enter_context(self._make(address, one))
                            mine = update(machine).where(machine.c.id == one, machine.c.address == address)
                            changed = mine.values(address=network.address)
                            database.retrying(lambda connection, told=changed: connection.execute(told))
                            self.of[one] = network
        except Exception as error:
            self._failed.append(error)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Do so in the block."""
        self._thread.start()
        try:
            yield
        finally:
            self._closing.set()
            self._thread.join()
            self._stack.close()
        assert not self._failed

    def total(self, name: str) -> int:
        """Return the sum of one of their numbers."""
        return sum(getattr(one, name) for one in self.of.values())
