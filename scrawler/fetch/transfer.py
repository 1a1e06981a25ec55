"""One download of libcurl: an easy handle, and what it collects for the request it is at."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from http import HTTPStatus
from os import fsencode, strerror
from time import monotonic, time
from typing import Final

import pycurl

from scrawler.faults import Fault, fault_of
from scrawler.fetch import wire
from scrawler.fetch.bodies import FREE, IDLE, LEAST, SOME, BodyRoom
from scrawler.fetch.downloader import INVALID_LENGTH, FetchLimits, Request, Response
from scrawler.fetch.old_tls import explained
from scrawler.fetch.unasked import Server, keeps_open
from scrawler.model.proxy import Proxy
from scrawler.model.results import Result
from scrawler.model.terms import Millis

_SECURED = (
    b"SSL connection using "  # so libcurl's words begin once a connection is secured: version / cipher suite / ...
)
_SERVERS = 10_000  # servers whose protocols are remembered
_PROXY_KNOWN = 60  # seconds for which the address of a proxy is remembered
_RECEIVE_BUFFER = 64 * 1024  # bytes that the kernel is asked for at once; libcurl hands them on in pieces of 16 KB

_PAUSE: Final[int] = pycurl.WRITEFUNC_PAUSE
_PIECES: Final = 1_024  # of a body, which are put together then: a server may send as many as it has bytes

_LENGTHS = "different values of Content-Length"
# Asked for with each answer.
_NUM_CONNECTS: Final = pycurl.NUM_CONNECTS
_ACTIVESOCKET: Final = pycurl.ACTIVESOCKET
# What libcurl says where an answer does not begin as one.
_NO_HEAD = (pycurl.E_FTP_WEIRD_SERVER_REPLY, pycurl.E_UNSUPPORTED_PROTOCOL)

# The symbolic names of libcurl's codes above 91, and of some options, are missing in pycurl.
_E_HTTP2_STREAM = 92
_E_PROXY = 97
_E_TOO_LARGE = 100
_SUPPRESS_CONNECT_HEADERS = 265
_PROXY_VERIFIED = 0x200000 + 47  # 0 where a proxy's certificate was found good, or not looked at
_RESULTS = {
    pycurl.E_OPERATION_TIMEDOUT: Result.TIMEOUT,
    pycurl.E_COULDNT_CONNECT: Result.CONNECT_FAILED,
    pycurl.E_COULDNT_RESOLVE_HOST: Result.CONNECT_FAILED,
    pycurl.E_INTERFACE_FAILED: Result.CONNECT_FAILED,
    pycurl.E_SSL_CONNECT_ERROR: Result.TLS_FAILED,
    pycurl.E_PEER_FAILED_VERIFICATION: Result.TLS_FAILED,
    pycurl.E_SSL_CIPHER: Result.TLS_FAILED,
    pycurl.E_SSL_CERTPROBLEM: Result.TLS_FAILED,
    pycurl.E_SSL_CACERT_BADFILE: Result.TLS_FAILED,
    pycurl.E_SSL_ISSUER_ERROR: Result.TLS_FAILED,
    pycurl.E_PARTIAL_FILE: Result.CUT,
    pycurl.E_GOT_NOTHING: Result.CUT,
    pycurl.E_RECV_ERROR: Result.CUT,
    pycurl.E_SEND_ERROR: Result.CUT,
    _E_HTTP2_STREAM: Result.CUT,
    pycurl.E_FTP_WEIRD_SERVER_REPLY: Result.BAD_ANSWER,
    pycurl.E_UNSUPPORTED_PROTOCOL: Result.BAD_ANSWER,  # libcurl says so of an answer as of HTTP/0.9
    pycurl.E_HTTP2: Result.BAD_ANSWER,
    pycurl.E_BAD_CONTENT_ENCODING: Result.BAD_ANSWER,
    _E_TOO_LARGE: Result.BAD_ANSWER,
}


class TlsSessions:
    """Remembers how the connections to each server are secured, by the newest that libcurl has told of.

    A server is an origin and an address. It is asked about only until it is known: that costs some callbacks.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], tuple[str, str]] = {}

    def knows(self, server: tuple[str, str]) -> bool:
        """Whether version and cipher suite of a server are known."""
        return server in self._known

    def of(self, server: tuple[str, str]) -> tuple[str, str]:
        """Return version and cipher suite, as OpenSSL calls them; empty where they are not known."""
        return self._known.get(server, ("", ""))

    def note(self, server: tuple[str, str], version: str, cipher: str) -> None:
        """Remember how a connection to a server is secured."""
        self._known.pop(server, None)  # a server that is told anew becomes the newest
        while len(self._known) >= _SERVERS:
            del self._known[next(iter(self._known))]  # only the oldest goes, for it costs callbacks to learn it again
        self._known[server] = version, cipher


class Transfer:
    """One easy handle and what it collects for the request it is at; used again for the next one."""

    __slots__ = (
        "address",
        "allowed",
        "alone",
        "asked",
        "body",
        "cookie",
        "fault",
        "final",
        "first",
        "forwarded",
        "handle",
        "head",
        "header_text",
        "headers",
        "held",
        "ignores_length",
        "limit",
        "limits",
        "lines",
        "looked_at",
        "looked_size",
        "max_head",
        "origin",
        "overflow",
        "own_headers",
        "packed",
        "paused",
        "refusal",
        "request",
        "room",
        "secured",
        "sent",
        "server",
        "sessions",
        "size",
        "started_at",
        "stopped",
        "stopped_as",
        "timeout",
        "verbose",
        "waiting",
    )

    def __init__(
        self,
        limits: FetchLimits,
        ca_file: str,
        on_open: Callable[[int, int], int],
        sessions: TlsSessions,
        room: BodyRoom,
        waiting: list[Transfer],
    ) -> None:
        self.request: Request | None = None
        self.limits = limits
        self.address = ""
        self.forwarded = limits.proxy is not None and not limits.proxy.is_socks
        self.origin = ""
        self.cookie = ""
        self.own_headers: tuple[tuple[str, str], ...] = ()
        self.ignores_length = False
        self.asked: Server = ("", "", "")
        self.alone = False  # whether it has a connection of its own, which is closed behind it
        self.server = "", ""
        self.secured = False
        self.sessions = sessions
        self.verbose = False  # whether libcurl tells what it does, by which we learn how the connection is secured
        self.headers = [_given_line(name, value) for name, value in wire.sent_lines(limits)]
        self.header_text = wire.archived_lines(limits)
        self.max_head = limits.max_head
        self.sent = b""
        self.started_at: Millis = 0
        self.timeout = limits.timeout
        self.limit = 0
        self.size = 0
        self.overflow = False
        self.stopped = ""  # why it was given up before its end
        self.stopped_as = Result.TOO_LARGE
        self.refusal: tuple[Result, str] | None = None
        self.fault: Fault | None = None  # a fault that was met while the body came
        self.final: Sequence[bytes] = ()  # lines of the head that counts
        self.first = wire.NO_STATUS  # the first line of the head that counts, once that is whole
        self.head: wire.Head | None = None  # the head that counts, where it was read as a usual one
        self.lines: list[bytes] = []
        self.body: list[bytes] = []  # the newest pieces
        self.packed: list[bytes] = []  # those before, put together
        self.room = room
        self.waiting = waiting  # for room, of all transfers
        self.allowed = FREE  # bytes that the body may have before room is asked for
        self.held = 0  # bytes of that room
        self.paused = False  # whether it waits for room
        self.looked_at = 0.0  # when it was looked last whether the body still comes ...
        self.looked_size = 0  # ... and its size then
        self.handle = _new_handle(limits, self.headers, ca_file)
        self.handle.setopt(pycurl.SOCKOPTFUNCTION, on_open)
        self.handle.setopt(pycurl.DEBUGFUNCTION, self._note_tls)
        self.handle.setopt(pycurl.WRITEFUNCTION, self._take)
        self.handle.setopt(pycurl.HEADERFUNCTION, self.lines.append)  # it costs no Python frame a header line

    def begin(self, request: Request, target: wire.RequestTarget, alone: bool = False) -> None:
        """Forget the last request and take `request`; only what differs between requests is set.

        `alone` gives it a connection of its own, on which no other has been asked for, or will be.
        """
        handle, limits = self.handle, self.limits
        if alone is not self.alone:
            self.alone = alone
            handle.setopt(pycurl.FRESH_CONNECT, int(alone))
            handle.setopt(pycurl.FORBID_REUSE, int(alone))
        self.request = request
        self.asked = target.scheme, target.authority, request.address
        self.sent = wire.request_head(target, self.header_text, request)
        self.limit = request.max_body or limits.max_body
        self.size = 0
        self.allowed = FREE
        self.overflow = False
        self.stopped = ""
        self.refusal = None
        self.fault = None
        origin = f"{target.scheme}://{target.authority}/"
        if origin != self.origin:
            self.origin = origin
            self.secured = target.scheme == "https"
            handle.setopt(pycurl.URL, origin)
        # In a URL libcurl would write %7e as %7E. A proxy that passes requests on wants whole URLs (RFC 9112, 3.2.2).
        whole = self.forwarded and target.scheme == "http"
        handle.setopt(pycurl.REQUEST_TARGET, f"{origin[:-1]}{target.path}" if whole else target.path)
        if limits.proxy is None and request.address != self.address:
            self.address = request.address
            host = f"[{request.address}]" if ":" in request.address else request.address
            handle.setopt(pycurl.CONNECT_TO, [f"::{host}:"])
        if self.secured:
            self.server = origin, request.address
            self._listen(not self.sessions.knows(self.server))
        elif self.verbose:
            self._listen(False)
        timeout = request.timeout or limits.timeout
        if timeout != self.timeout:
            self.timeout = timeout
            handle.setopt(pycurl.TIMEOUT_MS, int(timeout * 1000))  # it ends a connect, too
        own = request.cookie != self.cookie or request.headers != self.own_headers or limits.cookies is not None
        if own or request.ignore_length or self.ignores_length:
            self._set_headers(request, target)
        self.started_at = int(time() * 1000)

    def _set_headers(self, request: Request, target: wire.RequestTarget) -> None:
        """Set what is sent besides the headers of all requests; libcurl sends Connection behind the others."""
        self.cookie = request.cookie
        self.own_headers = request.headers
        self.ignores_length = request.ignore_length
        closing = [wire.CLOSE] if request.ignore_length else []
        if closing:
            self.sent = self.sent.removesuffix(b"\r\n") + f"{wire.CLOSE}\r\n\r\n".encode()
        own = [f"{name}: {value}".encode("latin-1", "replace") for name, value in wire.own_headers(request, target)]
        self.handle.setopt(pycurl.HTTPHEADER, [*self.headers, *own, *closing])
        self.handle.setopt(pycurl.IGNORE_CONTENT_LENGTH, int(request.ignore_length))

    def _listen(self, listens: bool) -> None:
        if listens is not self.verbose:
            self.verbose = listens
            self.handle.setopt(pycurl.VERBOSE, int(listens))

    def _note_tls(self, kind: int, text: bytes) -> None:
        """Find in what libcurl tells of a new connection how it is secured: it says so nowhere else."""
        if kind == pycurl.INFOTYPE_TEXT and text.startswith(_SECURED):
            version, _, rest = text.removeprefix(_SECURED).decode("latin-1").strip().partition(" / ")
            self.sessions.note(self.server, version, rest.partition(" / ")[0])

    def end(self) -> None:
        """Let go of everything that belongs to the request."""
        self.request = None
        self.final, self.head = (), None
        self.lines.clear()  # the handle has this very list
        self.body, self.packed = [], []
        self.held, self.paused = 0, False

    def _take(self, data: bytes) -> int | None:
        """Keep a piece of the body; None tells libcurl to go on, 0 to stop."""
        before = self.size
        self.size = before + len(data)
        try:
            if not before:
                self._judge_head()
            if self.size <= self.limit:
                if self.size > self.allowed and not self._take_room():
                    self.size = before
                    self.paused = True
                    self.waiting.append(self)
                    return _PAUSE
                self.body.append(data)
                if len(self.body) >= _PIECES:
                    self._pack()
                return None
            return self._overflow(data, before)
        except Exception as error:  # out of libcurl's callback it could only be printed
            self.fault = fault_of(error)
            return 0

    def _take_room(self) -> bool:
        """Ask for room for a body that is not small; returns False where there is none now."""
        announced = wire.announced_length(self.final)
        most = max(self.size, self.limit if announced is None else min(announced, self.limit))
        wanted = most if announced is not None or self.held or self.size > SOME else min(most, SOME)
        if not self.room.take(self.held, wanted):
            return False
        self.held = self.allowed = wanted
        self.looked_at, self.looked_size = monotonic(), self.size
        return True

    def go_on(self) -> bool:
        """Let a body that waits for room come, if there is some now; returns whether there is."""
        self.size += 1  # of what comes next
        has_room = self._take_room()
        self.size -= 1
        if has_room:
            self.paused = False
            with suppress(pycurl.error):  # it is over already, as by its time: that is told next
                self.handle.pause(pycurl.PAUSE_CONT)
        return has_room

    def is_idle(self, now: float) -> bool:
        """Tell whether hardly anything has come of a body for a while."""
        if now < self.looked_at + IDLE:
            return False
        came = self.size - self.looked_size
        self.looked_at, self.looked_size = now, self.size
        return came < LEAST

    def _pack(self) -> None:
        self.packed.append(b"".join(self.body))
        self.body.clear()

    def _whole_body(self) -> bytes:
        if self.packed:
            return b"".join((*self.packed, *self.body))
        return self.body[0] if len(self.body) == 1 else b"".join(self.body)

    def _overflow(self, data: bytes, before: int) -> int | None:
        """Keep as much as there is room for; the rest is only read if that is cheaper than to connect anew."""
        if self.overflow:
            return None
        self.overflow = True
        self.body.append(data[: self.limit - before])
        if self.ignores_length and self.refusal is not None:
            return 0
        announced = wire.announced_length(self.final)
        return 0 if announced is None or announced - self.limit > wire.SPARE_BODY else None

    def _judge_head(self) -> None:
        """Find the head that counts; refuse its body if it is no head, too large, or of a type that is not wanted."""
        assert self.request is not None
        lines: Sequence[bytes] = self.lines[:]  # a copy, for trailers may come behind these
        head = wire.usual_head(self.lines)
        if head is not None:
            whole, size = True, len(head[0])
            self.first = wire.status_line(lines[0])
        if head is None or self.first.is_interim:
            head, size = None, sum(map(len, lines))
            lines = wire.final_head(lines)
            whole = bool(lines) and lines[-1] in wire.BLANK
            self.first = wire.status_line(lines[0]) if whole else wire.NO_STATUS
        self.final, self.head = lines, head
        if problem := wire.head_problem(size, len(self.lines), self.max_head):
            self.refusal = Result.BAD_ANSWER, problem
        elif whole and not self.first.status:  # such is a stray line end behind the body of the answer before
            self.refusal = Result.BAD_ANSWER, "no status where the head should begin"
        elif self.request.accept and (media_type := wire.unwanted_type(lines, self.request.accept)):
            self.refusal = Result.UNWANTED_TYPE, f"{media_type} is not accepted"
        elif whole and self.ignores_length and wire.lengths_differ(wire.parse_headers(b"".join(lines))):
            self.refusal = Result.BAD_ANSWER, _LENGTHS  # nobody can tell where its body ends (RFC 9112, 6.3)
        if self.refusal is not None:
            self.limit = 0

    def has_come_with_others(self, code: int, response: Response, connection: int) -> bool | None:
        """Tell whether bytes have come that are no part of the answer; None: its connection is kept, and may have more.

        `code` is libcurl's, `response` was made of it, and `connection` is -1 where it is closed.
        """
        if code in _NO_HEAD or self.refusal is not None:  # the rest of an answer before may lie there
            return not self.lines or not wire.status_line(self.lines[0]).status
        if code or self.first.http != "http/1.1":
            return False
        if connection >= 0:
            return None
        is_usual = self.limits.proxy is None and not self.ignores_length
        return is_usual and keeps_open(response.status, response.headers)

    def stop(self, problem: str, result: Result) -> None:
        """Let it be over before its answer is, with as much of that as has come."""
        self.stopped = problem
        self.stopped_as = result

    @property
    def is_first(self) -> bool:
        """Whether nothing was asked for on its connection before."""
        return bool(self.handle.getinfo(_NUM_CONNECTS))

    @property
    def connection(self) -> int:
        """The descriptor of its connection, if that stays open behind the answer; libcurl closes it where more came."""
        return int(self.handle.getinfo(_ACTIVESOCKET))

    def response(self, code: int, message: str) -> Response:
        """Return what came of the request; `code` is libcurl's, 0 for a whole answer."""
        assert self.request is not None
        try:
            return self._response(self.request, code, message)
        except Exception as error:
            return Response(self.request, Result.INTERNAL_ERROR, started_at=self.started_at).met(fault_of(error))

    def _response(self, request: Request, code: int, message: str) -> Response:
        if not self.size:
            self._judge_head()
        readable = self.refusal is None or self.refusal[0] is Result.UNWANTED_TYPE
        status, head, headers, protocols = 0, b"", {}, None
        if readable and self.first.status:
            status = self.first.status
            if self.head is None:
                head = wire.as_http1(self.final, self.first)
                headers = wire.parse_headers(head)
            else:
                head, headers = self.head
                if not self.first.is_http1:
                    head = wire.as_http1(self.final, self.first)
            tls = self.sessions.of(self.server) if self.secured else wire.NO_TLS
            protocols = wire.protocols_of(self.first.http, tls)
        result, detail = self._result(request, code, message, status, headers)
        sent = self.sent
        if self.forwarded and (result is Result.CONNECT_FAILED or self._wants_login(status)):
            status, head, headers, protocols, sent = 0, b"", {}, None, b""  # it is the proxy that has said so
            self.body, self.packed = [], []
        if not head and not self.handle.getinfo(pycurl.REQUEST_SIZE):
            sent = b""  # no request has gone out
        response = Response(
            request,
            result,
            status,
            head,
            headers,
            self._whole_body(),
            sent,
            self.started_at,
            int(self.handle.getinfo(pycurl.TOTAL_TIME) * 1000),
            detail,
            protocols,
        )
        return response if self.fault is None else response.met(self.fault)

    def _wants_login(self, status: int) -> bool:
        """Whether a proxy that reads requests has answered, for want of a password; through a tunnel it is the site."""
        return not self.secured and status == HTTPStatus.PROXY_AUTHENTICATION_REQUIRED

    def _result(
        self, request: Request, code: int, message: str, status: int, headers: dict[str, str]
    ) -> tuple[Result, str]:
        if self.refusal is not None:
            return self.refusal
        if self.stopped:
            return self.stopped_as, self.stopped
        if self.overflow:
            return Result.TOO_LARGE, f"body stopped at {self.limit} bytes"
        if self.forwarded and self._wants_login(status):
            refused = "it wants a user and a password (HTTP status 407)"
            return Result.CONNECT_FAILED, f"proxy {self.limits.proxy}: {refused}"
        if self.limits.proxy is not None and (refused := self._refused_by_proxy(code, message)):
            return Result.CONNECT_FAILED, f"proxy {self.limits.proxy}: {refused}"
        if code == 0 and status:
            return wire.result_of(status, headers, request), ""
        if code == 0:
            return Result.CUT, "connection ended within the head"
        if message == INVALID_LENGTH and wire.announced_length(self.lines) is not None:
            return Result.BAD_ANSWER, _LENGTHS  # the one before it was a length
        result = _RESULTS.get(code, Result.BAD_ANSWER)
        if result is Result.TLS_FAILED:
            message = explained(message)
        elif code == pycurl.E_COULDNT_CONNECT and (number := self.handle.getinfo(pycurl.OS_ERRNO)):
            message = f"{message.rpartition(': ')[0]}: {strerror(number)}"  # libcurl does not say why
        return result, message or f"libcurl error {code}"

    def _refused_by_proxy(self, code: int, message: str) -> str:
        """Return what a proxy has said or done in place of passing a request on, empty if it has passed it on."""
        words = message or f"libcurl error {code}"
        if code in (_E_PROXY, pycurl.E_COULDNT_RESOLVE_PROXY, pycurl.E_COULDNT_CONNECT):
            return words
        if _RESULTS.get(code) is Result.TLS_FAILED and (not self.secured or self.handle.getinfo(_PROXY_VERIFIED)):
            return words  # its own certificate was refused
        return message if code in (pycurl.E_RECV_ERROR, pycurl.E_GOT_NOTHING) and "CONNECT" in message else ""


def _given_line(name: str, value: str) -> str:
    return f"{name}: {value}" if value else f"{name};"  # so libcurl is told of a header without a value


def _proxy_options(proxy: Proxy, user_agent: str, ca_file: str) -> Iterator[tuple[int, object]]:
    yield pycurl.PROXY, proxy.place
    yield pycurl.DNS_CACHE_TIMEOUT, _PROXY_KNOWN
    yield pycurl.USERAGENT, user_agent  # of CONNECT, which has none of the headers that are for the site
    if proxy.scheme == "https":
        yield pycurl.PROXY_CAINFO, fsencode(ca_file)  # libcurl has none of its own, or one of another system
    if proxy.user:
        yield pycurl.PROXYUSERNAME, proxy.user.encode()
        yield pycurl.PROXYPASSWORD, proxy.password.encode()
    yield _SUPPRESS_CONNECT_HEADERS, 1  # an answer to CONNECT is no part of the one that counts
    yield pycurl.NOPROXY, ""  # that of the environment has had its say


def _new_handle(limits: FetchLimits, headers: list[str], ca_file: str) -> pycurl.Curl:
    """Return a handle with all options that never change."""
    handle = pycurl.Curl()
    for option, value in (
        (pycurl.NOSIGNAL, 1),
        (pycurl.PROTOCOLS, pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS),
        (pycurl.PROXY, ""),  # an empty one keeps libcurl from taking the environment's
        (pycurl.FOLLOWLOCATION, 0),
        (pycurl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_2TLS),
        (pycurl.HTTP_CONTENT_DECODING, 0),
        (pycurl.HTTP09_ALLOWED, 0),
        (pycurl.HTTPHEADER, headers),
        (pycurl.BUFFERSIZE, _RECEIVE_BUFFER),
        (pycurl.DNS_CACHE_TIMEOUT, 0),  # hosts are given as addresses: libcurl went through all of them after each page
        (pycurl.CONNECTTIMEOUT_MS, int(limits.connect_timeout * 1000)),
        (pycurl.TIMEOUT_MS, int(limits.timeout * 1000)),
        (pycurl.SSL_VERIFYPEER, int(limits.tls_verify)),
        (pycurl.SSL_VERIFYHOST, 2 if limits.tls_verify else 0),
        (pycurl.CAINFO, fsencode(limits.ca_file or ca_file)),  # pycurl takes no text but ASCII
    ):
        handle.setopt(option, value)
    if limits.certificate is not None:
        handle.setopt(pycurl.SSLCERT, fsencode(limits.certificate[0]))
        handle.setopt(pycurl.SSLKEY, fsencode(limits.certificate[1]))
    authorities, proxy = limits.ca_file or ca_file, limits.proxy
    for option, value in _proxy_options(proxy, limits.user_agent, authorities) if proxy is not None else ():
        handle.setopt(option, value)
    return handle
