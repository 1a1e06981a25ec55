"""The classic downloader, on the package requests: blocking, one download at a time, as the paper's collectors were."""

from __future__ import annotations

import http.client
import ssl
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from time import monotonic, sleep, time
from typing import Any

import certifi
import requests
import urllib3

from scrawler.faults import fault_of
from scrawler.features.classic.pinned import PIECE, Exchange, PinnedAdapter
from scrawler.fetch import wire
from scrawler.fetch.bodies import FREE, LOOK_EVERY, BodyRoom
from scrawler.fetch.downloader import FetchLimits, Request, Response
from scrawler.fetch.old_tls import explained
from scrawler.fetch.traffic import too_much
from scrawler.fetch.unasked import KeptConnections
from scrawler.model.results import Result

_MOST_WAYS = 1_000  # ways of asking a host that are kept
# What it is called when a connection ends before anything was answered; urllib3 takes a proxy that ends one for lost.
_CLOSED = (Result.CUT, Result.CONNECT_FAILED)


@dataclass(frozen=True, slots=True)
class _Way:
    """How a host is asked, as requests wants to know it."""

    limits: FetchLimits
    headers: Sequence[tuple[str, str]] = field(repr=False)
    header_text: str
    verify: str | bool

    @classmethod
    def of(cls, limits: FetchLimits, ca_file: str) -> _Way:
        if not limits.tls_verify:
            urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)  # the user asked for `insecure`
        trusted = limits.ca_file or ca_file
        verify = trusted if limits.tls_verify else False
        return cls(limits, wire.sent_lines(limits), wire.archived_lines(limits), verify)


class RequestsDownloader:
    """A Downloader on requests: `start` queues, `wait` performs one download, `completed` returns it.

    HTTP/1.1 only. `wake` ends a `wait` that has nothing to do; a download in progress is bounded by its timeouts.
    Certificates are checked against `ca_file`, by default certifi's.
    """

    at_once = False

    def __init__(self, limits: FetchLimits, *, ca_file: str | None = None) -> None:
        self._limits = limits
        self._ca_file = ca_file or certifi.where()
        self._ways: dict[FetchLimits, _Way] = {}
        self._queue: deque[Request] = deque()
        self._done: list[Response] = []
        self._woken = threading.Event()
        self._exchange = Exchange()
        self._adapter = PinnedAdapter(self._exchange, limits.connections)
        self._kept = KeptConnections(limits.connections)
        self._room = limits.bodies or BodyRoom()
        self._held = 0  # bytes of that room which the last body has

    def start(self, request: Request) -> None:
        """Queue a request."""
        self._queue.append(request)

    @property
    def in_flight(self) -> int:
        """Downloads that have ended but were not taken; nothing goes on outside `wait`."""
        return len(self._done)

    def wait(self, seconds: float, begin: bool = True) -> None:
        """Perform one download, if one is queued and may begin; else wait for `wake`."""
        if self._done:
            return
        self._give_back()
        if begin and self._queue and not self._woken.is_set():
            self._done.append(self._download(self._queue.popleft()))
            return
        self._woken.wait(seconds)
        self._woken.clear()

    def ready(self) -> bool:
        """Return whether a download has ended."""
        return bool(self._done)

    def completed(self) -> list[Response]:
        """Return what has been downloaded."""
        done, self._done = self._done, []
        return done

    def cancel(self) -> list[Request]:
        """Give up what is queued, and what nobody has taken; nothing is in flight outside `wait`."""
        given_up = [response.request for response in self._done] + list(self._queue)
        self._done, self._queue = [], deque()
        return given_up

    def wake(self) -> None:
        """Make an idle `wait` return at once, now or next time."""
        self._woken.set()

    def close(self) -> None:
        """Close all connections."""
        self._queue.clear()
        self._give_back()
        self._adapter.close()

    def _download(self, request: Request) -> Response:
        target = wire.split_url(request.url)
        if target is None:
            return wire.refused(request)
        try:
            return self._attempts(request, target)
        except Exception as error:
            return Response(request, Result.INTERNAL_ERROR, started_at=int(time() * 1000)).met(fault_of(error))

    def _attempts(self, request: Request, target: wire.RequestTarget) -> Response:
        response = self._attempt(request, target)
        if response.result in _CLOSED and self._exchange.reused and not self._exchange.lines:
            # Server or proxy closed an idle connection just as the request went out, which says nothing of the page.
            response = self._attempt(request, target)
        server = (target.scheme, target.authority, request.address)
        if self._is_disturbed(response):
            doubted = self._exchange.reused
            self._kept.note_talkative(server)
            self._exchange.close()
            if doubted:
                response = self._attempt(request, target)
        if self._kept.is_talkative(server):
            self._exchange.close()
        return response

    def _is_disturbed(self, response: Response) -> bool:
        """Tell whether something came on a connection that is no part of the answer; see `unasked`."""
        lines = self._exchange.lines
        if response.result is Result.BAD_ANSWER and self._exchange.reused:
            return not lines or not wire.status_line(lines[0]).status  # the rest of an answer before may lie there
        return response.result.answered and self._exchange.is_disturbed(self._kept)

    def _attempt(self, request: Request, target: wire.RequestTarget) -> Response:
        own, way = wire.own_headers(request, target), self._way(request.limits or self._limits)
        limits = way.limits
        exchange, body = self._exchange, bytearray()
        began, started_at = monotonic(), int(time() * 1000)
        exchange.begin(request.address, target, request.timeout or limits.timeout, limits)
        exchange.proxy_authorities = limits.ca_file or self._ca_file
        status, limit, unwanted = 0, request.max_body or limits.max_body, ""
        result, detail = Result.TOO_LARGE, f"body stopped at {limit} bytes"
        try:
            with self._send(request, target, own, way) as answer:
                status = answer.status_code
                if unwanted := wire.unwanted_type(exchange.lines, request.accept):
                    limit = 0
                whole = self._read_body(answer.raw, body, limit)
        except (requests.RequestException, urllib3.exceptions.HTTPError, OSError, ValueError) as error:
            if exchange.beside:
                detail = too_much(exchange.beside)
            elif len(body) <= limit:
                result, detail = _failure(error, exchange, target.scheme)
            whole = False
        first = wire.status_line(exchange.lines[0]) if exchange.lines else wire.NO_STATUS
        head = wire.as_http1(exchange.lines, first)
        headers = wire.parse_headers(head)
        passed_on = exchange.forwarded and target.scheme == "http"  # through a tunnel it is the site that answers
        if passed_on and status == HTTPStatus.PROXY_AUTHENTICATION_REQUIRED:
            detail = f"proxy {limits.proxy}: it wants a user and a password (HTTP status 407)"
            return Response(request, Result.CONNECT_FAILED, started_at=started_at, detail=detail)
        if unwanted:
            result, detail = Result.UNWANTED_TYPE, f"{unwanted} is not accepted"
        elif whole:
            result, detail = wire.result_of(status, headers, request), ""
        return Response(
            request,
            result,
            status,
            head,
            headers,
            bytes(body[:limit]),
            wire.request_head(target, way.header_text, request) if exchange.sent else b"",
            started_at,
            int((monotonic() - began) * 1000),
            detail,
            wire.protocols_of(first.http, exchange.tls) if head else None,
        )

    def _read_body(self, raw: Any, body: bytearray, limit: int) -> bool:
        """Read the body as transferred into `body`; False, with more than `limit` there, if it is too large."""
        exchange, allowed = self._exchange, FREE
        announced = wire.announced_length(exchange.lines)
        keep_reading = announced is not None and announced - limit <= wire.SPARE_BODY
        while piece := raw.read1(PIECE, decode_content=False):  # what came before a cut is not lost
            exchange.kept += len(piece)
            if len(body) <= limit:
                body += piece
            if len(body) > limit and not keep_reading:
                raw.close()
                return False
            if allowed < len(body) <= limit:
                allowed = max(len(body), limit if announced is None else min(announced, limit))
                self._take_room(allowed)
        return len(body) <= limit

    def _take_room(self, wanted: int) -> None:
        """Wait for room for a body that is not small. Raises TimeoutError."""
        if self._room.take(self._held, wanted):
            self._held = wanted
            return
        self._room.wait(1)
        try:
            while not self._room.take(self._held, wanted):
                if monotonic() >= self._exchange.deadline:
                    raise TimeoutError("too many large bodies came at the same time")
                self._room.hurry()
                sleep(LOOK_EVERY)  # it downloads one thing at a time, and has nothing else to do
            self._held = wanted
        finally:
            self._room.wait(-1)

    def _give_back(self) -> None:
        """Give back the room of the last body."""
        if self._held:
            self._room.give_back(self._held)
            self._held = 0

    def _way(self, limits: FetchLimits) -> _Way:
        """Return how a host is asked."""
        if limits not in self._ways:
            if len(self._ways) >= _MOST_WAYS:
                self._ways.clear()
            self._ways[limits] = _Way.of(limits, self._ca_file)
        return self._ways[limits]

    def _send(
        self, request: Request, target: wire.RequestTarget, own: Sequence[tuple[str, str]], way: _Way
    ) -> requests.Response:
        prepared = requests.PreparedRequest()
        prepared.method = "GET"
        prepared.url = request.url  # requests would rewrite it: %7E as ~
        headers = [("Host", target.authority), *way.headers, *own]
        proxy = way.limits.proxy
        if proxy is not None and proxy.user and not proxy.is_socks and target.scheme == "http":
            headers.append(("Proxy-Authorization", proxy.authorization))
        prepared.headers = requests.structures.CaseInsensitiveDict(headers)
        whole = request.timeout or way.limits.timeout
        timeout = (min(way.limits.connect_timeout, whole), whole)
        # Without TLS to the server there may be TLS to a proxy, which nobody has said to trust, or to show who we are.
        in_tls = target.scheme == "https"
        verify = way.verify if in_tls else way.limits.ca_file or self._ca_file
        certificate = way.limits.certificate if in_tls else None
        return self._adapter.send(prepared, stream=True, timeout=timeout, verify=verify, cert=certificate)


def _failure(error: Exception, exchange: Exchange, scheme: str) -> tuple[Result, str]:
    """Return which fault of the web stands behind an exception of requests or urllib3, and what it says."""
    causes = list(_causes(error))
    detail = " ".join(str(causes[-1]).split())[:500] or type(causes[-1]).__name__

    def among(*kinds: type[BaseException]) -> bool:
        return any(isinstance(cause, kinds) for cause in causes)

    refused = among(urllib3.exceptions.ProxyError, requests.exceptions.ProxyError) and exchange.proxy is not None
    at_proxy = f"proxy {exchange.proxy}: {detail}"
    if among(urllib3.exceptions.NewConnectionError):  # it is asked first, for requests counts it among the timeouts
        return Result.CONNECT_FAILED, at_proxy if refused else detail
    if among(TimeoutError, requests.Timeout, urllib3.exceptions.TimeoutError):
        return Result.TIMEOUT, detail
    if refused:
        return Result.CONNECT_FAILED, at_proxy
    if among(ssl.SSLError, urllib3.exceptions.SSLError):
        return Result.TLS_FAILED, explained(detail)
    cut_between_chunks = type(causes[-1]) is urllib3.exceptions.ProtocolError
    if cut_between_chunks or among(http.client.IncompleteRead, http.client.RemoteDisconnected, ConnectionError):
        connected = exchange.sent or exchange.reused or scheme == "http"
        return (Result.CUT if connected else Result.TLS_FAILED), detail
    return Result.BAD_ANSWER, detail


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an exception and those that its layers wrapped, innermost last."""
    yield error
    for inner in (getattr(error, "reason", None), *error.args):
        if isinstance(inner, BaseException):
            yield from _causes(inner)
