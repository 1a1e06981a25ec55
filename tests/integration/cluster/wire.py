"""What stands on a connection between members, spoken by hand: by strangers, and by members that behave badly."""

from __future__ import annotations

import hmac
import secrets
import socket
import struct
import time

from scrawler.features.cluster.exchange.handshake import GREETING, HELLO, MAGIC
from scrawler.features.cluster.exchange.sockets import split_address
from tests.limits import HANGS

SECRET = b"a secret that is long enough"


def dial(address: str, patience: float = HANGS) -> socket.socket:
    """Connect to a member."""
    return socket.create_connection(split_address(address.removeprefix("tcp://")), patience)


def exactly(sock: socket.socket, length: int) -> bytes:
    """Read so many bytes; fewer are the end."""
    data = b""
    while len(data) < length and (more := sock.recv(length - len(data))):
        data += more
    return data


def hello(greeting: bytes, secret: bytes = SECRET, name: bytes = b"") -> bytes:
    """What a caller says to a greeting."""
    said = MAGIC + (name or secrets.token_bytes(16)) + secrets.token_bytes(16)
    return said + hmac.digest(secret, b"caller:" + greeting + said, "sha256")


def proved(address: str, name: bytes = b"") -> socket.socket:
    """Connect as somebody who knows the secret."""
    sock = dial(address)
    greeting = exactly(sock, GREETING)
    said = hello(greeting, name=name)
    assert len(said) == HELLO
    sock.sendall(said)
    assert exactly(sock, 32) == hmac.digest(SECRET, b"listener:" + greeting + said[:-32], "sha256")
    return sock


def reset(sock: socket.socket) -> None:
    """Close with a reset."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()


def is_ended(sock: socket.socket) -> bool:
    """Wait for the other end to close; what it says before is not looked at."""
    until = time.monotonic() + HANGS
    try:
        while sock.recv(4096):
            assert time.monotonic() < until
    except ConnectionError:
        pass
    return True


def is_open(sock: socket.socket) -> bool:
    """Say whether the other end has not closed yet, or what it has said is not all read."""
    sock.setblocking(False)
    try:
        return sock.recv(1, socket.MSG_PEEK) != b""
    except BlockingIOError:
        return True
    except ConnectionError:
        return False
