"""HTTP/1.1 by hand: one connection of the synthetic web's server, requests parsed with next to no work."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from math import inf
from typing import NamedTuple, cast

from scrawler.features.synthweb.bandwidth import Bandwidth
from scrawler.features.synthweb.pages import Answer

MAX_HEAD = 16 * 1024
_READ_AHEAD = 64 * 1024  # bytes of pipelined requests taken in while one waits for its latency
_REQUEST = re.compile(rb"([A-Z]+) (\S+) HTTP/1\.([01])\r\n")
_HOST = re.compile(rb"\r\nhost:[ \t]*([^\r\n]*)", re.IGNORECASE)
_CONNECTION = re.compile(rb"\r\nconnection:[ \t]*([^\r\n]*)", re.IGNORECASE)
_BODY = re.compile(rb"\r\n(?:content-length:[ \t]*0*[1-9]|transfer-encoding:)", re.IGNORECASE)
_CONDITION = re.compile(rb"\r\nif-(none-match|modified-since):[ \t]*([^\r\n]*)", re.IGNORECASE)
_ABSOLUTE = re.compile(rb"http://([^/?#]+)(/.*)?", re.IGNORECASE)
_REASONS = {status.value: status.phrase for status in HTTPStatus}


class HttpRequest(NamedTuple):
    """What the server needs to know of a request."""

    method: str
    authority: str  # authority of the Host header, or of the absolute target; empty in HTTP/1.0 without Host
    path: str
    keep_alive: bool
    old: bool  # whether it is HTTP/1.0
    if_none_match: str = ""
    if_modified_since: str = ""


class BadRequest(NamedTuple):
    """A request that is answered with an error, after which the connection is closed."""

    status: int


def parse(head: bytes) -> HttpRequest | BadRequest:
    """Read a request head, from the request line up to and with the CRLF of its last field."""
    line = _REQUEST.match(head)
    if line is None:
        return BadRequest(400)
    method, target, minor = line.groups()
    if method not in (b"GET", b"HEAD"):
        return BadRequest(405)
    host = _HOST.search(head)
    if (host is None and minor == b"1") or _BODY.search(head):
        return BadRequest(400)
    authority = host[1].strip() if host else b""
    if not target.startswith(b"/"):
        absolute = _ABSOLUTE.fullmatch(target)
        if absolute is None:
            return BadRequest(400)
        authority, target = absolute[1], absolute[2] or b"/"
    connection = _CONNECTION.search(head)
    said = connection[1].lower() if connection else b""
    keep_alive = b"close" not in said if minor == b"1" else b"keep-alive" in said
    path = target.decode("latin-1")
    request = HttpRequest(method.decode(), authority.decode("latin-1"), path, keep_alive, old=minor == b"0")
    conditions = _CONDITION.findall(head) if b"If-" in head or b"if-" in head else ()
    for name, value in conditions:
        field = f"if_{name.lower().replace(b'-', b'_').decode()}"
        request = request._replace(**{field: value.strip().decode("latin-1")})
    return request


def frame(answer: Answer, request: HttpRequest | None) -> bytes:
    """Put an answer on the wire; without a request, as the last answer of a connection."""
    fields = f"Location: {answer.location}\r\n" if answer.location else answer.fields
    if request is None or not request.keep_alive:
        fields += "Connection: close\r\n"
    elif request.old:
        fields += "Connection: keep-alive\r\n"
    if answer.status == HTTPStatus.METHOD_NOT_ALLOWED:
        fields += "Allow: GET, HEAD\r\n"
    if answer.status != HTTPStatus.NOT_MODIFIED:
        fields = f"Content-Type: {answer.content_type}\r\nContent-Length: {len(answer.body)}\r\n{fields}"
    head = (f"HTTP/1.1 {answer.status} {_REASONS[answer.status]}\r\nServer: synthweb\r\n{fields}\r\n").encode("latin-1")
    return head if request is not None and request.method == "HEAD" else head + answer.body


class Service(NamedTuple):
    """What a connection calls: who answers, how long a site takes, who is told of open connections."""

    answer: Callable[[HttpRequest, str, float], Answer]  # takes request, own address, when it came
    delay: Callable[[HttpRequest, str], float]  # seconds; infinity: it is never answered
    opened: Callable[[Connection], None]
    closed: Callable[[Connection], None]
    bandwidth: Bandwidth | None  # what all answers go through; None where they go at once


class Connection(asyncio.Protocol):
    """Answers the requests of one connection in order, one at a time, pipelined or not."""

    _transport: asyncio.Transport  # asyncio hands it over before all else

    def __init__(self, service: Service) -> None:
        self._service = service
        self._buffer = b""
        self._held = False  # whether an answer waits for its latency, or is on the wire
        self._mute = False  # whether the request that is held is never answered
        self._full = False  # whether the client reads more slowly than we write
        self._ended = False  # whether the client sends no more
        self._local = ""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the connection, unless it comes from outside this machine."""
        self._transport = cast(asyncio.Transport, transport)
        self._local = transport.get_extra_info("sockname")[0]
        self._service.opened(self)
        if not self._local.startswith("127."):
            self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._service.closed(self)

    def abort(self) -> None:
        """Cut the connection."""
        self._transport.abort()

    def data_received(self, data: bytes) -> None:
        """Take in bytes and answer what is whole."""
        self._buffer += data
        self._work()
        if len(self._buffer) > _READ_AHEAD:
            self._transport.pause_reading()

    def eof_received(self) -> bool:
        """Close, once what is held has been answered."""
        self._ended = True
        return not self._mute and (self._held or self._full)

    def pause_writing(self) -> None:
        """Answer nothing more for now."""
        self._full = True

    def resume_writing(self) -> None:
        """Go on answering."""
        self._full = False
        self._work()

    def _work(self) -> None:
        while not (self._held or self._full or self._transport.is_closing()):
            if self._buffer.startswith(b"\r\n"):  # an empty line before a request is skipped (RFC 9112, 2.2)
                self._buffer = self._buffer[2:]
                continue
            end = self._buffer.find(b"\r\n\r\n")
            if end > MAX_HEAD or (end < 0 and len(self._buffer) > MAX_HEAD):
                return self._refuse(BadRequest(431))
            if end < 0:
                break
            request = parse(self._buffer[: end + 2])
            self._buffer = self._buffer[end + 4 :]
            if isinstance(request, BadRequest):
                return self._refuse(request)
            self._accept(request)
        if not self._transport.is_closing():
            self._listen()

    def _listen(self) -> None:
        """Read on, or close if the client has said its last and had its last answer."""
        if self._ended and not (self._held or self._full):
            self._transport.close()
        elif not self._ended and len(self._buffer) <= _READ_AHEAD and not self._transport.is_reading():
            self._transport.resume_reading()

    def _accept(self, request: HttpRequest) -> None:
        came = time.time()
        delay = self._service.delay(request, self._local)
        if delay == 0:
            self._send(request, came)
            return
        self._held = True
        if delay == inf:
            self._mute = True
            return
        asyncio.get_running_loop().call_later(delay, self._release, request, came)

    def _release(self, request: HttpRequest, came: float) -> None:
        self._held = False
        if self._transport.is_closing():
            self._service.answer(request, self._local, came)  # nobody hears the answer, but the request counts
        else:
            self._send(request, came)
            self._work()

    def _send(self, request: HttpRequest, came: float) -> None:
        answer = frame(self._service.answer(request, self._local, came), request)
        if self._service.bandwidth is not None:
            self._held = True
            self._service.bandwidth.send(self._transport, answer, partial(self._sent, request))
            return
        self._transport.write(answer)
        if not request.keep_alive:
            self._transport.close()

    def _sent(self, request: HttpRequest) -> None:
        """Go on when the bandwidth has let an answer through."""
        self._held = False
        if not request.keep_alive:
            self._transport.close()
        self._work()

    def _refuse(self, request: BadRequest) -> None:
        self._transport.write(frame(Answer(request.status, "text/plain", b""), None))
        self._transport.close()
