"""`tcp://[HOST:]PORT`: machines send to each other directly (paper 000: SERVER_PORT, a listening thread).

Each member listens at one port, and calls each to whom it sends; answers go the same way, by a connection of the other
one. Both ends prove that they know the secret before anything else is said. Connections are made, and made again, in
the background: all of them by the loop of one thread. A queue that is full refuses. What was being written when a
connection broke is written again; what the system had taken before may be lost.
"""

from __future__ import annotations

import asyncio
import secrets
import socket
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Coroutine, Mapping
from contextlib import ExitStack, suppress
from typing import Any

from scrawler.features.cluster.exchange.communicator import MOST_MEMBERS, Arrival, Batch, Delivery, NoteBody
from scrawler.features.cluster.exchange.door import Door
from scrawler.features.cluster.exchange.handshake import NAME_LENGTH, Stranger, introduce
from scrawler.features.cluster.exchange.inbound import Inbound
from scrawler.features.cluster.exchange.port import PROVE, Port, framed
from scrawler.features.cluster.exchange.sockets import Caller, listen_at, split_address
from scrawler.threads import start

_QUEUED = 32  # messages to a member: each may have MAX_MESSAGE bytes
_LINGER = 0.5  # seconds for what is queued at the end
_LOOK = 0.01  # seconds between two looks whether that is over
_SOON, _LATE = 0.1, 5.0  # seconds until a connection is made again: at first, and at last


class _Peer:
    """A member to whom something is sent."""

    def __init__(self, address: str, host: str, port: int) -> None:
        self.address = address
        self.host = host
        self.port = port
        self.queue: deque[bytes] = deque()
        self.news = asyncio.Event()  # there may be something in the queue
        self.task: asyncio.Task[None] | None = None


class TcpCommunicator:
    """A member that listens at a port of its own."""

    def __init__(
        self,
        listen: str,
        address_of: Callable[[str], str | None],
        door: Door,
        ports: int = 1,
        members: int = MOST_MEMBERS,
    ) -> None:
        """Listen at `[HOST:]PORT`, or at the first of `ports` from there that is free; port 0: any.

        Without a host that is loopback. `address_of` says where a member listens, None: nobody knows. It is asked under
        a lock, and must not wait. So many `members` at most are connected, those from which and to which was sent last.
        Raises SettingsError where that cannot be.
        """
        self.name = door.name
        self._address_of = address_of
        self._door = door
        self._most_peers = members
        self._own = secrets.token_bytes(NAME_LENGTH)
        self._caller = Caller()
        self._lock = threading.Lock()
        self._closed = False
        self._peers: OrderedDict[str, _Peer] = OrderedDict()
        self._tasks: set[asyncio.Task[None]] = set()
        self._failed: BaseException | None = None
        self._ending = asyncio.Event()
        with ExitStack() as failing:
            listener, self.address = listen_at(listen, ports)
            failing.callback(listener.close)
            self._loop = asyncio.new_event_loop()
            failing.callback(self._loop.close)
            self._inbound = Inbound(self._loop)
            self._port = Port(listener, door, self._own, self._inbound, members, self._begin)
            self._thread = threading.Thread(target=self._run, args=(listener,), name="tcp")
            start(self._thread)
            failing.pop_all()

    # -- of all threads ------------------------------------------------------------------------------------

    def send(self, batch: Batch, to: str) -> bool:
        """Send a batch; False if that cannot be now."""
        return self._put(to, self._door.batch(batch, to))

    def tell(self, topic: str, body: NoteBody, to: str) -> bool:
        """Send a note that may be lost."""
        return self._put(to, self._door.note(topic, body, to))

    def acknowledge(self, delivery: Delivery, returned: frozenset[int] = frozenset()) -> bool:
        """Say that a batch is durable here, but for the items of these ids."""
        return self._put(delivery.sender, self._door.receipt(delivery, returned))

    def _put(self, to: str, data: bytes | None) -> bool:
        if data is None:
            return False
        with self._lock:
            peer = None if self._closed else self._peer(to)
            if peer is None or len(peer.queue) >= _QUEUED:
                return False
            peer.queue.append(data)
            self._loop.call_soon_threadsafe(peer.news.set)
            return True

    def _peer(self, to: str) -> _Peer | None:
        """Return a member to send to; a new one where it listens elsewhere by now."""
        address = self._address_of(to)
        known = self._peers.get(to)
        if known is not None and known.address == address:
            self._peers.move_to_end(to)
            return known
        if known is not None:
            self._leave(self._peers.pop(to))
        made = _peer_at(address)
        if made is None:
            return None
        self._peers[to] = made
        self._loop.call_soon_threadsafe(self._meet, made)
        if len(self._peers) > self._most_peers:
            self._leave(self._peers.popitem(last=False)[1])
        return made

    def _leave(self, peer: _Peer) -> None:
        self._loop.call_soon_threadsafe(lambda: peer.task is not None and peer.task.cancel())

    def receive(self, timeout: float) -> Arrival | None:
        """Return the next message that is genuine; None after `timeout` seconds, or when somebody wakes it."""
        until = time.monotonic() + timeout
        while (data := self._inbound.get(until)) is not None:
            found = self._door.let_in(data)
            if found is not None:
                return found
            if time.monotonic() >= until:
                break
        return None

    def wake(self) -> None:
        """Let `receive` return."""
        self._inbound.wake()

    def dropped(self) -> Mapping[str, int]:
        """Return how many messages were not let in, by the reason."""
        return self._door.dropped()

    def close(self) -> None:
        """Let go of all sockets, and of the thread; what is queued has a moment still. Nobody waits any more."""
        with self._lock:
            self._closed = True
        self._inbound.close()
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._ending.set)
        self._thread.join()

    # -- of the loop ---------------------------------------------------------------------------------------

    def _run(self, listener: socket.socket) -> None:
        try:
            with listener:
                self._loop.run_until_complete(self._serve())
        except BaseException as error:
            self._failed = error
        with self._lock:
            self._closed = True
        if self._failed is not None:
            self._inbound.fail(self._failed)
        self._loop.close()

    async def _serve(self) -> None:
        accepting = self._begin(self._port.accept())
        await self._ending.wait()
        accepting.cancel()
        with self._lock:
            self._closed = True
            peers = list(self._peers.values())
        until = time.monotonic() + _LINGER
        while self._failed is None and any(peer.queue for peer in peers) and time.monotonic() < until:
            await asyncio.sleep(_LOOK)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._over)
        return task

    def _over(self, task: asyncio.Task[None]) -> None:
        """Note the end of a task; one that fails, which none should, is the end of all."""
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self._failed = self._failed or task.exception()
            self._ending.set()

    def _meet(self, peer: _Peer) -> None:
        peer.task = self._begin(self._carry(peer))

    async def _carry(self, peer: _Peer) -> None:
        """Send what there is to a member, by one connection after another."""
        pause = _SOON
        while True:
            await peer.news.wait()
            try:
                with await self._caller.call(peer.host, peer.port) as sock:
                    async with asyncio.timeout(PROVE):
                        await introduce(sock, self._door, self._own)
                    pause = _SOON
                    await self._write(sock, peer)
            except Stranger as reason:
                self._door.drop(str(reason))
            except OSError:  # nobody is there, or no more
                pass
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LATE)

    async def _write(self, sock: socket.socket, peer: _Peer) -> None:
        """Write what is queued, and is going to be, until the other end is gone. Raises OSError then."""
        while True:
            await peer.news.wait()
            while peer.queue:
                _check_open(sock)
                await self._loop.sock_sendall(sock, framed(peer.queue[0]))
                peer.queue.popleft()
            peer.news.clear()


def _check_open(sock: socket.socket) -> None:
    """Look whether the other end, which says nothing more, has ended the connection. Raises OSError."""
    with suppress(BlockingIOError):
        sock.recv(1)
        raise ConnectionResetError("the connection has ended")


def _peer_at(address: str | None) -> _Peer | None:
    """Return a member that listens there; None where nobody can: a guest says itself where it listens."""
    if address is None or not address.startswith("tcp://"):
        return None
    try:
        host, port = split_address(address.removeprefix("tcp://"))
    except ValueError:
        return None
    return _Peer(address, host, port) if host and port else None
