"""The port of a member: it takes connections, lets those prove themselves who call, and reads what members send.

A frame is the length of a message, in 4 bytes, and the message. A stranger costs a socket for some seconds, and some
bytes; of the strangers there are few at a time, and the one goes that has waited longest, of those from the address
from which most of them come: so a flood from one host does not keep out the members on others.
"""

from __future__ import annotations

import asyncio
import socket
from collections import Counter, OrderedDict
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeAlias

from scrawler.features.cluster.exchange.communicator import MAX_MESSAGE, MOST_STRANGERS
from scrawler.features.cluster.exchange.door import Door
from scrawler.features.cluster.exchange.handshake import Stranger, exactly, welcome
from scrawler.features.cluster.exchange.inbound import Inbound
from scrawler.features.cluster.exchange.sockets import forget_at_close, tune

PROVE = 5.0  # seconds in which a stranger has to prove itself
_WHOLE = 120.0  # seconds in which a message has to come, once it has begun
_NO_ROOM = 0.2  # seconds of a pause where the system has no room for another connection
_HEAD = 4  # bytes

Begin: TypeAlias = Callable[[Coroutine[Any, Any, None]], "asyncio.Task[None]"]


def framed(message: bytes) -> bytes:
    """Return a message as it stands on a connection."""
    return len(message).to_bytes(_HEAD) + message


class Port:
    """Hears those who call; used by one loop."""

    def __init__(
        self, listener: socket.socket, door: Door, own: bytes, inbound: Inbound, members: int, begin: Begin
    ) -> None:
        """Let up to `members` be connected that know the secret; `begin` makes a task; `own`: see `welcome`."""
        self._listener = listener
        self._door = door
        self._own = own
        self._inbound = inbound
        self._most_members = members
        self._begin = begin
        self._strangers: OrderedDict[asyncio.Task[None], str] = OrderedDict()  # from which addresses, the oldest first
        self._members: OrderedDict[bytes, asyncio.Task[None]] = OrderedDict()  # by the names of their lives

    async def accept(self) -> None:
        """Take connections, for ever."""
        loop = asyncio.get_running_loop()
        while True:
            try:
                sock, place = await loop.sock_accept(self._listener)
            except ConnectionError:  # it is gone already
                await asyncio.sleep(0)
                continue
            except OSError:
                await asyncio.sleep(_NO_ROOM)
                continue
            self._meet(sock, place[0])
            await asyncio.sleep(0)

    def _meet(self, sock: socket.socket, host: str) -> None:
        if len(self._strangers) >= MOST_STRANGERS:
            crowd = Counter(self._strangers.values()).most_common(1)[0][0]
            oldest = next(task for task, one in self._strangers.items() if one == crowd)
            del self._strangers[oldest]
            oldest.cancel()
        forget_at_close(sock, True)
        task = self._begin(self._hear(sock))
        self._strangers[task] = host

        def over(ended: asyncio.Task[None]) -> None:
            self._strangers.pop(ended, None)
            sock.close()  # also where the task was cancelled before it began

        task.add_done_callback(over)

    async def _hear(self, sock: socket.socket) -> None:
        """Let somebody prove itself, and then read what it sends."""
        task = asyncio.current_task()
        assert task is not None
        try:
            async with asyncio.timeout(PROVE):
                name = await welcome(sock, self._door, self._own)
        except Stranger as reason:
            self._door.drop(str(reason))
            return
        except OSError:
            return
        self._strangers.pop(task, None)
        self._let_in(name, task)
        try:
            with suppress(OSError):
                forget_at_close(sock, False)
                tune(sock)
                await self._read(sock, name)
        finally:
            if self._members.get(name) is task:
                del self._members[name]

    def _let_in(self, name: bytes, task: asyncio.Task[None]) -> None:
        """Note a member. One that comes again has given up its connection before; else the one goes that says least."""
        before = self._members.pop(name, None)
        if before is None and len(self._members) >= self._most_members:
            before = self._members.popitem(last=False)[1]
        if before is not None:
            before.cancel()
        self._members[name] = task

    async def _read(self, sock: socket.socket, name: bytes) -> None:
        """Read messages until the end, or what cannot be one. Raises OSError."""
        while True:
            length = int.from_bytes(await exactly(sock, _HEAD))
            if not 0 < length <= MAX_MESSAGE:
                self._door.drop("huge" if length else "damaged")
                return
            await self._inbound.keep_room(length)
            try:
                async with asyncio.timeout(_WHOLE):
                    message = await exactly(sock, length)
            except BaseException:
                self._inbound.give_back(length)
                raise
            self._inbound.put(message)
            self._members.move_to_end(name)
            await asyncio.sleep(0)  # others are to have their turn, though there is more
