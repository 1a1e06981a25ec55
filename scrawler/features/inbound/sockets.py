"""Sockets at which is listened: bound to an address, with a bounded number of connections for each client.

They are counted when they are accepted, before anything was said, TLS included: who opens many and sends nothing takes
room from nobody else.
"""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import uvicorn

from scrawler.errors import SettingsError
from scrawler.features.inbound.connections import HEAD_S, OpenConnections

_CLOSE_S = 5.0  # in which the other side is to end TLS


class CountedSocket(socket.socket):
    """A socket at which is listened."""

    opened: OpenConnections | None = None

    def accept(self) -> tuple[socket.socket, Any]:
        """Accept a connection, if its client may have one more. Raises ConnectionAbortedError, and what accept does."""
        connection, address = super().accept()
        if self.opened is None:
            return connection, address
        peer = str(address[0])
        made = _Connection(fileno=connection.detach())
        made.counted_at = self.opened, peer
        if not self.opened.take(peer):
            made.close()
            raise ConnectionAbortedError(errno.ECONNABORTED, "too many connections of that client")
        return made, address


class _Connection(socket.socket):
    """A connection that was accepted, which is counted until it is closed."""

    counted_at: tuple[OpenConnections, str] | None = None

    def close(self) -> None:
        """Close it."""
        super().close()
        counted, self.counted_at = self.counted_at, None
        if counted is not None:
            counted[0].give_back(counted[1])


def bound(host: str, port: int, opened: OpenConnections) -> list[CountedSocket]:
    """Return sockets that are bound to all addresses of a host, at one port; 0: a free one. Raises SettingsError."""
    where = f"{host}, port {port}"
    with ExitStack() as made:
        sockets: list[CountedSocket] = []
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
            addresses = list(dict.fromkeys((family, address) for family, _, _, _, address in found))
            for family, address in addresses:
                one = made.enter_context(CountedSocket(family, socket.SOCK_STREAM))
                one.opened = opened
                taken = sockets[0].getsockname()[1] if sockets else port
                _bind(one, (address[0], taken, *address[2:]), alone=len(addresses) == 1)
                sockets.append(one)
        except (OSError, UnicodeError) as error:
            raise SettingsError(f"cannot listen at {where}: {_why(error)}") from error
        made.pop_all()
        return sockets


def _bind(one: CountedSocket, address: tuple[Any, ...], alone: bool) -> None:
    one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if one.family == socket.AF_INET6 and not alone:
        one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)  # another one has the port for IPv4
    one.bind(address)


def _why(error: OSError | UnicodeError) -> str:
    if isinstance(error, UnicodeError):
        return "that is no name of a host"
    return error.strerror or str(error)


class _Loop(asyncio.SelectorEventLoop):
    """A loop that waits for TLS no longer than for the head of a request."""

    async def create_server(self, *args: Any, ssl: Any = None, **named: Any) -> Any:
        """Make a server."""
        if ssl is not None:
            named |= {"ssl_handshake_timeout": HEAD_S, "ssl_shutdown_timeout": _CLOSE_S}
        return await super().create_server(*args, ssl=ssl, **named)


def serve(server: uvicorn.Server, sockets: Sequence[socket.socket]) -> None:
    """Serve until it is told to stop."""
    with asyncio.Runner(loop_factory=_Loop) as runner:
        runner.run(server.serve(sockets=list(sockets)))
