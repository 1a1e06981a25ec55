"""How two ends of a connection prove to each other that they know the secret, before anything else is said.

    the listener says   `SCT` and the version, 16 random bytes
    the caller says     the same 4 bytes, 16 bytes that name its life, 16 random bytes, its proof
    the listener says   its proof

A proof is HMAC-SHA256 by the secret over a word for the role, and all that both have said so far. So no proof holds in
another connection, and none of the listener's is one of a caller. No more is read of a stranger than these bytes.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
import socket

from scrawler.features.cluster.exchange.door import Door

VERSION = b"1"
MAGIC = b"SCT" + VERSION
NAME_LENGTH = 16  # bytes that name a life of a caller
GREETING = len(MAGIC) + 16  # bytes
_PROOF = 32
_SAID = len(MAGIC) + NAME_LENGTH + 16
HELLO = _SAID + _PROOF
_CALLER, _LISTENER = b"caller:", b"listener:"  # no message begins so


class Stranger(Exception):
    """The other end does not know the secret, or speaks otherwise; its text is the reason in a word."""


async def exactly(sock: socket.socket, length: int) -> bytes:
    """Return the next bytes of a connection, and read not one more. Raises OSError where it ends before."""
    loop = asyncio.get_running_loop()
    data = bytearray(length)
    rest = memoryview(data)
    while rest:
        read = await loop.sock_recv_into(sock, rest)
        if not read:
            raise ConnectionResetError("the connection has ended")
        rest = rest[read:]
    return bytes(data)


async def welcome(sock: socket.socket, door: Door, own: bytes) -> bytes:
    """Let a caller prove itself, and return the name of its life; `own` is ours, which is nobody else's.

    Raises Stranger and OSError.
    """
    loop = asyncio.get_running_loop()
    greeting = MAGIC + secrets.token_bytes(16)
    await loop.sock_sendall(sock, greeting)
    hello = await exactly(sock, HELLO)
    _check_magic(hello)
    said = greeting + hello[:_SAID]
    name = hello[len(MAGIC) : len(MAGIC) + NAME_LENGTH]
    if name == own or not hmac.compare_digest(hello[_SAID:], door.proof(_CALLER + said)):
        raise Stranger("forged")
    await loop.sock_sendall(sock, door.proof(_LISTENER + said))
    return name


async def introduce(sock: socket.socket, door: Door, own: bytes) -> None:
    """Prove to a listener who we are, as a life of this name, and let it prove itself. Raises Stranger and OSError."""
    greeting = await exactly(sock, GREETING)
    _check_magic(greeting)
    hello = MAGIC + own + secrets.token_bytes(16)
    said = greeting + hello
    await asyncio.get_running_loop().sock_sendall(sock, hello + door.proof(_CALLER + said))
    if not hmac.compare_digest(await exactly(sock, _PROOF), door.proof(_LISTENER + said)):
        raise Stranger("forged")


def _check_magic(said: bytes) -> None:
    if not said.startswith(MAGIC):
        raise Stranger("another-version" if said.startswith(MAGIC[:3]) else "forged")
