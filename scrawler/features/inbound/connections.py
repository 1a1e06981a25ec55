"""Connections that are given up: whose request does not come to its end, or who does not read what it asked for.

uvicorn waits for both as long as the other side likes. It also reads all that has come of a request before it looks at
another connection: a body in chunks of one byte takes a second for 600 KB, and so long nobody else had an answer.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection
from functools import partial
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from scrawler.features.inbound.rate import client_key

HEAD_S = 10.0  # for the head of a request, from the connection, or from the answer before, on
WRITE_S = 30.0  # for which what was sent may stay unread, when no more fits
HEAD_BYTES = 16_384
_EVENTS = 32  # heads and pieces of bodies that are read of one connection before others have their turn


class OpenConnections:
    """How many connections each client has; for one thread."""

    def __init__(self, most_each: int, most: int | None = None, trusted: Collection[str] = ()) -> None:
        """`most` is for all together, None: as many as come; addresses that are `trusted`, as proxies, may have all."""
        self._most_each = most_each
        self._most = most
        self._trusted = trusted
        self._open: Counter[str] = Counter()

    def take(self, address: str) -> bool:
        """Count one more; return whether the address may have it. It is given back in any case."""
        key = client_key(address)
        self._open[key] += 1
        if self._most is not None and self._open.total() > self._most:
            return False
        return self._open[key] <= self._most_each or address in self._trusted

    def give_back(self, address: str) -> None:
        """Count one less."""
        key = client_key(address)
        self._open[key] -= 1
        if self._open[key] <= 0:
            del self._open[key]


class _Events:
    """h11's connection, which has nothing more to tell once it has told as much as it may in one turn."""

    def __init__(self, connection: h11.Connection) -> None:
        self._connection = connection
        self.left = 0

    def next_event(self) -> Any:
        """Tell what has come, as h11 does."""
        if not self.left:
            return h11.PAUSED
        self.left -= 1
        return self._connection.next_event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


class LimitedProtocol(H11Protocol):
    """One connection."""

    def __init__(self, *args: Any, head_s: float, write_s: float, **named: Any) -> None:
        """Take what uvicorn gives, and the limits."""
        super().__init__(*args, **named)
        self.conn: Any = _Events(self.conn)
        self._head_s = head_s
        self._write_s = write_s
        self._head_timer: asyncio.TimerHandle | None = None
        self._write_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a head."""
        super().connection_made(transport)
        self._head_timer = self.loop.call_later(self._head_s, self._give_up_head)

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing any more."""
        super().connection_lost(exc)
        for timer in (self._head_timer, self._write_timer):
            if timer is not None:
                timer.cancel()

    def data_received(self, data: bytes) -> None:
        """Take what came; a head that is whole is waited for no longer, from the next one's first byte on that is."""
        asked = self.cycle
        super().data_received(data)
        if self.cycle is not asked:
            if self._head_timer is not None:
                self._head_timer.cancel()
                self._head_timer = None
        elif self._head_timer is None and (self.cycle is None or self.cycle.response_complete):
            self._head_timer = self.loop.call_later(self._head_s, self._give_up_head)

    def handle_events(self) -> None:
        """Read what has come, and leave much of it for the next turn."""
        self.conn.left = _EVENTS
        super().handle_events()
        if not self.conn.left:
            self.loop.call_soon(self._go_on)

    def _go_on(self) -> None:
        if not self.transport.is_closing():
            self.flow.resume_reading()
            self.handle_events()

    def pause_writing(self) -> None:
        """Begin to wait until there is room for more."""
        super().pause_writing()
        self._write_timer = self.loop.call_later(self._write_s, self.transport.abort)

    def resume_writing(self) -> None:
        """There is room."""
        super().resume_writing()
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None

    def timeout_keep_alive_handler(self) -> None:
        """Close what asks for nothing; what has not read the last answer either would never be closed."""
        super().timeout_keep_alive_handler()
        if self.transport.get_write_buffer_size():
            self.transport.abort()

    def _give_up_head(self) -> None:
        if self.cycle is None or self.cycle.response_complete:
            self.transport.abort()


def limited_protocol(head_s: float = HEAD_S, write_s: float = WRITE_S) -> partial[LimitedProtocol]:
    """Return what makes uvicorn's connections."""
    return partial(LimitedProtocol, head_s=head_s, write_s=write_s)
