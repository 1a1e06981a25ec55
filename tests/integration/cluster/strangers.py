"""What those do at the port of a member who do not know the secret."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from scrawler.features.cluster.exchange.handshake import GREETING, HELLO, MAGIC
from tests.integration.cluster.wire import dial, exactly, hello, reset
from tests.limits import HANGS


@contextmanager
def crowd(address: str, number: int, patience: float = HANGS) -> Iterator[list[socket.socket]]:
    """Connect so often, and wait so many seconds for what is said to each."""
    with ExitStack() as stack:
        yield [stack.enter_context(dial(address, patience)) for _ in range(number)]


def silent(address: str, one: socket.socket) -> None:
    """Say nothing."""


def half(address: str, one: socket.socket) -> None:
    """Say half of what a member says."""
    one.sendall(hello(exactly(one, GREETING))[: HELLO // 2])


def much(address: str, one: socket.socket) -> None:
    """Say more than anybody reads."""
    one.setblocking(False)
    one.send(b"x" * 1_000_000)


def other_secret(address: str, one: socket.socket) -> None:
    """Say what those say who have another secret, and more."""
    one.sendall(hello(exactly(one, GREETING), b"another secret, as long") + b"\0\x0f\xff\xff" * 10_000)


def other_version(address: str, one: socket.socket) -> None:
    """Say what a member of another version says."""
    one.sendall(MAGIC[:3] + b"9" + hello(exactly(one, GREETING))[4:])


def zeromq(address: str, one: socket.socket) -> None:
    """Say what members of versions before say."""
    one.sendall(b"\xff" + b"\0" * 8 + b"\x7f\x03\0NULL" + b"\0" * 48)


def web(address: str, one: socket.socket) -> None:
    """Speak as a browser."""
    one.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" + b"x" * HELLO)


def early_reset(address: str, one: socket.socket) -> None:
    """Reset before anything was said."""
    reset(one)


def late_reset(address: str, one: socket.socket) -> None:
    """Reset within what a member says."""
    half(address, one)
    reset(one)


def last_reset(address: str, one: socket.socket) -> None:
    """Reset when all was said."""
    one.sendall(hello(exactly(one, GREETING)))
    reset(one)


ATTACKS: dict[Callable[[str, socket.socket], None], str] = {
    silent: "", half: "", much: "forged", other_secret: "forged", other_version: "another-version", zeromq: "forged",
    web: "forged", early_reset: "", late_reset: "", last_reset: "",
}  # fmt: skip
