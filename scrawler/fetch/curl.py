"""The default downloader: many downloads at a time on libcurl's multi interface, woken by ready sockets."""

from __future__ import annotations

from functools import lru_cache
from math import inf
from time import monotonic, time
from typing import Final

import certifi
import pycurl

from scrawler.compiled import mypyc_attr
from scrawler.faults import fault_of
from scrawler.fetch import wire
from scrawler.fetch.bodies import LOOK_EVERY as ROOM_LOOK
from scrawler.fetch.bodies import STALLED, BodyRoom
from scrawler.fetch.downloader import FetchLimits, Request, Response
from scrawler.fetch.poller import READ, WRITE, Poller
from scrawler.fetch.traffic import LOOK_EVERY, Traffic, received, too_much
from scrawler.fetch.transfer import TlsSessions, Transfer
from scrawler.fetch.unasked import KeptConnections, Server
from scrawler.model.results import Result

_MOST_IDLE: Final = 32  # handles that are kept for the next requests, at 6 KB each; a new one costs 10 us
_KEPT_IDLE = 120.0  # seconds after which libcurl uses no connection any more that is still open, and a little more
_SPARE: Final = 4  # connections by which libcurl may keep more than it need; it is told when that changes by so many

_EVENTS: Final = {  # whatever else libcurl says means that it is done with a socket
    pycurl.POLL_IN: READ,
    pycurl.POLL_OUT: WRITE,
    pycurl.POLL_INOUT: READ | WRITE,
}


@mypyc_attr(allow_interpreted_subclasses=True)  # parts of other packages may build on it
class CurlDownloader:
    """A Downloader on libcurl: HTTP/1.1 and HTTP/2 (TLS only), kept-alive connections, any number in flight.

    One thread calls it, except for `wake`. Certificates are checked against `ca_file`, by default certifi's.
    An HTTP/0.9 answer is BAD_ANSWER, and so is a head of more than `limits.max_head` (libcurl itself stops at 300 KB).
    """

    at_once = True

    def __init__(self, limits: FetchLimits, *, ca_file: str | None = None) -> None:
        self._limits = limits
        self._ca_file = ca_file or certifi.where()
        self._sessions = TlsSessions()
        self._room = limits.bodies or BodyRoom()
        self._wakes = self.wake  # by which the others call
        self._room.join(self._wakes)
        self._handed: list[int] = []  # bytes of room that the answers have which were handed out last
        self._waiting: list[Transfer] = []  # for room
        self._waits = 0  # how many these are, as the others have been told
        self._idle_at = 0.0  # when it is looked whether bodies come that hold room
        self._idle: list[Transfer] = []
        self._idle_others: list[Transfer] = []  # of hosts that are asked in a way of their own
        self._active: dict[pycurl.Curl, Transfer] = {}
        self._done: list[Response] = []
        self.doubted: list[Request] = []
        self._kept = KeptConnections(limits.connections)
        self._last: dict[int, Request] = {}  # the answers handed out last, by the connections that were used before
        self._woken: dict[int, int] = {}  # how often a socket became ready since its last answer
        self._traffic: dict[int, Traffic] = {}  # of those on which something large comes
        self._ready: list[tuple[int, int]] = []
        self._running = 0
        self._timers: list[int] = []  # what libcurl has said since: in how many milliseconds to call it, -1 for never
        self._timer_at: float | None = None
        self._poller = Poller()
        self._most_kept = 0
        self._idle_from: float | None = inf  # since when nothing is in flight; None: since now, inf: no connection
        self._multi = self._new_multi()

    def start(self, request: Request) -> None:
        """Take a request and send it as far as can be done without waiting."""
        target = wire.split_url(request.url)
        if target is None:
            self._done.append(wire.refused(request))
            return
        try:
            server = (target.scheme, target.authority, request.address)
            alone = self._kept.is_talkative(server) or self._is_disturbed(server)
            transfer = self._transfer(request.limits or self._limits)
            try:
                transfer.begin(request, target, alone)
            except Exception:
                transfer.handle.close()
                raise
        except Exception as error:  # libcurl refuses some URLs and cookies, and has no handle without memory
            self._done.append(
                Response(request, Result.INTERNAL_ERROR, started_at=int(time() * 1000)).met(fault_of(error))
            )
            return
        self._active[transfer.handle] = transfer
        self._idle_from = None
        self._keep_idle()
        self._kept.asked(transfer.asked)
        self._multi.add_handle(transfer.handle)
        self._timers.clear()  # it wants to be called at once, and is
        self._timer_at = None
        self._running = self._multi.socket_action(pycurl.SOCKET_TIMEOUT, 0)[1]
        if self._timers:
            self._note_timer()

    @property
    def in_flight(self) -> int:
        """Requests that are not over: all go out with `start`."""
        return len(self._active) + len(self._done)

    def wait(self, seconds: float, begin: bool = True) -> None:
        """Wait for a ready socket, a timer of libcurl's or `wake`; what is ready is left to `completed`."""
        if self._handed and seconds > 0:  # else answers may be in work that were handed out
            self._give_back()
        if self._done or self._running < len(self._active):
            return
        if self._timers:
            self._note_timer()
        if self._timer_at is not None:
            seconds = min(seconds, max(0.0, self._timer_at - monotonic()))
        if self._waits:
            seconds = min(seconds, ROOM_LOOK)
        if not self._active:
            seconds = min(seconds, self._rest_of_idleness())
        self._ready = self._poller.wait(seconds)

    def ready(self) -> bool:
        """Look, without waiting, for a ready socket."""
        self.wait(0)
        return bool(self._ready or self._done or self._running < len(self._active))

    def completed(self) -> list[Response]:
        """Move all transfers on that can move, and return those that have ended."""
        ready, self._ready = self._ready, []
        self._last.clear()
        if self._handed:
            self._give_back()
        for fd, events in ready:
            self._running = self._multi.socket_action(fd, _select_bits(events))[1]
            times = self._woken[fd] = self._woken.get(fd, 0) + 1
            if times % LOOK_EVERY == 0:
                self._look_at(fd)
        if self._timers:
            self._note_timer()
        if self._timer_at is not None and monotonic() >= self._timer_at:
            self._timer_at = None
            self._running = self._multi.socket_action(pycurl.SOCKET_TIMEOUT, 0)[1]
        if self._waiting or self._room.waiting:
            self._share_room()
        done, self._done = self._done, []
        if self._running < len(self._active):
            _left, good, bad = self._multi.info_read()
            for handle in good:
                self._finish(handle, 0, "", done)
            for handle, code, message in bad:
                self._finish(handle, code, message, done)
        return done

    def cancel(self) -> list[Request]:
        """Give up all requests in flight and return them; their connections are closed."""
        requests = [response.request for response in self._done]
        self._done = []
        for handle, transfer in self._active.items():
            self._multi.remove_handle(handle)
            assert transfer.request is not None
            requests.append(transfer.request)
            self._kept.answered(transfer.asked)
            self._put_aside(transfer)
        self._active.clear()
        self._ready.clear()
        self._woken.clear()
        self._traffic.clear()
        self._waiting.clear()
        self._note_waiting()
        self._give_back()
        self._running = 0
        return requests

    def wake(self) -> None:
        """Make a `wait` return at once, now or next time."""
        self._poller.wake()

    def close(self) -> None:
        """Close all connections and handles."""
        self.cancel()
        for transfer in (*self._idle, *self._idle_others):
            transfer.handle.close()
        self._idle.clear()
        self._idle_others.clear()
        self._room.leave(self._wakes)
        self._multi.close()
        self._poller.close()

    def _rest_of_idleness(self) -> float:
        """Close the connections of a thread that had nothing in flight for long; return when that is to be asked again.

        libcurl uses none of them any more, and looks for such only when it opens others: a thread that waits for the
        next round would keep one to each of its hosts.
        """
        if self._idle_from is None:
            self._idle_from = monotonic()
        rest = self._idle_from + _KEPT_IDLE - monotonic()
        if rest > 0:
            return rest
        self._idle_from = inf
        self._multi.close()
        self._multi = self._new_multi()
        self._most_kept = 0
        return 0.0

    def _new_multi(self) -> pycurl.CurlMulti:
        multi = pycurl.CurlMulti()
        multi.setopt(pycurl.M_SOCKETFUNCTION, self._on_socket)
        multi.setopt(pycurl.M_TIMERFUNCTION, self._timers.append)  # it says so several times for each page
        return multi

    def _keep_idle(self) -> None:
        """Let libcurl keep `limits.connections` idle ones beside all that are in use, which it counts as well.

        With more in use than it may keep it would close each behind its answer, as it does where more has come.
        """
        most = self._limits.connections + len(self._active)
        if not most <= self._most_kept <= most + 2 * _SPARE:
            self._most_kept = most + _SPARE
            self._multi.setopt(pycurl.M_MAXCONNECTS, self._most_kept)

    def _transfer(self, limits: FetchLimits) -> Transfer:
        """Return a transfer that was made for these limits: nothing of another host's is ever left in a handle."""
        if limits is self._limits:
            return self._idle.pop() if self._idle else self._new_transfer(limits)
        for idle in self._idle_others:
            if idle.limits is limits:
                self._idle_others.remove(idle)
                return idle
        return self._new_transfer(limits)

    def _new_transfer(self, limits: FetchLimits) -> Transfer:
        return Transfer(limits, self._ca_file, self._on_open, self._sessions, self._room, self._waiting)

    def _finish(self, handle: pycurl.Curl, code: int, message: str, done: list[Response]) -> None:
        """Take what came of a transfer; where it is doubted, ask once more, on a connection of its own."""
        transfer = self._active.pop(handle)
        self._kept.answered(transfer.asked)
        response = transfer.response(code, message)
        doubted = not transfer.alone and self._is_doubted(transfer, response, code)
        self._multi.remove_handle(handle)
        self._put_aside(transfer)
        if doubted:
            self.start(response.request)
        else:
            done.append(response)

    def _look_at(self, fd: int) -> None:
        """End the transfers of a connection on which too much has come that is no part of their bodies."""
        count, known = received(fd), self._traffic.get(fd)
        if count is None or (known is not None and not known.may_be_too_much(count)):
            return
        transfers = [one for one in self._active.values() if one.connection == fd]
        bodies = sum([one.size for one in transfers])
        if known is None:
            self._traffic[fd] = Traffic(count, bodies)
            return
        beside = known.beside(count, bodies)
        if not beside:
            return
        for transfer in transfers:
            self._stop(transfer, too_much(beside), Result.TOO_LARGE)
        self._forget(fd)
        self._running = self._multi.socket_action(pycurl.SOCKET_TIMEOUT, 0)[1]

    def _stop(self, transfer: Transfer, problem: str, result: Result) -> None:
        """End a transfer before its answer is over."""
        del self._active[transfer.handle]
        self._kept.answered(transfer.asked)
        transfer.stop(problem, result)
        self._done.append(transfer.response(0, ""))
        self._multi.remove_handle(transfer.handle)
        self._put_aside(transfer)

    def _share_room(self) -> None:
        """Let bodies come for which there is room now; end those that hold room while others wait, and do not come."""
        waiting = self._waiting[:]
        self._waiting.clear()  # all transfers have this very list
        for transfer in waiting:
            if transfer.paused and not transfer.go_on():
                self._waiting.append(transfer)
        self._note_waiting()
        if self._waiting:
            self._room.hurry()
        if self._room.waiting and monotonic() >= self._idle_at:
            self._end_idle()
        self._running = self._multi.socket_action(pycurl.SOCKET_TIMEOUT, 0)[1]

    def _note_waiting(self) -> None:
        more = len(self._waiting) - self._waits
        if more:
            self._waits += more
            self._room.wait(more)

    def _end_idle(self) -> None:
        now = monotonic()
        self._idle_at = now + ROOM_LOOK
        for transfer in tuple(self._active.values()):
            if transfer.held and not transfer.paused and transfer.is_idle(now):
                self._stop(transfer, STALLED, Result.TIMEOUT)

    def _give_back(self) -> None:
        """Give back the room of the answers that were handed out before."""
        for held in self._handed:
            self._room.give_back(held)
        self._handed.clear()

    def _forget(self, fd: int) -> None:
        """Begin to count anew what comes over a connection."""
        self._woken.pop(fd, None)
        if self._traffic:
            self._traffic.pop(fd, None)

    def _is_doubted(self, transfer: Transfer, response: Response, code: int) -> bool:
        """Tell whether an answer may be another one than that to its request; see `unasked`."""
        first, fd = transfer.is_first, transfer.connection
        self._forget(fd)
        disturbed = transfer.has_come_with_others(code, response, fd)
        if disturbed is None:
            disturbed = not self._kept.is_asked(transfer.asked) and self._kept.waiting(fd, transfer.secured)
            if not disturbed and first:
                self._kept.opened(transfer.asked, fd)
            elif not disturbed:
                self._last[fd] = response.request
        if disturbed:
            self._kept.note_talkative(transfer.asked)
        return disturbed and not first

    def _is_disturbed(self, server: Server) -> bool:
        """Tell whether a server has sent something since its last answer, so that no connection to it is used again."""
        fd = self._kept.disturbed(server, self._poller.is_watched)
        if fd < 0:
            return False
        self._kept.note_talkative(server)
        before = self._last.pop(fd, None)
        if before is not None:
            self.doubted.append(before)
        return True

    def _put_aside(self, transfer: Transfer) -> None:
        """Keep a handle for the next request, unless there are enough; its connection stays with all the others."""
        idle = self._idle if transfer.limits is self._limits else self._idle_others
        if len(idle) >= _MOST_IDLE:
            idle.pop(0).handle.close()
        if transfer.held:
            self._handed.append(transfer.held)
        transfer.end()
        idle.append(transfer)

    def _on_socket(self, what: int, fd: int, _multi: object, _data: object) -> None:
        if what in _EVENTS:
            self._poller.watch(fd, _EVENTS[what])
        else:
            self._poller.forget(fd)

    def _on_open(self, fd: int, _purpose: int) -> int:
        self._forget(fd)
        self._poller.opened(fd)
        return int(pycurl.SOCKOPT_OK)

    def _note_timer(self) -> None:
        """Take over when libcurl wants to be called, by the last that it has said of that; it has said something."""
        milliseconds = self._timers[-1]
        self._timers.clear()
        self._timer_at = None if milliseconds < 0 else monotonic() + milliseconds / 1000


@lru_cache(maxsize=64)
def _select_bits(events: int) -> int:
    """Return what libcurl is told of a socket that is ready so; errors and hang-ups are all one to it."""
    bits = 0
    if events & READ:
        bits |= pycurl.CSELECT_IN
    if events & WRITE:
        bits |= pycurl.CSELECT_OUT
    if events & ~(READ | WRITE):
        bits |= pycurl.CSELECT_ERR
    return bits
