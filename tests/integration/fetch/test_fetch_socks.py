"""The handshake with a SOCKS 5 proxy, byte by byte (RFC 1928)."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import suppress

import pytest

from scrawler.fetch import socks
from scrawler.model.proxy import Proxy
from tests.integration.fetch.servers import Visit
from tests.limits import HANGS

GREETING = b"\x05\x00"
ALLOWED = b"\x05\x00\x00\x01" + bytes(6)


def _connected(serve: Callable, script: Callable[[Visit], None], host: str = "site.example", timeout: float = HANGS):
    server = serve(script)
    return socks.connect(Proxy("socks5h", "127.0.0.1", server.port), host, 443, timeout)


@pytest.mark.parametrize(
    ("host", "told"),
    [
        ("site.example", b"\x03\x0csite.example"),
        ("192.0.2.7", b"\x01\xc0\x00\x02\x07"),
        ("2001:db8::1", b"\x04" + socket.inet_pton(socket.AF_INET6, "2001:db8::1")),
        ("[2001:db8::1]", b"\x04" + socket.inet_pton(socket.AF_INET6, "2001:db8::1")),
    ],
)
@pytest.mark.parametrize("bound", [b"\x01" + bytes(6), b"\x04" + bytes(18), b"\x03\x03abc" + bytes(2)])
def test_an_address_is_told_as_one(serve, host: str, told: bytes, bound: bytes):
    """Whatever type of address the proxy answers with, what comes behind it is the server's."""
    heard = bytearray()

    def script(visit: Visit) -> None:
        visit.sock.recv(100)
        visit.send(GREETING)
        heard.extend(visit.sock.recv(100))
        visit.send(b"\x05\x00\x00" + bound + b"hello")

    with _connected(serve, script, host) as sock:
        assert sock.recv(100) == b"hello"
    assert bytes(heard) == b"\x05\x01\x00" + told + (443).to_bytes(2)


def test_a_handshake_byte_by_byte_ends_with_the_one_deadline(serve):
    """Each byte comes in time, and all of them never."""
    over = threading.Event()

    def script(visit: Visit) -> None:
        visit.sock.recv(100)
        visit.send(GREETING)
        visit.sock.recv(100)
        with suppress(OSError):
            visit.send(b"\x05\x00\x00\x03\xff")
            while not over.wait(0.05):
                visit.send(b"x")

    with pytest.raises(TimeoutError):
        _connected(serve, script, timeout=0.5)
    over.set()


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (b"\x05\x08\x00\x01" + bytes(6), "it knows no addresses of this type"),
        (b"\x05\x00\x00\x09" + bytes(6), "an address of an unknown type, 9"),
        (b"\x04\x00\x00\x01" + bytes(6), "it speaks no SOCKS 5"),
        (b"\x05\x00", "the proxy has closed the connection"),
    ],
)
def test_what_a_proxy_must_not_say_is_an_error(serve, answer: bytes, words: str):
    def script(visit: Visit) -> None:
        visit.sock.recv(100)
        visit.send(GREETING)
        visit.sock.recv(100)
        visit.send(answer)

    with pytest.raises(OSError, match=words):
        _connected(serve, script)
