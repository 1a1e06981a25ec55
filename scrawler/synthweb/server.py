"""Serves a synthetic web over HTTP/1.1 on loopback addresses, in one process or several."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import lru_cache
from pathlib import Path

from scrawler.errors import SettingsError
from scrawler.synthweb.http import Connection, HttpRequest, Service
from scrawler.synthweb.pages import Answer, PageWriter
from scrawler.synthweb.process import ServerProcess
from scrawler.synthweb.spec import Hosts, WebSpec
from scrawler.synthweb.web import SyntheticWeb

if sys.platform != "win32":
    import resource

_BACKLOG = 4096
_MISDIRECTED = Answer(421, "text/plain", b"no site of this web\n")


def serve(
    spec: WebSpec,
    port: int,
    *,
    log: Path | None = None,
    workers: int = 1,
    share_port: bool = False,
    stop_with_stdin: bool = False,
    ready: Callable[[SyntheticWeb], None] = lambda web: None,
) -> None:
    """Serve a web until SIGINT or SIGTERM; `ready` is called with it as soon as it can be asked.

    `port` 0 takes a free one. `log` is appended to, one line a request: seconds since 1970 when it came and
    when it was answered, status, method, URL.
    `share_port` lets other processes listen at the same port; `stop_with_stdin` stops at the end of standard input,
    so that a server does not outlive the program that started it.

    Raises:
        SettingsError: the port cannot be used, or the log not written.
    """
    with ExitStack() as stack:
        sockets = _listen(spec, port, share_port or workers > 1)
        for listening in sockets:
            stack.enter_context(listening)
        web = SyntheticWeb(spec, sockets[0].getsockname()[1])
        for _ in range(workers - 1):
            stack.enter_context(ServerProcess(spec, web.port, log=log, share_port=True))
        log_fd = _open_log(log, stack)
        _allow_many_files()
        asyncio.run(_Server(web, log_fd).run(sockets, stop_with_stdin, ready))


class _Server:
    """The answers of one process, and its open connections."""

    def __init__(self, web: SyntheticWeb, log_fd: int | None) -> None:
        self._web = web
        self._writer = PageWriter(web)
        self._log_fd = log_fd
        self._connections: set[Connection] = set()
        self._site = lru_cache(maxsize=65_536)(self._find_site)

    async def run(
        self, sockets: list[socket.socket], stop_with_stdin: bool, ready: Callable[[SyntheticWeb], None]
    ) -> None:
        """Accept connections until told to stop, then cut those that are open."""
        loop = asyncio.get_running_loop()
        stop = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            with suppress(NotImplementedError):  # on Windows an interrupt ends asyncio.run instead
                loop.add_signal_handler(number, stop.set)
        if stop_with_stdin:
            loop.add_reader(0, _stop_at_end_of_stdin, stop)
        service = Service(self._answer, self._delay, self._connections.add, self._connections.discard)
        servers = [
            await loop.create_server(lambda: Connection(service), sock=listening, backlog=_BACKLOG)
            for listening in sockets
        ]
        gc.freeze()  # what lives as long as the process need not be looked at again
        ready(self._web)
        await stop.wait()
        for server in servers:
            server.close()
        for connection in list(self._connections):
            connection.abort()

    def _find_site(self, authority: str, local: str) -> int | None:
        site = self._web.site_at(authority) if authority else None
        return self._web.site_at(local) if site is None and self._web.spec.hosts is not Hosts.PORTS else site

    def _delay(self, request: HttpRequest, local: str) -> float:
        if self._web.spec.latency_ms == 0:
            return 0.0
        site = self._site(request.authority, local)
        return 0.0 if site is None else self._web.site(site).latency_s

    def _answer(self, request: HttpRequest, local: str, came: float) -> Answer:
        site = self._site(request.authority, local)
        if site is None:
            return _MISDIRECTED
        answer = self._writer.answer(site, request.path)
        if self._log_fd is not None:
            url = f"http://{self._web.site(site).authority}{request.path}"
            # One unbuffered append: whoever has an answer finds its line, whichever process wrote it.
            times = f"{came:.6f} {time.time():.6f}"
            os.write(self._log_fd, f"{times} {answer.status} {request.method} {url}\n".encode())
        return answer


def _stop_at_end_of_stdin(stop: asyncio.Event) -> None:
    if not os.read(0, 4096):
        stop.set()


def _listen(spec: WebSpec, port: int, share: bool) -> list[socket.socket]:
    """Bind: one socket on all addresses, of which only loopback ones are answered, or one for each site's port."""
    if spec.hosts is Hosts.PORTS:
        SyntheticWeb(spec, port)  # refuses ports that do not exist
        places = [("127.0.0.1", port + index) for index in range(spec.sites)]
    else:
        places = [("0.0.0.0", port)]
    sockets = []
    try:
        for place in places:
            listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            sockets.append(listening)
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if share:
                listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            listening.bind(place)
    except OSError as error:
        for listening in sockets:
            listening.close()
        raise SettingsError(f"synthetic web: cannot serve at port {place[1]}: {error.strerror}") from error
    return sockets


def _open_log(log: Path | None, stack: ExitStack) -> int | None:
    if log is None:
        return None
    try:
        descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    except OSError as error:
        raise SettingsError(f"synthetic web: cannot write the log {log}: {error.strerror}") from error
    stack.callback(os.close, descriptor)
    return descriptor


def _allow_many_files() -> None:
    """Raise the soft limit of open files to the hard one: a crawler keeps thousands of connections."""
    if sys.platform != "win32":
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        with suppress(ValueError, OSError):  # macOS has a lower limit than it says
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
