"""Serves the domains that answer: one process with an event loop, which costs little beside the crawl.

All addresses of loopback are served by one socket. At two more ports nobody answers: what comes for the one is dropped
by the kernel, at the other connections are made, and nothing is ever said on them.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import socket
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection

from experiments.deadweb.kinds import PORTALS, Domain, Kind

_PAGES = 5  # of a real site
_PARKED = b"<title>For sale</title><p>This domain is for sale.</p><a href='http://portal0.example/'>Offers</a>"
_BACKLOG = 60_000  # the kernel takes less where net.core.somaxconn says so
_ATTACH_FILTER = 26  # SO_ATTACH_FILTER of Linux
_DROP_ALL = struct.pack("HBBI", 0x06, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Ports:
    """Where the web is: nobody listens at `refused`."""

    answering: int
    refused: int
    silent: int
    mute: int

    def seed(self, domain: Domain) -> str:
        """Return the URL of a domain."""
        by_kind = {Kind.REFUSED: self.refused, Kind.SILENT: self.silent, Kind.MUTE: self.mute}
        return f"http://{domain.host}:{by_kind.get(domain.kind, self.answering)}/"


@contextmanager
def serving(parking_seconds: float) -> Iterator[Ports]:
    """Serve the web in a block; a parking host takes so many seconds for an answer."""
    with _listening() as answering, _listening() as silent, _listening() as mute, socket.socket() as closed:
        _drop_all(silent)
        closed.bind(("0.0.0.0", 0))  # kept, so that nobody else listens there
        ports = Ports(*(one.getsockname()[1] for one in (answering, closed, silent, mute)))
        context = get_context("fork")
        ours, theirs = context.Pipe()
        process = context.Process(target=_serve, args=(answering, mute, ports, parking_seconds, theirs, ours))
        process.start()
        theirs.close()
        try:
            yield ports
        finally:
            ours.close()
            process.join(5)
            process.kill()
            process.join()


@contextmanager
def _listening() -> Iterator[socket.socket]:
    with socket.socket() as listening:
        listening.bind(("0.0.0.0", 0))
        listening.listen(_BACKLOG)
        yield listening


def _drop_all(listening: socket.socket) -> None:
    """Let the kernel drop what comes for a socket; on Linux alone: else connections are made, and nothing is said."""
    if sys.platform != "linux":
        return
    program = ctypes.create_string_buffer(_DROP_ALL)
    listening.setsockopt(socket.SOL_SOCKET, _ATTACH_FILTER, struct.pack("HP", 1, ctypes.addressof(program)))


def _serve(
    answering: socket.socket, mute: socket.socket, ports: Ports, seconds: float, theirs: Connection, ours: Connection
) -> None:
    """Serve until the other end of the pipe is closed."""
    ours.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(ImportError, ValueError, OSError):
        import resource

        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    asyncio.run(_serve_until_closed(answering, mute, ports, seconds, theirs.fileno()))
    os._exit(0)


async def _serve_until_closed(
    answering: socket.socket, mute: socket.socket, ports: Ports, seconds: float, pipe: int
) -> None:
    loop = asyncio.get_running_loop()
    over = asyncio.Event()
    loop.add_reader(pipe, over.set)
    async with (
        await loop.create_server(lambda: _Answers(ports, seconds), sock=answering, backlog=_BACKLOG),
        await loop.create_server(asyncio.Protocol, sock=mute, backlog=_BACKLOG),
    ):
        await over.wait()


class _Answers(asyncio.Protocol):
    """Answers one request after the other on a connection."""

    def __init__(self, ports: Ports, seconds: float) -> None:
        self._port = ports.answering
        self._seconds = seconds
        self._read = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._read += data
        while b"\r\n\r\n" in self._read:
            head, _, self._read = self._read.partition(b"\r\n\r\n")
            path = head.split(b" ", 2)[1].decode()
            host = head.partition(b"Host: ")[2].partition(b"\r\n")[0].decode().partition(":")[0]
            answer = _answer(host, path, self._port)
            if host.startswith(Kind.PARKED) and self._seconds:
                asyncio.get_running_loop().call_later(self._seconds, self._say, answer)
            else:
                self._say(answer)

    def _say(self, answer: bytes) -> None:
        if not self._transport.is_closing():
            self._transport.write(answer)  # type: ignore[attr-defined]


def _answer(host: str, path: str, port: int) -> bytes:
    name = host.split(".", 1)[0]
    if path == "/robots.txt":
        return _said("404 Not Found", b"nothing here")
    if name.startswith(Kind.PARKED):
        return _said("200 OK", _PARKED)
    if name.startswith(Kind.MOVED):
        number = int(name.removeprefix(Kind.MOVED))
        target = f"www.{host}" if number % 2 else f"portal{number // 2 % PORTALS}.example"
        return _said("301 Moved Permanently", b"", f"Location: http://{target}:{port}/\r\n".encode())
    if name.startswith(Kind.ERROR):
        status = ("403 Forbidden", "404 Not Found", "500 Internal Server Error")[int(name[len(Kind.ERROR) :]) % 3]
        return _said(status, b"<p>no</p>")
    links = "".join(f"<a href='/{number}.html'>Page {number}</a>" for number in range(1, _PAGES))
    if not name.startswith(Kind.REAL):
        links = ""
    return _said("200 OK", f"<title>{host}</title><p>{host} has a page at {path}</p>{links}".encode())


def _said(status: str, body: bytes, more: bytes = b"") -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n".encode()
    return head + more + b"\r\n" + body
