"""How many bytes come over a connection for a body, beside those of the body itself.

Extensions of chunks (RFC 9112, 7.1.1), padding of frames and the like are no part of any body, and bounded by nothing:
a server could send them for as long as a download may take. What a system tells of a socket counts them all.
"""

from __future__ import annotations

import socket
from struct import Struct
from typing import Final

LOOK_EVERY: Final = 8  # times that a socket became ready, after which its bytes are counted: most pages need fewer
_SPARE: Final = 1 << 20  # bytes that may come beside those of a body ...
_A_BYTE: Final = 8  # ... with so many more for each byte of it: a chunk may have one byte

_TCP_INFO: Final[int | None] = getattr(socket, "TCP_INFO", None)  # Linux has it
_RECEIVED: Final = Struct("=128xQ")  # tcpi_bytes_received


def received(fd: int) -> int | None:
    """Return how many bytes a socket has had in all, those of TLS among them; None where the system does not say."""
    if _TCP_INFO is None:
        return None
    try:
        sock = socket.socket(fileno=fd)
    except OSError:
        return None
    try:
        info = sock.getsockopt(socket.IPPROTO_TCP, _TCP_INFO, _RECEIVED.size)
    except OSError:
        return None
    finally:
        sock.detach()
    return int(_RECEIVED.unpack(info)[0]) if len(info) == _RECEIVED.size else None


def most_beside(body: int) -> int:
    """Return how many bytes may come beside a body of which so many have come."""
    return _SPARE + _A_BYTE * body


def too_much(beside: int) -> str:
    """Say why an answer was stopped."""
    return f"stopped, for {beside:,} bytes had come that are no part of its body"


class Traffic:
    """The traffic of a connection on which something large comes, from the first look at it on."""

    __slots__ = ("_bodies", "_bytes", "_looked")

    def __init__(self, bytes_: int, bodies: int) -> None:
        """Begin to count; `bodies` are the bytes of the bodies that come there, as far as they have come."""
        self._bytes = bytes_
        self._looked = bytes_
        self._bodies = bodies

    def may_be_too_much(self, bytes_: int) -> bool:
        """Tell whether so much has come since the last look that it is worth another one."""
        return bytes_ - self._looked > _SPARE

    def beside(self, bytes_: int, bodies: int) -> int:
        """Return how many bytes have come since the begin that are no part of a body, if they are too many, else 0."""
        self._looked = bytes_
        body = max(0, bodies - self._bodies)
        beside = bytes_ - self._bytes - body
        return beside if beside > most_beside(body) else 0
