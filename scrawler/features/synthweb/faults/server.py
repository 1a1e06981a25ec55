"""Serves the fault web on loopback addresses: 127.20.0.1 for the faults of pages, the next ones for those of sites."""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv4Address

from scrawler.features.synthweb.faults.answers import ANSWER_FAULTS
from scrawler.features.synthweb.faults.documents import DOCUMENT_FAULTS
from scrawler.features.synthweb.faults.sites import SITE_FAULTS
from scrawler.features.synthweb.faults.visit import Fault, Visit, page, reply
from scrawler.features.synthweb.serving import BACKLOG, EVERY_ADDRESS, listen, stop_asked

_FIRST = int(IPv4Address("127.20.0.1"))
_MAX_HEAD = 64 * 1024


@dataclass(frozen=True, slots=True)
class FaultWeb:
    """Where things are in the fault web that is served at a port."""

    port: int

    @property
    def home(self) -> str:
        """The site of page faults, without a slash at the end."""
        return self._site(0)

    def sites(self) -> dict[str, str]:
        """Return name of a site's fault -> its site, without a slash at the end."""
        return {fault.name: self._site(number) for number, fault in enumerate(SITE_FAULTS, start=1)}

    def seeds(self) -> list[str]:
        """Return the home pages of all sites."""
        return [f"{site}/" for site in (self.home, *self.sites().values())]

    def _site(self, number: int) -> str:
        return f"http://{IPv4Address(_FIRST + number)}:{self.port}"


def serve_faults(
    port: int, *, stop_with_stdin: bool = False, ready: Callable[[FaultWeb], None] = lambda web: None
) -> None:
    """Serve until SIGINT or SIGTERM; `ready` is called as soon as the web can be asked.

    Raises:
        SettingsError: the port cannot be used.
    """
    (listening,) = listen([(EVERY_ADDRESS, port)], "fault web")
    with listening:
        asyncio.run(_Server(FaultWeb(listening.getsockname()[1])).run(listening, stop_with_stdin, ready))


class _Server:
    def __init__(self, web: FaultWeb) -> None:
        self._web = web
        self._pages = {f"/{fault.name}": fault for fault in (*ANSWER_FAULTS, *DOCUMENT_FAULTS)}
        self._sites = dict(zip(web.sites().values(), SITE_FAULTS, strict=True))
        self._asked: Counter[tuple[str, str]] = Counter()
        self._open: set[asyncio.Task[None]] = set()

    async def run(self, listening: socket.socket, stop_with_stdin: bool, ready: Callable[[FaultWeb], None]) -> None:
        stop = stop_asked(stop_with_stdin)
        server = await asyncio.start_server(self._serve, sock=listening, backlog=BACKLOG, limit=_MAX_HEAD)
        ready(self._web)
        await stop.wait()
        server.close()
        for task in list(self._open):
            task.cancel()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection; a client that leaves ends what is being said to it."""
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            site = f"http://{writer.get_extra_info('sockname')[0]}:{self._web.port}"
            while site.startswith("http://127.") and await self._answer(site, reader, writer):
                pass
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, asyncio.CancelledError):
            pass  # the client has gone, or asked for too much, or the server stops
        finally:
            self._open.discard(task)
            writer.close()

    async def _answer(self, site: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; returns whether the connection is in order after it."""
        head = await reader.readuntil(b"\r\n\r\n")
        path = head.split(b" ", 2)[1].decode("latin-1")
        self._asked[site, path] += 1
        visit = Visit(writer, site, self._web.home, path, head, self._asked[site, path])
        fault = self._sites.get(site) or self._page_fault(path)
        if fault is None:
            await visit.send(self._good(path))
            return True
        leaves = asyncio.ensure_future(reader.read(1)) if not fault.keeps else None
        answer = asyncio.ensure_future(fault.answer(visit))
        await asyncio.wait([answer, leaves] if leaves else [answer], return_when=asyncio.FIRST_COMPLETED)
        for waiting in (answer, leaves):
            if waiting is not None:
                waiting.cancel()
        if answer.done() and not answer.cancelled():
            answer.result()
        return fault.keeps

    def _page_fault(self, path: str) -> Fault | None:
        return self._pages.get("/" + path[1:].partition("/")[0].partition("?")[0])

    def _good(self, path: str) -> bytes:
        if path == "/":
            return reply(page("The fault web", *self._pages, "/good"))
        if path in ("/good", "/canonical") or path.startswith("/reached/"):
            return reply(page(path))
        return reply(page("Not found"), "404 Not Found")
