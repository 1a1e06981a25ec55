"""What a fault is, and one request as it sees it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

HTML = "Content-Type: text/html; charset=utf-8"


@dataclass(eq=False, slots=True)
class Visit:
    """A request that a fault answers, byte by byte."""

    writer: asyncio.StreamWriter
    site: str  # scheme://address:port of the fault's site
    home: str  # scheme://address:port of the site of page faults
    path: str  # the path with its query
    head: bytes
    number: int  # how many times the path was asked for, this time included

    async def send(self, data: bytes) -> None:
        """Send bytes; ConnectionError when the client is gone."""
        self.writer.write(data)
        await self.writer.drain()

    async def hang(self) -> None:
        """Say nothing more until the client leaves or the server stops."""
        await asyncio.get_running_loop().create_future()

    async def drip(self, data: bytes, pause: float) -> None:
        """Send `data` again and again, with a pause in seconds between."""
        while True:
            await self.send(data)
            await asyncio.sleep(pause)


Script = Callable[[Visit], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Fault:
    """A misbehaviour: its name is also its path, or the first word of what its site says."""

    name: str
    does: str  # what it does, in a few words
    answer: Script
    keeps: bool = False  # whether the connection is in order after it


def reply(body: bytes | str, status: str = "200 OK", *headers: str) -> bytes:
    """Return a whole and correct answer; HTML where no Content-Type is among the headers."""
    payload = body.encode() if isinstance(body, str) else body
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(payload)}", *headers]
    if not any(header.lower().startswith("content-type") for header in headers):
        lines.append(HTML)
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + payload


def page(title: str, *links: str, text: str = "", head: str = "") -> str:
    """Return an HTML page."""
    items = "".join(f'<li><a href="{link}">{link}</a>\n' for link in links)
    return f"<!DOCTYPE html><title>{title}</title>{head}<h1>{title}</h1><p>{text}</p>\n<ul>{items}</ul>\n"


def whole(name: str, does: str, body: bytes | str, status: str = "200 OK", *headers: str) -> Fault:
    """Return the fault whose answer is whole and correct as HTTP."""
    return _sends(name, does, reply(body, status, *headers), keeps=True)


def says(name: str, does: str, data: bytes) -> Fault:
    """Return the fault that says these bytes, and closes."""
    return _sends(name, does, data, keeps=False)


def _sends(name: str, does: str, data: bytes, keeps: bool) -> Fault:
    async def answer(visit: Visit) -> None:
        await visit.send(data)

    return Fault(name, does, answer, keeps)
