"""What the servers of the synthetic webs share: where they listen, how they answer, and when they stop."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress

from scrawler.errors import SettingsError
from scrawler.features.synthweb.bandwidth import Bandwidth
from scrawler.features.synthweb.http import Connection, HttpRequest, Service
from scrawler.features.synthweb.pages import Answer

EVERY_ADDRESS = "0.0.0.0"  # all addresses of the host; only loopback ones are answered
BACKLOG = 4096


def listen(places: Sequence[tuple[str, int]], web: str, share_port: bool = False) -> list[socket.socket]:
    """Bind a socket to each place, an address and a port; `web` is what is served there.

    Raises:
        SettingsError: a port cannot be used.
    """
    sockets: list[socket.socket] = []
    try:
        for place in places:
            listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            sockets.append(listening)
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if share_port:
                listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            listening.bind(place)
    except OSError as error:
        for listening in sockets:
            listening.close()
        raise SettingsError(f"{web}: cannot serve at port {place[1]}: {error.strerror}") from error
    return sockets


def stop_asked(stop_with_stdin: bool) -> asyncio.Event:
    """Return what is set by SIGINT or SIGTERM and, where that is wished, at the end of standard input."""
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        with suppress(NotImplementedError):  # on Windows an interrupt ends asyncio.run instead
            loop.add_signal_handler(number, stop.set)
    if stop_with_stdin:
        try:
            loop.add_reader(0, _stop_at_end_of_stdin, stop)
        except PermissionError:  # standard input is a file, neither a pipe nor a terminal: its end is there already
            stop.set()
    return stop


async def serve_pages(
    sockets: Sequence[socket.socket],
    answer: Callable[[HttpRequest, str, float], Answer],
    delay: Callable[[HttpRequest, str], float],
    stop_with_stdin: bool,
    ready: Callable[[], None],
    bandwidth: int = 0,
) -> None:
    """Answer until told to stop, then cut the connections that are open; the calls are those of `Service`.

    `bandwidth`, in bytes a second, is shared by all connections; 0: no limit.
    """
    loop, stop = asyncio.get_running_loop(), stop_asked(stop_with_stdin)
    connections: set[Connection] = set()
    limit = Bandwidth(bandwidth) if bandwidth else None
    service = Service(answer, delay, connections.add, connections.discard, limit)
    servers = [await loop.create_server(lambda: Connection(service), sock=sock, backlog=BACKLOG) for sock in sockets]
    gc.freeze()  # the collector need not look at what lives as long as the process
    ready()
    await stop.wait()
    for server in servers:
        server.close()
    for connection in list(connections):
        connection.abort()


def _stop_at_end_of_stdin(stop: asyncio.Event) -> None:
    if not os.read(0, 4096):
        stop.set()
