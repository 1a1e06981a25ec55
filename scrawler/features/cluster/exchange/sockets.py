"""Sockets between members: where one listens, and how one calls another."""

from __future__ import annotations

import asyncio
import errno
import socket
import struct
import sys
from contextlib import suppress
from ipaddress import ip_address
from threading import Thread
from typing import Any, TypeAlias

from scrawler.errors import SettingsError, StartError
from scrawler.threads import start

_LOOPBACK = "127.0.0.1"  # where no host is named
_EVERYWHERE = ("*", "0.0.0.0", "::")
_BACKLOG = 512  # connections that the system takes before they are looked at
_CONNECT = 5.0  # seconds for each address of a host
_LOOK_UPS = 4  # threads that ask for names; one that hangs is left alone

# Dead links end, though nobody says anything; a frozen process is no dead link: (name of the option, seconds or number)
_KEEP_ALIVE = (("TCP_KEEPIDLE", 10), ("TCP_KEEPALIVE", 10), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3))
_UNHEARD = 20_000  # milliseconds for which what was sent may not be acknowledged

Place: TypeAlias = tuple[socket.AddressFamily, Any]


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


def listen_at(listen: str, ports: int) -> tuple[socket.socket, str]:
    """Listen at `[HOST:]PORT`, or the first of `ports` from there that is free; return where others reach that.

    Without a host that is loopback; `*`, `0.0.0.0` and `[::]` are all addresses, told by the host's name.
    Raises SettingsError.
    """
    host, port = split_address(listen)
    last = port + ports - 1 if port else 0
    while True:
        try:
            made = _listening(host or _LOOPBACK, port)
            break
        except (OSError, ValueError) as error:
            if getattr(error, "errno", None) == errno.EADDRINUSE and port < last:
                port += 1
                continue
            why = (getattr(error, "strerror", None) or str(error)).partition(" (while")[0]
            raise SettingsError(f"cannot listen at {listen}: {why}") from error
    told = socket.gethostname() if host in _EVERYWHERE else host or _LOOPBACK
    return made, f"tcp://{_bracketed(told)}:{made.getsockname()[1]}"


def _listening(host: str, port: int) -> socket.socket:
    if host in ("*", "::") and socket.has_dualstack_ipv6():
        made = socket.create_server(("", port), family=socket.AF_INET6, backlog=_BACKLOG, dualstack_ipv6=True)
    else:
        found = socket.getaddrinfo("0.0.0.0" if host == "*" else host, port, type=socket.SOCK_STREAM)
        family, *_, place = min(found, key=lambda one: one[0] != socket.AF_INET)  # not each host has both
        made = socket.create_server(place[:2], family=family, backlog=_BACKLOG)
    made.setblocking(False)
    return made


def is_here(host: str) -> bool:
    """Say whether a host is `localhost`, or an address (IPv6 in brackets) of this host."""
    if host != "localhost":
        try:
            ip_address(host.strip("[]"))
        except ValueError:
            return False
    try:
        listen_at(f"{host}:0", 1)[0].close()
    except SettingsError:
        return False
    return True


def tune(sock: socket.socket) -> None:
    """Let what is written go off at once, and let a connection end whose other end is not there any more."""
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (*_KEEP_ALIVE, ("TCP_USER_TIMEOUT", _UNHEARD)):
        if hasattr(socket, name):
            with suppress(OSError):  # the system knows the option, and has no such values
                sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def forget_at_close(sock: socket.socket, yes: bool) -> None:
    """Let the system keep nothing of a connection that is closed here, as it does for a while otherwise."""
    shape = "hh" if sys.platform == "win32" else "ii"
    with suppress(OSError):  # the other end is gone, and macOS says so
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack(shape, yes, 0))


async def _connected(family: socket.AddressFamily, place: Any) -> socket.socket:
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setblocking(False)
        tune(made)
        async with asyncio.timeout(_CONNECT):
            await asyncio.get_running_loop().sock_connect(made, place)
    except BaseException:
        made.close()
        raise
    return made


class Caller:
    """Connects to others' addresses; used by one loop."""

    def __init__(self) -> None:
        self._looking_up = 0  # threads

    async def call(self, host: str, port: int) -> socket.socket:
        """Connect to a listener. Raises OSError."""
        refused: OSError = ConnectionRefusedError("no address")
        for family, place in await self._places(host, port):
            try:
                return await _connected(family, place)
            except OSError as error:
                refused = error
        raise refused

    async def _places(self, host: str, port: int) -> list[Place]:
        """Return where a host is. A name is looked up by a thread that nobody waits for at the end.

        Threads of the loop would have to end before the process does; nothing can wake a look-up.
        """
        with suppress(OSError, ValueError):
            return _look_up(host, port, socket.AI_NUMERICHOST)
        if self._looking_up >= _LOOK_UPS:
            raise BlockingIOError("too many names are being looked up")
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[list[Place]] = loop.create_future()

        def tell(found: list[Place]) -> None:
            self._looking_up -= 1
            if not answer.done():
                answer.set_result(found)

        def look() -> None:
            found: list[Place] = []
            with suppress(OSError, ValueError):
                found = _look_up(host, port)
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(tell, found)

        try:
            start(Thread(target=look, name="look-up", daemon=True))
        except StartError as error:
            raise BlockingIOError(str(error)) from error
        self._looking_up += 1
        return await answer


def _look_up(host: str, port: int, flags: int = 0) -> list[Place]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=flags)
    return [(family, _numeric(place)) for family, _, _, _, place in found]


def _numeric(place: Any) -> Any:
    """Return an address without the name of an interface, which stands in it as a number as well."""
    return (place[0].partition("%")[0], *place[1:])
