"""`tcp://[HOST:]PORT`: machines send to each other directly, by ZeroMQ (paper 000: SERVER_PORT, a listening thread).

Each member listens at one port (a PULL socket), and has a PUSH socket to each that it sends to; answers go the same
way. Connections are made, and made again, in the background. A queue that is full refuses, and what is longer than a
message may be costs its connection.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import suppress

import zmq

from scrawler.errors import SettingsError
from scrawler.exchange.communicator import MAX_MESSAGE, Arrival, Batch, Delivery, NoteBody
from scrawler.exchange.door import Door

_QUEUED = 32  # messages to a member, and from all: each may have MAX_MESSAGE bytes
_PEERS = 1_000  # members to whom a connection is kept
_LINGER = 500  # milliseconds for what is queued at the end
_ANYWHERE = ("", "*", "0.0.0.0", "::")


class TcpCommunicator:
    """A member that listens at a port of its own."""

    def __init__(
        self,
        listen: str,
        address_of: Callable[[str], str | None],
        door: Door,
        ports: int = 1,
    ) -> None:
        """Listen at `[HOST:]PORT`, or at the first of `ports` from there that is free; port 0: any.

        `address_of` says where a member listens, None: nobody knows. It is asked under a lock, and must not wait.
        Raises SettingsError where that cannot be.
        """
        self.name = door.name
        self._address_of = address_of
        self._door = door
        self._lock = threading.Lock()
        self._closed = False
        self._peers: OrderedDict[str, tuple[str, zmq.Socket[bytes]]] = OrderedDict()
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._wake_pipe = os.pipe()
        try:
            for end in self._wake_pipe:
                os.set_blocking(end, False)
            self._inbound = self._socket(zmq.PULL)
            self.address = self._bind(listen, ports)
            self._poller = zmq.Poller()
            self._poller.register(self._inbound, zmq.POLLIN)
            self._poller.register(self._wake_pipe[0], zmq.POLLIN)
        except BaseException:
            self._release()
            raise

    def _socket(self, kind: int) -> zmq.Socket[bytes]:
        made: zmq.Socket[bytes] = self._context.socket(kind)
        made.setsockopt(zmq.LINGER, _LINGER)
        made.setsockopt(zmq.SNDHWM, _QUEUED)
        made.setsockopt(zmq.RCVHWM, _QUEUED)
        made.setsockopt(zmq.MAXMSGSIZE, MAX_MESSAGE)
        made.setsockopt(zmq.IPV6, 1)
        made.setsockopt(zmq.RECONNECT_IVL, 100)
        made.setsockopt(zmq.RECONNECT_IVL_MAX, 5_000)
        made.setsockopt(zmq.HEARTBEAT_IVL, 5_000)
        made.setsockopt(zmq.HEARTBEAT_TIMEOUT, 20_000)
        return made

    def _bind(self, listen: str, ports: int) -> str:
        host, port = split_address(listen)
        last = port + ports if port else 1
        for one in range(port, last):
            try:
                self._inbound.bind(f"tcp://{_bracketed(host) if host not in _ANYWHERE else '*'}:{one or '*'}")
            except zmq.ZMQError as error:
                if error.errno == zmq.EADDRINUSE and one + 1 < last:
                    continue
                raise SettingsError(f"cannot listen at {listen}: {error.strerror}") from error
            break
        bound = self._inbound.getsockopt(zmq.LAST_ENDPOINT)
        assert isinstance(bound, bytes)
        number = bound.rstrip(b"\0").rpartition(b":")[2].decode()
        return f"tcp://{_bracketed(host if host not in _ANYWHERE else socket.gethostname())}:{number}"

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
            out = None if self._closed else self._peer(to)
            if out is None:
                return False
            try:
                out.send(data, zmq.DONTWAIT)
            except zmq.ZMQError:
                return False
            return True

    def _peer(self, to: str) -> zmq.Socket[bytes] | None:
        """Return the socket to a member; a new one where it listens elsewhere by now."""
        address = self._address_of(to)
        known = self._peers.get(to)
        if known is not None and known[0] == address:
            self._peers.move_to_end(to)
            return known[1]
        if known is not None:
            self._peers.pop(to)[1].close(0)
        if address is None or not address.startswith("tcp://"):  # a guest says itself where it listens
            return None
        try:
            made = self._socket(zmq.PUSH)
        except zmq.ZMQError:  # there is no room for another one now
            return None
        try:
            made.connect(address)
        except zmq.ZMQError:  # no address of ours
            made.close(0)
            return None
        self._peers[to] = address, made
        if len(self._peers) > _PEERS:
            self._peers.popitem(last=False)[1][1].close()
        return made

    def receive(self, timeout: float) -> Arrival | None:
        """Return the next message that is genuine; None after `timeout` seconds, or when somebody wakes it."""
        until = time.monotonic() + timeout
        while not self._closed:
            left = max(0.0, until - time.monotonic())
            ready = dict(self._poller.poll(int(left * 1000)))
            if self._wake_pipe[0] in ready:
                with suppress(BlockingIOError):
                    os.read(self._wake_pipe[0], 4096)
                return None
            if not ready:
                return None
            with suppress(zmq.Again):
                found = self._door.let_in(self._inbound.recv(zmq.DONTWAIT))
                if found is not None:
                    return found
            if time.monotonic() >= until:
                return None
        return None

    def wake(self) -> None:
        """Let `receive` return."""
        with self._lock, suppress(BlockingIOError):
            if not self._closed:
                os.write(self._wake_pipe[1], b"!")

    def dropped(self) -> Mapping[str, int]:
        """Return how many messages were not let in, by the reason."""
        return self._door.dropped()

    def close(self) -> None:
        """Let go of all sockets, once nobody receives any more."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        self._release()

    def _release(self) -> None:
        for _, out in self._peers.values():
            out.close()
        if hasattr(self, "_inbound"):
            self._inbound.close(0)
        self._context.term()
        for end in self._wake_pipe:
            os.close(end)


def split_address(listen: str) -> tuple[str, int]:
    """Return host and port of `[HOST:]PORT`. Raises ValueError."""
    host, _, port = listen.rpartition(":")
    if not (port.isascii() and port.isdigit() and int(port) <= 65_535):
        raise ValueError("no port")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    return host, int(port)


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
