"""Asks servers for what shows that somebody may send their URLs, as politely and carefully as a crawl does.

Each host is asked for one thing at a time, with the pauses of the crawl between them, and never beside a machine: the
time of a request is reserved by the site's clock in the database, and a site that a machine has in work is asked later.
robots.txt is obeyed; the address of a host is guarded, and that address is the one to which it connects; no redirect is
followed to another host.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, Protocol
from urllib.parse import urlencode

import requests

from scrawler.extract.decode import decode_body
from scrawler.features.classic.blocking import RequestsDownloader
from scrawler.fetch import wire
from scrawler.fetch.downloader import FetchLimits, Request
from scrawler.fetch.proxies import EnvironmentProxies
from scrawler.fetch.resolver import Resolver
from scrawler.fetch.robots import RobotsRules
from scrawler.model.proxy import read_proxy
from scrawler.model.results import Result
from scrawler.model.scope import Scope
from scrawler.model.servers import Reserved
from scrawler.settings import Settings
from scrawler.urls.normalise import normalise
from scrawler.urls.scope import authority, host_port, origin, site_key

_HOSTS = 2_000  # hosts that are remembered
_ROBOTS_FRESH = 3_600.0  # seconds for which what a robots.txt says is kept
_REDIRECTS = 3
_WHOLE = (Result.FETCHED, Result.REDIRECT, Result.HTTP_ERROR, Result.NOT_MODIFIED)
_LARGEST = 512 * 1024  # bytes
_TIMEOUT = 10.0  # seconds of one request
_RESERVED = 2 * _TIMEOUT  # seconds for which its site is kept free: connecting may take as long as the rest
_LONGEST_WAIT = 30.0  # seconds that a request waits for others to the same host
_LONGEST_PAUSE = 60.0  # seconds between two requests that a robots.txt may ask for


class Answer(NamedTuple):
    """What a server has said, or why nothing."""

    status: int  # 0: no whole answer
    body: bytes = b""
    headers: Mapping[str, str] = {}
    url: str = ""  # that it is of, after redirects
    problem: str = ""  # why there is no answer, in one line
    later: bool = False  # it was not asked, as the crawl has it in work


@dataclass(slots=True)
class _Host:
    lock: threading.Lock
    due: float = 0.0
    robots: RobotsRules | None = None
    robots_until: float = 0.0
    robots_came: bool = False  # the server has said what its robots.txt is, or that there is none


class Clock(Protocol):
    """The politeness clocks of sites, which machines keep as well."""

    def reserve(self, key: str, width: float) -> Reserved:
        """Reserve a site for one request of up to `width` seconds, if no machine has it and its pause is over."""

    def asked(self, key: str, reserved: Reserved, pause: float) -> None:
        """Let whoever takes a site up keep a pause from now on."""


class Asker:
    """Asks; any thread may use it."""

    def __init__(
        self,
        settings: Settings,
        product_token: str,
        scope: Scope,
        clock: Clock,
        stopping: Callable[[float], bool],
        proxies: EnvironmentProxies,
    ) -> None:
        """`stopping(seconds)` waits, and returns whether all is to end. Raises StartError.

        `proxies` are asked where the settings name none.
        """
        self._proxies = proxies if settings.proxy is None else EnvironmentProxies({})
        given = "" if settings.proxy is None else settings.proxy.get_secret_value()
        self._scope = scope
        self._clock = clock
        self._delay = settings.delay
        self._obeys = settings.robots
        self._token = product_token
        self._stopping = stopping
        self._limits = FetchLimits(
            user_agent=settings.user_agent,
            connect_timeout=min(settings.connect_timeout, _TIMEOUT),
            timeout=_TIMEOUT,
            max_body=_LARGEST,
            connections=1,
            tls_verify=not settings.insecure,
            ca_file=str(settings.ca_file or ""),
            proxy=read_proxy(given) if given else None,
        )
        self._resolver = Resolver(
            threads=2,
            static=dict(entry.split("=", 1) for entry in settings.resolve),
            allow_private=settings.allow_private,
            allow_addresses=settings.allow_addresses,
        )
        self._hosts: OrderedDict[str, _Host] = OrderedDict()
        self._lock = threading.Lock()

    def close(self) -> None:
        """End the threads that look names up."""
        self._resolver.close(1.0)

    def get(self, url: str) -> Answer:
        """Ask for a normalised URL, of which redirects are followed at its own host alone."""
        first = authority(url)
        for _ in range(_REDIRECTS + 1):
            answer = self._polite(url, self._asked)
            if answer.status not in (301, 302, 303, 307, 308):
                return answer
            url = normalise(answer.headers.get("location", ""), url).url
            if not url or authority(url) != first:
                return Answer(0, problem="it redirects to another host")
        return Answer(0, problem="it redirects too often")

    def post(self, url: str, fields: Mapping[str, str]) -> Answer:
        """Send a form to a normalised URL; no redirect is followed."""
        return self._polite(url, partial(self._posted, fields=fields), obeys=False)

    def _polite(self, url: str, ask: Callable[[str, str], Answer], obeys: bool = True) -> Answer:
        """Ask when the host's turn has come; robots.txt is for what is fetched, not for what is sent to a hub."""
        host = self._host(origin(url))
        if not host.lock.acquire(timeout=_LONGEST_WAIT):
            return Answer(0, problem="too much is to be asked of its host")
        try:
            address, problem = self._address(host_port(url)[0])
            if problem:
                return Answer(0, problem=problem)
            if obeys and self._obeys and (problem := self._forbidden(host, url, address)):
                # What the server forbids is as if it had said so itself: it is not tried again soon.
                return Answer(403 if host.robots_came else 0, problem=problem)
            return self._in_turn(host, url, address, ask)
        finally:
            host.lock.release()

    def _host(self, name: str) -> _Host:
        with self._lock:
            host = self._hosts.pop(name, None) or _Host(threading.Lock())
            self._hosts[name] = host
            if len(self._hosts) > _HOSTS:
                oldest = next(one for one, other in self._hosts.items() if not other.lock.locked())
                del self._hosts[oldest]
        return host

    def _address(self, host: str) -> tuple[str, str]:
        known = threading.Event()
        found: list[tuple[str, str]] = []

        def done(_host: str, resolution: object) -> None:
            found.append((getattr(resolution, "address", None) or "", getattr(resolution, "detail", "")))
            known.set()

        if not self._resolver.resolve(host, done) or not known.wait(_TIMEOUT):
            return "", f"{host} could not be looked up in time"
        address, detail = found[0]
        return address, "" if address else detail or f"{host} has no address"

    def _forbidden(self, host: _Host, url: str, address: str) -> str:
        """Return why robots.txt forbids a URL, an empty text if it does not."""
        if host.robots is None or time.monotonic() >= host.robots_until:
            answer = self._in_turn(host, origin(url) + "/robots.txt", address, self._asked)
            host.robots = RobotsRules.parse(answer.status or 503, answer.body, self._token)
            host.robots_came = 0 < answer.status < 500
            host.robots_until = time.monotonic() + (_ROBOTS_FRESH if answer.status else 60.0)
        return "" if host.robots.allows(url) else "its robots.txt does not allow that"

    def _in_turn(self, host: _Host, url: str, address: str, ask: Callable[[str, str], Answer]) -> Answer:
        asked_for = host.robots.crawl_delay if host.robots is not None else None
        pause = max(self._delay, min(asked_for or 0.0, _LONGEST_PAUSE))
        key = site_key(url, self._scope)
        reserved = self._reserved(host, key, pause)
        if isinstance(reserved, Answer):
            return reserved
        try:
            return ask(url, address)
        finally:
            host.due = time.monotonic() + pause
            self._clock.asked(key, reserved, pause)

    def _reserved(self, host: _Host, key: str, pause: float) -> Reserved | Answer:
        """Wait for the turn of a host; return the time that is reserved at its site, or why there is none."""
        until = time.monotonic() + _LONGEST_WAIT
        wait = host.due - time.monotonic()
        while True:
            if wait > 0 and self._stopping(wait):
                return Answer(0, problem="the listener ends")
            reserved = self._clock.reserve(key, _RESERVED + pause)
            if not reserved.wait:
                return reserved
            if time.monotonic() + reserved.wait > until:
                return Answer(0, problem="the crawl has the site in work; it is asked later", later=True)
            wait = reserved.wait

    def _asked(self, url: str, address: str) -> Answer:
        with closing(RequestsDownloader(self._limits_for(url, address))) as downloader:
            return _answer(downloader, Request(url, address))

    def _limits_for(self, url: str, address: str) -> FetchLimits:
        proxy = self._proxies.proxy_for(url.partition(":")[0], *host_port(url), address)
        return self._limits if proxy is None else replace(self._limits, proxy=proxy)

    def _posted(self, url: str, address: str, fields: Mapping[str, str]) -> Answer:
        with closing(_Poster(self._limits_for(url, address), urlencode(fields).encode())) as downloader:
            return _answer(downloader, Request(url, address, max_body=_LARGEST))


class _Poster(RequestsDownloader):
    """Sends a form, with all the limits of a download."""

    def __init__(self, limits: FetchLimits, form: bytes) -> None:
        super().__init__(limits)
        self._form = form

    def _send(
        self, request: Request, target: wire.RequestTarget, own: Sequence[tuple[str, str]], way: Any
    ) -> requests.Response:
        prepared = requests.PreparedRequest()
        prepared.method = "POST"
        prepared.url = request.url
        prepared.body = self._form
        form = ("Content-Type", "application/x-www-form-urlencoded"), ("Content-Length", str(len(self._form)))
        headers = [("Host", target.authority), *way.headers, *own, *form]
        proxy = way.limits.proxy
        if proxy is not None and proxy.user and not proxy.is_socks and target.scheme == "http":
            headers.append(("Proxy-Authorization", proxy.authorization))
        prepared.headers = requests.structures.CaseInsensitiveDict(headers)
        timeout = (way.limits.connect_timeout, way.limits.timeout)
        return self._adapter.send(prepared, stream=True, timeout=timeout, verify=way.verify)


def _answer(downloader: RequestsDownloader, request: Request) -> Answer:
    downloader.start(request)
    downloader.wait(_TIMEOUT)
    response = downloader.completed()[0]
    if not response.status or response.result not in _WHOLE:
        return Answer(0, problem=response.detail or response.result.value)
    body = decode_body(response.body, response.headers.get("content-encoding", ""), _LARGEST).body
    return Answer(response.status, body, response.headers, request.url)
