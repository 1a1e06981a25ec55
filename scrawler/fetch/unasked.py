"""Bytes that nobody asked for, on connections that are kept alive (RFC 9112, 9.2).

What lies in a socket while no request is out is no answer to the next one. A server that has sent such bytes once is
asked on a connection of its own each time from then on. An answer is doubted where such bytes came right behind it and
its connection was used before: it may itself be what nobody asked for, and what came behind it be the answer.
"""

from __future__ import annotations

import os
import socket
from array import array
from collections.abc import Callable, Mapping
from fcntl import ioctl
from functools import lru_cache
from termios import FIONREAD

Server = tuple[str, str, str]  # scheme, authority and address

_MOST_TALKATIVE = 1_000  # servers that are remembered for such bytes
_BODILESS = (204, 304)  # answers that end with their head
_RECORD = 64  # bytes that TLS itself may send behind an answer: an alert has fewer


@lru_cache(maxsize=1)
def _acknowledger() -> Callable[[int], object]:
    """Return what lets the system acknowledge at once all that has come to a socket."""
    option = getattr(socket, "TCP_QUICKACK", None)  # Linux has it
    try:
        import ctypes

        set_option = ctypes.PyDLL(None).setsockopt
        on = ctypes.byref(ctypes.c_int(1))
    except (ImportError, OSError, AttributeError):
        option = None
    if option is None:
        return lambda fd: None
    return lambda fd: set_option(fd, socket.IPPROTO_TCP, option, on, 4)


def keeps_open(status: int, headers: Mapping[str, str]) -> bool:
    """Tell whether a server means to keep a connection open behind an answer in HTTP/1.1 (RFC 9112, 6.3 and 9.3)."""
    if "close" in headers.get("connection", "").lower():
        return False
    return status in _BODILESS or "content-length" in headers or "transfer-encoding" in headers


class KeptConnections:
    """The connections of a downloader that servers keep open, and which servers have sent what nobody asked for."""

    def __init__(self, most: int) -> None:
        """Remember the connections to so many servers at most."""
        self._most = most
        self._acknowledge = _acknowledger()
        self._count = array("i", [0])
        self._kept: dict[Server, dict[int, int]] = {}  # descriptors of each, with what tells a socket from others
        self._talkative: dict[Server, None] = {}
        self._out: dict[Server, int] = {}  # requests in flight at each server

    def asked(self, server: Server) -> None:
        """Note that a request goes out."""
        self._out[server] = self._out.get(server, 0) + 1

    def answered(self, server: Server) -> None:
        """Note that a request is over."""
        left = self._out.pop(server, 0) - 1
        if left > 0:
            self._out[server] = left

    def is_asked(self, server: Server) -> bool:
        """Whether a request to a server is in flight: what lies in a socket may be the answer to that one."""
        return server in self._out

    def waiting(self, fd: int, secured: bool) -> bool:
        """Tell whether something lies in a socket; neither its end counts, nor what TLS itself sends.

        What a server has written behind its answer waits in its system, mostly, until that is acknowledged (Nagle's
        algorithm, RFC 9293, 3.7.4): with the next request, if nothing is done before.
        """
        self._acknowledge(fd)
        return self._bytes_in(fd) > (_RECORD if secured else 0)

    def _bytes_in(self, fd: int) -> int:
        """Return how many bytes lie in a socket; -1 where it is closed."""
        try:
            ioctl(fd, FIONREAD, self._count)
        except OSError:
            return -1
        return self._count[0]

    def opened(self, server: Server, fd: int) -> None:
        """Note a new connection, which stays open."""
        kept = self._kept.get(server)
        if kept is None:
            while len(self._kept) >= self._most:
                del self._kept[next(iter(self._kept))]
            kept = self._kept[server] = {}
        kept[fd] = os.fstat(fd).st_ino

    def disturbed(self, server: Server, in_use: Callable[[int], bool]) -> int:
        """Return the descriptor of a connection on which something lies; -1: there is none.

        `in_use` tells of a descriptor whether an answer is awaited there. While other requests to the server are in
        flight nothing is said: an answer may have come before its descriptor is watched.
        """
        kept = self._kept.get(server)
        if kept is None or self.is_asked(server):
            return -1
        secured = server[0] == "https"
        for fd in tuple(kept):
            if in_use(fd):
                continue
            count = self._bytes_in(fd)
            if count == 0:
                continue
            if count < 0 or not _is_still(fd, kept[fd]):
                del kept[fd]
            elif count > (_RECORD if secured else 0):
                return fd
        return -1

    def is_talkative(self, server: Server) -> bool:
        """Whether a server has sent what nobody asked for."""
        return server in self._talkative

    def note_talkative(self, server: Server) -> None:
        """Note that a server has sent what nobody asked for: no connection to it is kept any more."""
        self._kept.pop(server, None)
        while len(self._talkative) >= _MOST_TALKATIVE:
            del self._talkative[next(iter(self._talkative))]
        self._talkative[server] = None


def _is_still(fd: int, number: int) -> bool:
    """Whether a descriptor is still that of the same socket: the number may be another file's by now."""
    try:
        return os.fstat(fd).st_ino == number
    except OSError:
        return False
