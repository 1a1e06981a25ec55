"""Serves a synthetic web over HTTP/1.1 on loopback addresses, in one process or several."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import lru_cache, partial
from math import inf
from pathlib import Path

from scrawler.errors import ScrawlerError, SettingsError
from scrawler.features.synthweb.changes import Clock
from scrawler.features.synthweb.http import HttpRequest
from scrawler.features.synthweb.pages import Answer, PageWriter
from scrawler.features.synthweb.process import ServerProcess
from scrawler.features.synthweb.serving import EVERY_ADDRESS, listen, serve_pages
from scrawler.features.synthweb.spec import Hosts, WebSpec
from scrawler.features.synthweb.unanswered import leave_unanswered
from scrawler.features.synthweb.web import SyntheticWeb

if sys.platform != "win32":
    import resource

_MISDIRECTED = Answer(421, "text/plain", b"no site of this web\n")


def serve(
    spec: WebSpec,
    port: int,
    *,
    log: Path | None = None,
    clock: Path | None = None,
    workers: int = 1,
    share_port: bool = False,
    stop_with_stdin: bool = False,
    ready: Callable[[SyntheticWeb], None] = lambda web: None,
) -> None:
    """Serve a web until SIGINT or SIGTERM; `ready` is called with it as soon as it can be asked.

    `port` 0 takes a free one. `log` is appended to, one line a request: seconds since 1970 when it came and
    when it was answered, status, method, URL.
    `clock` is a file with the virtual time in seconds, which is read at each request for a page.
    `share_port` lets other processes listen at the same port; `stop_with_stdin` stops at the end of standard input,
    so that a server does not outlive the program that started it.

    Raises:
        SettingsError: the port cannot be used; several workers cannot share a bandwidth.
        ScrawlerError: the log cannot be written.
    """
    if spec.bandwidth and workers > 1:
        raise SettingsError("synthetic web: a bandwidth holds for one process: use 1 worker")
    with ExitStack() as stack:
        sockets = listen(_places(spec, port), "synthetic web", share_port or workers > 1)
        for listening in sockets:
            stack.enter_context(listening)
        if not spec.epoch and clock is None:
            spec = replace(spec, epoch=time.time())  # the same for all workers
        Clock(spec.epoch, spec.time_scale, clock).now()  # a file that says something else is told before all else
        web = SyntheticWeb(spec, sockets[0].getsockname()[1])
        leave_unanswered(sockets, web)
        for _ in range(workers - 1):
            stack.enter_context(ServerProcess(spec, web.port, log=log, clock=clock, share_port=True))
        log_fd = _open_log(log, stack)
        _allow_many_files()
        server = _Server(web, log_fd, clock)
        tell = partial(ready, web)
        asyncio.run(serve_pages(sockets, server.answer, server.delay, stop_with_stdin, tell, spec.bandwidth))


class _Server:
    """The answers of one process."""

    def __init__(self, web: SyntheticWeb, log_fd: int | None, clock: Path | None) -> None:
        self._web = web
        self._writer = PageWriter(web, Clock(web.spec.epoch, web.spec.time_scale, clock))
        self._log_fd = log_fd
        self._takes_time = web.spec.latency_ms > 0 or web.spec.slow_share > 0 or web.spec.dead_share > 0
        self._site = lru_cache(maxsize=65_536)(self._find_site)

    def _find_site(self, authority: str, local: str) -> int | None:
        site = self._web.site_at(authority) if authority else None
        return self._web.site_at(local) if site is None and self._web.spec.hosts is not Hosts.PORTS else site

    def delay(self, request: HttpRequest, local: str) -> float:
        """Return the seconds before a request is answered; infinity: it is not."""
        if not self._takes_time:
            return 0.0
        site = self._site(request.authority, local)
        if site is None:
            return 0.0
        layout = self._web.site(site)
        if layout.dead:
            return inf
        target = self._web.locate(site, request.path) if layout.slow_share else None
        return layout.latency_s if target is None else self._web.wait_s(target)

    def answer(self, request: HttpRequest, local: str, came: float) -> Answer:
        """Answer a request to a local address, and write it to the log."""
        site = self._site(request.authority, local)
        if site is None:
            return _MISDIRECTED
        answer = self._writer.answer(site, request.path, request.if_none_match, request.if_modified_since)
        if self._log_fd is not None:
            url = f"http://{self._web.site(site).authority}{request.path}"
            # One unbuffered append: whoever has an answer finds its line, whichever process wrote it.
            times = f"{came:.6f} {time.time():.6f}"
            os.write(self._log_fd, f"{times} {answer.status} {request.method} {url}\n".encode())
        return answer


def _places(spec: WebSpec, port: int) -> list[tuple[str, int]]:
    """Return where to listen: on all addresses, or at one port for each site."""
    if spec.hosts is not Hosts.PORTS:
        return [(EVERY_ADDRESS, port)]
    SyntheticWeb(spec, port)  # it refuses ports that do not exist
    return [("127.0.0.1", port + index) for index in range(spec.sites)]


def _open_log(log: Path | None, stack: ExitStack) -> int | None:
    if log is None:
        return None
    try:
        descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
    except OSError as error:
        raise ScrawlerError(f"synthetic web: cannot write the log {log}: {error.strerror}") from error
    stack.callback(os.close, descriptor)
    return descriptor


def _allow_many_files() -> None:
    """Raise the soft limit of open files to the hard one: a crawler keeps thousands of connections."""
    if sys.platform != "win32":
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        with suppress(ValueError, OSError):  # macOS has a lower limit than it says it has
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
