"""The default downloader: many downloads at a time on libcurl's multi interface, woken by ready sockets."""

from __future__ import annotations

from time import monotonic, time

import certifi
import pycurl

from scrawler.faults import fault_of
from scrawler.fetch import wire
from scrawler.fetch.downloader import FetchLimits, Request, Response
from scrawler.fetch.poller import READ, WRITE, Poller
from scrawler.fetch.transfer import TlsSessions, Transfer
from scrawler.model.results import Result

_MOST_IDLE = 32  # handles that are kept for the next requests, at 6 KB each; a new one costs 50 us

_EVENTS = {  # whatever else libcurl says means that it is done with a socket
    pycurl.POLL_IN: READ,
    pycurl.POLL_OUT: WRITE,
    pycurl.POLL_INOUT: READ | WRITE,
}


class CurlDownloader:
    """A Downloader on libcurl: HTTP/1.1 and HTTP/2 (TLS only), kept-alive connections, any number in flight.

    One thread calls it, except for `wake`. Certificates are checked against `ca_file`, by default certifi's.
    An HTTP/0.9 answer is BAD_ANSWER, and so is a head of more than `limits.max_head` (libcurl itself stops at 300 KB).
    """

    at_once = True

    def __init__(self, limits: FetchLimits, *, ca_file: str | None = None) -> None:
        self._limits = limits
        self._ca_file = ca_file or certifi.where()
        lines = [f"{name}: {value}" for name, value in wire.header_lines(limits.user_agent, limits.accept)]
        self._header_lines = lines
        self._header_text = "".join(f"{line}\r\n" for line in lines)
        self._sessions = TlsSessions()
        self._idle: list[Transfer] = []
        self._active: dict[pycurl.Curl, Transfer] = {}
        self._done: list[Response] = []
        self._ready: list[tuple[int, int]] = []
        self._running = 0
        self._timer_at: float | None = None
        self._poller = Poller()
        self._multi = pycurl.CurlMulti()
        self._multi.setopt(pycurl.M_MAXCONNECTS, limits.connections)
        self._multi.setopt(pycurl.M_SOCKETFUNCTION, self._on_socket)
        self._multi.setopt(pycurl.M_TIMERFUNCTION, self._on_timer)

    def start(self, request: Request) -> None:
        """Take a request and send it as far as can be done without waiting."""
        target = wire.split_url(request.url)
        if target is None:
            self._done.append(wire.refused(request))
            return
        transfer = self._idle.pop() if self._idle else self._new_transfer()
        try:
            transfer.begin(request, target, self._header_text, self._limits)
        except Exception as error:  # libcurl refuses some URLs and cookies
            transfer.handle.close()
            self._done.append(
                Response(request, Result.INTERNAL_ERROR, started_at=int(time() * 1000)).met(fault_of(error))
            )
            return
        self._active[transfer.handle] = transfer
        self._multi.add_handle(transfer.handle)
        self._timer_at = None
        self._running = self._multi.socket_action(pycurl.SOCKET_TIMEOUT, 0)[1]

    @property
    def in_flight(self) -> int:
        """Requests that are not over: all go out with `start`."""
        return len(self._active) + len(self._done)

    def wait(self, seconds: float, begin: bool = True) -> None:
        """Wait for a ready socket, a timer of libcurl's or `wake`; what is ready is left to `completed`."""
        if self._done or self._running < len(self._active):
            return
        if self._timer_at is not None:
            seconds = min(seconds, max(0.0, self._timer_at - monotonic()))
        self._ready = self._poller.wait(seconds)

    def ready(self) -> bool:
        """Look, without waiting, for a ready socket."""
        self.wait(0)
        return bool(self._ready or self._done or self._running < len(self._active))

    def completed(self) -> list[Response]:
        """Move all transfers on that can move, and return those that have ended."""
        ready, self._ready = self._ready, []
        for fd, events in ready:
            bits = (events & READ and pycurl.CSELECT_IN) | (events & WRITE and pycurl.CSELECT_OUT)
            if events & ~(READ | WRITE):
                bits |= pycurl.CSELECT_ERR
            self._running = self._multi.socket_action(fd, bits)[1]
        if self._timer_at is not None and monotonic() >= self._timer_at:
            self._timer_at = None
            self._running = self._multi.socket_action(pycurl.SOCKET_TIMEOUT, 0)[1]
        done, self._done = self._done, []
        if self._running < len(self._active):
            _left, good, bad = self._multi.info_read()
            for handle in good:
                done.append(self._finish(handle, 0, ""))
            for handle, code, message in bad:
                done.append(self._finish(handle, code, message))
        return done

    def cancel(self) -> list[Request]:
        """Give up all requests in flight and return them; their connections are closed."""
        requests = [response.request for response in self._done]
        self._done = []
        for handle, transfer in self._active.items():
            self._multi.remove_handle(handle)
            assert transfer.request is not None
            requests.append(transfer.request)
            self._put_aside(transfer)
        self._active.clear()
        self._ready.clear()
        self._running = 0
        return requests

    def wake(self) -> None:
        """Make a `wait` return at once, now or next time."""
        self._poller.wake()

    def close(self) -> None:
        """Close all connections and handles."""
        self.cancel()
        for transfer in self._idle:
            transfer.handle.close()
        self._idle.clear()
        self._multi.close()
        self._poller.close()

    def _new_transfer(self) -> Transfer:
        return Transfer(self._limits, self._header_lines, self._ca_file, self._on_open, self._sessions)

    def _finish(self, handle: pycurl.Curl, code: int, message: str) -> Response:
        transfer = self._active.pop(handle)
        response = transfer.response(code, message)
        self._multi.remove_handle(handle)
        self._put_aside(transfer)
        return response

    def _put_aside(self, transfer: Transfer) -> None:
        """Keep a handle for the next request, unless there are enough; its connection stays with all the others."""
        if len(self._idle) >= _MOST_IDLE:
            transfer.handle.close()
            return
        transfer.end()
        self._idle.append(transfer)

    def _on_socket(self, what: int, fd: int, _multi: object, _data: object) -> None:
        events = _EVENTS.get(what)
        if events is None:
            self._poller.forget(fd)
        else:
            self._poller.watch(fd, events)

    def _on_open(self, fd: int, _purpose: int) -> int:
        self._poller.opened(fd)
        return int(pycurl.SOCKOPT_OK)

    def _on_timer(self, milliseconds: int) -> None:
        self._timer_at = None if milliseconds < 0 else monotonic() + milliseconds / 1000
