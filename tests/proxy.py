"""A TCP proxy on loopback that delays, cuts, refuses or swallows: the network between a crawl and its database."""

from __future__ import annotations

import selectors
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from sqlalchemy import make_url

_PIECE = 1 << 16  # bytes
COMMITS = (b"\x03COMMIT", b"COMMIT\0")  # as PyMySQL sends it, and psycopg


@dataclass
class _Way:
    """One direction of a connection."""

    source: socket.socket
    target: socket.socket
    to_server: bool
    pieces: deque[tuple[float, bytes]] = field(default_factory=deque)  # (when to hand on, data; b"": the end)


class Proxy:
    """Hands on connections to `port`, each piece of data `delay` seconds later; use it as a context manager.

    `cut` ends all connections, with `refuse` new ones are turned away until `accept`, with `swallow` everything is
    taken and nothing handed on until `accept`. `cut_after_commit` cuts the connection that next sends a COMMIT to the
    server, once the server has answered it: the answer is lost.
    """

    def __init__(self, port: int, delay: float = 0.0) -> None:
        self._target_port, self._delay = port, delay
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port: int = self._listening.getsockname()[1]
        self._selector = selectors.DefaultSelector()
        self._listener, self._doorbell = socket.socketpair()
        self._orders: deque[Callable[[], None]] = deque()
        self._ways: dict[socket.socket, _Way] = {}
        self._refusing = self._swallowing = self._closing = False
        self._marks: tuple[bytes, ...] = ()
        self._marked: socket.socket | None = None  # the server's side of the connection that is to be cut
        self._cut = threading.Event()
        self.connections = 0  # made so far
        self.round_trips = 0  # pieces from the server that follow one to it
        self._asking: set[socket.socket] = set()
        self._thread = threading.Thread(target=self._run, name="proxy")

    def in_front_of(self, url: str) -> str:
        """Return the URL by which a database of the server is reached through this proxy."""
        return make_url(url).set(port=self.port).render_as_string(hide_password=False)

    def __enter__(self) -> Self:
        self._selector.register(self._listening, selectors.EVENT_READ)
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._order(self._close)
        self._thread.join()

    # -- called from any thread; done when they return -----------------------------------------------------

    def cut(self) -> None:
        """End all connections at once."""
        self._order(self._cut_all)

    def refuse(self) -> None:
        """End all connections and turn new ones away."""
        self._order(self._refuse)

    def swallow(self) -> None:
        """Take new connections and all data, and say nothing any more."""
        self._order(lambda: self._set(swallowing=True))

    def accept(self) -> None:
        """Hand connections on again; those whose data was swallowed are cut."""
        self._order(self._accept)

    def cut_after_commit(self) -> threading.Event:
        """Cut a connection when the server has answered its COMMIT; returns what is set then."""
        self._cut = threading.Event()
        self._order(lambda: self._set(marks=COMMITS))
        return self._cut

    def _order(self, order: Callable[[], None]) -> None:
        done = threading.Event()

        def do() -> None:
            order()
            done.set()

        self._orders.append(do)
        self._doorbell.send(b"!")
        done.wait()

    # -- in the proxy's thread -----------------------------------------------------------------------------

    def _set(self, *, swallowing: bool = False, marks: tuple[bytes, ...] = ()) -> None:
        self._swallowing, self._marks = swallowing, marks

    def _accept(self) -> None:
        if self._swallowing:
            self._cut_all()
        if self._refusing:
            self._listening = socket.create_server(("127.0.0.1", self.port), backlog=128)
            self._selector.register(self._listening, selectors.EVENT_READ)
        self._refusing = self._swallowing = False

    def _refuse(self) -> None:
        self._cut_all()
        self._selector.unregister(self._listening)
        self._listening.close()
        self._refusing = True

    def _cut_all(self) -> None:
        while self._ways:
            self._end(next(iter(self._ways)))

    def _close(self) -> None:
        self._cut_all()
        self._closing = True

    def _run(self) -> None:
        while not self._closing:
            for key, _ in self._selector.select(self._patience()):
                end = key.fileobj
                assert isinstance(end, socket.socket)
                if end is self._listener:
                    for _ in end.recv(100):
                        self._orders.popleft()()
                elif end is self._listening:
                    self._connect()
                elif end in self._ways:
                    self._take(end)
            self._hand_on()
        self._selector.close()
        for one in (self._listening, self._listener, self._doorbell):
            one.close()

    def _patience(self) -> float | None:
        due = [way.pieces[0][0] for way in self._ways.values() if way.pieces]
        return max(0.0, min(due) - time.monotonic()) if due and not self._swallowing else None

    def _connect(self) -> None:
        client, _ = self._listening.accept()
        self.connections += 1
        try:
            server = socket.create_connection(("127.0.0.1", self._target_port))
        except OSError:
            client.close()
            return
        for source, target in ((client, server), (server, client)):
            source.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._ways[source] = _Way(source, target, to_server=source is client)
            self._selector.register(source, selectors.EVENT_READ)

    def _take(self, source: socket.socket) -> None:
        way = self._ways[source]
        try:
            data = source.recv(_PIECE)
        except OSError:
            data = b""
        if not data:
            self._selector.unregister(source)
        elif way.to_server:
            self._asking.add(way.target)
            if any(mark in data for mark in self._marks):
                self._marks, self._marked = (), way.target
        elif source in self._asking:
            self._asking.discard(source)
            self.round_trips += 1
        if source is self._marked:
            self._marked = None
            self._cut.set()  # before anybody can see it
            self._end(source)
        else:
            way.pieces.append((time.monotonic() + self._delay, data))

    def _hand_on(self) -> None:
        if self._swallowing:
            return
        now = time.monotonic()
        for way in list(self._ways.values()):
            while way.source in self._ways and way.pieces and way.pieces[0][0] <= now:
                _, data = way.pieces.popleft()
                try:
                    if not data:
                        raise ConnectionError
                    way.target.sendall(data)
                except OSError:
                    self._end(way.source)

    def _end(self, source: socket.socket) -> None:
        """Cut a connection, given by one of its ends; with data unread, the peer sees a reset."""
        target = self._ways[source].target
        for end in (source, target):
            del self._ways[end]
            self._asking.discard(end)
            if end in self._selector.get_map():
                self._selector.unregister(end)
            end.close()
