"""Sends one message to a webhook: by HTTP or HTTPS, to an address that the guard lets pass, within a time."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol
from urllib.parse import urlsplit

import certifi
import pycurl

from scrawler.fetch import guard
from scrawler.fetch.retry_after import retry_after

_MOST_READ = 64 * 1024  # bytes of an answer, of which nothing is kept
_MOST_HEAD = 64 * 1024
_CONNECT_MS = 10_000


class Sent(NamedTuple):
    """What came of a try."""

    error: str = ""  # empty: it was delivered
    wait: float | None = None  # seconds for which the receiver wants no other one


class Sender(Protocol):
    """Sends messages."""

    def send(self, url: str, headers: Sequence[str], body: bytes, seconds: float) -> Sent:
        """Send a message by POST, which may take so long. Raises nothing for what goes wrong outside."""


class HttpSender:
    """Sends by libcurl, directly and without cookies; redirects are not followed, for a secret signs what goes there.

    A name is looked up once, and the address that was judged is the one that is asked. `stopping` ends what is on its
    way.
    """

    def __init__(
        self,
        allow_private: bool,
        allow_addresses: Sequence[str],
        user_agent: str,
        resolve: Mapping[str, str] | None = None,
        authorities: str = "",
        stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        self._allow_private = allow_private
        self._allowed = guard.allowed_networks(allow_addresses)
        self._user_agent = user_agent
        self._resolve = resolve or {}
        self._authorities = authorities or certifi.where()
        self._stopping = stopping

    def send(self, url: str, headers: Sequence[str], body: bytes, seconds: float) -> Sent:
        """Send a message by POST."""
        parts = urlsplit(url)
        host = parts.hostname or ""
        began = time.monotonic()
        address, problem = self._address(host)
        if problem:
            return Sent(problem)
        left = seconds - (time.monotonic() - began)
        if left <= 0:
            return Sent(f"{host} was not found within {seconds:,.0f} s")
        answer = _Answer()
        handle = pycurl.Curl()
        try:
            self._prepare(handle, url, address, headers, body, left, answer)
            handle.perform()
        except pycurl.error as error:
            if not answer.cut:  # its head is whole then: the rest of a long answer is not for us
                return Sent(f"{str(error.args[1]) or 'no answer'}")
        finally:
            handle.close()
        return answer.judged()

    def _address(self, host: str) -> tuple[str, str]:
        """Return an address of a host, or what is wrong with it."""
        given = self._resolve.get(host)
        try:
            found = [given] if given else _addresses(host)
        except (OSError, UnicodeError) as error:
            return "", f"{host}: {getattr(error, 'strerror', None) or error}"
        for one in found:
            if not guard.refuses(one, self._allow_private, self._allowed):
                return one, ""
        return "", f"{host} is at {found[0]}, a private address: --webhook-private lets webhooks go there"

    def _prepare(
        self,
        handle: pycurl.Curl,
        url: str,
        address: str,
        headers: Sequence[str],
        body: bytes,
        seconds: float,
        answer: _Answer,
    ) -> None:
        host = f"[{address}]" if ":" in address else address
        options = {
            pycurl.URL: url,
            pycurl.CONNECT_TO: [f"::{host}:"],
            pycurl.PROTOCOLS: pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS,
            pycurl.PROXY: "",
            pycurl.NOSIGNAL: 1,
            pycurl.CAINFO: os.fsencode(self._authorities),
            pycurl.FOLLOWLOCATION: 0,
            pycurl.POST: 1,
            pycurl.POSTFIELDS: body,
            pycurl.USERAGENT: self._user_agent,
            pycurl.HTTPHEADER: [*headers, "Expect:"],
            pycurl.TIMEOUT_MS: max(1, int(seconds * 1000)),
            pycurl.CONNECTTIMEOUT_MS: _CONNECT_MS,
            pycurl.HEADERFUNCTION: answer.take_line,
            pycurl.WRITEFUNCTION: answer.take_body,
            pycurl.NOPROGRESS: 0,
            pycurl.XFERINFOFUNCTION: self._look,
        }
        for option, value in options.items():
            handle.setopt(option, value)

    def _look(self, *_: int) -> int:
        return int(self._stopping())  # 1: libcurl gives up


class _Answer:
    """What a receiver says: its status, and when it wants to be asked again."""

    def __init__(self) -> None:
        self.status = 0
        self.retry_after = ""
        self.cut = False
        self._head = 0
        self._read = 0

    def take_line(self, line: bytes) -> int:
        """Take a line of its head."""
        self._head += len(line)
        if self._head > _MOST_HEAD:
            return 0
        if line.startswith(b"HTTP/"):
            words = line.split(None, 2)
            self.status = int(words[1]) if len(words) > 1 and words[1].isdigit() else 0
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"retry-after":
            self.retry_after = value.decode("latin-1")
        return len(line)

    def take_body(self, data: bytes) -> int:
        """Take a part of its body."""
        self._read += len(data)
        self.cut = self._read > _MOST_READ
        return 0 if self.cut else len(data)

    def judged(self) -> Sent:
        """Return what the answer means: all but a status of 2xx is a try that has failed."""
        if 200 <= self.status < 300:
            return Sent()
        wait = retry_after(self.retry_after, time.time_ns() // 1_000_000) if self.retry_after else None
        return Sent(f"it answers {self.status}", wait)


def _addresses(host: str) -> list[str]:
    found = socket.getaddrinfo(host.encode("ascii"), None, type=socket.SOCK_STREAM)
    return [str(entry[4][0]) for entry in found]
