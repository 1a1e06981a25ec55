"""Networks between machines: one hands messages on twice, late and in another order, one keeps them until told."""

from __future__ import annotations

import asyncio
import heapq
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from random import Random
from types import TracebackType
from typing import Generic, Self, TypeVar

from sqlalchemy import select, update

from scrawler.features.cluster.exchange.handshake import GREETING, HELLO, exactly
from scrawler.features.cluster.exchange.port import framed
from scrawler.features.cluster.exchange.sockets import Caller, listen_at, split_address
from scrawler.store.engines.engine import open_database
from scrawler.store.schema.tables import machine

_LOOK = 0.02  # seconds
_ANSWER = 32  # bytes of the proof with which a handshake ends
_HEAD = 4  # bytes of a message's length
_TWICE, _LATE = 0.3, 0.5  # shares of messages


class Link:
    """The way from one who sends to the member; it outlives the sender's connection, for there may be more to say."""

    def __init__(self, target: socket.socket) -> None:
        self.target = target
        self.queue: asyncio.Queue[bytes] = asyncio.Queue()
        self.over = False

    async def write(self) -> None:
        """Write to the member what is handed on."""
        while True:
            await asyncio.get_running_loop().sock_sendall(self.target, framed(await self.queue.get()))


class Network:
    """Stands in front of a member's address (`tcp://host:port`); others send to `address`. A context manager.

    A handshake passes through, for the network does not know the secret; then it has messages.
    """

    def __init__(self, target: str) -> None:
        self._target = split_address(target.removeprefix("tcp://"))
        self._listener, self.address = listen_at("127.0.0.1:0", 1)
        self._closing = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), name="network")
        self.came = self.dropped = 0  # messages

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        self._thread.join()

    async def _run(self) -> None:
        with self._listener:
            links: set[asyncio.Task[None]] = set()
            accepting = asyncio.create_task(self._accept(links))
            while not self._closing.is_set():
                self._go_on()
                await asyncio.sleep(_LOOK)
            for task in (accepting, *links):
                task.cancel()
            await asyncio.gather(accepting, *links, return_exceptions=True)

    async def _accept(self, links: set[asyncio.Task[None]]) -> None:
        while True:
            caller, _ = await asyncio.get_running_loop().sock_accept(self._listener)
            links.add(asyncio.create_task(self._carry(caller)))

    async def _carry(self, caller: socket.socket) -> None:
        with caller, suppress(OSError), await Caller().call(*self._target) as target:
            await self._shake_hands(caller, target)
            await self._link(caller, target)

    async def _shake_hands(self, caller: socket.socket, target: socket.socket) -> None:
        for one, other, length in ((target, caller, GREETING), (caller, target, HELLO), (target, caller, _ANSWER)):
            await asyncio.get_running_loop().sock_sendall(other, await exactly(one, length))

    async def _link(self, caller: socket.socket, target: socket.socket) -> None:
        """Hand messages on until the member is gone."""
        link = Link(target)
        reading = asyncio.create_task(self._read(caller, link))
        ends = asyncio.create_task(exactly(target, 1)), asyncio.create_task(link.write())
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        finally:
            link.over = True
            for task in (reading, *ends):
                task.cancel()
            await asyncio.gather(reading, *ends, return_exceptions=True)

    async def _read(self, caller: socket.socket, link: Link) -> None:
        while True:
            message = await exactly(caller, int.from_bytes(await exactly(caller, _HEAD)))
            self._take(link, message)
            self.came += 1
            self._go_on()

    def _take(self, link: Link, message: bytes) -> None:
        raise NotImplementedError

    def _go_on(self) -> None:
        raise NotImplementedError

    def _hand_on(self, link: Link, message: bytes) -> None:
        if link.over:  # nobody listens there: it is lost, as on the way
            self.dropped += 1
        else:
            link.queue.put_nowait(message)


class MessyNetwork(Network):
    """Hands messages on twice, late and in another order; which ones, chance decides."""

    def __init__(self, target: str, seed: int, longest: float = 1.0, lost: float = 0.0) -> None:
        """Let a message be late by up to `longest` seconds, so that it overtakes others; lose so large a share."""
        super().__init__(target)
        self._chance = Random(seed)
        self._longest, self._lost = longest, lost
        self._waiting: list[tuple[float, int, int, Link, bytes]] = []  # (when, number, copy, link, message)
        self._newest = 0
        self.twice = self.overtaken = 0  # messages

    def _take(self, link: Link, message: bytes) -> None:
        if self._chance.random() < self._lost:
            self.dropped += 1
            return
        copies = 2 if self._chance.random() < _TWICE else 1
        self.twice += copies - 1
        for copy in range(copies):
            late = self._chance.uniform(0, self._longest) if self._chance.random() < _LATE else 0.0
            heapq.heappush(self._waiting, (time.monotonic() + late, self.came, copy, link, message))

    def _go_on(self) -> None:
        while self._waiting and self._waiting[0][0] <= time.monotonic():
            _, number, _, link, message = heapq.heappop(self._waiting)
            self.overtaken += number < self._newest
            self._newest = max(self._newest, number)
            self._hand_on(link, message)


class GatedNetwork(Network):
    """Keeps all messages while it is closed; it begins open."""

    def __init__(self, target: str) -> None:
        super().__init__(target)
        self._kept: deque[tuple[Link, bytes]] = deque()
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

    def _take(self, link: Link, message: bytes) -> None:
        self._kept.append((link, message))

    def _go_on(self) -> None:
        while self._kept and self._open.is_set():
            self._hand_on(*self._kept.popleft())


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
