"""Connections of the package requests that go to the address they are told, and keep to deadlines and limits."""

from __future__ import annotations

import http.client
import io
import socket
import ssl
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from time import monotonic
from typing import Any, cast

import requests
import urllib3
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.util.ssl_ import create_urllib3_context

from scrawler.fetch import socks, wire
from scrawler.fetch.downloader import FetchLimits
from scrawler.fetch.old_tls import LEGACY_SERVER_CONNECT
from scrawler.fetch.traffic import most_beside, too_much
from scrawler.fetch.unasked import KeptConnections
from scrawler.model.proxy import Proxy

PIECE = 64 * 1024  # bytes of a body that are read at a time
_FRAMING = (b"content-length", b"transfer-encoding", b"connection", b"keep-alive", b"proxy-connection")


@dataclass(slots=True)
class Exchange:
    """The download in progress, as far as the adapter and the connection below it have to know."""

    max_head: int = 0
    address: str = ""
    host: str = ""  # host of the URL, for which the certificate has to be
    path: str = ""
    proxy: Proxy | None = None
    user_agent: str = ""
    proxy_authorities: str = ""  # a file of those by which a proxy's certificate is judged
    deadline: float = 0.0
    lines: list[bytes] = field(default_factory=list)  # lines of the answer's head
    tls: tuple[str, str] = ("", "")  # version and cipher suite of the connection, as OpenSSL calls them
    sent: bool = False
    reused: bool = False
    came: int = 0  # bytes of the answer, as the server has sent them ...
    kept: int = 0  # ... and those of its body among them
    left: bool = False  # whether bytes had come behind the answer when it was over
    connection: HTTPConnection | None = None

    def begin(self, address: str, target: wire.RequestTarget, seconds: float, limits: FetchLimits) -> None:
        """Take the next download, or the next try of this one, which may take `seconds`."""
        self.max_head = limits.max_head
        self.proxy = limits.proxy
        self.user_agent = limits.user_agent
        self.address, self.path = address, target.path
        if self.forwarded and target.scheme == "http":
            self.path = f"http://{target.authority}{target.path}"  # such a proxy wants whole URLs (RFC 9112, 3.2.2)
        self.host = target.host
        self.deadline = monotonic() + seconds
        self.lines = []
        self.tls = "", ""
        self.came = self.kept = 0
        self.sent = self.reused = self.left = False
        self.connection = None

    def is_disturbed(self, kept: KeptConnections) -> bool:
        """Tell whether something came behind the answer, which is over; see `unasked`."""
        sock = None if self.connection is None else self.connection.sock
        if self.left or sock is None:
            return self.left
        if isinstance(sock, ssl.SSLSocket):
            return sock.pending() > 0 or kept.waiting(sock.fileno(), secured=True)
        return kept.waiting(sock.fileno(), secured=False)

    def close(self) -> None:
        """Close the connection on which the answer came."""
        if self.connection is not None:
            self.connection.close()

    @property
    def beside(self) -> int:
        """Bytes that have come and are no part of the body, if they are too many, else 0."""
        beside = self.came - self.kept
        return beside if beside > most_beside(self.kept) else 0

    @property
    def forwarded(self) -> bool:
        """Whether a proxy is asked that reads requests."""
        return self.proxy is not None and not self.proxy.is_socks


class _DeadlineFile(io.RawIOBase):
    """A socket's reading end on which every read ends by the deadline of the whole download."""

    def __init__(self, file: io.RawIOBase, sock: socket.socket, exchange: Exchange) -> None:
        self._file = file
        self._sock = sock
        self._exchange = exchange
        self.over = False  # whether nothing more is to be read

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        if self.over:
            return None
        if self._exchange.beside:
            raise http.client.HTTPException(too_much(self._exchange.beside))
        seconds = self._exchange.deadline - monotonic()
        if seconds <= 0:
            raise TimeoutError("the time of the whole download is over")
        self._sock.settimeout(seconds)
        count: int | None = self._file.readinto(buffer)
        self._exchange.came += count or 0
        return count

    def close(self) -> None:
        self._file.close()
        super().close()


class _HeadFile:
    """Stands in for an answer's file while its head is read: skips interim heads, keeps and bounds the lines.

    Of the headers only those are passed on that say where the body ends: http.client refuses more than a hundred, and
    requests would keep the cookies.
    """

    def __init__(self, file: io.BufferedReader, limit: int) -> None:
        self.file = file
        self.lines: list[bytes] = []
        self._limit = limit  # bytes of all heads together, at most
        self._size = 0
        self._count = 0

    def readline(self, limit: int = -1) -> bytes:
        line = self._next(limit)
        while not self.lines and wire.status_line(line).is_interim:
            while self._next(limit) not in (*wire.BLANK, b""):
                pass
            line = self._next(limit)
        wanted = not self.lines or (len(self.lines) > 1 and line[:1] in (b" ", b"\t"))  # a folded line
        self.lines.append(line)
        while not (wanted or line in wire.BLANK or not line or line.lower().startswith(_FRAMING)):
            line = self._next(limit)
            self.lines.append(line)
        return line

    def close(self) -> None:
        self.file.close()

    def _next(self, limit: int) -> bytes:
        line = self.file.readline(limit)
        self._size += len(line)
        self._count += 1
        if problem := wire.head_problem(self._size, self._count, self._limit):
            raise http.client.HTTPException(problem)
        if len(line) == limit:
            raise http.client.LineTooLong("head")
        return line


class _Answer(http.client.HTTPResponse):
    """An answer that keeps its head as it came and ends with the download's deadline."""

    def __init__(self, sock: socket.socket, *args: Any, exchange: Exchange, **options: Any) -> None:
        super().__init__(sock, *args, **options)
        self._exchange = exchange
        self._file = _DeadlineFile(self.fp.detach(), sock, exchange)
        self.fp = io.BufferedReader(self._file, PIECE)

    def _close_conn(self) -> None:
        """Let go of the answer, as the base class does; note whether more had come, which goes with it."""
        self._file.over = True
        with suppress(ValueError):  # it is closed
            self._exchange.left = isinstance(self.fp, io.BufferedReader) and bool(self.fp.peek(1))
        super()._close_conn()  # type: ignore[misc]

    def begin(self) -> None:
        """Read the head, as the base class does; an end of the connection within it is no end of a head."""
        head = _HeadFile(self.fp, self._exchange.max_head)
        self.fp = cast("io.BufferedReader", head)
        try:
            super().begin()
        finally:
            if self.fp is not None:  # the base class has closed and forgotten it where there is no body
                self.fp = head.file
        if head.lines[-1] not in wire.BLANK:
            raise http.client.IncompleteRead(b"".join(head.lines))
        self._exchange.lines = head.lines


class _ExactConnection(HTTPConnection):
    """Sends the path of the exchange as it is, where urllib3 would rewrite it (`%7e` to `%7E`, `|` to `%7C`)."""

    def __init__(self, *args: Any, exchange: Exchange, **options: Any) -> None:
        super().__init__(*args, **options)
        self._exchange = exchange
        self._used = False

    def connect(self) -> None:
        answer, self.response_class = self.response_class, http.client.HTTPResponse  # for what a proxy says to CONNECT
        try:
            super().connect()
        finally:
            self.response_class = answer
        self._used = False

    def set_tunnel(
        self, host: str, port: int | None = None, headers: Mapping[str, str] | None = None, scheme: str = "http"
    ) -> None:
        """Name the host that a proxy is to be asked for; CONNECT has none of the headers that are for the site."""
        super().set_tunnel(host, port, {"User-Agent": self._exchange.user_agent, **(headers or {})}, scheme)

    def _new_conn(self) -> socket.socket:
        proxy = self._exchange.proxy
        if proxy is None or not proxy.is_socks:
            return super()._new_conn()
        seconds = self.timeout if isinstance(self.timeout, int | float) else None
        try:
            return socks.connect(proxy, self._exchange.host, self.port, seconds)
        except TimeoutError as error:
            raise urllib3.exceptions.ConnectTimeoutError(self, f"proxy {proxy}: it does not answer") from error
        except OSError as error:
            raise urllib3.exceptions.NewConnectionError(self, str(error)) from error

    def request(self, method: str, url: str, *args: Any, **options: Any) -> None:
        exchange = self._exchange
        exchange.connection = self
        exchange.reused = self._used and self.sock is not None
        self.response_class = partial(_Answer, exchange=exchange)  # type: ignore[assignment]
        super().request(method, exchange.path, *args, **options)
        exchange.sent = self._used = True
        exchange.tls = _secured(self.sock)


def _secured(sock: Any) -> tuple[str, str]:
    """Return version and cipher suite of a connection with TLS, as OpenSSL calls them; else nothing."""
    if not isinstance(sock, ssl.SSLSocket):
        return "", ""
    cipher = sock.cipher()
    return sock.version() or "", cipher[0] if cipher else ""


def _unchecked_context() -> ssl.SSLContext:
    """Return a context that checks no certificate, and asks servers with old TLS as well."""
    context: ssl.SSLContext = create_urllib3_context(cert_reqs=ssl.CERT_NONE)
    context.options |= LEGACY_SERVER_CONNECT
    return context


class _ExactTLSConnection(_ExactConnection, HTTPSConnection):
    """The same over TLS."""

    def _connect_tls_proxy(self, hostname: str, sock: socket.socket) -> ssl.SSLSocket:
        """Check a proxy's certificate, whatever is said of those of sites: it is told of passwords, and who sent it."""
        of_site = self.cert_reqs, self.ca_certs
        self.cert_reqs, self.ca_certs = ssl.CERT_REQUIRED, self._exchange.proxy_authorities
        try:
            return super()._connect_tls_proxy(hostname, sock)
        finally:
            self.cert_reqs, self.ca_certs = of_site


class PinnedAdapter(HTTPAdapter):
    """Connects to the exchange's address, or its proxy; the URL's host is left for Host, SNI and the certificate."""

    def __init__(self, exchange: Exchange, connections: int) -> None:
        self._exchange = exchange
        self._connections = connections
        self._behind: dict[Proxy, urllib3.PoolManager] = {}
        self._unchecked: ssl.SSLContext | None = None
        super().__init__(pool_connections=connections, pool_maxsize=1)

    def get_connection_with_tls_context(
        self, request: requests.PreparedRequest, verify: Any, proxies: Any = None, cert: Any = None
    ) -> urllib3.HTTPConnectionPool:
        """Return the connections to the address, of which there is at most one."""
        exchange = self._exchange
        origin, tls = self.build_connection_pool_key_attributes(request, verify, cert)
        options = dict[str, Any](tls)
        if origin["scheme"] == "https":
            options |= {"server_hostname": exchange.host, "assert_hostname": exchange.host}
            if verify is False and cert is None:
                options["ssl_context"] = self._unchecked = self._unchecked or _unchecked_context()
        proxy = exchange.proxy
        manager = self.poolmanager if proxy is None else self._manager_behind(proxy)
        host = exchange.address if proxy is None else exchange.host
        pool: urllib3.HTTPConnectionPool = manager.connection_from_host(
            host, origin["port"], origin["scheme"], pool_kwargs=options
        )
        pool.ConnectionCls = _ExactTLSConnection if pool.scheme == "https" else _ExactConnection
        pool.conn_kw["exchange"] = exchange
        return pool

    def request_url(self, request: requests.PreparedRequest, proxies: Any) -> str:
        """Return the whole URL for a proxy that passes the request on: by a path urllib3 takes it for one to tunnel."""
        path = self._exchange.path
        return path if path.startswith("http://") else super().request_url(request, proxies)

    def cert_verify(self, conn: Any, url: str, verify: Any, cert: Any) -> None:
        """Check certificates where a connection has TLS: that to a proxy may, for a URL that has none."""
        super().cert_verify(conn, f"{conn.scheme}://", verify, cert)  # type: ignore[no-untyped-call]

    def _manager_behind(self, proxy: Proxy) -> urllib3.PoolManager:
        if proxy not in self._behind:
            number = self._connections
            if proxy.is_socks:
                self._behind[proxy] = urllib3.PoolManager(number, maxsize=1)
            else:
                login = {"Proxy-Authorization": proxy.authorization} if proxy.user else None
                self._behind[proxy] = urllib3.ProxyManager(proxy.place, number, proxy_headers=login, maxsize=1)
        return self._behind[proxy]

    def close(self) -> None:
        """Close all connections."""
        for manager in self._behind.values():
            manager.clear()
        super().close()
